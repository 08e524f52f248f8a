"""The experiments of Part II, one module a page, of the page's name."""
