"""Study of the page `robots-tables`."""
