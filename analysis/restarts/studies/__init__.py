"""The studies of Part II, one package a page, of the page's name."""
