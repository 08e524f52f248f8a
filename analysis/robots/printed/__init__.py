"""The draft's own decision process and algorithm."""
