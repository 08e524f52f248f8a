"""One notebook with a reader's own parameters and sources: a page, figures and data of its own."""

import csv
import json

import pandas as pd
import pytest

from analysis.report import __main__ as command

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
    monkeypatch.setattr(command, "build_folder", lambda profile: site.build)

    def run(*arguments):
        assert command.main(["run", "four-sources", *arguments]) == 0
        said = dict(
            line.split(": ", 1) for line in capsys.readouterr().out.splitlines() if ": " in line
        )
        page = command.Path(said["page"]).resolve()
        assert page.is_relative_to(site.build / "runs")
        return read_page(page)

    return run


def words(page):
    text = page.path.read_text(encoding="utf-8")
    return text[text.index("<article") : text.index("</article>")]


def test_a_rerun_shows_the_readers_sources_and_nothing_of_the_documents(rerun, site, tmp_path):
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


def test_a_run_with_the_documents_parameters_has_its_verdicts(rerun):
    page = rerun()
    text = words(page)
    assert "A rerun with parameters of your own" not in text
    assert "this page was run with others" not in text
    assert 'class="book-verdicts' in text
    assert "row-A-r-17979" in page.ids
    assert "has to wait a whole period" in text
