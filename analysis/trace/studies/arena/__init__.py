"""The study of the page ``book/trace/arena.md``: deployed rules, as they come and tuned."""
