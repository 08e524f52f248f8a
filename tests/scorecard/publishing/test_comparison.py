"""What differs between two builds is found, with its cause."""

import json

import pandas as pd
import pytest

from scorecard.commands import main
from scorecard.publishing.comparison import compare_sites, summarise_changes
from scorecard.publishing.site import ERRATA, SCORECARD


def row(id, **cells):
    return (
        dict.fromkeys(SCORECARD, "") | {"id": id, "page": "part/page", "verdict": "holds"} | cells
    )


def write_site(folder, rows, *, files=None, records=None, errata=(), **origin):
    (folder / "figures").mkdir(parents=True)
    pd.DataFrame(rows, columns=SCORECARD).to_csv(folder / "scorecard.csv", index=False)
    pd.DataFrame(list(errata), columns=ERRATA).to_csv(folder / "errata.csv", index=False)
    manifest = {"files": files or {}, "records": records or {}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    origin = {"parameters": {"seed": 1}, "versions": {"numpy": "2.0"}, "commit": "a"} | origin
    figure = {"id": "first-curve", "notebook": "part/page", **origin}
    (folder / "figures/first-curve.json").write_text(json.dumps(figure))
    return folder


def test_the_same_site_differs_in_nothing(tmp_path):
    site = write_site(tmp_path / "one", [row("X-1")])
    found = compare_sites(site, site)
    assert found.empty
    assert summarise_changes(found) == "no difference"


def test_differences_are_listed(tmp_path):
    old = write_site(tmp_path / "old", [row("X-1", computed="1.0"), row("X-2")])
    changed = [row("X-1", computed="1.1"), row("X-2", verdict="holds under", condition="n > 1")]
    new = write_site(tmp_path / "new", changed, commit="b")
    found = compare_sites(old, new)
    assert found[["id", "column", "old", "new"]].to_numpy().tolist() == [
        ["X-1", "computed", "1.0", "1.1"],
        ["X-2", "verdict", "holds", "holds under"],
        ["X-2", "condition", "", "n > 1"],
    ]
    assert set(found["cause"]) == {"code: a -> b"}
    assert "X-2: holds -> holds under (code: a -> b)" in summarise_changes(found)


@pytest.mark.parametrize(
    ("origin", "cause"),
    [
        ({"parameters": {"seed": 2}}, "random seed: 1 -> 2"),
        ({"parameters": {"seed": 1, "runs": 5}}, "parameter runs: None -> 5"),
        ({"versions": {"numpy": "2.1"}}, "library numpy: 2.0 -> 2.1"),
        ({}, "not in the provenance"),
    ],
)
def test_the_cause_is_read_off_the_provenance(tmp_path, origin, cause):
    old = write_site(tmp_path / "old", [row("X-1", computed="1.0")])
    new = write_site(tmp_path / "new", [row("X-1", computed="2.0")], **origin)
    assert compare_sites(old, new)["cause"].tolist() == [cause]


def test_one_sided_rows_are_listed(tmp_path):
    files = {"figures/first-curve.svg": "0" * 64, "scorecard.csv": "1"}
    old = write_site(tmp_path / "old", [row("X-1")], files=files)
    other = {"figures/first-curve.svg": "f" * 64, "scorecard.csv": "2"}
    new = write_site(tmp_path / "new", [row("X-2")], files=other, records={"own-number": "9"})
    found = compare_sites(old, new)
    assert found[["what", "id", "old", "new"]].to_numpy().tolist() == [
        ["row", "X-2", "", "holds"],
        ["row", "X-1", "holds", ""],
        ["file", "figures/first-curve.svg", "0" * 12, "f" * 12],
        ["record", "own-number", "", "9"],
    ]
    assert found["page"].tolist()[2] == "part/page"


def test_foreign_folder_is_refused(tmp_path, capsys):
    site = write_site(tmp_path / "one", [row("X-1")])
    with pytest.raises(ValueError, match="old"):
        compare_sites(tmp_path, site)
    assert main(["diff", str(site), str(tmp_path / "two")]) == 1
    assert "new must be a site" in capsys.readouterr().err


def test_diff_prints_summary(tmp_path, capsys):
    old = write_site(tmp_path / "old", [row("X-1", computed="1.0")])
    new = write_site(tmp_path / "new", [row("X-1", computed="2.0")], commit="b")
    kept = tmp_path / "differences.csv"
    assert main(["diff", str(old), str(new), "--csv", str(kept)]) == 0
    assert "1 row: computed" in capsys.readouterr().out
    assert pd.read_csv(kept)["cause"].tolist() == ["code: a -> b"]
