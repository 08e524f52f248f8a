"""What holds across notebooks: rows recorded once, ids used once, errata that stand."""

import hashlib
import json
import subprocess
from dataclasses import replace

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from analysis.published import Document, Erratum, Printed
from analysis.report import collate as collating
from analysis.report import record, records, save_figure, save_value
from analysis.report.collate import CollationError, bibtex, collate, summary, write_data

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
    for module in (collating, records):
        monkeypatch.setattr(module, "printed_rows", lambda: rows)
    monkeypatch.setattr(collating, "errata", lambda: errata)
    monkeypatch.setattr(collating, "documents", lambda: documents)


def record_all(number=1.5, holds=False):
    record("X-1", number)
    record("X-2", holds, evidence="a case")


def draw(id="first-curve"):
    fig, axis = plt.subplots()
    axis.plot([0, 1], [1, 0])
    save_figure(id, fig, {"x": [0, 1], "y": [1, 0]}, "It falls.", "A falling line.")


def gather(*folders, **options):
    return collate(list(folders), profile="paper", **options)


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
    assert summary(found) == said


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
    ],
)
def test_what_two_notebooks_leave_under_one_id_fails(start_run, leave, said):
    first = start_run("first", notebook="part/first")
    leave()
    second = start_run("second", notebook="part/second")
    leave()
    with pytest.raises(CollationError) as failed:
        gather(first, second, complete=False)
    assert said in str(failed.value)
    assert "part/first" in str(failed.value)
    assert "part/second" in str(failed.value)


def test_a_row_without_a_record_fails(start_run):
    folder = start_run()
    record("X-2", False, evidence="a case")
    with pytest.raises(CollationError, match="X-1: no notebook records this row"):
        gather(folder)


def test_a_record_that_cannot_stand_for_its_row_fails(start_run):
    folder = start_run()
    record("X-1", 2.5, explained=2.0, because="a cause that gives another number")
    record("X-2", False)
    with pytest.raises(CollationError) as failed:
        gather(folder)
    assert "X-1: the cause gives 2.0" in str(failed.value)
    assert "X-2: its verdict needs evidence" in str(failed.value)  # every problem is named


def test_a_number_that_differs_does_not_fail_but_shows(start_run):
    folder = start_run()
    record_all(number=1.6)
    assert gather(folder).verdicts["X-1"]["verdict"] == "differs"


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"value": True, "evidence": "a proof"}, "holds"),
        ({"missing": "the law"}, "not determined"),
        ({"context": "motivation"}, "context"),
    ],
)
def test_an_erratum_stands_on_a_verdict_that_shows_an_error(start_run, fields, verdict):
    folder = start_run()
    record("X-1", 1.5)
    record("X-2", **fields)
    with pytest.raises(CollationError, match=f"erratum E-2: .* X-2 is '{verdict}'"):
        gather(folder)


def test_one_slip_has_one_verdict(start_run, monkeypatch):
    errata = {id: Erratum(id, "x", "", "a", "b", row, "s for t") for id, row in SLIPS.items()}
    monkeypatch.setattr(collating, "errata", lambda: errata)
    folder = start_run()
    record_all(number=1.6)
    with pytest.raises(CollationError, match=r"'s for t' is .*'differs'.*'does not hold'"):
        gather(folder)
    errata["E-2"] = replace(errata["E-2"], slip="")
    assert gather(folder).verdicts["X-1"]["verdict"] == "differs"


def test_a_correction_quotes_computed_numbers(start_run, monkeypatch):
    text = "{computed}`X-1:.1f` and {value}`own-number:.3f`, {value}`own-count:d`"
    erratum = Erratum("E-1", "x", "section 1", "1.5", text, "X-1")
    monkeypatch.setattr(collating, "errata", lambda: {"E-1": erratum})
    folder = start_run()
    record_all(number=2.25)
    with pytest.raises(CollationError, match=r"E-1: it quotes \{value\}`own-number:.3f`"):
        gather(folder)
    (row,) = collating.errata_rows(gather(folder, complete=False))
    assert row["corrected"] == "2.2 and (see the book), (see the book)"
    save_value("own-number", 1 / 3)
    save_value("own-count", 7)
    (row,) = collating.errata_rows(gather(folder))
    assert row["corrected"] == "2.2 and 0.333, 7"


