"""A fixed number of robots in front of an exponential indexing engine."""
