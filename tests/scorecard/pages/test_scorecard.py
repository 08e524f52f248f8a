"""The scorecard: its tables, the code of a row, and one count wherever rows are counted."""

import itertools
import json
import re
from html import unescape

import pytest

from scorecard.collate import DATA, Collation, summarise
from scorecard.pages import scorecard
from scorecard.pages.scorecard import (
    TEMPLATES,
    _count_outputs,
    _explain_verdict,
    find_deciding_function,
    format_computed,
    read_predicate,
    source_path,
    write_sources,
)
from scorecard.prints import Document, Printed, documents, printed_rows
from scorecard.publishing.release import make_reports
from scorecard.publishing.site import _list_verdicts
from scorecard.record import DIGITS
from scorecard.verdicts import VERDICTS


@pytest.mark.parametrize(
    ("computed", "interval", "shown"),
    [
        ("260.3856", None, "260.3856"),
        ("260.3856", [259.99999, 260.5], "260.3856 (260.0000 to 260.5000)"),
        ("12345.6", [12345.1, 12346.2], "12345.6 (12345.1 to 12346.2)"),
        ("160", [155.4, 164.6], "160 (155 to 165)"),
        ("[95.520, 100.000]", [95.1, 100.0], "[95.520, 100.000] (95.100 to 100.000)"),
        ("1.23456e+08", [1.2e8, 1.3e8], "1.23456e+08 (1.2e+08 to 1.3e+08)"),
        ("", None, ""),
    ],
)
def test_interval_has_decimals_of_value(computed, interval, shown):
    assert format_computed({"computed": computed, "interval": interval}) == shown


@pytest.fixture
def tables(tmp_path, build_page, monkeypatch):
    """Build a page with all tables from the results of a small book, and return it as HTML."""
    odd = "a | b * c_d $e$ <i>f</i> [g](h) `i` {value}`j`"
    rows = {
        "X-1": Printed("X-1", "x", "section 1", "number", odd, None, ""),
        "X-2": Printed("X-2", "x", "section 2", "claim", "words", None, ""),
        "Y-1": Printed("Y-1", "y", "page 3", "claim", "other words", None, ""),
    }
    documents = {
        "x": Document("x", "The document", "the document", "key", 3),
        "y": Document("y", "The slides", "the slides", "key", 1),
    }
    verdict = {"interval": None, "reason": odd, "condition": "", "page": "part/page"}
    verdict |= {"basis": "computed", "proof": "", "assumes": ["choice one", "choice two"]}
    verdicts = {
        "X-1": verdict | {"verdict": "matches", "computed": "1.50", "interval": [1.0, 2.0]},
        "X-2": verdict | {"verdict": "does not hold", "computed": "", "basis": "judged"},
        "Y-1": verdict
        | {"verdict": "holds under", "condition": "n > 1", "computed": "", "page": "elsewhere"},
    }
    erratum = {"document": "x", "place": odd, "printed": "$|x|$", "corrected": "*two*"}
    erratum |= {
        "id": "E-1",
        "also": "X-1",
        "kind": "typo",
        "weight": "result",
        "consequence": "much",
    }
    run = {"seconds": 1.25, "cpu": 2.5, "given": {"rates": [1, 2], "law": "x_y"}}
    quick = {"seconds": {"page": 7.5}, "compilation": 3.0, "repeated": {"again": 1, "all": 2}}
    quick["bytes"] = {"results": 2_000_000, "pages": 3_456_789}
    full = {"seconds": {"page": 10}, "compilation": 0}
    builds = {"quick": quick, "full": full, "paper": {"repeated": {"again": 1, "all": 2}}}
    trial = {
        "profile": "quick", "seconds": "4.2", "compared": "3", "same": "2",
        "differs": "an exponential", "unavailable": "",
    }  # fmt: skip
    data = {
        "figures": {}, "runs": {"part/page": run}, "document": True, "profile": "paper",
        "verdicts": verdicts, "builds": builds, "trials": {"page": trial},
        "machine": {"processor": "a | b", "threads": "1"},
        "edition": {"version": "0.1", "commit": "abc_1", "citation": "The book (2026)."},
        "errata": [erratum | {"record": "X-2", "page": "part/page"}],
    }  # fmt: skip
    (tmp_path / "part").mkdir()
    names = ("verdicts", "scorecard", "coverage", "bases", "errata", "build-info")
    (tmp_path / "part/page.md").write_text(
        "# A page\n\nIt is {number}`254.66 <printed X-1>`.\n\n"
        + "".join(f"```{{{name}}}\n```\n\n" for name in names)
    )
    (tmp_path / DATA).write_text(json.dumps(data))
    monkeypatch.setattr(scorecard, "printed_rows", lambda: rows)
    monkeypatch.setattr(scorecard, "documents", lambda: documents)
    functions = {"X-1": "book.robots.robots_open:claims"}
    monkeypatch.setitem(
        TEMPLATES.globals, "deciding_function", lambda page, id: functions.get(id, "")
    )
    text = build_page("part/page")
    return (
        odd,
        text,
        {name: table(text, name) for name in re.findall(r'<table class="(book-\S+)', text)},
    )


