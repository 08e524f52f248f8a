"""Study of the page `robots-bounds`."""
