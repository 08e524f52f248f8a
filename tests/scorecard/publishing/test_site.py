"""The files beside the pages, and their metadata."""

import codecs
import hashlib
import json
import xml.etree.ElementTree as ET
import zipfile
from html.parser import HTMLParser
from importlib.resources import files

import pandas as pd
import pytest
from docutils import nodes
from docutils.utils import new_document
from rocrate.rocrate import ROCrate

from scorecard import save_value
from scorecard.collate import DATA, summarise
from scorecard.publishing import citation
from scorecard.publishing import site as site_module
from scorecard.publishing.citation import Edition, read_cff
from scorecard.publishing.site import (
    SCORECARD,
    describe_page,
    format_head,
    make_codemeta,
    update_notebook_sizes,
    write_data,
    write_sitemap,
)
from scorecard.text import encode_csv
from tests.scorecard.build import EVIL, build_site
from tests.scorecard.test_collate import draw, gather, keep_data, published, record_all, tabulate
from tests.support import record

__all__ = ["published"]  # a fixture that every test uses


@pytest.fixture
def run(start_run):
    folder = start_run(notebook="part/first", parameters={"budget": 2})
    record_all()
    save_value("own-number", 2.0)
    draw()
    tabulate()
    keep_data()
    (folder / "notebook.ipynb").write_text("{}\n")
    return folder


def test_the_files_beside_the_pages(run, tmp_path):
    write_data(gather(run), tmp_path / "site")
    site = tmp_path / "site"
    scorecard = pd.read_csv(site / "scorecard.csv", dtype=str)
    columns = "id,document,place,kind,printed,computed,interval_low,interval_high,verdict,page"
    assert ",".join(scorecard.columns) == f"{columns},basis,assumes,condition,reason"
    assert list(scorecard["verdict"]) == ["matches", "does not hold"]
    errata = pd.read_csv(site / "errata.csv", dtype=str)
    columns = "id,document,place,printed,corrected,record,page,kind,weight,consequence,also"
    assert ",".join(errata.columns) == columns
    assert list(errata["page"]) == ["part/first"]
    (figure,) = json.loads((site / "figures.json").read_text())
    assert figure["id"] == "first-curve"
    assert (site / "notebooks/first.ipynb").exists()
    provenance = json.loads((site / "figures/first-curve.json").read_text())
    assert provenance["parameters"] == {"budget": 2}
    assert provenance["commit"]
    assert provenance["profile"] == "paper"
    assert "first-curve" in (site / "figures/first-curve.bib").read_text()
    assert provenance["machine"]["threads"]
    (table,) = json.loads((site / "tables.json").read_text())
    assert table["permalink"] == "part/first.html#first-table"
    assert r"Table \texttt{first-table}" in (site / "tables/first-table.bib").read_text()
    (data,) = json.loads((site / "data.json").read_text())
    assert data["columns"] == [{"name": "x", "description": "a number"}]


def test_each_row_has_citation(run, tmp_path):
    write_data(gather(run), tmp_path / "site")
    entries = {path.stem: path.read_text() for path in (tmp_path / "site/rows").iterdir()}
    assert entries.keys() == {"X-1", "X-2"}
    assert entries["X-2"].startswith("@misc{row-X-2,")
    assert "section 2" in entries["X-2"]
    assert "does not hold; " in entries["X-2"]


def test_archive_has_all_data(run, tmp_path):
    site = tmp_path / "site"
    write_data(gather(run), site)
    with zipfile.ZipFile(site / "all-data.zip") as archive:
        members = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    assert {"scorecard.csv", "errata.csv", "manifest.json", "data/first-instances.csv"} <= {
        *members
    }
    assert all((site / name).read_bytes() == content for name, content in members.items())


