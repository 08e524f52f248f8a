"""Figures: with number, caption and links; on the front page; and as thumbnails in the gallery.

The image of a figure has a light and a dark variant, each also for narrow screens.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from scorecard.pages.directives.base import BookDirective
from scorecard.run import FORMATS, NARROW
from scorecard.running.notebooks import all_notebooks

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
    if self.builder.name == "singlehtml":  # for print: one file, in one variant
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


class FigureDirective(BookDirective):
    """Base class of the directives that show one figure."""

    required_arguments = 1

    def picture(self) -> tuple[dict[str, Any], Picture]:
        """Return the description of the figure, and its image."""
        figure = self.product("figure")
        image = Picture(uri=f"/_site/figures/{figure['id']}.svg", alt=figure["alt"])
        image["others"] = self.up + "figures/"
        return figure, image


class ReproFigure(FigureDirective):
    """A figure with its number, caption, alt text, and links to data, provenance and citation."""

    def run(self) -> list[nodes.Node]:
        """Return the figure node."""
        product, image = self.picture()
        id = product["id"]
        figure = nodes.figure(ids=[id], names=[id], classes=["repro-figure"])
        figure["align"] = "center"
        links = self.product_links("figures", product, [*FORMATS, "csv"])
        figure += [image, nodes.caption("", "", *self.caption(product)), nodes.legend("", links)]
        self.state.document.note_explicit_target(figure)
        return [figure]


class FrontFigure(FigureDirective):
    """A figure of another page, linked to that page."""

    def run(self) -> list[nodes.Node]:
        """Return the linked image and its caption."""
        product, image = self.picture()
        link = self.link("", product["notebook"], product["id"])
        link += image
        caption = nodes.paragraph("", "", *self.caption(product), classes=["book-front"])
        ids, classes = [f"front-{product['id']}"], ["repro-figure"]
        picture = nodes.paragraph("", "", link)
        return [nodes.container("", picture, caption, ids=ids, classes=classes)]


class Gallery(BookDirective):
    """Thumbnails of all figures, each linked to its page."""

    def run(self) -> list[nodes.Node]:
        """Return one card a figure."""
        gallery = nodes.container(classes=["book-gallery"])
        position = {notebook.page: n for n, notebook in enumerate(all_notebooks().values())}
        figures = self.data["figures"].items()
        for id, figure in sorted(figures, key=lambda item: position.get(item[1]["notebook"], -1)):
            card = nodes.container(classes=["book-card"])
            image = nodes.image(uri=f"/_site/thumbnails/{id}.png", alt=figure["alt"])
            link = self.link("", figure["notebook"], id)
            link += image
            card += nodes.paragraph("", "", link)
            card += nodes.paragraph("", "", *self.caption(figure))
            card += nodes.paragraph("", "", nodes.literal("", id))
            gallery += card
        return [gallery]


def setup(app: Sphinx) -> None:
    """Register the image node and the directives."""
    app.add_node(Picture, html=(visit_picture, None))
    app.add_directive("repro-figure", ReproFigure)
    app.add_directive("front-figure", FrontFigure)
    app.add_directive("gallery", Gallery)
