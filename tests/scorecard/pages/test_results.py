"""Figures and tables on their page: captions, headings with their scope, links to cite them."""

import json
import re
from html.parser import HTMLParser

import pytest

from scorecard.collate import DATA
from scorecard.record import FORMATS
from tests.scorecard.build import EVIL

BUDGET = {"budget": 1}
#: A rerun's page, where no book is built.
BOOK = {"address": "", "targets": {}, "numbers": {}}


def test_caption_html_is_text(tmp_path, build_page):
    """Even where a notebook hands on a reader's words as they are."""
    figure = {"notebook": "page", "alt": f'"{EVIL}', "instances": None}
    said = {"page-inside": f"An item of {EVIL} at $M = 1$ *rises*.", "page-alone": EVIL}
    figures = {id: figure | {"id": id, "caption": caption} for id, caption in said.items()}
    (tmp_path / "page.md").write_text(
        "# A page\n\n```{repro-figure} page-inside\n```\n\n```{repro-figure} page-alone\n```\n\n"
        "```{gallery}\n```\n"
    )
    runs = {
        "page": {"given": {"law": EVIL}, "files": {}}
        | dict.fromkeys(("documents", "parameters"), BUDGET)
    }
    data = {"figures": figures, "runs": runs, "document": False, "profile": "paper", "book": BOOK}
    (tmp_path / DATA).write_text(json.dumps(data))
    (tmp_path / "_site/figures").mkdir(parents=True)
    (tmp_path / "_site/thumbnails").mkdir()
    for name in figures:
        (tmp_path / f"_site/thumbnails/{name}.png").touch()
        for suffix in FORMATS:
            (tmp_path / f"_site/figures/{name}.{suffix}").write_text("<svg/>")
    text = build_page()
    shown = text[text.index('class="body"') :]
    assert EVIL not in shown
    assert shown.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 9  # captions, alt texts, note
    assert "<em>rises</em>" in shown


TABLE = {
    "id": "page-rewards",
    "caption": f"Rewards at $M = 1$ *rise*, {EVIL}.",
    "header": ["policy", r"$\gamma$, per epoch"],
    "heads": 1,
    "numeric": [False, True],
    "rows": [[f"a -- *b* {EVIL}", "1.5"], ["second", "–"]],
    "instances": "page-instances",
    "notebook": "page",
}
PAGE = "# A page\n\n```{repro-table} page-rewards\n```\n\nSee {numref}`page-rewards`.\n"


class Elements(HTMLParser):
    """Elements of a page with their attributes and the text directly in them."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append([tag, dict(attrs), ""])

    def handle_data(self, data):
        if self.found:
            self.found[-1][2] += data

    def all(self, tag):
        return [(attributes, text) for name, attributes, text in self.found if name == tag]


@pytest.fixture
def page(tmp_path, build_page):
    (tmp_path / "page.md").write_text(PAGE)
    data = {"tables": {"page-rewards": TABLE}, "runs": {}, "document": True, "profile": "paper"}
    (tmp_path / DATA).write_text(json.dumps(data))
    return build_page()


def test_cells_are_text(page):
    elements = Elements(page)
    heads = [(attributes["scope"], text.strip()) for attributes, text in elements.all("th")]
    assert [scope for scope, _ in heads] == ["col", "col", "row", "row"]
    assert heads[0][1] == "policy"
    assert heads[2][1] == f"a -- *b* {EVIL}"  # as it is, whatever Markdown would make of it
    cells = elements.all("td")
    assert [text.strip() for _, text in cells] == ["1.5", "–"]
    assert all(attributes["class"] == "number" for attributes, _ in cells)
    assert EVIL not in page


def test_table_caption_is_numbered(page):
    assert re.search(r'<span class="caption-number">Table 1 ?</span>', page)
    assert "<em>rise</em>" in page
    assert re.search(r'See <a [^>]*href="#page-rewards"><span[^>]*>Table 1</span></a>', page)
    (scroller,) = [a for a, _ in Elements(page).all("div") if a.get("tabindex")]
    assert scroller["role"] == "region"
    assert f'id="{scroller["aria-labelledby"]}"' in page


def test_table_links_its_files(page):
    links = {
        text.split(" ·")[0].strip(): a["href"] for a, text in Elements(page).all("a") if "href" in a
    }
    assert links["permalink"] == "#page-rewards"
    assert links["data"] == "tables/page-rewards.csv"
    assert links["instances"] == "data/page-instances.csv"
    assert links["provenance"] == "tables/page-rewards.json"
    assert links["cite"] == "tables/page-rewards.bib"


def test_unknown_table_is_refused(tmp_path, build_page):
    (tmp_path / "page.md").write_text(PAGE)
    data = {"tables": {}, "runs": {}, "document": True, "profile": "paper"}
    (tmp_path / DATA).write_text(json.dumps(data))
    with pytest.raises(AssertionError, match="no notebook saved a table 'page-rewards'"):
        build_page()
