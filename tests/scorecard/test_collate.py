"""What holds across notebooks: rows recorded once, ids used once, errata that stand."""

from dataclasses import replace

import pandas as pd
import pytest

from scorecard import collate as collating
from scorecard import record as recording
from scorecard import save_data, save_figure, save_table, save_value, verdicts
from scorecard.collate import CollationError, collate, summarise
from scorecard.prints import Document, Erratum, Printed
from scorecard.publishing import site
from tests.support import record

SLIPS = {"E-1": "X-1", "E-2": "X-2"}


@pytest.fixture(autouse=True)
def published(monkeypatch):
    """One document of three rows, two of which have entered, with an erratum on the second."""
    rows = {
        "X-1": Printed("X-1", "x", "section 1", "number", "1.5", None, ""),
        "X-2": Printed("X-2", "x", "section 2", "claim", "words", None, ""),
    }
    errata = {"E-2": Erratum("E-2", "x", "section 2", "words", "others", "X-2")}
    documents = {"x": Document("x", "The document", "the document", "key", 3)}
    for module in (collating, recording, verdicts, site):
        monkeypatch.setattr(module, "printed_rows", lambda: rows)
    monkeypatch.setattr(collating, "errata", lambda: errata)
    for module in (collating, site):
        monkeypatch.setattr(module, "documents", lambda: documents)
    monkeypatch.setattr(collating, "no_erratum", dict)


def record_all(number=1.5, holds=False):
    record("X-1", number)
    record("X-2", holds, evidence="a case")


def draw(id="first-curve"):
    save_figure(id, lambda figure: {"x": [0, 1], "y": [1, 0]}, "It falls.", "A falling line.")


def tabulate(id="first-table"):
    save_table(id, pd.DataFrame({"x": [0.5, 1 / 3]}), "Two numbers.")


def keep_data(id="first-instances"):
    save_data(id, pd.DataFrame({"x": [0.5, 1 / 3]}), "One row a number.", {"x": "a number"})


def gather(*folders, profile="paper", **options):
    return collate(list(folders), profile=profile, **options)


def test_every_row_is_judged(start_run):
    folder = start_run(notebook="part/first")
    record_all()
    found = gather(folder)
    assert {id: v["verdict"] for id, v in found.verdicts.items()} == {
        "X-1": "matches",
        "X-2": "does not hold",
    }
    assert found.verdicts["X-1"]["page"] == "part/first"
    assert found.runs["part/first"]["seconds"] == 1.0
    said = (
        "scorecard: 2 rows: 1 matches, 1 does not hold, 0 judged by a person; 1 rows still to come"
    )
    assert summarise(found) == said


def test_records_of_several_notebooks_make_one_scorecard(start_run):
    first = start_run("first", notebook="part/first")
    record("X-1", 1.5)
    second = start_run("second", notebook="part/second")
    record("X-2", False, evidence="a case")
    empty = start_run("empty", notebook="part/empty")
    found = gather(second, empty, first)
    assert {id: v["page"] for id, v in found.verdicts.items()} == {
        "X-1": "part/first",
        "X-2": "part/second",
    }


@pytest.mark.parametrize(
    ("leave", "said"),
    [
        (lambda: record("X-1", 1.5), "X-1"),
        (lambda: save_value("own-number", 1.0), "own-number"),
        (draw, "first-curve"),
        (tabulate, "first-table"),
        (keep_data, "first-instances"),
    ],
)
def test_shared_id_is_refused(start_run, leave, said):
    first = start_run("first", notebook="part/first")
    leave()
    second = start_run("second", notebook="part/second")
    leave()
    with pytest.raises(CollationError) as failed:
        gather(first, second, complete=False)
    assert said in str(failed.value)
    assert "part/first" in str(failed.value)
    assert "part/second" in str(failed.value)


def test_figures_tables_and_data_share_their_ids(start_run):
    first = start_run("first", notebook="part/first")
    draw("one-id")
    second = start_run("second", notebook="part/second")
    tabulate("one-id")
    with pytest.raises(CollationError, match="one-id is used in both part/first and part/second"):
        gather(first, second, complete=False)


def test_a_row_without_a_record_fails(start_run):
    folder = start_run()
    record("X-2", False, evidence="a case")
    with pytest.raises(CollationError, match="X-1: no notebook records this row"):
        gather(folder)


def test_unfit_record_is_refused(start_run):
    folder = start_run()
    record("X-1", 2.5, explained=2.0, because="another number", independent=2.5)
    record("X-2", False)
    with pytest.raises(CollationError) as failed:
        gather(folder)
    assert "X-1: the cause gives 2.0" in str(failed.value)
    assert "X-2: its verdict needs evidence" in str(failed.value)  # every problem is named


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"value": True, "evidence": "a proof"}, "holds"),
        ({"missing": "the law"}, "not determined"),
        ({"context": "motivation"}, "context"),
    ],
)
def test_erratum_needs_failing_verdict(start_run, fields, verdict):
    folder = start_run()
    record("X-1", 1.5)
    record("X-2", **fields)
    with pytest.raises(CollationError, match=f"erratum E-2: X-2 {verdict}, which shows no error"):
        gather(folder)