def test_errata_stand_by_weight_and_then_by_kind(start_run, monkeypatch):
    kinds = {
        "E-1": ("typo", "notation"),
        "E-2": ("typo", "result"),
        "E-3": ("false", "argument"),
        "E-4": ("false", "result"),
    }
    errata = {
        id: Erratum(id, "x", "", "a", "b", "X-2", "", kind, weight, "much")
        for id, (kind, weight) in kinds.items()
    }
    monkeypatch.setattr(collating, "errata", lambda: errata)
    folder = start_run()
    record_all()
    rows = collating.errata_rows(gather(folder))
    assert [row["id"] for row in rows] == ["E-4", "E-2", "E-3", "E-1"]


def test_a_rerun_with_other_parameters_feeds_no_scorecard(start_run):
    folder = start_run(document=False)
    record_all()  # even where a notebook forgets to ask whose parameters it has
    found = gather(folder, document=False, complete=False)
    assert found.verdicts == {}


def test_one_notebook_alone_judges_its_own_rows_only(start_run):
    folder = start_run()
    record("X-1", 1.5)
    assert list(gather(folder, complete=False).verdicts) == ["X-1"]


@pytest.mark.parametrize("kind", ["theorem", "proposition", "lemma", "corollary"])
def test_a_proof_is_a_theorem_of_the_book(start_run, monkeypatch, tmp_path, kind):
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


def test_basis_and_assumptions_stand_in_the_table(start_run, tmp_path):
    folder = start_run()
    record("X-1", 1.5, assumes=("the start is zero", "time is whole"), alternatives=[1.5, 2])
    record("X-2", False, evidence="a case", basis="judged")
    (folder / "notebook.ipynb").write_text("{}\n")
    found = gather(folder)
    assert "1 judged by a person" in summary(found)
    write_data(found, tmp_path / "site")
    table = pd.read_csv(tmp_path / "site/scorecard.csv", dtype=str, keep_default_na=False)
    assert list(table["verdict"]) == ["matches under", "does not hold"]
    assert list(table["basis"]) == ["computed", "judged"]
    assert list(table["assumes"]) == ["the start is zero; time is whole", ""]


# The files beside the pages.


@pytest.fixture
def run(start_run):
    folder = start_run(notebook="part/first", parameters={"budget": 2})
    record_all()
    save_value("own-number", 2.0)
    draw()
    (folder / "notebook.ipynb").write_text("{}\n")
    return folder


def test_the_files_beside_the_pages(run, tmp_path):
    write_data(gather(run), tmp_path / "site")
    site = tmp_path / "site"
    scorecard = pd.read_csv(site / "scorecard.csv", dtype=str)
    columns = "id,document,place,kind,printed,computed,interval_low,interval_high,verdict,page"
    assert ",".join(scorecard.columns) == f"{columns},basis,assumes"
    assert list(scorecard["verdict"]) == ["matches", "does not hold"]
    errata = pd.read_csv(site / "errata.csv", dtype=str)
    columns = "id,document,place,printed,corrected,record,page,kind,weight,consequence"
    assert ",".join(errata.columns) == columns
    assert list(errata["page"]) == ["part/first"]
    (figure,) = json.loads((site / "figures.json").read_text())
    assert figure["id"] == "first-curve"
    assert (site / "notebooks/first.ipynb").exists()
    provenance = json.loads((site / "figures/first-curve.json").read_text())
    assert provenance["parameters"] == {"budget": 2}
    assert provenance["commit"]
    assert provenance["profile"] == "paper"
    assert "first-curve" in (site / "figures/first-curve.bib").read_text()


