"""A small site, built by Sphinx with the extensions of the book."""

import io

from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

#: Words that do harm where they are not escaped.
EVIL = "<script>alert(1)</script>"


def build_site(folder, page, *extensions, **settings):
    """Build a site of one page and return its folder; Sphinx must have nothing to say of it.

    `extensions`: besides that of the pages; `settings`: besides those that a page needs.
    """
    settings["extensions"] = ["myst_parser", "scorecard.pages.sphinx_ext", *extensions]
    settings["myst_enable_extensions"] = ["dollarmath", "colon_fence"]
    settings |= {"root_doc": page, "numfig": True, "smartquotes": False}
    out, said = folder / "out", io.StringIO()
    with docutils_namespace():
        Sphinx(folder, None, out, out, "html", settings, status=None, warning=said).build()
    assert said.getvalue() == "", said.getvalue()
    return out
