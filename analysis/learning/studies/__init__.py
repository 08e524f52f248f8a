"""The experiments of Part III, one module a page, of the page's name."""
