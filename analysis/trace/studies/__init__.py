"""What the pages on real publications show, one module a page."""
