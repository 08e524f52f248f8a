"""The book on paper: what is opened, folded away and linked, and the PDFs that come of it."""

import re
import shutil
from dataclasses import replace

import pytest
import yaml
from bs4 import BeautifulSoup
from pypdf import PdfReader, PdfWriter

from scorecard.files import BOOK
from scorecard.publishing import pdf
from scorecard.publishing.citation import Edition
from scorecard.publishing.pdf import (
    CHROMIUM,
    arrange_contents,
    extract_paper,
    merge_front_matter,
    prepare_html,
    print_book,
    print_papers,
    read_outline,
    read_papers,
)
from scorecard.running.notebooks import source_files
from tests.scorecard.kills import killed_at

HERE = Edition("abc123", "2026-11-22", "")
PAGE = """<!doctype html><html><head><link rel="stylesheet" href="theme.css">
<script src="_static/other.js"></script></head><body>
<nav><a href="index.html">elsewhere</a></nav><article><section id="book"><h1>The book</h1>
<p>See <a href="#two">chapter two</a>, <a href="index.html#one">one</a>, <a href="figures/x.csv">a
file</a>, <a href="api/api.html">the interface</a>, <a href="https://a.example">the web</a>.</p>
<span id="document-one"></span><section id="one"><h2>One</h2>
<div class="cell"><div class="cell_input"><pre>import this</pre></div></div>
<div class="cell"><div class="cell_input"><pre>2 + 2</pre></div>
<div class="cell_output">4</div></div>
<details><summary>The rows</summary>
<table><tr><td>X-1</td><td>matches under</td></tr></table></details>
<p class="repro-links"><a href="figures/x.svg">SVG</a></p><button>Show</button>
</section><span id="document-two"></span><section id="two"><h2>Two</h2><h3>A part</h3><p>Words.</p>
</section></section></article></body></html>"""


def test_print_ends_with_scorecard():
    contents = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    printed = arrange_contents(contents)
    files = [chapter["file"] for part in printed["parts"] for chapter in part["chapters"]]
    every = [chapter["file"] for part in contents["parts"] for chapter in part["chapters"]]
    assert files[-1] == "guide/scorecard"
    assert set(every) - set(files) == {
        "api/api",
        "back/gallery",
        "back/changes",
        "documents/documents",
    }
    assert len(files) == len(set(files))


def test_print_drops_screen_elements():
    soup = BeautifulSoup(prepare_html(PAGE, ""), "html.parser")
    assert [details.has_attr("open") for details in soup.find_all("details")] == [True]
    text = soup.get_text()
    assert "matches under" in text
    assert soup.select(".cell_output")[0].get_text() == "4"
    for word in ("2 + 2", "import this", "SVG", "Show", "elsewhere"):
        assert word not in text
    assert len(soup.select(".cell")) == 1
    assert soup.find("script") is None


def test_printed_rows_stand_once():
    rows = """<details class="book-rows"><summary>The 1 row of this page</summary><table><tr><td>
<span class="book-row" id="row-X-1"><a href="#one">X-1</a></span></td><td>why</td></tr></table>
</details>"""
    chapter = f'<article><p><a href="#row-X-1">that row</a></p>{rows}'
    card = '<table class="book-scorecard"><tr><td><a href="#document-a">X-1</a></td></tr></table>'
    soup = BeautifulSoup(prepare_html(f"{chapter}{card}</article>", ""), "html.parser")
    assert soup.find(id="row-X-1").find_parent("table")["class"] == ["book-scorecard"]
    assert [link["href"] for link in soup.find_all("a")] == ["#row-X-1"]
    assert "The 1 row of this page: see the scorecard." in soup.get_text()
    assert "why" not in soup.get_text()
    alone = BeautifulSoup(prepare_html(f"{chapter}</article>", ""), "html.parser")
    assert alone.find(id="row-X-1").find_parent("details").has_attr("open")


