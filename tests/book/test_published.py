"""The printed values as data: ids, kinds, numbers, quotations, errata that refer to rows."""

import csv
import itertools
import re
import unicodedata
from collections import Counter

import pytest

from scorecard import prints
from scorecard.files import BOOK
from scorecard.prints import FOLDER, KINDS, documents, errata, printed_number, printed_rows
from scorecard.verdicts import NUMERIC, RecordError, _read_number, read_entries

ROW = ["id", "place", "kind", "printed", "unit", "unit_reason", "lost", "note"]
DIGITS = re.compile(r"[-+.,eE\s\[\]\d]+")
ERRATUM = [
    "id", "place", "printed", "corrected", "record", "also", "slip", "typo", "weight",
    "consequence",
]  # fmt: skip
OPTIONAL = ("also", "slip", "typo")


def content(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def files(folder):
    return [
        path
        for path in sorted(folder.glob("*.csv"))
        if path.stem not in ("documents", "no_erratum", "quotations")
    ]


def ends_of(row):
    return row.printed.strip("[]").split(",") if row.printed[0] == "[" else [row.printed]


def test_every_file_belongs_to_a_document():
    for path in (*files(FOLDER), *files(FOLDER / "errata")):
        assert path.stem in documents(), path.name


def test_ids_are_unique_over_all_documents():
    """Read by the csv module, not by the loader; an anchor does tell upper from lower case."""
    ids = Counter(row["id"] for path in files(FOLDER) for row in content(path))
    assert [id for id, count in ids.items() if count > 1] == []
    assert len(ids) == len(printed_rows())


@pytest.mark.parametrize("path", files(FOLDER), ids=lambda path: path.stem)
def test_every_row_is_complete(path):
    rows = content(path)
    assert rows
    for row in rows:
        assert list(row) == ROW, row
        assert all(isinstance(value, str) and value == value.strip() for value in row.values()), row
        assert all(row[name] for name in ("id", "place", "kind", "printed")), row
        assert row["kind"] in KINDS, row
        assert not row["unit"] or float(row["unit"]) > 0, row


def test_ids_are_valid_anchors():
    """Every row has the anchor `row-<id>` on the page that records it."""
    wrong = [id for id in printed_rows() if not re.fullmatch(r"[\w.-]+", id)]
    assert wrong == []


def test_printed_numbers_parse():
    """A print of digits must be a number or a range; words can only be context or missing."""
    for row in printed_rows().values():
        if row.kind in NUMERIC and DIGITS.fullmatch(row.printed):
            assert len(ends_of(row)) in (1, 2), row
            for end in ends_of(row):
                number, half = _read_number(row, end)
                assert half > 0, row
                assert abs(number) < float("inf"), row


def test_ranges_run_from_low_to_high():
    for row in printed_rows().values():
        if row.kind in NUMERIC and row.printed.startswith("["):
            low, high = (_read_number(row, end)[0] for end in ends_of(row))
            assert low <= high, row


def test_all_rows_have_entered():
    entered = Counter(row.document for row in printed_rows().values())
    assert len(entered) == 5
    assert entered == {key: document.rows for key, document in documents().items()}


def test_only_numbers_have_a_rounding_unit():
    for row in printed_rows().values():
        assert row.unit is None or row.kind in NUMERIC, row


@pytest.mark.parametrize("path", files(FOLDER / "errata"), ids=lambda path: path.stem)
def test_errata_refer_to_rows(path):
    for row in content(path):
        assert list(row) == ERRATUM, row
        assert all(row[name] for name in ERRATUM if name not in OPTIONAL), row
        for id in (row["record"], *row["also"].split()):
            assert printed_rows()[id].document == path.stem, row
        assert row["printed"] != row["corrected"], row


def test_slips_have_several_errata():
    slips = Counter(erratum.slip for erratum in errata().values() if erratum.slip)
    assert min(slips.values()) > 1


def test_slip_has_one_kind_and_weight():
    slips = {(e.slip, e.typo, e.weight) for e in errata().values() if e.slip}
    assert len(slips) == len({slip for slip, *_ in slips})


def test_errata_have_ids_of_their_own():
    ids = [row["id"] for path in files(FOLDER / "errata") for row in content(path)]
    assert sorted(ids) == sorted(errata())
    assert not set(ids) & set(printed_rows())


def test_every_document_is_in_the_bibliography():
    entries = (BOOK / "references.bib").read_text(encoding="utf-8")
    for document in documents().values():
        assert f"{{{document.citation}," in entries, document.key


def test_a_printed_number_for_tables():
    assert printed_number("A-r-25466") == 254.66
    with pytest.raises(KeyError):
        printed_number("A-r-nowhere")
    with pytest.raises(ValueError, match="string"):
        printed_number("A-r-fig1")


# The loader itself.

HEADER = "id,place,kind,printed,unit,unit_reason,lost,note\n"
ERRATA_HEADER = "id,place,printed,corrected,record,also,slip,typo,weight,consequence\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one document and no row; the loaders' caches are emptied around the test."""
    monkeypatch.setattr(prints, "FOLDER", tmp_path)
    (tmp_path / "documents.csv").write_text("key,title,short,citation,rows\nx,The X,x,ref,3\n")
    (tmp_path / "errata").mkdir()
    loaders = (documents, printed_rows, errata)
    for loader in loaders:
        loader.cache_clear()
    yield tmp_path
    for loader in loaders:
        loader.cache_clear()


def test_prints_are_verbatim(folder):
    text = 'a,Table 1,table-cell,1.00,,,,\nb,"1, 2",claim,NA,,,,"x, y"\nc,,number,160,10,around,,\n'
    (folder / "x.csv").write_text(HEADER + text)
    rows = printed_rows()
    assert rows["a"].printed == "1.00"
    assert (rows["b"].place, rows["b"].printed, rows["b"].note) == ("1, 2", "NA", "x, y")
    assert (rows["a"].unit, rows["c"].unit) == (None, 10.0)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("a,,number,1,,,,\na,,number,2,,,,\n", r"x\.csv: the id 'a' occurs twice"),
        ("a,,numbr,1,,,,\n", "a: kind must be one of .*, got numbr"),
        ("a,,number,1,ten,around,,\n", "ten"),
        ("a,,number,1,10,,,\n", "a: unit and unit_reason go together, got 10.0 and ''"),
        ("a,,number,1,,around,,\n", "a: unit and unit_reason go together, got None"),
        ("a,,claim,words,,,the picture,\n", "a: only a figure is lost, this is a claim"),
    ],
)
def test_malformed_rows_are_refused(folder, rows, said):
    (folder / "x.csv").write_text(HEADER + rows)
    with pytest.raises(ValueError, match=said):
        printed_rows()


