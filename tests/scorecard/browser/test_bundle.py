"""What a site holds for its panels: the code, and which pages a browser cannot run, and why."""

import zipfile

from scorecard.browser import bundle, imports, runtime
from scorecard.paths import BOOK
from scorecard.running.notebooks import all_notebooks

#: Pages that nobody has timed in a browser yet: fewer each time.
NOT_TIMED = {
    "arena",
    "at-scale",
    "how-good",
    "lagrangian-index",
    "learning-corrected",
    "publications",
}
CANNOT = {"crawler": "connections", "listing": "connections"}


def test_pages_that_cannot_run_say_why():
    reasons = {name: bundle.find_unavailable(name) for name in all_notebooks()}
    assert {name for name, reason in reasons.items() if reason} == CANNOT.keys()
    for name, reason in CANNOT.items():
        assert reason in reasons[name]


def test_every_page_has_seconds_or_a_reason():
    trials = bundle.read_trials()
    assert sorted(row["page"] for row in trials) == sorted(all_notebooks())
    found = {
        row["page"]: [
            row[column] for column in ("seconds", "at_least", "unavailable") if row[column]
        ]
        for row in trials
    }
    assert {page for page, facts in found.items() if not facts} == NOT_TIMED
    assert all(len(facts) < 2 for facts in found.values())
    for row in trials:
        assert row["profile"] == ("" if row["unavailable"] else "quick")
        assert all(float(row[column] or 1) > 0 for column in ("seconds", "at_least"))


def test_code_has_its_import_graph(tmp_path):
    digests = {bundle.write_code(tmp_path / name) for name in ("one.zip", "two.zip")}
    assert len(digests) == 1
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        names = archive.namelist()
    assert {imports.FILE, "scorecard/browser/imports.py"} <= {*names}
    assert "analysis/learning/regret/losses.csv" in names


def test_policy_stands_in_about():
    text = (BOOK / "back/about.md").read_text(encoding="utf-8")
    assert f"\n{runtime.make_policy()}\n" in text
    for directive in runtime.make_policy().split("; "):
        for allowed in directive.split()[1:]:
            assert f"`{allowed}`" in text, allowed
