"""Models, policies and page-making behind a reproducible book on scheduling web crawlers.

Sub-packages carry the names of the book's parts: `ephemeral`, `restarts`, `learning` and `robots`
hold models, and `joint` that of crawler and indexing engine together; `mdp` holds the solvers that
they share; `published` holds every number that the five documents print; `report` turns notebooks
into pages.
"""

__version__ = "0.1.0"
