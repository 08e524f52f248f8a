"""Cards of links: the theorem, equation, figure, table or reference that a link leads to.

Links to such targets get the attribute ``data-card``. ``previews.js`` shows the card while the link
has the pointer or the focus. A card of the same page is copied from the page. The cards of another
page are in a script, ``cards/PAGE.js``, which is loaded when one is needed: a page that is opened
from disk can load a script, and cannot fetch a file.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import defaultdict
from pathlib import Path

from sphinx.application import Sphinx

#: Folder of the scripts, below the root of the site.
FOLDER = "cards"
_ARTICLE = re.compile(r"<article\b.*</article>", re.DOTALL)
_TARGET = re.compile(
    r'<(?P<tag>div|figure) class="(?:proof|math|citation|repro-figure|repro-table)\b[^"]*"'
    r' id="(?P<id>[^"]+)">'
)
_LINK = re.compile(
    r'<a (?![^>]*headerlink)[^>]*\bhref="(?P<page>[^"#:?]*)#(?P<id>[^"]+)"[^>]*(?=>)'
)
#: What a card does not show: links and ids, the lines below figures, and later loading.
_LEFT_OUT = re.compile(
    r'<p class="repro-links">.*?</p>|<a class="headerlink".*?</a>|</?a\b[^>]*>|\sid="[^"]*"|'
    r' loading="lazy"| tabindex="0"| role="region"| aria-labelledby="[^"]*"',
    re.DOTALL,
)
_UP = re.compile(r'(?<=[="])(?:\.\./)*(?=(?:_images|figures)/)')


def find_targets(page: str) -> dict[str, str]:
    """Return the HTML of the elements of a page that have a card, by id."""
    return {
        match["id"]: _cut_element(page, match.start(), match["tag"])
        for match in _TARGET.finditer(page)
    }


def _cut_element(page: str, start: int, tag: str) -> str:
    """Return the element that begins at a place of a page, up to its end tag."""
    depth = 0
    for match in re.compile(rf"<(/?){tag}\b[^>]*>").finditer(page, start):
        depth += -1 if match[1] else 1
        if depth == 0:
            return page[start : match.end()]
    raise ValueError(f"page must close each {tag}, got {page[start : start + 80]!r}")


def make_card(element: str) -> str:
    """Return the content of a card: the element without links, with paths from the site's root."""
    return _UP.sub("", _LEFT_OUT.sub("", element))


def mark_links(page: str, html: str, targets: dict[str, dict[str, str]]) -> tuple[str, set[str]]:
    """Return the HTML of a page with its links marked, and the targets on other pages.

    `page`: path of the page in the site; `targets`: elements with a card, by page and id. A target
    is returned as ``PAGE#ID``.
    """
    elsewhere = set()

    def mark(link: re.Match[str]) -> str:
        folder = posixpath.dirname(page)
        target = posixpath.normpath(posixpath.join(folder, link["page"])) if link["page"] else page
        if link["id"] not in targets.get(target, {}):
            return link[0]
        if target == page:
            return f'{link[0]} data-card=""'
        elsewhere.add(f"{target}#{link['id']}")
        return f'{link[0]} data-card="{_name_file(target)}"'

    return _ARTICLE.sub(lambda article: _LINK.sub(mark, article[0]), html), elsewhere


def _name_file(page: str) -> str:
    return page.removesuffix(".html").replace("/", "-")


def write_cards(app: Sphinx, problem: Exception | None) -> None:
    """Mark the links of a finished site, and write the cards (event ``build-finished``)."""
    if problem is not None or app.builder.name != "html":
        return
    site = Path(app.outdir)
    texts = {
        path.relative_to(site).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }
    targets = {page: find_targets(text) for page, text in texts.items()}
    cards: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for page, text in texts.items():
        marked, elsewhere = mark_links(page, text, targets)
        if marked != text:
            (site / page).write_text(marked, encoding="utf-8")
        for place in sorted(elsewhere):
            target, _, id = place.partition("#")
            cards[target][id] = make_card(targets[target][id])
    for page, named in cards.items():
        (site / FOLDER).mkdir(exist_ok=True)
        name = _name_file(page)
        content = json.dumps(dict(sorted(named.items())), ensure_ascii=False, indent=0)
        script = f'bookCards("{name}", {content});\n'
        (site / FOLDER / f"{name}.js").write_text(script, encoding="utf-8")
