"""Study of the page `robots-growth`."""
