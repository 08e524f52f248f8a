"""Study of the page `learning-scheme`."""