def test_one_slip_has_one_verdict(start_run, monkeypatch):
    errata = {id: Erratum(id, "x", "", "a", "b", row, (), "s for t") for id, row in SLIPS.items()}
    monkeypatch.setattr(collating, "errata", lambda: errata)
    folder = start_run()
    record_all(number=1.6)
    with pytest.raises(CollationError, match=r"'s for t' is .*'differs'.*'does not hold'"):
        gather(folder)
    errata["E-2"] = replace(errata["E-2"], slip="")
    assert gather(folder).verdicts["X-1"]["verdict"] == "differs"


def test_one_experiment_has_one_reading(start_run):
    folder = start_run()
    record("X-1", 1.5, experiment="the run", reading="states in units of u*")
    record("X-2", False, evidence="a case", experiment="the run", reading="raw states")
    said = r"'the run' is read as 'states in units of u\*' \(X-1\) and as 'raw states' \(X-2\)"
    with pytest.raises(CollationError, match=said):
        gather(folder)


def test_an_experiment_comes_with_its_reading():
    with pytest.raises(ValueError, match="experiment and reading go together"):
        record("X-1", 1.5, experiment="the run")


def test_a_correction_quotes_computed_numbers(start_run, monkeypatch):
    text = "{{ computed('X-1', '.1f') }} and {{ pages.first.own_number | fmt('.3f') }}"
    erratum = Erratum("E-1", "x", "section 1", "1.5", text, "X-1", ("X-2",))
    monkeypatch.setattr(collating, "errata", lambda: {"E-1": erratum})
    folder = start_run(notebook="part/first")
    record_all(number=2.25)
    with pytest.raises(CollationError, match="E-1: it quotes what no notebook saves"):
        gather(folder)
    (row,) = collating.list_errata(gather(folder, complete=False))
    assert row["corrected"] == "(see the book)"
    save_value("first-own-number", 1 / 3)
    (row,) = collating.list_errata(gather(folder))
    assert row["corrected"] == "2.2 and 0.333"


def test_failed_row_needs_erratum(start_run, monkeypatch):
    without = {}
    monkeypatch.setattr(collating, "errata", dict)
    monkeypatch.setattr(collating, "no_erratum", lambda: without)
    folder = start_run()
    record_all()
    with pytest.raises(CollationError, match="X-2 does not hold and has no erratum"):
        gather(folder)
    assert gather(folder, profile="quick").verdicts["X-2"]["verdict"] == "does not hold"
    without["X-2"] = "an opinion"
    assert gather(folder).verdicts["X-2"]["verdict"] == "does not hold"
    without["X-1"] = "it matches"
    with pytest.raises(CollationError, match=r"no_erratum\.csv: X-1 has an erratum, or does not"):
        gather(folder)


def test_errata_are_ordered(start_run, monkeypatch):
    typos = {
        "E-1": (True, "notation"),
        "E-2": (True, "result"),
        "E-3": (False, "argument"),
        "E-4": (False, "result"),
    }
    errata = {
        id: Erratum(id, "x", "", "a", "b", "X-2", (), "", typo, weight, "much")
        for id, (typo, weight) in typos.items()
    }
    monkeypatch.setattr(collating, "errata", lambda: errata)
    folder = start_run()
    record_all()
    rows = collating.list_errata(gather(folder))
    assert [row["id"] for row in rows] == ["E-4", "E-2", "E-3", "E-1"]


def test_rerun_feeds_no_scorecard(start_run):
    folder = start_run(document=False)
    record_all()  # even where a notebook forgets to ask whose parameters it has
    found = gather(folder, document=False, complete=False)
    assert found.verdicts == {}


def test_notebook_judges_own_rows(start_run):
    folder = start_run()
    record("X-1", 1.5)
    assert list(gather(folder, complete=False).verdicts) == ["X-1"]


@pytest.mark.parametrize("kind", ["theorem", "proposition", "lemma", "corollary"])
def test_proof_names_theorem(start_run, monkeypatch, tmp_path, kind):
    (tmp_path / "part").mkdir()
    page = tmp_path / "part/page.md"
    page.write_text(f"```{{prf:{kind}}} Its title\n:label: the-theorem\n\nWords.\n```\n")
    monkeypatch.setattr(collating, "BOOK", tmp_path)
    folder = start_run()
    record("X-1", 1.5)
    record("X-2", False, evidence="a case", proof="the-theorem")
    assert gather(folder).verdicts["X-2"]["proof"] == "the-theorem"
    page.write_text("```{prf:proof}\n:label: the-theorem\n```\n(the-theorem)=\n")
    with pytest.raises(CollationError, match="X-2: it is proved by 'the-theorem', which no page"):
        gather(folder)
