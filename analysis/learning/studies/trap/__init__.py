"""The page on estimates that confirm themselves, and on rules that do not stay with them."""
