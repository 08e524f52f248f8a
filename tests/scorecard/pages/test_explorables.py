"""The place of an explorable on its page, and the scripts that come with it alone."""

import json
import re

import pytest
from bs4 import BeautifulSoup

from scorecard.collate import DATA
from tests.scorecard.build import EVIL

PLACE = """# A page

```{explorable} explore-it
:figure: page-still
:values: page-rates
:data: page-still
:columns: way loss
:printed: A-r-25466
```
"""
STILL = "id,way,loss\n1,first,0.123456789012\n2,%s,\n"


@pytest.fixture
def stage(tmp_path):
    """Results of one page, and scripts that show in which order they are loaded."""
    data = {
        "figures": {"page-still": {}},
        "values": {"page-rates": {"value": [1.5, 2.0]}, "page-one": {"value": 1.5}},
        "runs": {"part/page": {"parameters": {"budget": 1}, "given": {}}},
        "document": True,
        "profile": "paper",
    }
    (tmp_path / DATA).write_text(json.dumps(data))
    (tmp_path / "_site/figures").mkdir(parents=True)
    (tmp_path / "_site/figures/page-still.csv").write_text(STILL % EVIL)
    (tmp_path / "explorables").mkdir()
    for name in ("views-a.js", "views-b.js", "plot.js", "math.js", "frame.js", "explorables.css"):
        (tmp_path / "explorables" / name).write_text("")
    (tmp_path / "explorables/views-a.js").write_text('book.define("explore-it", () => ({}));')
    return tmp_path


def render(stage, build_page, text=PLACE):
    (stage / "page.md").write_text(text)
    return build_page()


def test_explorable_has_data(stage, build_page):
    text = render(stage, build_page)
    found = re.search(r'<div class="explorable"([^>]*)><script type="[^"]*">(.*?)</script>', text)
    assert 'data-explorable="explore-it"' in found[1]
    assert 'data-figure="page-still"' in found[1]
    assert "hidden" in found[1]
    assert EVIL not in found[2]
    assert json.loads(found[2]) == {
        "parameters": {"budget": 1},
        "values": {"page-rates": [1.5, 2.0]},
        "rows": {"way": ["first", EVIL], "loss": [0.12345679, None]},
        "printed": {"A-r-25466": "254.66"},
    }


def test_page_names_other_notebook(stage, build_page):
    options = ":notebook: page\n:instead: front-still\n:figure: page-still"
    text = render(stage, build_page, PLACE.replace(":figure: page-still", options))
    assert 'data-figure="page-still" data-instead="front-still" hidden' in text


def test_a_sentence_is_tied_to_an_explorable(stage, build_page):
    sets = "{number}`1.5 <sets page-one:.1f explore-it M>`"
    roles = f"{sets}, {{number}}`1.500 <follows page-one:.3f explore-it gain>`"
    text = render(stage, build_page, f"# A page\n\nWith {roles}.\n")
    sets, follows = BeautifulSoup(text, "lxml").select(".book-value")
    assert (sets["data-sets"], sets["data-control"], sets.text) == ("explore-it", "M", "1.5")
    assert (follows["data-follows"], follows["data-number"]) == ("explore-it", "gain")
    assert (follows["data-decimals"], follows.text) == ("3", "1.500")
    assert follows["data-value"] == "page-one:.3f"


def test_scripts_are_deferred_in_order(stage, build_page):
    text = render(stage, build_page)
    scripts = re.findall(r'<script defer="defer" src="_static/(math|frame|plot|views-.)\.js', text)
    assert scripts == ["math", "frame", "plot", "views-a"]
    assert "explorables.css" in text


def test_plain_page_loads_no_explorable(stage, build_page):
    text = render(stage, build_page, "# A page\n")
    assert not re.search(r"(math|frame|plot|views-a)\.js|explorables\.css", text)


@pytest.mark.parametrize(
    ("told", "instead", "said"),
    [
        (":figure: page-still", ":figure: page-other", "needs the id of a figure"),
        ("explore-it", "explore-that", "no script in explorables defines 'explore-that'"),
        ("page-rates", "page-rate", "no notebook saved a value 'page-rate'"),
        (":data: page-still", ":data: page-other", "no notebook saved data 'page-other'"),
        ("way loss", "way gain", "page-still.csv has no column 'gain'"),
        (":columns: way loss\n", "", ":data: page-still needs :columns:"),
        ("A-r-25466", "A-r-1", "no document prints a row 'A-r-1'"),
    ],
)
def test_missing_data_fails_page(stage, build_page, told, instead, said):
    assert PLACE.count(told) == 1
    with pytest.raises(AssertionError, match=re.escape(said)):
        render(stage, build_page, PLACE.replace(told, instead))
