"""References between pages, links to printed rows, glossary terms and predicates' sources."""
