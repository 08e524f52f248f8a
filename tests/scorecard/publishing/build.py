"""A small site, built by Sphinx with the extensions of the book."""

import io

from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace


def build_site(folder, page, **settings):
    """Build a site of one page and return its folder; Sphinx must have nothing to say of it."""
    parts = ["pages.sphinx_ext", "publishing.metadata"]
    settings["extensions"] = ["myst_parser", *(f"scorecard.{part}" for part in parts)]
    settings["root_doc"] = page
    out, said = folder / "out", io.StringIO()
    with docutils_namespace():
        Sphinx(folder, None, out, out, "html", settings, status=None, warning=said).build()
    assert said.getvalue() == ""
    return out
