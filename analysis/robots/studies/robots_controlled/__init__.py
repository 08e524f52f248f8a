"""Study of the page `robots-controlled`."""
