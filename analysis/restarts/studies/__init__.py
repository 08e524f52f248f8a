"""One module a page, of the page's name: its experiments, what it claims, its pictures."""
