"""The book on paper: what is opened, folded away and linked, and the PDF that comes of it."""

import shutil
from dataclasses import replace

import pytest
import yaml
from bs4 import BeautifulSoup
from pypdf import PdfReader, PdfWriter

from scorecard.paths import BOOK
from scorecard.publishing import pdf
from scorecard.publishing.citation import Edition
from scorecard.publishing.pdf import (
    CHROMIUM,
    arrange_contents,
    merge_front_matter,
    prepare_html,
    print_book,
    read_outline,
)
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
