"""The benchmark command: what it shows, keeps and refuses (never how long anything takes)."""

import csv
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from analysis.ephemeral.scheduler.measured import MEASURED
from benchmarks.scale import carry_over

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def command(monkeypatch):
    module = runpy.run_path(str(FOLDER / "__main__.py"))

    def run(ratios, *arguments):
        rows = [
            {
                "name": f"row {r}",
                "ours_s": 2e-3,
                "peer": "peer",
                "peer_s": 2e-3 * r,
                "ratio": r,
                "note": "",
            }
            for r in ratios
        ]
        fake = SimpleNamespace(rows=lambda: iter(rows))
        monkeypatch.setitem(module["main"].__globals__, "import_module", lambda name: fake)
        module["main"](list(arguments))

    return run


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_rows_are_shown_and_kept(command, tmp_path, capsys):
    path = tmp_path / "deep" / "rows.csv"
    command([4.0], "restarts", "--output", str(path))
    shown = capsys.readouterr().out.splitlines()[1]
    assert shown.split() == [
        "restarts",
        "2",
        "ms",
        "8",
        "ms",
        "4",
        "row",
        "4.0,",
        "against",
        "peer",
    ]
    (row,) = read(path)
    assert (row["benchmark"], row["ratio"]) == ("restarts", "4")
    assert int(row["cpus"]) >= 1
    assert not any("_s" in column for column in row)


def test_other_benchmarks_stay_in_the_file(command, tmp_path):
    path = tmp_path / "rows.csv"
    command([4.0, 5.0], "restarts", "--output", str(path))
    command([7.0], "scale", "--output", str(path))
    command([6.0], "restarts", "--output", str(path))
    assert [(row["benchmark"], row["ratio"]) for row in read(path)] == [
        ("restarts", "6"),
        ("scale", "7"),
    ]


def test_unknown_names_are_refused(command, capsys):
    with pytest.raises(SystemExit):
        command([], "nonsense")
    assert "there is no benchmark 'nonsense'; there are" in capsys.readouterr().err


def test_every_module_has_rows():
    for path in FOLDER.glob("[!_]*.py"):
        assert "def rows() ->" in path.read_text(encoding="utf-8"), path.name


def test_book_measures_ten_million_sources(tmp_path):
    """What `carry_over` would write into the book's benchmarks stands there."""
    kept, copy = MEASURED / "benchmarks.csv", tmp_path / "benchmarks.csv"
    copy.write_bytes(kept.read_bytes().replace(b",259,", b",297,"))
    assert copy.read_bytes() != kept.read_bytes()
    carry_over(benchmarks=copy)
    assert copy.read_bytes() == kept.read_bytes()


def test_help_comes_from_the_command_line():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"],
        cwd=FOLDER.parent,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "--output" in done.stdout
