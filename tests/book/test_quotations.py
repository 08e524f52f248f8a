"""Rows in words quote their document: whole clauses, to the letter, with an ellipsis where they
are shortened.

`quotations.csv` holds the sentences that they are taken from. Marks, spaces and mathematics, which
each text writes in its own way, are not compared.
"""

import csv
import re
import unicodedata

import pytest

from scorecard.prints import FOLDER, printed_rows

MATHS = re.compile(r"\$[^$]*\$|\b[A-Za-z]\^[*\w{}]+|π_N")
#: What may stand before and after a clause.
BEFORE = re.compile(r"[-,;:.(!–\"‘“]\s*$|^\W*$", re.ASCII)
AFTER = re.compile(r"^\W*[-,;:.)!–\"’”$]|^\W*$", re.ASCII)
#: Rows in words without a quotation: a figure's labels, lists of premises, numbers of references.
IN_OTHER_WORDS = {"C-model", "D-assump", "D-xref"}


def sentences():
    with (FOLDER / "quotations.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["sentence"] for row in csv.DictReader(file, strict=True)}


def letters(text):
    """Return the letters and digits of a text in lower case, each with its place."""
    found = []
    for place, mark in enumerate(text):
        plain = unicodedata.normalize("NFKC", mark).lower()
        found += [(one, place) for one in plain if re.fullmatch("[a-z0-9]", one)]
    return "".join(one for one, _ in found), [place for _, place in found]


def faults(printed, sentence):
    """Say what is wrong with a quotation: words that are not there, or a clause that is cut."""
    text, places = letters(sentence)
    said, begin = [], 0
    for number, part in enumerate(printed.split("…")):
        segments = [letters(segment)[0] for segment in MATHS.split(part)]
        segments = [segment for segment in segments if segment]
        for place, segment in enumerate(segments):
            start = text.find(segment, begin)
            if start < 0:
                return [*said, f"not in the document: {segment}"]
            begin = start + len(segment)
            opens = place == 0 and number == 0 and letters(MATHS.split(part)[0])[0]
            closes = place == len(segments) - 1 and number == printed.count("…")
            closes = closes and letters(MATHS.split(part)[-1])[0]
            if opens and not BEFORE.search(sentence[: places[start]]):
                said.append(f"begins within a clause: {segment}")
            if closes and not AFTER.search(sentence[places[begin - 1] + 1 :]):
                said.append(f"ends within a clause: {segment}")
    return said


@pytest.mark.parametrize("id", sentences())
def test_a_row_quotes_whole_clauses(id):
    assert faults(printed_rows()[id].printed, sentences()[id]) == []


def test_claims_quote_the_document():
    words = {
        id
        for id, row in printed_rows().items()
        if row.kind in ("claim", "premise", "future") and "$" not in row.printed
    }
    assert words - sentences().keys() == IN_OTHER_WORDS
