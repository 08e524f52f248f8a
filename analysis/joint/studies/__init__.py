"""Studies of the pages on crawler and engine together."""
