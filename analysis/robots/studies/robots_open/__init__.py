"""Study of the page `robots-open`."""
