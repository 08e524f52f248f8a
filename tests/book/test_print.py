"""The printed book as a reader opens it: every verdict, an outline, no link to a file, few pages.

Printing takes many minutes, so that these tests read the PDF of the last `make pdf` (or release).
"""

import csv
import re
import unicodedata

import pytest
from pypdf import PdfReader

from scorecard.paths import BUILD
from scorecard.publishing.pdf.papers import papers
from scorecard.publishing.pdf.printing import outline

pytestmark = pytest.mark.slow
MOST_PAGES = 219


@pytest.fixture(scope="module")
def printed():
    path = BUILD / "book.pdf"
    if not path.exists():
        pytest.skip("there is no printed book: run 'make pdf' first")
    return PdfReader(path)


def test_the_printed_book_is_of_a_length_to_be_printed(printed):
    assert 100 < len(printed.pages) <= MOST_PAGES


def test_its_outline_leads_to_every_chapter_and_the_scorecard_stands_last(printed):
    chapters = [(title, page) for level, title, page in outline(printed) if level == 1]
    assert len(chapters) > 35
    assert [page for _, page in chapters] == sorted(page for _, page in chapters)
    assert chapters[-1][0] == "Scorecard"


def test_every_row_stands_in_it_with_its_verdict(printed):
    (first,) = [
        page for level, title, page in outline(printed) if (level, title) == (1, "Scorecard")
    ]
    text = "".join(page.extract_text() for page in printed.pages[first:])
    flat = re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))  # ligatures are letters again
    with (BUILD / "scorecard.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    at = 0
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        at = flat.find(row["id"], at)
        assert at >= 0, row["id"]
        end = flat.find(after["id"], at + len(row["id"])) if after else len(flat)
        assert row["verdict"].replace(" ", "") in flat[at:end], row["id"]


def test_no_link_in_it_leads_to_a_file_of_a_machine(printed):
    actions = [
        annotation.get_object().get("/A", {})
        for page in printed.pages
        for annotation in page.get("/Annots", [])
    ]
    addresses = [str(action["/URI"]) for action in actions if "/URI" in action]
    assert addresses
    assert [a for a in addresses if not a.startswith(("https://", "http://", "mailto:"))] == []


def test_each_paper_is_printed_on_four_to_six_pages():
    for name in papers():
        path = BUILD / f"{name}.pdf"
        if not path.exists():
            pytest.skip("there is no printed paper: run 'make pdf' first")
        assert 4 <= len(PdfReader(path).pages) <= 6, name
