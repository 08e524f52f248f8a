"""Study of the page `learning-corrected`."""
