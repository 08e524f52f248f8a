"""Papers: PDFs of the first part of some pages.

``book/_papers.yml`` gives for each paper the label of the page, the label of the section before
which the paper ends, its title, and the figures that it leaves out. Theorems, equations and figures
keep their numbers of the book; the references are at the end of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import yaml
from bs4 import BeautifulSoup, Tag

from scorecard.paths import BOOK
from scorecard.publishing.metadata.citation import Edition, authors, plain_citation
from scorecard.publishing.pdf.printing import print_page, printable_html

_STYLE = Path(__file__).with_name("paper.css")
_HEADINGS = [f"h{level}" for level in range(1, 7)]


def papers() -> dict[str, dict[str, Any]]:
    """Return the entries of ``_papers.yml`` by file name without suffix."""
    named: dict[str, dict[str, Any]] = yaml.safe_load(
        (BOOK / "_papers.yml").read_text(encoding="utf-8")
    )
    return named


def paper_html(html: str, paper: Mapping[str, Any], edition: Edition) -> str:
    """Return the HTML of a paper, ready to print.

    `html`: the book as one HTML page; `paper`: entry of ``_papers.yml`` with ``from``, ``until``,
    ``title`` and ``without``. Raises ValueError if the book has no section with one of the labels.
    """
    soup = BeautifulSoup(html, "html.parser")
    page, end = (_section(soup, paper[name]) for name in ("from", "until"))
    cited = _cited_works(soup, page, end)
    for section in [*end.find_next_siblings(), end]:
        section.decompose()
    for label in paper["without"]:
        for figure in page.find_all(id=label):
            (figure.find_parent("figure") or figure).decompose()
    heading, *others = page.find_all(_HEADINGS)
    for other in others:  # the level of the page's heading becomes 1
        other.name = f"h{int(other.name[1]) - int(heading.name[1]) + 1}"
    heading.replace_with(BeautifulSoup(_title_block(str(paper["title"]), edition), "html.parser"))
    page.append(BeautifulSoup(f"<h2>References</h2>{cited}", "html.parser"))
    style = f"<style>{_STYLE.read_text(encoding='utf-8')}</style>"
    alone = f"<html><head></head><body><article>{page}</article></body></html>"
    return printable_html(alone, edition.address).replace("</head>", f"{style}</head>", 1)


def print_papers(page: Path, folder: Path, edition: Edition) -> list[Path]:
    """Print every paper and return the PDFs; a failed run does not change existing files.

    `page`: the book as one HTML page, in the folder of its images.
    """
    html = page.read_text(encoding="utf-8")
    printed = []
    for name, paper in papers().items():
        source = page.with_name(f"{name}.paper.html")
        source.write_text(paper_html(html, paper, edition), encoding="utf-8")
        pdf = page.with_name(f"{name}.pdf")
        print_page(source, pdf)
        printed.append(pdf.replace(folder / pdf.name))
    return printed


def _section(soup: BeautifulSoup, label: str) -> Tag:
    """Return the section with a label."""
    target = soup.find(id=label)
    section = target.find_parent("section") if isinstance(target, Tag) else None
    if section is None:
        raise ValueError(f"the book has no section with the label {label!r}")
    return section


def _cited_works(soup: BeautifulSoup, page: Tag, end: Tag) -> str:
    """Return the HTML of the works that a page cites before the section `end`."""
    works = {str(work["id"]): work for work in soup.select("div.citation[id]")}
    after = {
        id(link) for element in [end, *end.find_next_siblings()] for link in element.find_all("a")
    }
    links = (link for link in page.find_all("a", href=True) if id(link) not in after)
    keys = {str(link["href"]).partition("#")[2] for link in links}
    cited = [work.find("p") for key, work in works.items() if key in keys]
    return "".join(map(str, filter(None, cited)))


def _title_block(title: str, edition: Edition) -> str:
    return (
        f'<div class="paper-head"><h1>{escape(title)}</h1><p>{escape(", ".join(authors()))}</p>'
        f"<p>{escape(edition.note)}, {edition.date}. A chapter of: "
        f"{escape(plain_citation(edition))} Numbers are those of the book.</p></div>"
        "<h2>Abstract</h2>"
    )
