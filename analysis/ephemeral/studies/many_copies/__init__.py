"""Study of the page `many-copies`."""
