"""What the book says in its own words agrees with the scorecard."""

import csv
import re

from scorecard.files import BOOK
from scorecard.prints import printed_rows

QUOTED = re.compile(r"""\{\{ (?P<kind>printed|computed|verdict)\(["'](?P<id>[\w.-]+)[^}]*\}\}""")
#: What a page finds, up to its first cell, figure or section.
FINDING = re.compile(
    r"^\*\*What we find\.\*\*.*?(?=^`{3,}\{(?:code-cell|repro-figure|repro-table)|^## )",
    re.MULTILINE | re.DOTALL,
)
#: Words that say more than the verdict of a row that is quoted in the same paragraph.
TOO_MUCH = {
    "not determined": r"impossible|cannot be|could not be|is wrong|is false|refuted|disproved",
    "does not hold": r"is confirmed|is reproduced",
    "differs": r"is confirmed|is reproduced|to every digit",
    "matches under": r"to every digit|to the last digit|is confirmed",
    "within the interval": r"to every digit|to the last digit",
}

#: Prints that are common numbers: a percentage, and a hash.
MEANS_SOMETHING_ELSE = {"100", "256"}


def paragraphs(text):
    """Split Markdown at blank lines, and at the items of its lists."""
    return [part for part in re.split(r"\n\s*\n|\n(?=[-*] )", text) if part.strip()]


def overstated(text, verdicts):
    """Yield what a paragraph says of a row that the row's verdict does not bear.

    A paragraph that prints the verdict itself, by its name, says all there is to say.
    """
    for part in paragraphs(text):
        told = {match["id"] for match in QUOTED.finditer(part) if match["kind"] == "verdict"}
        for id in {match["id"] for match in QUOTED.finditer(part)} - told:
            words = re.search(TOO_MUCH.get(verdicts[id], "(?!)"), part, re.IGNORECASE)
            if words:
                yield f"{id} is {verdicts[id]}, but the text says {words[0]!r}: {part[:160]}"


def claims_of_the_book():
    """Yield the texts that sum up: the front page, the guide, and what each page finds."""
    for path in (BOOK / "index.md", *sorted(BOOK.glob("guide/*.md"))):
        yield path, path.read_text(encoding="utf-8")
    for path in sorted(BOOK.glob("*/*.md")):
        for match in FINDING.finditer(path.read_text(encoding="utf-8")):
            yield path, match[0]


def test_summaries_are_found():
    texts = list(claims_of_the_book())
    pages = {path for path, _ in texts}
    assert {BOOK / "index.md", BOOK / "guide/reading.md"} <= pages
    assert len(texts) == len(pages) > 20
    quoted = {match["id"] for _, text in texts for match in QUOTED.finditer(text)}
    assert quoted <= set(printed_rows())
    assert len(quoted) > 3


def test_quotations_name_their_row():
    """A typed number would be read by no rule."""
    prints = {row.printed for row in printed_rows().values() if row.kind == "number"}
    telling = {n for n in prints if re.fullmatch(r"\d{3,}|\d+\.\d{2,}", n)} - MEANS_SOMETHING_ELSE
    assert {"285", "254.66"} <= telling
    typed = re.compile(rf"(?<![\d.])({'|'.join(map(re.escape, sorted(telling)))})(?!\d|\.\d)")
    said = [
        f"{path.name}: {match[0]}"
        for path, text in claims_of_the_book()
        for match in typed.finditer(QUOTED.sub("", text))
    ]
    assert said == []


def test_book_agrees_with_verdicts(site):
    with (site.html / "scorecard.csv").open(encoding="utf-8-sig", newline="") as file:
        verdicts = {row["id"]: row["verdict"] for row in csv.DictReader(file)}
    said = [
        f"{path.name}: {e}" for path, t in claims_of_the_book() for e in overstated(t, verdicts)
    ]
    assert said == []