def test_spreadsheets_know_encoding(tmp_path):
    """Only a file with letters beyond ASCII has a mark, and pandas leaves it out."""
    assert encode_csv("a,b\n1,2\n") == b"a,b\n1,2\n"
    (tmp_path / "odd.csv").write_bytes(encode_csv("name\n±3\n"))
    assert (tmp_path / "odd.csv").read_bytes().startswith(codecs.BOM_UTF8)
    assert list(pd.read_csv(tmp_path / "odd.csv")["name"]) == ["±3"]


def test_manifest_hashes_every_file(run, tmp_path):
    write_data(gather(run), tmp_path / "site")
    manifest = json.loads((tmp_path / "site/manifest.json").read_text())
    ends = ("svg", "pdf", "png", "csv", "narrow.svg", "dark.svg", "narrow.dark.svg")
    wanted = {f"figures/first-curve.{end}" for end in ends}
    wanted |= {"tables/first-table.csv", "data/first-instances.csv"}
    assert set(manifest["files"]) == wanted | {"scorecard.csv", "errata.csv"}
    for name, digest in manifest["files"].items():
        content = (tmp_path / "site" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
    assert {"X-1", "X-2", "own-number"} <= set(manifest["records"])


def test_the_same_results_give_the_same_bytes(run, tmp_path):
    for name in ("one", "two"):
        write_data(gather(run), tmp_path / name)
    one = {p.name: p.read_bytes() for p in (tmp_path / "one").rglob("*") if p.is_file()}
    two = {p.name: p.read_bytes() for p in (tmp_path / "two").rglob("*") if p.is_file()}
    assert one == two


def test_manifest_omits_commit_and_clock(run, tmp_path, monkeypatch):
    write_data(gather(run), tmp_path / "one")
    (run / "seconds.txt").write_text("77.0\n")
    monkeypatch.setattr(citation, "commit_name", lambda: "another commit")
    write_data(gather(run), tmp_path / "two")
    one, two = (tmp_path / name / "manifest.json" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_another_record_changes_the_manifest(start_run, tmp_path):
    found = []
    for name, number in (("a", 1.5), ("b", 1.500001)):
        folder = start_run(name)
        record_all(number=number)
        (folder / "notebook.ipynb").write_text("{}\n")
        write_data(gather(folder), tmp_path / f"site-{name}")
        manifest = json.loads((tmp_path / f"site-{name}/manifest.json").read_text())
        found.append(manifest["records"])
    assert found[0]["X-1"] != found[1]["X-1"]
    assert found[0]["X-2"] == found[1]["X-2"]


def test_rerun_tables_have_header(start_run, tmp_path):
    folder = start_run(document=False)
    record_all()
    (folder / "notebook.ipynb").write_text("{}\n")
    found = gather(folder, document=False, complete=False)
    write_data(found, tmp_path / "site")
    text = (tmp_path / "site/scorecard.csv").read_text()
    assert text == ",".join(SCORECARD) + "\n"


def test_basis_and_assumptions_stand_in_the_table(start_run, tmp_path):
    folder = start_run()
    record("X-1", 1.5, assumes=("the start is zero", "time is whole"), alternatives=[1.5, 2])
    record("X-2", False, evidence="a case", basis="judged")
    (folder / "notebook.ipynb").write_text("{}\n")
    found = gather(folder)
    assert "1 judged by a person" in summarise(found)
    write_data(found, tmp_path / "site")
    table = pd.read_csv(tmp_path / "site/scorecard.csv", dtype=str, keep_default_na=False)
    assert list(table["verdict"]) == ["matches under", "does not hold"]
    assert list(table["basis"]) == ["computed", "judged"]
    assert list(table["assumes"]) == ["the start is zero; time is whole", ""]


# The research object: every file exists, every id resolves, every term has a meaning


THERE = Edition("abc123", "2026-11-22", "https://a.example/book/")
TERMS = json.loads(files("rocrate").joinpath("data/ro-crate.jsonld").read_text())["@context"]


@pytest.fixture
def site(run, tmp_path, monkeypatch):
    monkeypatch.setattr(site_module, "read_edition", lambda: THERE)
    write_data(gather(run), tmp_path / "site")
    return tmp_path / "site"


def graph(site):
    content = json.loads((site / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    return content["@context"], {entity["@id"]: entity for entity in content["@graph"]}


def references(value):
    """Yield every id that a value refers to."""
    if isinstance(value, list):
        for entry in value:
            yield from references(entry)
    elif isinstance(value, dict):
        assert set(value) == {"@id"}
        yield value["@id"]


def kinds(entity):
    return {entity["@type"]} if isinstance(entity["@type"], str) else set(entity["@type"])


def test_crate_version_is_known(site):
    context, entities = graph(site)
    assert context == "https://w3id.org/ro/crate/1.3/context"
    about = entities["ro-crate-metadata.json"]
    assert about["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.3"}
    used = {name for entity in entities.values() for name in entity if not name.startswith("@")}
    used |= {kind for entity in entities.values() for kind in kinds(entity)}
    assert used <= set(TERMS)


def test_every_id_resolves_and_every_file_exists(site):
    _, entities = graph(site)
    outside = {"https://w3id.org/ro/crate/1.3", "http://schema.org/CompletedActionStatus"}
    for entity in entities.values():
        for name, value in entity.items():
            if not name.startswith("@"):
                assert set(references(value)) <= set(entities) | outside, (entity["@id"], name)
    named = {id for id, entity in entities.items() if "File" in kinds(entity)}
    assert all((site / name).stat().st_size > 0 for name in named)
    there = {path for part in ("figures", "tables", "data") for path in site.glob(f"{part}/*")}
    assert {path.relative_to(site).as_posix() for path in there} < named
    assert {part["@id"] for part in entities["./"]["hasPart"]} == named


def test_crate_describes_run(site):
    _, entities = graph(site)
    action = entities["#run-first"]
    assert action["@type"] == "CreateAction"
    assert action["instrument"] == {"@id": "notebooks/first.ipynb"}
    (given,) = references(action["object"])
    assert (entities[given]["name"], entities[given]["value"]) == ("budget", 2)
    results = set(references(action["result"]))
    assert {
        "figures/first-curve.svg",
        "tables/first-table.csv",
        "data/first-instances.csv",
    } < results
    assert entities["figures/first-curve.svg"]["name"] == "It falls"


def test_the_package_reads_what_it_wrote(site):
    crate = ROCrate(site)
    assert crate.name.startswith("Which source next?")
    assert crate.root_dataset["url"] == THERE.address
    assert len(crate.get_by_type("CreateAction")) == 1


def test_crate_has_notebook_size(site):
    path = site / "notebooks/first.ipynb"
    path.write_text(path.read_text() + " " * 321)
    update_notebook_sizes(site)
    _, entities = graph(site)
    files = {id: e for id, e in entities.items() if "contentSize" in e}
    assert "notebooks/first.ipynb" in files
    for id, entity in files.items():
        assert entity["contentSize"] == str((site / id).stat().st_size)


def test_a_rerun_is_no_publication(run, tmp_path):
    write_data(gather(run, document=False, complete=False), tmp_path / "site")
    update_notebook_sizes(tmp_path / "site")
    assert not (tmp_path / "site/ro-crate-metadata.json").exists()


@pytest.mark.parametrize("address", ["", "https://a.example/book/"])
def test_crate_describes_code(address):
    said = make_codemeta(Edition("abc123", "2026-11-22", address))
    assert {name for name in said if name != "@context"} - {"type"} <= set(TERMS)
    assert said["license"].endswith("/MIT")
    assert any(entry.startswith("numpy") for entry in said["softwareRequirements"])
    assert said.get("url", "") == address


# What a page says of itself to machines


HERE = Edition("abc123", "2026-11-22", "")
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
    out = build_site(
        tmp_path, "page", "scorecard.publishing.site", html_baseurl="https://a.example/book/"
    )
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
