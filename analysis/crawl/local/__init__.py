"""A site of feeds on this machine, and crawls of it."""
