"""The printed book as a reader opens it: every verdict, an outline, no link to a file, few pages.

Printing takes many minutes, so that these tests read the PDF of the last `make pdf` (or release).
"""

import csv
import re
import unicodedata

import pytest
from pypdf import PdfReader

from scorecard.files import BUILD
from scorecard.publishing.pdf import read_outline, read_papers

pytestmark = pytest.mark.slow
MOST_PAGES = 219


@pytest.fixture(scope="module")
def printed():
    path = BUILD / "book.pdf"
    if not path.exists():
        pytest.skip("there is no printed book: run 'make pdf' first")
    return PdfReader(path)


def test_printed_book_has_printable_length(printed):
    assert 100 < len(printed.pages) <= MOST_PAGES


def test_outline_leads_to_chapters(printed):
    chapters = [(title, page) for level, title, page in read_outline(printed) if level == 1]
    assert len(chapters) > 35
    assert [page for _, page in chapters] == sorted(page for _, page in chapters)
    assert chapters[-1][0] == "Scorecard"


def test_printed_rows_have_verdicts(printed):
    (first,) = [
        page for level, title, page in read_outline(printed) if (level, title) == (1, "Scorecard")
    ]
    text = "".join(page.extract_text() for page in printed.pages[first:])
    flat = re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))  # ligatures are letters again
    with (BUILD / "scorecard.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    at = 0
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        at = flat.find(row["id"], at)
        assert at >= 0, row["id"]
        end = flat.find(after["id"], at + len(row["id"])) if after else len(flat)
        assert row["verdict"].replace(" ", "") in flat[at:end], row["id"]


def test_printed_links_name_no_machine(printed):
    actions = [
        annotation.get_object().get("/A", {})
        for page in printed.pages
        for annotation in page.get("/Annots", [])
    ]
    addresses = [str(action["/URI"]) for action in actions if "/URI" in action]
    assert addresses
    assert [a for a in addresses if not a.startswith(("https://", "http://", "mailto:"))] == []


def test_papers_have_four_to_six_pages():
    for name in read_papers():
        path = BUILD / f"{name}.pdf"
        if not path.exists():
            pytest.skip("there is no printed paper: run 'make pdf' first")
        assert 4 <= len(PdfReader(path).pages) <= 6, name
