"""Study of the page `model-and-index`."""
