"""The book and its papers as PDF, printed by Chromium from Sphinx's builder ``singlehtml``.

For print, folded proofs are opened, code cells removed, and the tables of rows replaced by the
scorecard, which comes last; links point inside the PDF or to the web. The page numbers of the table
of contents come from the PDF outline that Chromium writes.

A paper is the first part of a page, and of pages that follow it, such as one of proofs:
``book/_papers.yml`` gives for each paper the label of each page, the label of the section before
which the page ends in the paper, the title, and the figures that the paper leaves out. Theorems,
equations and figures keep their numbers of the book; the references are at the end of the paper.
"""

from __future__ import annotations

import copy
import logging
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import yaml
from bs4 import BeautifulSoup, Tag
from matplotlib import get_data_path
from pypdf import PdfReader, PdfWriter
from pypdf.constants import PageLabelStyle
from pypdf.generic import ArrayObject, DictionaryObject, NameObject

from scorecard.files import BOOK, exit_with_parent
from scorecard.publishing.citation import Edition, format_citation, list_authors, read_cff

# Chromium writes a /Size in the PDF trailer that is one too small for 70,000 objects. pypdf writes
# a correct one, but logs a warning about it.
logging.getLogger("pypdf._writer").setLevel(logging.ERROR)

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
_PRINTING = (
    "--no-pdf-header-footer", "--generate-pdf-document-outline", "--virtual-time-budget=10000",
)  # fmt: skip
#: Pages that are not printed: the API, and pages that repeat figures or rows.
WEB_ONLY = ("api/", "back/gallery", "back/changes", "documents/")
#: The page that is printed last, as an appendix.
APPENDIX = "guide/scorecard"
#: Selectors of elements that are removed for print.
_WEB_ONLY_ELEMENTS = (
    ".cell_input", "details.above-input", ".repro-links", ".book-rerun-hint", ".book-filter",
    ".headerlink", ".explorable", ".toctree-wrapper > .caption", "button", "iframe", "noscript",
    "form",
)  # fmt: skip
#: Family, file and style of the printed fonts: STIX, also used in formulas, and DejaVu for code.
_FONTS = (
    ("STIX", "STIXGeneral", ""),
    ("STIX", "STIXGeneralItalic", "font-style: italic"),
    ("STIX", "STIXGeneralBol", "font-weight: bold"),
    ("STIX", "STIXGeneralBolIta", "font-style: italic; font-weight: bold"),
    ("Code", "DejaVuSansMono", ""),
)
#: Prefix of the links of the contents, which are replaced by links to pages of the merged PDF.
_PAGE_URL = "https://page.invalid/"


def arrange_contents(contents: dict[str, Any]) -> dict[str, Any]:
    """Return the table of contents of the printed book."""
    ordered = copy.deepcopy(contents)
    last = []
    for book_part in ordered["parts"]:
        chapters = [c for c in book_part["chapters"] if not c["file"].startswith(WEB_ONLY)]
        last += [chapter for chapter in chapters if chapter["file"] == APPENDIX]
        book_part["chapters"] = [chapter for chapter in chapters if chapter["file"] != APPENDIX]
    ordered["parts"].append({"caption": "Appendix", "chapters": last})
    ordered["parts"] = [book_part for book_part in ordered["parts"] if book_part["chapters"]]
    return ordered


def prepare_html(html: str, address: str) -> str:
    """Return the HTML of the whole book, ready to print.

    `html`: output of the builder ``singlehtml``; `address`: base URL of the published book; if it
    is empty, links to files become text.
    """
    soup = BeautifulSoup(html, "html.parser")
    body = soup.select_one("article") or soup.select_one("main") or soup.body
    assert body is not None
    for element in body.select(", ".join(_WEB_ONLY_ELEMENTS)):
        element.decompose()
    for cell in body.select(".cell"):
        if not cell.get_text(strip=True) and not cell.find("img"):
            cell.decompose()
    for details in body.find_all("details"):
        details["open"] = ""
    _replace_row_tables(body)
    _fix_links(body, address)
    for chapter in body.select("section section:has(> h1), span[id^=document-] + section"):
        chapter["data-chapter"] = ""
    return _format_page(str(body))


def _format_page(body: str) -> str:
    title = escape(read_cff()["title"])
    style = _format_font_faces() + Path(__file__).with_name("print.css").read_text(encoding="utf-8")
    head = f'<meta charset="utf-8"><title>{title}</title><style>{style}</style>'
    return f'<!doctype html><html lang="en-GB"><head>{head}</head><body>{body}</body></html>'


def _format_font_faces() -> str:
    """Return the CSS rules ``@font-face`` for the fonts, which come with Matplotlib."""
    faces = []
    for family, file, properties in _FONTS:
        address = Path(get_data_path(), "fonts/ttf", f"{file}.ttf").as_uri()
        faces.append(
            f'@font-face {{ font-family: "{family}"; src: url("{address}"); {properties} }}\n'
        )
    return "".join(faces)


