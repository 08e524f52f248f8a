"""What a site holds for its panels: the code, and which pages a browser cannot run, and why."""

import zipfile

from scorecard.browser import bundle, imports, runtime
from scorecard.paths import BOOK
from scorecard.running.notebooks import all_notebooks

CANNOT = {"crawler": "connections", "listing": "connections"}


def test_pages_that_cannot_run_say_why():
    trials = bundle.read_trials()
    assert {name for name, row in trials.items() if row["unavailable"]} == CANNOT.keys()
    for name, reason in CANNOT.items():
        assert reason in trials[name]["unavailable"]


def test_every_listed_page_has_seconds_or_a_reason():
    trials = bundle.read_trials()
    assert trials.keys() <= all_notebooks().keys()  # a new page has no row yet
    measured = ("profile", "seconds", "compared", "same", "differs")
    for row in trials.values():
        if row["unavailable"]:
            assert not any(row[column] for column in measured)
        else:
            assert row["profile"] == "quick"
            assert float(row["seconds"]) > 0


def test_differing_bytes_have_a_reason():
    for row in bundle.read_trials().values():
        assert bool(row["compared"]) == bool(row["same"])
        assert int(row["same"] or 0) <= int(row["compared"] or 0)
        assert bool(row["differs"]) == (row["same"] != row["compared"])


def test_code_has_its_import_graph(tmp_path):
    digests = {bundle.write_code(tmp_path / name) for name in ("one.zip", "two.zip")}
    assert len(digests) == 1
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        names = archive.namelist()
    assert {imports.FILE, "scorecard/browser/imports.py"} <= {*names}
    assert "analysis/learning/losses.csv" in names


def test_policy_stands_in_about():
    text = (BOOK / "back/about.md").read_text(encoding="utf-8")
    assert f"\n{runtime.make_policy()}\n" in text
    for directive in runtime.make_policy().split("; "):
        for allowed in directive.split()[1:]:
            assert f"`{allowed}`" in text, allowed
