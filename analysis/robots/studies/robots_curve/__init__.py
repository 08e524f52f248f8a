"""The page on the switching curve."""
