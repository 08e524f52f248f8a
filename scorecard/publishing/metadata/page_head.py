"""Sphinx extension for the ``head`` of pages (metadata and JSON-LD) and for the sitemap.

Pages of a reader's own run have no such metadata: they are not part of the published book.
"""

from __future__ import annotations

import json
import re
import textwrap
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from markupsafe import Markup, escape
from sphinx.application import Sphinx

from scorecard.pages.collated import results
from scorecard.publishing.metadata import linked_data
from scorecard.publishing.metadata.citation import TEXT_LICENSE, Edition, authors, cff
from scorecard.publishing.metadata.crate import CRATE
from scorecard.publishing.metadata.linked_data import PageLocation

_TAG = Markup("    <{} {}>\n")
#: Subject that a page's HTML title has besides the page's own title, by the folder of the page.
_SUBJECTS = {
    "ephemeral": "Whittle index for web crawling",
    "restarts": "Restless bandits with restarts",
    "learning": "Learning the Whittle index",
    "robots": "Web robots and an indexing queue",
    "trace": "Scheduling a web crawler",
    "crawl": "Scheduling a web crawler",
    "joint": "Web crawler and indexing engine",
}
#: Greatest length of a description, in characters; search engines cut longer ones.
_DESCRIPTION_LENGTH = 160
#: Beginnings of the paragraphs that describe a page best, the best first.
_SUMMARIES = ("The answer.", "What we find.")


def description(doctree: nodes.document) -> str:
    """Return the beginning of a page's answer, or of its findings, or of its first paragraph."""
    texts = [
        " ".join(node.astext().split())
        for node in doctree.findall(nodes.paragraph)
        if isinstance(node.parent, nodes.section)  # no hint, card or note
    ]
    summaries = [
        text.removeprefix(beginning).strip()
        for beginning in _SUMMARIES
        for text in texts
        if text.startswith(beginning)
    ]
    return first_sentences(next(iter(summaries + texts), ""))


def first_sentences(text: str) -> str:
    """Return as many whole sentences of a text as fit into `_DESCRIPTION_LENGTH`.

    If the first one does not fit, it is cut after a word. Sentences with formulas are left out.
    """
    sentences = re.split(r"(?<=[.!?]) +(?=[A-Z0-9])", text)
    # Search engines would show the TeX source of a formula.
    summary, *others = [sentence for sentence in sentences if "\\" not in sentence] or [""]
    for sentence in others:
        if len(f"{summary} {sentence}") > _DESCRIPTION_LENGTH:
            break
        summary = f"{summary} {sentence}"
    return textwrap.shorten(summary, _DESCRIPTION_LENGTH, placeholder="…")


def head(
    title: str, page: str, edition: Edition, data: dict[str, Any], description: str = ""
) -> str:
    """Return the metadata of a page as HTML elements for its head."""
    location = PageLocation(page, edition)
    front = page == "index"
    node = linked_data.book(location) if front else linked_data.chapter(title, location, data)
    text = json.dumps({"@context": linked_data.CONTEXT, **node}, ensure_ascii=False, indent=1)
    # "</script>" within a caption would end the element.
    script = text.replace("<", "\\u003c")
    citation = {"title": cff()["title"] if front else title}
    citation |= {} if front else {"inbook_title": cff()["title"]}
    citation |= {"publication_date": edition.date.replace("-", "/"), "language": "en"}
    citation |= {"fulltext_html_url": location.here} if edition.address else {}
    tags = [_tag("meta", name="citation_author", content=name) for name in authors()]
    tags += [_tag("meta", name=f"citation_{name}", content=citation[name]) for name in citation]
    preview = {"title": title, "site_name": cff()["title"]}
    preview["type"] = "book" if front else "article"
    preview |= {"url": location.here} if edition.address else {}
    if description:
        tags.append(_tag("meta", name="description", content=description))
        preview["description"] = description
    tags += [_tag("meta", property=f"og:{name}", content=preview[name]) for name in preview]
    tags.append(_tag("link", rel="license", href=TEXT_LICENSE))
    crate = location.to(CRATE)
    tags.append(_tag("link", rel="describedby", type="application/ld+json", href=crate))
    if edition.address:
        tags.append(_tag("link", rel="cite-as", href=location.here))
    return "".join(tags) + f'    <script type="application/ld+json">\n{script}\n</script>\n'


def _tag(element: str, **attributes: str) -> str:
    pairs = Markup(" ").join(Markup('{}="{}"').format(*pair) for pair in attributes.items())
    return _TAG.format(Markup(element), pairs)


def _add_head(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    data = results(app)
    if doctree is None or not data["document"]:
        return
    edition = Edition(**{name: data["edition"][name] for name in ("commit", "date", "address")})
    title = unescape(re.sub(r"<[^>]+>", "", str(context.get("title", ""))))
    summary = description(doctree) or f"{title} of {cff()['title']}"
    if page == "index":
        summary = first_sentences(" ".join(cff()["abstract"].split()))
    tags = head(title, page, edition, data, summary)
    context["metatags"] = context.get("metatags", "") + tags
    context["subject"] = _SUBJECTS.get(page.partition("/")[0], "")


def write_sitemap(pages: list[str], address: str, site: Path) -> None:
    """Write ``sitemap.xml`` with the URLs of all pages (https://www.sitemaps.org)."""
    lines = [f"  <url><loc>{escape(address)}{escape(page)}.html</loc></url>\n" for page in pages]
    text = '<?xml version="1.0" encoding="utf-8"?>\n'
    text += '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    (site / "sitemap.xml").write_text(f"{text}{''.join(lines)}</urlset>\n", encoding="utf-8")


def _add_sitemap(app: Sphinx, failed: Exception | None) -> None:
    if not failed and app.builder.name == "html" and app.config.html_baseurl:
        write_sitemap(sorted(app.env.found_docs), app.config.html_baseurl, Path(app.outdir))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the event handlers."""
    app.connect("html-page-context", _add_head)
    app.connect("build-finished", _add_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
