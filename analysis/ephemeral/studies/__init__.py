"""The studies of Part I, one package a page, of the page's name."""