def test_the_manifest_has_the_hash_of_every_figure_datum_and_record(run, tmp_path):
    write_data(gather(run), tmp_path / "site")
    manifest = json.loads((tmp_path / "site/manifest.json").read_text())
    ends = ("svg", "pdf", "png", "csv", "narrow.svg", "dark.svg", "narrow.dark.svg")
    wanted = {f"figures/first-curve.{end}" for end in ends}
    assert set(manifest["files"]) == wanted | {"scorecard.csv", "errata.csv"}
    for name, digest in manifest["files"].items():
        content = (tmp_path / "site" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
    assert {"X-1", "X-2", "own-number"} <= set(manifest["records"])


def test_the_same_results_give_the_same_bytes(run, tmp_path):
    for name in ("one", "two"):
        write_data(gather(run), tmp_path / name)
    one = {p.name: p.read_bytes() for p in (tmp_path / "one").rglob("*") if p.is_file()}
    two = {p.name: p.read_bytes() for p in (tmp_path / "two").rglob("*") if p.is_file()}
    assert one == two


def test_the_manifest_says_nothing_of_commit_and_clock(run, tmp_path, monkeypatch):
    write_data(gather(run), tmp_path / "one")
    (run / "seconds.txt").write_text("77.0\n")
    monkeypatch.setattr(collating, "commit_name", lambda: "another commit")
    write_data(gather(run), tmp_path / "two")
    one, two = (tmp_path / name / "manifest.json" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_another_record_changes_the_manifest(start_run, tmp_path):
    found = []
    for name, number in (("a", 1.5), ("b", 1.500001)):
        folder = start_run(name)
        record_all(number=number)
        (folder / "notebook.ipynb").write_text("{}\n")
        write_data(gather(folder), tmp_path / f"site-{name}")
        manifest = json.loads((tmp_path / f"site-{name}/manifest.json").read_text())
        found.append(manifest["records"])
    assert found[0]["X-1"] != found[1]["X-1"]
    assert found[0]["X-2"] == found[1]["X-2"]


def test_a_citation_names_figure_page_and_commit():
    entry = bibtex({"id": "first-curve", "notebook": "part/first"}, "abc123")
    assert entry.startswith("@misc{first-curve,")
    assert "part/first" in entry
    assert "abc123" in entry
    assert entry.count("{") == entry.count("}")


def test_a_rerun_is_cited_by_its_own_page_and_parameters():
    """In characters that LaTeX takes."""
    figure = {
        "id": "first-curve",
        "notebook": "part/first",
        "parameters": {"initial_state": "50%", "costs": [1, 2]},
    }
    entry = bibtex(figure, "abc123", document=False)
    assert r"\url{first.html#first-curve}" in entry
    assert "part/first" not in entry
    assert r"initial\_state = 50\%, costs = [1, 2]" in entry
    evil = bibtex(figure | {"parameters": {"law": "\\input{x}~^"}}, "abc123", document=False)
    assert r"law = \textbackslash{}input\{x\}\textasciitilde{}\textasciicircum{}" in evil


def test_a_permalink_follows_the_base_address(tmp_path, monkeypatch):
    figure = {"id": "first-curve", "notebook": "part/first"}
    monkeypatch.setattr(collating, "BOOK", tmp_path)
    for base, link in [
        ("", "part/first.html#first-curve"),
        ("https://a.example/book/", "https://a.example/book/part/first.html#first-curve"),
    ]:
        (tmp_path / "_config.yml").write_text(f"html: {{baseurl: '{base}'}}\n")
        assert collating.permalink(figure) == link


def test_a_rerun_leaves_tables_with_a_header_and_no_rows(start_run, tmp_path):
    folder = start_run(document=False)
    record_all()
    (folder / "notebook.ipynb").write_text("{}\n")
    found = gather(folder, document=False, complete=False)
    write_data(found, tmp_path / "site")
    text = (tmp_path / "site/scorecard.csv").read_text()
    assert text == ",".join(collating.SCORECARD) + "\n"


def test_without_git_the_commit_is_said_to_be_unknown(monkeypatch, tmp_path):
    monkeypatch.setattr(collating, "ROOT", tmp_path)
    assert "unknown" in collating.commit_name()


def test_a_changed_tree_is_said_to_be_changed(monkeypatch, tmp_path):
    monkeypatch.setattr(collating, "ROOT", tmp_path)
    identity = ["-c", "user.name=n", "-c", "user.email=e"]
    (tmp_path / "file").write_text("1")
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    clean = collating.commit_name()
    (tmp_path / "file").write_text("2")
    assert collating.commit_name() == f"{clean} (with uncommitted changes)"
