"""Study of the page `how-good`."""
