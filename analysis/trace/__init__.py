"""Real publications: the policies of the book, and those deployed elsewhere, on traces of items."""
