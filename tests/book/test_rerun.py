"""One notebook with a reader's own parameters and sources: a page, figures and data of its own."""

import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest

from scorecard import commands
from scorecard.files import ROOT
from tests.support import read_notebooks

pytestmark = pytest.mark.book
MY_SOURCES = """name,arrival_rate,mean_utility,decay_rate
news,100,1.0,0.9
blog,20,0.5,0.2
wiki,5,0.9,0.01
forum,50,0.1,0.5
shop,10,0.4,0.3
"""


@pytest.fixture
def rerun(site, read_page, monkeypatch, capsys):
    """Run one notebook beside the quick book, where an unchanged result is reused."""
    monkeypatch.setattr(commands, "build_folder", lambda profile: site.build)

    def run(*arguments, notebook="four-sources"):
        assert commands.main(["run", notebook, *arguments]) == 0
        said = dict(
            line.split(": ", 1) for line in capsys.readouterr().out.splitlines() if ": " in line
        )
        page = commands.Path(said["page"]).resolve()
        assert page.is_relative_to(site.build / "runs")
        return read_page(page)

    return run


def words(page):
    text = page.path.read_text(encoding="utf-8")
    return text[text.index("<article") : text.index("</article>")]


@pytest.mark.sampled
def test_rerun_shows_own_sources_only(rerun, site, tmp_path):
    before = (site.html / "manifest.json").read_bytes()
    (tmp_path / "my.csv").write_text(MY_SOURCES)
    page = rerun("--parameters", "budget=5 horizon=50", "--sources", str(tmp_path / "my.csv"))
    text = words(page)
    assert "A rerun with parameters of your own: budget = 5, horizon = 50" in text
    assert "forum" in text
    # Neither the sentences that are true of the document's parameters only, nor its verdicts.
    assert "has to wait a whole period" not in text
    assert 'class="book-verdicts' not in text
    assert "verdict-" not in text
    assert 'class="problematic"' not in text
    folder = page.path.parent
    data = pd.read_csv(folder / "figures/four-sources-states.csv")
    assert len(data) == 50
    assert any("forum" in column for column in data.columns)
    provenance = json.loads((folder / "figures/four-sources-states.json").read_text())
    assert provenance["parameters"]["budget"] == 5
    with (folder / "scorecard.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == []
    entry = (folder / "figures/four-sources-states.bib").read_text()
    assert "budget = 5" in entry
    # The book itself is as it was.
    assert (site.html / "manifest.json").read_bytes() == before


@pytest.mark.sampled
def test_own_file_is_hashed_and_shipped(rerun, tmp_path):
    """The page links it, citations name it, and the notebook runs in a folder with it."""
    mine = tmp_path / "my-feeds.csv"
    mine.write_text(MY_SOURCES)
    page = rerun("--parameters", "budget=5 horizon=50", "--sources", str(mine))
    digest = hashlib.sha256(mine.read_bytes()).hexdigest()
    text = words(page)
    assert "sources = my-feeds.csv" in text
    assert digest in text
    folder = page.path.parent
    (link,) = {a["href"] for a in page.all("a") if "my-feeds" in a.get("href", "")}
    assert (folder / link).read_bytes() == mine.read_bytes()
    for suffix in ("bib", "json"):
        said = (folder / f"figures/four-sources-states.{suffix}").read_text()
        assert "my-feeds.csv" in said
        assert digest in said
    alone = tmp_path / "elsewhere"
    alone.mkdir()
    shutil.unpack_archive(folder / "notebooks/four-sources.zip", alone)
    without = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "BOOK_RUN_DIR"}}
    command = [sys.executable, "-m", "jupyter", "execute", "--timeout=300", "four-sources.ipynb"]
    done = subprocess.run(command, cwd=alone, env=without, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "forum" in (alone / "_output/figures/four-sources-states.csv").read_text()


@pytest.mark.sampled
def test_document_parameters_keep_verdicts(rerun):
    page = rerun()
    text = words(page)
    assert "A rerun with parameters of your own" not in text
    assert "this page was run with others" not in text
    assert 'class="book-verdicts' in text
    assert "row-A-r-17979" in page.ids
    assert "has to wait a whole period" in text


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("notebook", "parameters", "data"),
    [
        ("four-sources", "horizon=20", "figures/four-sources-states.csv"),
        (
            "stochastic-arrivals",
            "horizon=300 curve_horizon=200 replications=2 variations=[1,40]",
            "figures/stochastic-arrivals-states.csv",
        ),
        ("timetable", "budget=2", "tables/timetable-entries.csv"),
    ],
)
def test_source_names_are_text(rerun, tmp_path, notebook, parameters, data):
    """On every page that shows names: no script, no mathematics, no link, no number of the book."""
    sources = pd.read_csv(ROOT / "tests/scorecard/odd-names.csv").head(6)
    sources["mean_utility"] = [1.0, 0.08, 0.7, 0.2, 0.05, 0.04]
    sources["decay_rate"] = [0.7, 0.21, 0.35, 0.7, 0.7, 0.7]
    sources.to_csv(tmp_path / "my.csv", index=False)
    mine = str(tmp_path / "my.csv")
    page = rerun("--parameters", parameters, "--sources", mine, notebook=notebook)
    text = words(page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script>alert" not in page.path.read_text(encoding="utf-8")
    assert "x^2" in text
    assert not [link for link in page.all("a") if "a.example" in link.get("href", "")]
    assert not re.search(r'class="math[^>]*>(\\\(x\^2\\\)|[^<]*frac\{\$)', text)
    assert 'class="problematic"' not in text
    saved = pd.read_csv(page.path.parent / data).astype(str)
    assert any(str(sources.name[0]) in text for text in (*saved.columns, *saved.iloc[:, 0]))


def test_odd_names_on_every_page():
    """A new page that reads names of sources belongs into the list above."""
    shows = {
        n.name
        for n in read_notebooks().values()
        if "sources" in n.parameters and ".names" in code(n)
    }
    assert shows == {"four-sources", "stochastic-arrivals", "timetable"}


def code(notebook):
    return "\n".join(cell.source for cell in notebook.content.cells if cell.cell_type == "code")