def table(text, name):
    """Return the cells of a table, as text, and its HTML."""
    html = text[text.index(f'<table class="{name}') :]
    html = html[: html.index("</table>")]
    cells = [
        [
            unescape(re.sub(r"<[^>]+>", "", cell)).strip()
            for cell in re.findall(CELL, row, re.DOTALL)
        ]
        for row in html.split("<tr")[1:]
    ]
    return cells, html


CELL = r"<t[hd](?: [^>]*)?>(.*?)(?=</t[hdr]>|<t[hdr][ >]|</t(?:head|body|able)>|\Z)"


def test_page_tables_hold_results(tables):
    """In each cell, to the letter, whatever Markdown would make of it."""
    odd, text, found = tables
    typeset = odd.replace("$e$", r"\(e\)").replace("c_d", r"\(c_{d}\)")
    cells, html = found["book-verdicts"]
    assert cells == [
        ["Row", "Printed", "Computed", "Verdict, basis", "Where, why"],
        ["X-1", odd.replace("$e$", r"\(e\)"), "1.50 (1.00 to 2.00)",
         "matchescomputedcode · link · cite",
         f"the document, section 1{typeset}. Assumes: choice one; choice two"],
        ["X-2", "words", "", "does not holdjudgedlink · cite",
         f"the document, section 2{typeset}. Assumes: choice one; choice two"],
    ]  # fmt: skip
    assert 'id="row-X-1"' in html
    code = "code/book-robots-robots_open-claims.txt"
    assert f'<a href="../{code}">code</a>' in html
    assert 'class="verdict verdict-does-not-hold"' in html
    cells, html = found["book-scorecard"]
    assert [row[0] for row in cells] == ["Row", "the document", "X-1", "X-2", "the slides", "Y-1"]
    assert cells[3][1:] == [
        "does not hold", "choice one; choice two", "", "words", "section 2", "claim", typeset,
        "judged",
    ]  # fmt: skip
    assert cells[2][4] == odd.replace("$e$", r"\(e\)")
    assert cells[2][-2:] == ["number", typeset]  # the usual basis is not named
    assert '<a href="#mention-X-1">X-1</a>' in html
    assert '<a href="#row-X-1">1.50 (1.00 to 2.00)</a>' in html
    assert '<td><a href="#row-X-2">X-2</a><td class="verdict-differs">does' in html
    assert cells[5][2] == "n > 1"
    assert 'href="#row-Y-1"' not in html  # its page is not in this book
    choices = re.search(r'<div data-[^>]*data-verdict="([^"]*)"[^>]* id="scorecard-choices"', text)
    assert choices[1].split("|") == [name for name in VERDICTS if name != "missing"]
    assert [list(column) for column in zip(*found["book-coverage"][0], strict=True)][1:] == [
        ["The document", "2", "1", "0", "0", "1", *"0000", "0, 1 still to come", *"1001"],
        ["The slides", "1", "0", "1", *"0000000", *"1000"],
    ]
    assert found["book-turned"][0][1:] == [
        ["The document", "1", "0", "0", "0", "1", "0"],
        ["The slides", "1", "1", "0", "0", "0", "0"],
    ]
    cells, html = found["book-errata"]
    assert cells[1] == [
        f"the document, {odd}: typo", r"\(|x|\)", "two", "muchX-2 (does not hold), X-1",
    ]  # fmt: skip
    assert 'id="E-1"' in html
    assert "<em>two</em>" in html
    assert found["book-facts"][0][1:5] == [
        ["version", "0.1"], ["commit", "abc_1"], ["cite as", "The book (2026)."],
        ["profile", "paper"],
    ]  # fmt: skip
    facts = dict(found["book-facts"][0])
    assert (facts["processor"], facts["threads"]) == ("a | b", "1")
    assert f"{DIGITS} significant digits" in facts["tolerance"]
    assert found["book-compilation"][0][1:] == [
        ["quick", "8", "3", "40%", "2.0", "3.5", "1 of 2"],
        ["full", "10", "0", "0%", "", "", "not tried"],
    ]
    assert found["book-browser"][0][1:] == [
        ["part/page", "quick", "4.2", "2 of 3", "an exponential"],
    ]
    assert found["book-times"][0] == [
        [
            "Notebook",
            "Seconds",
            "CPU-seconds",
            "CPU-seconds, quick",
            "CPU-seconds, full",
            "Set by the profile",
        ],
        ["part/page", "1.2", "2.5", "7.5", "10", '{"rates": [1, 2], "law": "x_y"}'],
    ]


