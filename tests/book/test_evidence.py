"""No claim is a literal, and pages show the code that leads from model to result."""

import html
import re

from scorecard.pages.theme import only_records
from scorecard.paths import BOOK
from tests.book.sources import cells, literal_claims, page_modules, prose_of_claims

LEAST_SHARE = 0.95


def test_no_claim_is_a_literal():
    found = [
        f"{page}: {id}"
        for page, content in cells().items()
        for cell in content
        for id in literal_claims(cell)
    ]
    found += [
        f"{path.parent.name}/{path.stem}: {id}"
        for path in page_modules()
        for id in literal_claims(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_page_code_stands_in_html(site):
    """In the text of the built page, but for the cells that only record results."""
    short = {}
    for page, content in cells().items():
        text = html.unescape(re.sub(r"<[^>]+>", "", site.pages[f"{page}.html"].text))
        code = "\n".join(cell for cell in content if not only_records(cell))
        lines = [line for line in code.splitlines() if line.strip()]
        share = sum(line in text for line in lines) / len(lines)
        if share < LEAST_SHARE:
            short[page] = share
    assert short == {}


def words_in_python():
    """Return the modules of pages that answer rows in words, by their path in the book."""
    return {
        path.relative_to(BOOK).as_posix()
        for path in page_modules()
        if any(prose_of_claims(path.read_text(encoding="utf-8")))
    }


def test_words_of_verdicts_are_data():
    assert words_in_python() == set()
