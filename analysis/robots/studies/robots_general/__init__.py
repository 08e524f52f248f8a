"""Study of the page `robots-general`."""
