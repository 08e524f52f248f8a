"""Study of the page `learning-trap`."""
