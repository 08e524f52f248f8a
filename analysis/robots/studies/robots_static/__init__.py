"""Study of the page `robots-static`."""
