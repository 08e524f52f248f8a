"""The studies of Part IV, one package a page, of the page's name."""
