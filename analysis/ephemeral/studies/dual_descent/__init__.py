"""Study of the page `dual-descent`."""
