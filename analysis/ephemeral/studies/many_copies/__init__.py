"""Study of many copies of a few sources: the two-level policy beside the index policy."""
