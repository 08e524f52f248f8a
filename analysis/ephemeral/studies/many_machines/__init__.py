"""Study of the page `many-machines`."""
