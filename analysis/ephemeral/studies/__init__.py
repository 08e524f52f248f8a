"""The experiments of Part I, one module a page, of the page's name."""
