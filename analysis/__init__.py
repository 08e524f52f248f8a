"""Models and policies behind a reproducible book on scheduling web crawlers.

Sub-packages carry the names of the book's parts: `ephemeral`, `restarts`, `bandits`, `learning`,
`robots`, `trace` and `crawl`, and `joint` for crawler and indexing engine together; `mdp` holds the
solvers that they share.
"""

__version__ = "0.1.0"
