"""What the pages on robots compute, claim and draw, one module a page."""
