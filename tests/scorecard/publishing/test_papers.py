"""The papers that parts of pages are: what each has, and that it is printed to a few pages."""

import re
import shutil

import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader

from scorecard.paths import BOOK
from scorecard.publishing.citation import Edition
from scorecard.publishing.pdf import CHROMIUM, extract_paper, print_papers, read_papers
from scorecard.running.notebooks import source_files

HERE = Edition("abc123", "2026-11-22", "")
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
