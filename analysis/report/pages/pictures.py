"""The image of a figure: a light and a dark variant, each also for narrow screens."""

from __future__ import annotations

from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from analysis.report.run import NARROW

#: Widest screen, in pixels, that gets the narrow variant.
SMALL_SCREEN = 600


class Picture(nodes.image):
    """The image node: ``uri`` is the light, wide variant, ``others`` the folder of all variants."""


def visit_picture(self: HTML5Translator, node: Picture) -> None:
    """Write one ``picture`` element for each theme; CSS shows that of the current theme."""
    stem = f"{node['others']}{Path(node['uri']).stem}"
    narrow = NARROW.removesuffix("svg")
    media = f'media="(max-width: {SMALL_SCREEN}px)"'
    alt = escape(node["alt"])
    wide = f"{self.builder.imgpath}/{self.builder.images[node['uri']]}"
    if self.builder.name == "singlehtml":  # for print, where nothing lies beside the page
        self.body.append(f'<img class="dark-light" src="{escape(wide)}" alt="{alt}">')
        raise nodes.SkipNode
    for theme, small, source in (
        ("light", f"{stem}.{narrow}svg", wide),
        ("dark", f"{stem}.{narrow}dark.svg", f"{stem}.dark.svg"),
    ):
        self.body.append(
            f'<picture class="book-{theme}"><source {media} srcset="{escape(small)}">'
            f'<img class="dark-light" src="{escape(source)}" alt="{alt}" loading="lazy"></picture>'
        )
    raise nodes.SkipNode


def setup_pictures(app: Sphinx) -> None:
    """Register the node."""
    app.add_node(Picture, html=(visit_picture, None))