@pytest.mark.parametrize(
    ("address", "more"),
    [
        ("", []),
        (
            "https://b.example/",
            ["https://b.example/figures/x.csv", "https://b.example/api/api.html"],
        ),
    ],
)
def test_printed_links_resolve(address, more):
    soup = BeautifulSoup(prepare_html(PAGE, address), "html.parser")
    links = [link["href"] for link in soup.find_all("a")]
    assert links == ["#two", "#one", *more, "https://a.example"]
    assert "the interface" in soup.get_text()


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    if not any(map(shutil.which, CHROMIUM)):
        pytest.skip("there is no Chromium")
    folder = tmp_path_factory.mktemp("print")
    (folder / "index.html").write_text(PAGE)
    print_book(folder / "index.html", folder / "book.pdf", HERE)
    return PdfReader(folder / "book.pdf")


def links_of(reader):
    for page in reader.pages:
        for annotation in page.get("/Annots", []):
            yield annotation.get_object()


@pytest.mark.browser
def test_the_pdf_has_outline_labels_and_contents(printed):
    assert [title for _, title, _ in read_outline(printed)] == ["The book", "One", "Two", "A part"]
    assert printed.page_labels[0] == "i"
    assert "1" in printed.page_labels
    contents = "".join(page.extract_text() for page in printed.pages[:2])
    assert "Contents" in contents
    assert "Version" in contents
    assert "abc123" in contents
    assert "matches under" in "".join(page.extract_text() for page in printed.pages)
    assert printed.metadata.title.startswith("Which source next?")


@pytest.mark.browser
def test_pdf_links_no_file(printed):
    actions = [annotation.get("/A", {}) for annotation in links_of(printed)]
    addresses = [str(action["/URI"]) for action in actions if "/URI" in action]
    assert addresses == ["https://a.example/"]
    jumps = [action["/D"][0].get_object() for action in actions if action.get("/S") == "/GoTo"]
    assert len(jumps) >= 3  # the book and its chapters, from the contents
    assert all(page["/Type"] == "/Page" for page in jumps)


def test_object_count_warning_is_silent(caplog, tmp_path):
    body, front = tmp_path / "body.pdf", tmp_path / "front.pdf"
    for path in (body, front):
        writer = PdfWriter()
        writer.add_blank_page(100, 100)
        writer.write(path)
    content = body.read_bytes()
    size = PdfReader(body).trailer["/Size"]
    body.write_bytes(content.replace(b"/Size %d" % size, b"/Size 1"))
    merge_front_matter(front, body, tmp_path / "bound.pdf", HERE)
    assert caplog.messages == []
    assert len(PdfReader(tmp_path / "bound.pdf").pages) == 2


@pytest.mark.sampled
@pytest.mark.process
def test_kill_leaves_whole_pdf(monkeypatch, tmp_path):
    page, target = tmp_path / "single/index.html", tmp_path / "book.pdf"
    page.parent.mkdir()
    page.write_text(PAGE)

    def play(page, target):
        writer = PdfWriter()
        writer.add_blank_page(100, 100)
        writer.add_outline_item(title="One", page_number=0)
        writer.write(target)

    monkeypatch.setattr(pdf, "print_page", play)
    print_book(page, target, HERE)
    later = replace(HERE, commit="def456", date="2026-11-23")
    moments = 0
    while killed_at(moments + 1, lambda: print_book(page, target, later)):
        assert "20261122" in PdfReader(target).metadata["/CreationDate"]
        moments += 1
    assert "20261123" in PdfReader(target).metadata["/CreationDate"]
    assert moments > 5


# Papers


