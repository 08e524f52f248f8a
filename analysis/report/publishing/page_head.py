"""The head of each page: citation tags, links to licence and metadata, JSON-LD; and the sitemap.

A Sphinx extension. The page of a reader's own run carries none of it: it is not part of the book.
"""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from markupsafe import Markup, escape
from sphinx.application import Sphinx

from analysis.report.pages.collated import results
from analysis.report.publishing import linked_data
from analysis.report.publishing.citation import TEXT_LICENSE, Edition, authors, facts
from analysis.report.publishing.crate import CRATE
from analysis.report.publishing.linked_data import Place

_TAG = Markup("    <{} {}>\n")


def head(title: str, page: str, edition: Edition, found: dict[str, Any]) -> str:
    """Return what a page's head says of it, as HTML.

    Parameters
    ----------
    title : str
        Title of the page, as text.
    page : str
        The page, such as "ephemeral/four-sources".
    edition : Edition
        What it is part of.
    found : dict
        What the notebooks left behind.
    """
    place = Place(page, edition)
    front = page == "index"
    said = linked_data.book(place) if front else linked_data.chapter(title, place, found)
    text = json.dumps({"@context": linked_data.CONTEXT, **said}, ensure_ascii=False, indent=1)
    # Words of a caption cannot end the script that they stand in.
    script = text.replace("<", "\\u003c")
    citation = {"title": facts()["title"] if front else title}
    citation |= {} if front else {"inbook_title": facts()["title"]}
    citation |= {"publication_date": edition.date.replace("-", "/"), "language": "en"}
    citation |= {"fulltext_html_url": place.here} if edition.address else {}
    tags = [_tag("meta", name="citation_author", content=name) for name in authors()]
    tags += [_tag("meta", name=f"citation_{name}", content=citation[name]) for name in citation]
    tags.append(_tag("link", rel="license", href=TEXT_LICENSE))
    crate = place.to(CRATE)
    tags.append(_tag("link", rel="describedby", type="application/ld+json", href=crate))
    if edition.address:
        tags.append(_tag("link", rel="cite-as", href=place.here))
    return "".join(tags) + f'    <script type="application/ld+json">\n{script}\n</script>\n'


def _tag(element: str, **attributes: str) -> str:
    pairs = Markup(" ").join(Markup('{}="{}"').format(*pair) for pair in attributes.items())
    return _TAG.format(Markup(element), pairs)


def _add_head(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    found = results(app)
    if doctree is None or not found["document"]:
        return
    edition = Edition(**{name: found["edition"][name] for name in ("commit", "date", "address")})
    title = unescape(re.sub(r"<[^>]+>", "", str(context.get("title", ""))))
    context["metatags"] = context.get("metatags", "") + head(title, page, edition, found)


def write_sitemap(pages: list[str], address: str, site: Path) -> None:
    """Write ``sitemap.xml``: every page at its address, as https://www.sitemaps.org asks."""
    lines = [f"  <url><loc>{escape(address)}{escape(page)}.html</loc></url>\n" for page in pages]
    text = '<?xml version="1.0" encoding="utf-8"?>\n'
    text += '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    (site / "sitemap.xml").write_text(f"{text}{''.join(lines)}</urlset>\n", encoding="utf-8")


def _add_sitemap(app: Sphinx, failed: Exception | None) -> None:
    if not failed and app.builder.name == "html" and app.config.html_baseurl:
        write_sitemap(sorted(app.env.found_docs), app.config.html_baseurl, Path(app.outdir))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the events at which a page, and the whole site, is written."""
    app.connect("html-page-context", _add_head)
    app.connect("build-finished", _add_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