@pytest.mark.parametrize(
    ("reason", "assumes", "condition", "shown"),
    [
        ("a cause", [], "", "a cause"),
        ("a cause.", ["one", "two"], "", "a cause. Assumes: one; two"),
        ("", ["one"], "", "Assumes: one"),
        ("", [], "", ""),
        ("a cause", ["one"], "n > 1; one", "Under: n > 1; one. a cause"),
    ],
)
def test_condition_and_choices_stand_beside_the_reason(reason, assumes, condition, shown):
    assert _explain_verdict({"reason": reason, "assumes": assumes, "condition": condition}) == shown


@pytest.mark.parametrize(
    ("repository", "binder"),
    [("", False), ("https://a.example/us/book", False), ("https://github.com/us/my_book", True)],
)
def test_rerun_names_repository(repository, binder):
    text = TEMPLATES.get_template("sources-of-book.md").render(data={"repository": repository})
    assert ("archive of a release" in text) is (not repository)
    assert ("https://mybinder.org/v2/gh/us/my_book/HEAD?urlpath=lab/tree/" in text) is binder


# The code that decides a row


PAGE = """
def _numbers():
    def _row():
        return claim("X-inner", 1)
    return [_row(), claim("X-outer", 2)]

def claims() -> list[Claim]:
    return [*_numbers(), *(claim(f"X-{n}", n) for n in range(3))]

def draw(figure):
    return save_figure("X-1", figure)

def more() -> list[Claim]:
    return []
"""


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.setattr(scorecard, "ROOT", tmp_path)
    (tmp_path / "book/part").mkdir(parents=True)
    caches = (
        find_deciding_function,
        scorecard._index_constants,
        scorecard._list_functions,
        scorecard._parse,
    )
    for function in caches:
        function.cache_clear()
    yield tmp_path / "book/part"
    for function in caches:
        function.cache_clear()


@pytest.mark.parametrize(
    ("row", "function"), [("X-inner", "_row"), ("X-outer", "_numbers"), ("X-1", "claims")]
)
def test_innermost_function_naming_row(book, row, function):
    (book / "a_page.py").write_text(PAGE)
    assert find_deciding_function("part/a-page", row) == f"book.part.a_page:{function}"


def test_last_function_without_claims(book):
    (book / "a_page.py").write_text(PAGE.replace("def claims", "def rows"))
    assert find_deciding_function("part/a-page", "X-1") == "book.part.a_page:more"


def test_page_without_module(book):
    assert find_deciding_function("part/a-page", "X-1") == ""


def test_source_includes_constants():
    code = read_predicate("book.ephemeral.stochastic_index:_discounted")
    assert code.startswith("LATTICE_SLACK = 0.01\n")
    assert "def _discounted(results: Results)" in code
    assert 'shape["slope above the printed bound"] < LATTICE_SLACK' in code


def test_source_includes_imported_constants():
    code = read_predicate("book.ephemeral.model_and_index:_average")
    assert "ROUNDING = 1e-9" in code.partition("def ")[0]


def test_unknown_function_is_named():
    with pytest.raises(KeyError, match="nowhere"):
        read_predicate("book.robots.robots_open:nowhere")


def test_function_becomes_site_file(tmp_path):
    name = "book.robots.robots_open:claims"
    write_sources({name, ""}, tmp_path)
    (path,) = tmp_path.rglob("*.txt")
    assert path == tmp_path / source_path(name)
    assert read_predicate(name) in path.read_text(encoding="utf-8")


# One count: the scorecard as data, its coverage, its line in words, the replication reports


def test_row_lists_agree():
    in_turn = itertools.cycle(["matches", "holds under", "does not hold", "open", "used"])
    verdicts = {
        id: {
            "verdict": next(in_turn),
            "basis": "computed", "computed": "", "interval": None, "page": "a/page",
            "assumes": [], "condition": "", "reason": "",
        }
        for id, row in printed_rows().items()
    }  # fmt: skip
    found = Collation("paper", True, verdicts=verdicts)
    assert len(_list_verdicts(found)) == len(printed_rows())
    assert f"{len(printed_rows())} rows" in summarise(found)
    assert summarise(found).endswith("; 0 rows still to come")
    for report in make_reports(verdicts):
        key = report.document.key
        assert len(report.rows) == documents()[key].rows
        assert f"{documents()[key].rows} rows in all" in report.abstract
        found_here = _count_outputs({"verdicts": verdicts}, key)
        outputs = sum(sum(each.values()) for each in found_here.values())
        inputs = [row for row, said in report.rows if said["verdict"] == "used"]
        assert outputs + len(inputs) == documents()[key].rows
