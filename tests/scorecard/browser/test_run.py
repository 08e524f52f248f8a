"""The Python of the worker: requests, refusals, and what differs from the published page."""

import hashlib
import json

import pytest

from scorecard import saving
from scorecard.browser import run
from scorecard.browser.run import (
    CellFailed,
    answer,
    calibrate,
    check_parameters,
    describe_tables,
    find_sentences,
)
from scorecard.fill import Text

SAVE = """from scorecard import save_table, save_value
import pandas as pd
save_value('small-sum', size + 0.5)
sums = pd.DataFrame({'size': [1, 2], 'sum': [1.5, size + 0.5]})
save_table('small-sums', sums, 'Sums.')"""
TEXT = """# Small sums

The sum is {{ v.sum | fmt('.1f') }}. {% if v.sum > 3 %}It is more than three.{% endif %}

{% if document %}
These are the documents' own {{ v.sum | fmt }}, as {ref}`the first page <first>` has them.
{% endif %}
"""
TABLE = "size,sum\n1,1.5\n2,2.5\n"
PAGE = {
    "page": "part/small",
    "name": "small",
    "text": TEXT,
    "elsewhere": {"values": {}, "computed": {}, "verdicts": {}},
    "cells": [
        {"id": "a", "source": "size: int = 2", "tags": ["parameters"]},
        {"id": "b", "source": SAVE, "tags": []},
    ],
    "parameters": [
        {"name": "size", "type": "int", "default": 2, "unit": "none", "allowed": "[1, 9]",
         "description": "a number"},
        {"name": "part", "type": "int", "default": 1, "unit": "none", "allowed": "[1, size]",
         "description": "a number"},
    ],
    "relations": [{"text": "2 * part <= size + 2", "reason": "room"}],
    "documents": {"size": 2, "part": 1},
    "sentences": sorted(
        find_sentences(
            Text({"part/small": {"small-sum": {"value": 2.5}}}, document=True), TEXT, "part/small"
        )
    ),
}  # fmt: skip


def hash_entry(value):
    entry = {"value": value, "interval": None, "replications": None, "page": "part/small"}
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()