def _replace_row_tables(body: Tag) -> None:
    """Replace each page's table of rows by a note, and move the rows' ids to the scorecard.

    Links to a row then lead to the scorecard. Without a scorecard nothing is changed.
    """
    links = body.select(".book-scorecard a[href]")
    lines = {f"row-{link.get_text(strip=True)}": link for link in links}
    for rows in body.select("details.book-rows"):
        ids = [str(row["id"]) for row in rows.select(".book-row[id]")]
        if ids and lines.keys() >= set(ids):
            for id in ids:
                lines[id].name, lines[id].attrs = "span", {"id": id}
            (summary,) = rows.select("summary")
            note = Tag(name="p")
            note.string = f"{summary.get_text()}: see the scorecard."
            rows.replace_with(note)


def _fix_links(body: Tag, address: str) -> None:
    """Point links inside the PDF or to the published book; other relative links become text."""
    ids = {element["id"] for element in body.find_all(id=True)}
    for link in body.find_all("a", href=True):
        target = str(link["href"])
        path, _, fragment = target.partition("#")
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        if fragment in ids and (not path or path.endswith(".html")):
            link["href"] = f"#{fragment}"
        elif path and address:
            link["href"] = address + path.removeprefix("./").replace("../", "")
        else:
            link.unwrap()


def find_browser() -> str:
    """Return the path of Chromium; raise RuntimeError if it is not installed."""
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser is None:
        raise RuntimeError(
            f"printing needs one of {', '.join(CHROMIUM)}: install Debian's chromium"
        )
    return browser


def print_page(page: Path, target: Path) -> None:
    """Print an HTML file to a PDF; raise RuntimeError if Chromium is not installed, or fails."""
    browser = find_browser()
    with tempfile.TemporaryDirectory() as data:
        command = [browser, *CHROMIUM_OPTIONS, *_PRINTING, f"--user-data-dir={data}"]
        command += [f"--print-to-pdf={target}", page.as_uri()]
        done = subprocess.run(command, preexec_fn=exit_with_parent, capture_output=True, text=True)
    if done.returncode != 0 or not target.exists():
        raise RuntimeError(f"{browser} did not print the book: {done.stderr[-2000:]}")


def read_outline(reader: PdfReader) -> list[tuple[int, str, int]]:
    """Return the outline of a PDF as (level, title, page), levels and pages counted from 0."""

    def walk(entries: list[Any], level: int) -> Iterator[tuple[int, str, int]]:
        for entry in entries:
            if isinstance(entry, list):
                yield from walk(entry, level + 1)
            else:
                page = reader.get_destination_page_number(entry)
                yield level, str(entry.title).strip(), page or 0

    return list(walk(reader.outline, 0))


def format_front_matter(entries: list[tuple[int, str, int]], edition: Edition) -> str:
    """Return title page and table of contents as HTML; page numbers count the body from 1."""
    title, _, subtitle = read_cff()["title"].partition("? ")
    cited = escape(format_citation(edition))
    lines = "".join(
        f'<li class="level-{level}"><a href="{_PAGE_URL}{page}">{escape(name)}</a>'
        f'<span class="dots"></span><span>{page + 1}</span></li>'
        for level, name, page in entries
        if level <= 1
    )
    return _format_page(
        f'<div class="front"><h1>{escape(title)}?</h1><p>{escape(subtitle)}</p>'
        f"<p>{escape(', '.join(list_authors()))}</p><p>{escape(edition.note)}, {edition.date}</p>"
        f"<p>Cite as: {cited}</p><p>Text and figures: CC BY 4.0. Code, which is left to the "
        "notebooks of the book, and the interface of its package: MIT License.</p>"
        f'<div class="contents"><h2>Contents</h2><ol>{lines}</ol></div></div>',
    )


def merge_front_matter(front: Path, body: Path, target: Path, edition: Edition) -> None:
    """Write the front matter and the body as one PDF, with links, page labels and metadata."""
    writer = PdfWriter(clone_from=body)
    pages = list(writer.pages)
    first = PdfReader(front).pages
    for number, page in enumerate(first):
        writer.insert_page(page, number)
    for page in writer.pages[: len(first)]:
        for annotation in page.get("/Annots", []):
            action = annotation.get_object().get("/A", {})
            if str(action.get("/URI", "")).startswith(_PAGE_URL):
                target_page = pages[int(action["/URI"].removeprefix(_PAGE_URL))].indirect_reference
                goal = ArrayObject([target_page, NameObject("/Fit")])
                jump = {NameObject("/S"): NameObject("/GoTo"), NameObject("/D"): goal}
                annotation.get_object()[NameObject("/A")] = DictionaryObject(jump)
    writer.set_page_label(0, len(first) - 1, style=PageLabelStyle.LOWERCASE_ROMAN)
    writer.set_page_label(len(first), len(writer.pages) - 1, style=PageLabelStyle.DECIMAL, start=1)
    day = edition.date.replace("-", "")
    dates = {"/CreationDate": f"D:{day}000000Z", "/ModDate": f"D:{day}000000Z"}
    named = {"/Title": read_cff()["title"], "/Author": ", ".join(list_authors())}
    writer.add_metadata({**named, **dates})
    writer.page_mode = "/UseOutlines"
    writer.write(target)


