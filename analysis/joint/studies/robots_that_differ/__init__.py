"""Study of the page `robots-that-differ`."""
