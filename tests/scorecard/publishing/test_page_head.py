"""What a page says of itself to machines: tags, links and linked data that a parser reads."""

import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from docutils import nodes
from docutils.utils import new_document

from scorecard.collate import DATA
from scorecard.publishing.citation import Edition, read_cff
from scorecard.publishing.metadata import describe_page, format_head, write_sitemap
from tests.scorecard.pages.test_sphinx_ext import EVIL
from tests.scorecard.publishing.build import build_site

HERE = Edition("abc123", "2026-11-22", "")
THERE = Edition("abc123", "2026-11-22", "https://a.example/book/")
MADE = {"notebook": "part/page", "instances": None}
FOUND = {
    "figures": {
        "page-curve": MADE
        | {"id": "page-curve", "caption": f"It {EVIL} rises. More.", "alt": "Up."},
        "else": MADE | {"id": "else", "notebook": "part/other", "caption": "No.", "alt": "No."},
    },
    "tables": {"page-rewards": MADE | {"id": "page-rewards", "caption": "Rewards at $M = 1$."}},
    "data": {
        "page-instances": MADE
        | {"id": "page-instances", "description": "One row an instance."}
        | {"columns": [{"name": "loss", "description": "loss, in %"}]}
    },
}


class Head(HTMLParser):
    """Tags and scripts of a piece of HTML."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("type") == "application/ld+json" and tag == "script"

    def handle_data(self, data):
        if self.inside and data.strip():
            self.scripts.append(json.loads(data))

    def meta(self):
        return {a["name"]: a["content"] for tag, a in self.tags if tag == "meta" and "name" in a}

    def preview(self):
        meta = [a for tag, a in self.tags if tag == "meta" and "property" in a]
        return {a["property"]: a["content"] for a in meta}

    def links(self):
        return {a["rel"]: a["href"] for tag, a in self.tags if tag == "link"}


def test_page_is_chapter():
    (said,) = Head(format_head('A "page" & <i>', "part/page", HERE, FOUND)).scripts
    assert said["@context"] == "https://schema.org"
    assert (said["@type"], said["name"]) == ("Chapter", 'A "page" & <i>')
    assert said["isPartOf"]["name"] == read_cff()["title"]
    assert said["isPartOf"]["@id"] == "../index.html"
    curve, rewards, instances = said["hasPart"]
    assert (curve["@type"], curve["name"]) == ("ImageObject", f"It {EVIL} rises")
    assert curve["contentUrl"] == "../figures/page-curve.svg"
    assert curve["isBasedOn"]["distribution"]["contentUrl"] == "../figures/page-curve.csv"
    assert rewards["@id"] == "../part/page.html#page-rewards"
    assert instances["distribution"]["contentUrl"] == "../data/page-instances.csv"
    (variable,) = instances["variableMeasured"]
    assert variable["description"] == "loss, in %"


def test_caption_cannot_end_script():
    text = format_head("T", "part/page", HERE, FOUND)
    assert text.count("</script>") == 1
    assert EVIL not in text


def test_without_an_address_nothing_claims_one():
    found = Head(format_head("A page", "part/page", HERE, FOUND))
    assert found.meta()["citation_title"] == "A page"
    assert found.meta()["citation_inbook_title"] == read_cff()["title"]
    assert found.meta()["citation_publication_date"] == "2026/11/22"
    assert "citation_fulltext_html_url" not in found.meta()
    assert found.links()["describedby"] == "../ro-crate-metadata.json"
    assert found.links()["license"].startswith("https://creativecommons.org/licenses/by/4.0")
    assert "cite-as" not in found.links()


def test_with_an_address_all_follows_it():
    found = Head(format_head("A page", "part/page", THERE, FOUND))
    (said,) = found.scripts
    page = "https://a.example/book/part/page.html"
    assert said["@id"] == page
    assert said["hasPart"][0]["@id"] == f"{page}#page-curve"
    assert said["hasPart"][0]["contentUrl"] == "https://a.example/book/figures/page-curve.svg"
    assert found.links()["cite-as"] == found.meta()["citation_fulltext_html_url"] == page


def test_page_has_description():
    found = Head(format_head('A "page"', "part/page", THERE, FOUND, 'It "finds" <b>.'))
    assert found.meta()["description"] == 'It "finds" <b>.'
    preview = found.preview()
    assert preview["og:description"] == 'It "finds" <b>.'
    assert (preview["og:title"], preview["og:type"]) == ('A "page"', "article")
    assert preview["og:url"] == "https://a.example/book/part/page.html"
    assert preview["og:image"].startswith("https://a.example/book/figures/")
    bare = Head(format_head("A page", "part/page", HERE, FOUND))
    assert "description" not in bare.meta()
    assert "og:url" not in bare.preview()


def page_of(*paragraphs, note=""):
    """A doctree of one section: paragraphs, of which a pair begins with bold words."""
    tree, section = new_document("page"), nodes.section()
    section += nodes.title("", "A title")
    if note:
        section += nodes.note("", nodes.paragraph("", note))
    for text in paragraphs:
        bold, rest = text if isinstance(text, tuple) else ("", text)
        section += nodes.paragraph("", "", nodes.strong("", bold), nodes.Text(rest))
    tree += section
    return tree


@pytest.mark.parametrize(
    ("paragraphs", "said"),
    [
        ([], ""),
        (["One.\nTwo 0.5 of it."], "One. Two 0.5 of it."),
        (["Early.", ("What we find.", " Late. Later.")], "Late. Later."),
        ([f"Short. {'X' * 159}."], "Short."),
        ([r"One. With \gamma it is two. Three."], "One. Three."),
        ([f"{'word ' * 80}."], f"{('word ' * 31).strip()} word…"),
    ],
)
def test_description_is_whole_sentences(paragraphs, said):
    found = describe_page(page_of(*paragraphs, note="Rerun this page."))
    assert found == said
    assert len(found) <= 160


def test_the_first_page_is_the_book():
    found = Head(format_head("Which source next?", "index", THERE, FOUND))
    (said,) = found.scripts
    assert (said["@type"], said["@id"]) == ("Book", "https://a.example/book/")
    assert said["keywords"]
    assert "citation_inbook_title" not in found.meta()


@pytest.mark.parametrize(("document", "count"), [(True, 1), (False, 0)])
def test_rerun_is_no_chapter(tmp_path, document, count):
    (tmp_path / "page.md").write_text("# A *page*\n")
    edition = {"commit": "abc123", "date": "2026-11-22", "address": "https://a.example/book/"}
    data = {"runs": {}, "document": document, "profile": "paper", "edition": edition, **FOUND}
    (tmp_path / DATA).write_text(json.dumps(data))
    out = build_site(tmp_path, "page", html_baseurl="https://a.example/book/")
    scripts = Head((out / "page.html").read_text()).scripts
    assert [said["name"] for said in scripts] == ["A page"] * count
    links = Head((out / "page.html").read_text()).links()
    assert links["canonical"] == "https://a.example/book/page.html"
    assert (out / "sitemap.xml").exists()


def test_the_sitemap_names_every_page(tmp_path):
    write_sitemap(["index", "part/a&b"], "https://a.example/book/", tmp_path)
    root = ET.parse(tmp_path / "sitemap.xml").getroot()
    found = [place.text for place in root.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert found == ["https://a.example/book/index.html", "https://a.example/book/part/a&b.html"]