def print_book(page: Path, target: Path, edition: Edition) -> None:
    """Print the book to a PDF; a failed run does not change an existing file.

    `page`: output of the builder ``singlehtml``.
    """
    paper, body, front = (page.with_name(f"{n}") for n in ("paper.html", "body.pdf", "front.html"))
    paper.write_text(
        prepare_html(page.read_text(encoding="utf-8"), edition.address), encoding="utf-8"
    )
    print_page(paper, body)
    entries = read_outline(PdfReader(body))
    if not entries:
        raise RuntimeError("the printed book has no outline: a newer Chromium is needed (128)")
    front.write_text(format_front_matter(entries, edition), encoding="utf-8")
    print_page(front, front.with_suffix(".pdf"))
    bound = page.with_name(target.name)
    merge_front_matter(front.with_suffix(".pdf"), body, bound, edition)
    bound.replace(target)


_STYLE = Path(__file__).with_name("paper.css")
_HEADINGS = [f"h{level}" for level in range(1, 7)]


def read_papers() -> dict[str, dict[str, Any]]:
    """Return the entries of ``_papers.yml`` by file name without suffix."""
    named: dict[str, dict[str, Any]] = yaml.safe_load(
        (BOOK / "_papers.yml").read_text(encoding="utf-8")
    )
    return named


def extract_paper(html: str, paper: Mapping[str, Any], edition: Edition) -> str:
    """Return the HTML of a paper, ready to print.

    `html`: the book as one HTML page; `paper`: entry of ``_papers.yml`` with ``from``, ``until``,
    ``title``, ``without`` and, for more pages, ``then``, a list of ``from`` and ``until``. Raises
    ValueError if the book has no section with one of the labels.
    """
    soup = BeautifulSoup(html, "html.parser")
    page, *later = (
        _cut_section(soup, part["from"], part["until"]) for part in (paper, *paper.get("then", []))
    )
    for label in paper["without"]:
        for figure in page.find_all(id=label):
            (figure.find_parent("figure") or figure).decompose()
    heading = _shift_headings(page, 1)[0]
    for section in later:
        _shift_headings(section, 2)
        page.append(section)
    cited = _find_cited_works(soup, page)
    heading.replace_with(BeautifulSoup(_format_title(str(paper["title"]), edition), "html.parser"))
    page.append(BeautifulSoup(f"<h2>References</h2>{cited}", "html.parser"))
    style = f"<style>{_STYLE.read_text(encoding='utf-8')}</style>"
    alone = f"<html><head></head><body><article>{page}</article></body></html>"
    return prepare_html(alone, edition.address).replace("</head>", f"{style}</head>", 1)


def print_papers(page: Path, folder: Path, edition: Edition) -> list[Path]:
    """Print every paper and return the PDFs; a failed run does not change existing files.

    `page`: the book as one HTML page, in the folder of its images.
    """
    html = page.read_text(encoding="utf-8")
    printed = []
    for name, paper in read_papers().items():
        source = page.with_name(f"{name}.paper.html")
        source.write_text(extract_paper(html, paper, edition), encoding="utf-8")
        pdf = page.with_name(f"{name}.pdf")
        print_page(source, pdf)
        printed.append(pdf.replace(folder / pdf.name))
    return printed


def _find_section(soup: BeautifulSoup, label: str) -> Tag:
    """Return the section with a label."""
    target = soup.find(id=label)
    section = target.find_parent("section") if isinstance(target, Tag) else None
    if section is None:
        raise ValueError(f"the book has no section with the label {label!r}")
    return section


def _cut_section(soup: BeautifulSoup, label: str, until: str) -> Tag:
    """Return the section with a label, without its part from the label `until` on."""
    section, end = _find_section(soup, label), _find_section(soup, until)
    for part in [*end.find_next_siblings(), end]:
        part.decompose()
    return section


def _shift_headings(section: Tag, level: int) -> list[Tag]:
    """Give the first heading of a section a level, the others theirs below it; return them."""
    headings = list(section.find_all(_HEADINGS))
    shift = level - int(headings[0].name[1])
    for heading in headings:
        heading.name = f"h{int(heading.name[1]) + shift}"
    return headings


def _find_cited_works(soup: BeautifulSoup, page: Tag) -> str:
    """Return the HTML of the works that a page cites."""
    works = {str(work["id"]): work for work in soup.select("div.citation[id]")}
    keys = {str(link["href"]).partition("#")[2] for link in page.find_all("a", href=True)}
    cited = [work.find("p") for key, work in works.items() if key in keys]
    return "".join(map(str, filter(None, cited)))


def _format_title(title: str, edition: Edition) -> str:
    names = escape(", ".join(list_authors()))
    return (
        f'<div class="paper-head"><h1>{escape(title)}</h1><p>{names}</p>'
        f"<p>{escape(edition.note)}, {edition.date}. A chapter of: "
        f"{escape(format_citation(edition))} Numbers are those of the book.</p></div>"
        "<h2>Abstract</h2>"
    )