PAPER = {"from": "curve", "until": "beyond", "title": "A theorem", "without": ["picture"]}
BODY = """<!doctype html><html><head></head><body><article>
<section id="before"><span id="other"></span><h2>Before</h2><p>Not this.</p></section>
<section id="the-curve"><span id="curve"></span><h2>The curve</h2>
<p>As <a href="#work-1">Someone, 1999</a> and <a href="#before">the page before</a> say.</p>
<figure id="frame"><span id="picture"></span><img src="x.png"/><figcaption>A big one</figcaption>
</figure>
<section id="proof"><h3>Proof</h3>
<details><summary>Proof</summary><p>So it is.</p></details></section>
<section id="more"><span id="beyond"></span><h3>More</h3>
<p>See <a href="#work-2">X</a>.</p></section>
<section id="last"><h3>Last</h3></section></section>
<section id="bibliography"><div class="citation" id="work-1"><span>[1]</span><p>Someone. A draft.
1999.</p></div><div class="citation" id="work-2"><p>Another work.</p></div></section>
</article></body></html>"""


def test_paper_is_page_with_citations():
    soup = BeautifulSoup(extract_paper(BODY, PAPER, HERE), "html.parser")
    assert [(h.name, h.get_text()) for h in soup.find_all(re.compile("h[1-6]"))] == [
        ("h1", "A theorem"), ("h2", "Abstract"), ("h2", "Proof"), ("h2", "References"),
    ]  # fmt: skip
    text = soup.get_text()
    assert soup.details.has_attr("open")
    for word in ("So it is.", "Someone. A draft.", "abc123", "Which source next?"):
        assert word in text
    for word in ("Not this", "More", "Last", "Another work", "A big one"):
        assert word not in text
    assert not soup.find("a", string="the page before")
    assert soup.find("script") is None


def test_paper_takes_page_of_proofs():
    after = {"from": "lemmas", "until": "limits"}
    page = """<section><span id="lemmas"></span><h2>Lemmas</h2><section><h3>Rows</h3>
<p>By <a href="#work-2">X</a>.</p></section>
<section><span id="limits"></span><h3>Limits</h3></section></section><section id="bibliography">"""
    html = BODY.replace('<section id="bibliography">', page)
    soup = BeautifulSoup(extract_paper(html, PAPER | {"then": [after]}, HERE), "html.parser")
    assert [(h.name, h.get_text()) for h in soup.find_all(re.compile("h[1-6]"))] == [
        ("h1", "A theorem"), ("h2", "Abstract"), ("h2", "Proof"), ("h2", "Lemmas"), ("h3", "Rows"),
        ("h2", "References"),
    ]  # fmt: skip
    assert "Another work" in soup.get_text()


def test_a_paper_without_its_page_is_refused():
    with pytest.raises(ValueError, match="no section with the label 'nowhere'"):
        extract_paper(BODY, PAPER | {"from": "nowhere"}, HERE)


@pytest.mark.parametrize("name", read_papers())
def test_paper_labels_are_ordered(name):
    paper = read_papers()[name]
    texts = [path.read_text("utf-8") for path in source_files() if path.suffix == ".md"]
    for part in (paper, *paper.get("then", [])):
        (text,) = (text for text in texts if f"({part['from']})=\n" in text)
        assert text.index(f"({part['from']})=") < text.index(f"\n({part['until']})=\n")
    for label in paper["without"]:
        assert any(f"{{repro-figure}} {label}\n" in text for text in texts)
    assert (BOOK / "_papers.yml").exists()


@pytest.mark.browser
def test_paper_is_printed_whole(tmp_path, monkeypatch):
    if not any(map(shutil.which, CHROMIUM)):
        pytest.skip("there is no Chromium")
    monkeypatch.setattr("scorecard.publishing.pdf.read_papers", lambda: {"theorem": PAPER})
    (tmp_path / "single").mkdir()
    page = tmp_path / "single" / "index.html"
    page.write_text(BODY)
    (made,) = print_papers(page, tmp_path, HERE)
    assert made == tmp_path / "theorem.pdf"
    assert "So it is." in PdfReader(made).pages[0].extract_text()
    monkeypatch.setattr("scorecard.publishing.pdf.print_page", _fail)
    with pytest.raises(RuntimeError):
        print_papers(page, tmp_path, HERE)
    assert len(PdfReader(made).pages) == 1


def _fail(*_):
    raise RuntimeError("no browser")
