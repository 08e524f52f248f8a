"""Study of the page `queue`: the index with a frozen queue and its two limits."""