def test_a_malformed_erratum_is_refused(folder):
    (folder / "x.csv").write_text(HEADER + "a,,number,1,,,,\n")
    (folder / "errata/x.csv").write_text(ERRATA_HEADER + "E,p,1,2,b,,,yes,result,none\n")
    with pytest.raises(ValueError, match="there is no row 'b'"):
        errata()
    (folder / "errata/x.csv").write_text(ERRATA_HEADER + "E,p,1,2,a,,,yes,result,none\n" * 2)
    errata.cache_clear()
    with pytest.raises(ValueError, match="E: the id occurs twice"):
        errata()


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("typo,result,none", "typo"),
        ("yes,grave,none", "weight"),
        (",result,", "E: consequence is missing"),
    ],
)
def test_errata_have_consequences(folder, last, said):
    (folder / "x.csv").write_text(HEADER + "a,,number,1,,,,\n")
    (folder / "errata/x.csv").write_text(f"{ERRATA_HEADER}E,p,1,2,a,,,{last}\n")
    with pytest.raises(ValueError, match=said):
        errata()


def test_words_are_no_printed_number(folder):
    (folder / "x.csv").write_text(HEADER + "a,,number,around 160,10,around,,\n")
    with pytest.raises(RecordError):
        _read_number(printed_rows()["a"], "around 160")


DEFINES = re.compile(r"\b(is|then) (defined|called|said to be)\b|\bone defines\b|^Set \$")


def judged_definitions(rows):
    """Return the rows that give a name to something and are not set in context as premises."""
    return [row.id for row in rows if DEFINES.search(row.printed) and row.kind != "premise"]


def test_definitions_are_premises():
    assert judged_definitions(printed_rows().values()) == []


@pytest.mark.parametrize("document", list(documents()))
def test_premises_are_context(document):
    premises = [row.id for row in printed_rows().values() if row.kind == "premise"]
    judged = [id for id, entry in read_entries(document).items() if "context" not in entry.words]
    assert not set(premises) & set(judged)


def test_places_are_ordered_and_spelt_alike():
    """So that the scorecard follows the document, and a filter finds a section."""
    for key in documents():
        places = [row.place for row in printed_rows().values() if row.document == key]
        groups = [place for place, _ in itertools.groupby(places)]
        bare = [place for place in groups if re.match(r"\d+(\.\d+)?($|,)", place)]
        assert bare == [], key
        if key.startswith("crawling"):
            assert len(groups) == len(set(groups)), key


# Rows in words quote their document: whole clauses, to the letter, with an ellipsis where they
# are shortened. `quotations.csv` holds the sentences that they are taken from. Marks, spaces and
# mathematics, which each text writes in its own way, are not compared.


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
