"""Study of the page `restart-thresholds`."""
