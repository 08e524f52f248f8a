"""A new page's skeleton is right as it is written, and refused where it would overwrite."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scorecard import commands
from scorecard.paths import ROOT
from scorecard.skeleton import write_page

BUILT = shutil.ignore_patterns("_build", "__pycache__", "node_modules")


@pytest.fixture
def checkout(tmp_path):
    """A copy of what the skeleton reads and writes."""
    for folder in ("analysis", "scorecard", "book", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=BUILT)
    for name in ("pyproject.toml", "requirements.lock", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def run(checkout, *words):
    done = subprocess.run(words, cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.sampled
@pytest.mark.process
def test_new_page_runs(checkout):
    written = write_page("robots/my-page", checkout)
    bin = Path(sys.executable).parent
    code = [str(path) for path in written if path.suffix == ".py"]
    assert len(code) == 2
    run(checkout, bin / "ruff", "check", *code)
    run(checkout, bin / "ruff", "format", "--check", *code)
    run(checkout, bin / "lint-imports", "--no-cache")
    run(checkout, sys.executable, "-m", "pytest", "tests/book/robots/test_my_page.py")
    report = [sys.executable, "-m", "scorecard"]
    assert "page: " in run(checkout, *report, "run", "my-page", "--parameters", "draws=50")
    page = (checkout / "book/_build/runs").rglob("my-page.html")
    text = next(page).read_text(encoding="utf-8")
    assert "With 50 draws the mean is 0." in re.sub("<[^>]*>", "", text)
    assert "my-page-means" in text


def test_new_page_joins_contents(checkout):
    assert len(write_page("trace/my-page", checkout)) == 4
    lines = (checkout / "book/_toc.yml").read_text(encoding="utf-8").splitlines()
    place = lines.index("  - file: trace/my-page")
    assert lines[place - 1].startswith("  - file: trace/")
    assert not lines[place + 1].startswith("  - file: trace/")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "NAME must begin with one of"),
        ("my-page", "NAME must begin with one of"),
        ("nowhere/my-page", "got 'nowhere/my-page'"),
        ("robots/", "PAGE in lower-case words joined by hyphens"),
        ("robots/My page", "PAGE in lower-case words joined by hyphens"),
        ("robots/../x", "PAGE in lower-case words joined by hyphens"),
        ("robots/four-sources", "the book has a page 'four-sources': book/ephemeral/four"),
    ],
)
def test_wrong_name_is_refused(name, said, capsys):
    assert commands.main(["page", name]) == 1
    assert said in capsys.readouterr().err


def test_existing_file_is_kept(checkout):
    (checkout / "book/robots/my_page.py").write_text("precious = 1\n")
    with pytest.raises(ValueError, match=r"my_page\.py exists already"):
        write_page("robots/my-page", checkout)
    assert not (checkout / "book/robots/my-page.md").exists()
