"""The benchmark command: what it shows, keeps and refuses (never how long anything takes)."""

import subprocess
import sys
from pathlib import Path

from analysis.ephemeral.scheduler import MEASURED
from benchmarks.scale import carry_over

FOLDER = Path(__file__).parents[1] / "benchmarks"


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
