"""What a claim takes, what a notebook may record, and how it is kept."""

import json
import sys

import numpy as np
import pytest

from scorecard import Claim, claim, is_document_run, save_value
from scorecard.record import VARIABLE, run_facts
from tests.support import record

ROW, OTHER = "A-r-17979", "A-r-25466"


def kept(folder):
    content = json.loads((folder / "record.json").read_text())
    return content | {"claims": {claim["id"]: claim for claim in content["claims"]}}


def test_numpy_values_become_numbers(start_run):
    folder = start_run(notebook="ephemeral/four-sources")
    draws = np.arange(10.0)
    record(
        ROW,
        draws.mean(),
        interval=np.percentile(draws, [2.5, 97.5]),
        replications=np.int64(draws.size),
    )
    record(OTHER, np.array([1.0, 2.0]), interval=np.eye(2).cumsum(axis=1), replications=3)
    save_value("own-number", np.float64(2.5))
    save_value("own-truth", np.bool_(True))
    content = kept(folder)
    assert content["claims"][ROW]["value"] == 4.5
    assert content["claims"][ROW]["replications"] == 10
    assert content["claims"][ROW]["interval"] == pytest.approx([0.225, 8.775])
    assert content["claims"][OTHER]["value"] == [1.0, 2.0]
    assert content["claims"][OTHER]["interval"] == [[1.0, 1.0], [0.0, 1.0]]
    assert content["values"]["own-number"]["value"] == 2.5
    assert content["values"]["own-truth"]["value"] is True


def test_same_records_give_same_bytes(start_run):
    page = "ephemeral/four-sources"
    first = start_run("first", notebook=page)
    record(ROW, 1.5)
    record(OTHER, 0.1 + 0.2)
    second = start_run("second", notebook=page)
    record(ROW, 1.5)
    record(OTHER, 0.1 + 0.2)
    assert (first / "record.json").read_bytes() == (second / "record.json").read_bytes()


def test_unknown_row_is_refused(start_run):
    start_run()
    with pytest.raises(ValueError, match="A-r-nowhere"):
        record("A-r-nowhere", 1.0)


def test_a_row_is_recorded_once(start_run):
    folder = start_run()
    record(ROW, 1.0)
    with pytest.raises(ValueError, match="recorded before"):
        record(ROW, 2.0)
    assert kept(folder)["claims"][ROW]["value"] == 1.0
    save_value("own-number", 1.0)
    with pytest.raises(ValueError, match="saved before"):
        save_value("own-number", 2.0)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.nan, [1.0, np.inf], "1.0", 1j])
def test_only_finite_numbers_are_values(start_run, value):
    folder = start_run()
    with pytest.raises(ValueError, match=ROW):
        record(ROW, value)
    with pytest.raises(ValueError, match="own-number"):
        save_value("own-number", value)
    with pytest.raises(ValueError, match="own-number"):
        save_value("own-number", None)
    assert not (folder / "record.json").exists()


def test_numbers_in_words_may_be_infinite():
    words = claim(ROW, False, numbers={"half": np.inf, "near": np.nan}).numbers
    assert words == {"half": "inf", "near": "nan"}


def test_interval_and_replications_go_together(start_run):
    start_run()
    for fields in ({"interval": (1.0, 2.0)}, {"replications": 10}):
        with pytest.raises(ValueError, match="replications"):
            record(ROW, 1.5, **fields)
        with pytest.raises(ValueError, match="replications"):
            save_value("own-number", 1.5, **fields)


@pytest.mark.parametrize("replications", [0, -1, 1.5, True])
def test_replications_are_counted(start_run, replications):
    start_run()
    with pytest.raises(ValueError, match="replications"):
        record(ROW, 1.5, interval=(1.0, 2.0), replications=replications)
    record(ROW, 1.5, interval=(1.0, 2.0), replications=1)


@pytest.mark.parametrize(
    "interval", [(2.0, 1.0), (1.0,), (1.0, 2.0, 3.0), [(1.0, 2.0), (4.0, 3.0)], (np.nan, 1.0)]
)
def test_an_interval_is_low_then_high(start_run, interval):
    start_run()
    with pytest.raises(ValueError, match=ROW):
        record(ROW, 1.5, interval=interval, replications=10)


def test_cell_may_run_twice(start_run, monkeypatch, tmp_path):
    start_run()
    monkeypatch.delenv(VARIABLE)
    monkeypatch.chdir(tmp_path)
    run_facts.cache_clear()
    record(ROW, 1.0)
    record(ROW, 2.0)
    assert kept(tmp_path / "_output")["claims"][ROW]["value"] == 2.0
    assert is_document_run()
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "DOCUMENTS_PARAMETERS", {"budget": 1}, raising=False)
    for budget in (2, 1):
        monkeypatch.setattr(main, "budget", budget, raising=False)
        assert is_document_run() is (budget == 1)


@pytest.mark.parametrize("document", [True, False])
def test_notebook_knows_document_parameters(start_run, document):
    start_run(document=document)
    assert is_document_run() is document


@pytest.mark.parametrize(
    ("fields", "basis"),
    [
        ({"value": 1.5}, "computed"),
        ({"figure": "states"}, "computed"),
        ({"value": True, "evidence": "words"}, "computed"),
        ({"value": True, "proof": "the-theorem"}, "proved"),
        ({"value": True, "basis": "judged"}, "judged"),
        ({"context": "motivation"}, "context"),
        ({"missing": "the law"}, ""),
        ({"value": 1.5, "missing": "the law"}, "computed"),
    ],
)
def test_basis_follows_from_fields(fields, basis):
    assert Claim("X-1", **fields).basis == basis


@pytest.mark.parametrize(
    "fields",
    [
        {"value": True, "basis": "believed"},
        {"value": True, "basis": "proved"},
        {"value": True, "basis": "judged", "proof": "the-theorem"},
        {"value": True, "basis": "context"},
        {"basis": "computed", "context": "words"},
    ],
)
def test_contradicting_basis_is_refused(fields):
    with pytest.raises(ValueError, match="X-1: basis"):
        Claim("X-1", **fields)


@pytest.mark.parametrize("assumes", ["a sentence", ("",), (1,)])
def test_choices_are_sentences(assumes):
    with pytest.raises(ValueError, match="X-1: assumes must be a tuple of sentences"):
        Claim("X-1", 1.0, assumes=assumes)


def test_alternatives_are_alternatives_to_something():
    with pytest.raises(ValueError, match="X-1: alternatives need the choices"):
        Claim("X-1", 1.0, alternatives=[1.0])


def test_numpy_values_become_plain_ones():
    claim = Claim(
        "X-1", np.float64(1 / 3), explained=np.float64(2 / 3), assumes=["a"], alternatives=np.eye(1)
    )
    assert (claim.value, claim.explained) == (0.333333333, 0.666666667)
    assert (claim.assumes, claim.alternatives) == (("a",), ([1.0],))
    assert isinstance(Claim("X-1", np.bool_(True)).value, bool)
