"""Study of the page `your-trace`."""
