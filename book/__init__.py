"""The book: each page is a text and the module beside it of the same name."""
