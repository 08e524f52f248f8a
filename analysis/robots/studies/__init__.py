"""The experiments of Part IV, one module a page, of the page's name."""
