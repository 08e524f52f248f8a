"""Study of the page `robots-and-sources`."""
