"""The files beside the pages: what is in them, and that the same results give the same bytes."""

import codecs
import hashlib
import json
import zipfile

import pandas as pd
import pytest

from scorecard import save_value
from scorecard.collate import summarise
from scorecard.publishing import citation
from scorecard.publishing.site import SCORECARD, write_data
from scorecard.text import encode_csv
from tests.scorecard.test_collate import draw, gather, keep_data, published, record_all, tabulate
from tests.support import record

__all__ = ["published"]  # a fixture that every test uses


@pytest.fixture
def run(start_run):
    folder = start_run(notebook="part/first", parameters={"budget": 2})
    record_all()
    save_value("own-number", 2.0)
    draw()
    tabulate()
    keep_data()
    (folder / "notebook.ipynb").write_text("{}\n")
    return folder


def test_the_files_beside_the_pages(run, tmp_path):
    write_data(gather(run), tmp_path / "site")
    site = tmp_path / "site"
    scorecard = pd.read_csv(site / "scorecard.csv", dtype=str)
    columns = "id,document,place,kind,printed,computed,interval_low,interval_high,verdict,page"
    assert ",".join(scorecard.columns) == f"{columns},basis,assumes,condition,reason"
    assert list(scorecard["verdict"]) == ["matches", "does not hold"]
    errata = pd.read_csv(site / "errata.csv", dtype=str)
    columns = "id,document,place,printed,corrected,record,page,kind,weight,consequence,also"
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
    assert provenance["machine"]["threads"]
    (table,) = json.loads((site / "tables.json").read_text())
    assert table["permalink"] == "part/first.html#first-table"
    assert r"Table \texttt{first-table}" in (site / "tables/first-table.bib").read_text()
    (data,) = json.loads((site / "data.json").read_text())
    assert data["columns"] == [{"name": "x", "description": "a number"}]


def test_each_row_has_citation(run, tmp_path):
    write_data(gather(run), tmp_path / "site")
    entries = {path.stem: path.read_text() for path in (tmp_path / "site/rows").iterdir()}
    assert entries.keys() == {"X-1", "X-2"}
    assert entries["X-2"].startswith("@misc{row-X-2,")
    assert "section 2" in entries["X-2"]
    assert "does not hold; " in entries["X-2"]


def test_archive_has_all_data(run, tmp_path):
    site = tmp_path / "site"
    write_data(gather(run), site)
    with zipfile.ZipFile(site / "all-data.zip") as archive:
        members = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    assert {"scorecard.csv", "errata.csv", "manifest.json", "data/first-instances.csv"} <= {
        *members
    }
    assert all((site / name).read_bytes() == content for name, content in members.items())


def test_spreadsheets_know_encoding(tmp_path):
    """Only a file with letters beyond ASCII has a mark, and pandas leaves it out."""
    assert encode_csv("a,b\n1,2\n") == b"a,b\n1,2\n"
    (tmp_path / "odd.csv").write_bytes(encode_csv("name\n±3\n"))
    assert (tmp_path / "odd.csv").read_bytes().startswith(codecs.BOM_UTF8)
    assert list(pd.read_csv(tmp_path / "odd.csv")["name"]) == ["±3"]


def test_manifest_hashes_every_file(run, tmp_path):
    write_data(gather(run), tmp_path / "site")
    manifest = json.loads((tmp_path / "site/manifest.json").read_text())
    ends = ("svg", "pdf", "png", "csv", "narrow.svg", "dark.svg", "narrow.dark.svg")
    wanted = {f"figures/first-curve.{end}" for end in ends}
    wanted |= {"tables/first-table.csv", "data/first-instances.csv"}
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


def test_manifest_omits_commit_and_clock(run, tmp_path, monkeypatch):
    write_data(gather(run), tmp_path / "one")
    (run / "seconds.txt").write_text("77.0\n")
    monkeypatch.setattr(citation, "commit_name", lambda: "another commit")
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


def test_rerun_tables_have_header(start_run, tmp_path):
    folder = start_run(document=False)
    record_all()
    (folder / "notebook.ipynb").write_text("{}\n")
    found = gather(folder, document=False, complete=False)
    write_data(found, tmp_path / "site")
    text = (tmp_path / "site/scorecard.csv").read_text()
    assert text == ",".join(SCORECARD) + "\n"


def test_basis_and_assumptions_stand_in_the_table(start_run, tmp_path):
    folder = start_run()
    record("X-1", 1.5, assumes=("the start is zero", "time is whole"), alternatives=[1.5, 2])
    record("X-2", False, evidence="a case", basis="judged")
    (folder / "notebook.ipynb").write_text("{}\n")
    found = gather(folder)
    assert "1 judged by a person" in summarise(found)
    write_data(found, tmp_path / "site")
    table = pd.read_csv(tmp_path / "site/scorecard.csv", dtype=str, keep_default_na=False)
    assert list(table["verdict"]) == ["matches under", "does not hold"]
    assert list(table["basis"]) == ["computed", "judged"]
    assert list(table["assumes"]) == ["the start is zero; time is whole", ""]
