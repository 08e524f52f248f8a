"""Study of the page `learning-as-printed`."""