PUBLISHED = {
    "parameters": {"size": 2, "part": 1},
    "hashes": {
        "small-sum": hash_entry(2.5),
        "tables/small-sums.csv": hashlib.sha256(TABLE.encode()).hexdigest(),
    },
    "files": {"tables/small-sums.csv": TABLE},
    "values": {"small-sum": 2.5},
    "verdicts": {},
}


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Return a function that runs the page with some changes and returns the answer."""
    monkeypatch.setattr(run, "FOLDER", tmp_path / "run")
    monkeypatch.setattr(run, "INBOX", tmp_path)
    monkeypatch.setattr(saving, "FORMATS", saving.FORMATS)
    monkeypatch.setattr(saving, "VARIANTS", dict(saving.VARIANTS))
    monkeypatch.setenv(run.record.VARIABLE, str(tmp_path))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)

    def answered(page=PAGE, policy="", edited=False, **given):
        steps = []
        request = {
            "page": page,
            "given": {"size": "2", "part": "1", **given},
            "files": [],
            "policy": policy,
            "edited": edited,
            "variants": ["svg"],
            "profiles": {"paper": PUBLISHED},
        }
        result = json.loads(answer(json.dumps(request), lambda *step: steps.append(step)))
        return result | {"steps": steps}

    yield answered
    run._forget_run()


def test_documents_parameters_give_same_bytes(ask):
    result = ask()
    assert result["profile"] == "paper"
    assert result["comparison"] | {"differences": []} == {
        "all": 2, "same": 2, "judged": 0, "verdicts": 0, "differences": [], "largest": None,
    }  # fmt: skip
    assert result["comparison"]["differences"] == []
    assert result["filled"] == {"small-sum:.1f": "2.5", "small-sum": "2.5"}
    assert result["sentences"] == []
    assert result["steps"] == [["a", 0, 2], ["b", 1, 2]] or len(result["steps"]) == 2


def test_other_parameters_stand_beside_published(ask):
    result = ask(size="3")
    assert result["profile"] is None
    (difference,) = result["comparison"]["differences"]
    assert difference == {
        "id": "small-sum", "published": "2.5", "here": "3.5 (+1)", "relative": 1 / 3.5,
    }  # fmt: skip
    assert result["filled"] == {"small-sum:.1f": "3.5"}
    assert result["sentences"] == ["It is more than three."]


def test_differing_file_is_named_with_its_cell(ask):
    cells = [PAGE["cells"][0], PAGE["cells"][1] | {"source": SAVE.replace("[1.5,", "[1.75,")}]
    comparison = ask(PAGE | {"cells": cells})["comparison"]
    assert comparison["differences"] == [
        {
            "id": "tables/small-sums.csv",
            "published": "column 'sum', row 1: 1.5",
            "here": "1.75 (+0.25)",
            "relative": 0.1,
        }
    ]
    assert comparison["largest"] == 0.1  # 0.25 of 2.5, the largest of its column


def test_words_that_differ_have_no_size(ask):
    cells = [PAGE["cells"][0], PAGE["cells"][1] | {"source": SAVE.replace("[1.5,", "['x',")}]
    comparison = ask(PAGE | {"cells": cells})["comparison"]
    assert len(comparison["differences"]) == 1
    assert comparison["largest"] is None


@pytest.mark.parametrize(
    ("published", "here", "said"),
    [
        ("a,b\n1,2\n", "a,c\n1,2\n", ("columns a, b", "columns a, c", None)),
        ("a\n1\n", "a\n1\n2\n", ("1 row", "2 rows", None)),
        ("a\n1\n", "a\r\n1\r\n", ("the same cells", "the same cells, in other bytes", 0.0)),
        (
            "a,b\n1,1000\n2,1000\n",
            "a,b\n1.5,1001\n2,1000\n",
            (
                "column 'a', row 1: 1",
                "1.5 (+0.5); the largest of 2 differences, in 2 of 2 columns",
                0.25,
            ),
        ),
        (
            "a,b\n1,x\n2,\n",
            "a,b\n9,x\n2,y\n",
            (
                "column 'b', row 2: ",
                "y; the largest of 2 differences, in 2 of 2 columns",
                None,
            ),
        ),
        ("a\n1\n", "a\nnan\n", ("column 'a', row 1: 1", "nan", None)),
        ("", "a\n", ("columns ", "columns a", None)),
    ],
)
def test_largest_difference_of_tables(published, here, said):
    assert tuple(describe_tables(published, here).values()) == said


def test_sentences_do_not_depend_on_numbers():
    def keys(value):
        texts = Text({"part/small": {"small-sum": {"value": value}}}, document=True)
        return find_sentences(texts, TEXT, "part/small")

    assert keys(1).keys() == keys(2).keys() < keys(4).keys()
    assert "These are the documents' own 2, as the first page has them." in keys(2).values()


def test_calibration_takes_time():
    assert calibrate() > 0


@pytest.mark.parametrize(
    ("given", "name"),
    [({"size": "10"}, "size"), ({"size": "x"}, "size"), ({"part": "3"}, "part"),
     ({"size": "2", "part": "2"}, ""), ({"size": "9", "part": "9"}, "part")],
)  # fmt: skip
def test_wrong_values_are_refused_by_name(ask, given, name):
    refused = ask(**given).get("refused")
    assert (refused or {"parameter": ""})["parameter"] == name


def test_failing_cell_is_named_with_its_line(ask):
    with pytest.raises(CellFailed, match="your own policy, line 2: ZeroDivisionError"):
        ask(policy="x = 0\n1 / x")


def test_policy_cell_shows_its_last_line(ask):
    assert ask(policy="size + 40")["shown"] == "42"


def test_edited_cells_are_no_published_run(ask):
    cells = [PAGE["cells"][0], PAGE["cells"][1] | {"source": PAGE["cells"][1]["source"] + "\n1"}]
    assert ask(PAGE | {"cells": cells}, edited=True)["profile"] is None


def test_large_file_is_refused(monkeypatch):
    monkeypatch.setattr(run, "LARGEST_FILE", 10)
    page = PAGE | {
        "parameters": [
            {"name": "sources", "type": "str", "default": "", "unit": "path", "allowed": "any",
             "description": "a file"}
        ]
    }  # fmt: skip
    with pytest.raises(ValueError, match="sources"):
        check_parameters(page, {}, {"sources": b"x" * 11})
