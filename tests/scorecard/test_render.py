"""Rendering without Sphinx: what is staged, when it is built anew, and what a failure leaves."""

import json
import re
from pathlib import Path

import nbformat
import pytest
from PIL import Image

from scorecard import render, save_figure
from scorecard.collate import collate
from scorecard.files import BOOK
from scorecard.render import RenderFailed, move_to_shared, render_book

PAGE = "ephemeral/four-sources"


@pytest.fixture
def found(start_run, monkeypatch):
    """Results of a book of one page."""
    sources = [BOOK / name for name in ("_toc.yml", "profiles/quick.yml", f"{PAGE}.md")]
    monkeypatch.setattr(render, "source_files", lambda: sources)
    folder = start_run(notebook="ephemeral/four-sources")
    save_figure("four-sources-line", lambda figure: {"y": [0, 1]}, "A line.", "A rising line.")
    nbformat.write(nbformat.v4.new_notebook(), folder / "notebook.ipynb")
    return collate([folder], profile="paper", complete=False)


@pytest.fixture
def sphinx(monkeypatch):
    """Sphinx, replaced by a page that says which call it comes from."""
    calls = []

    def build(stage, out, builder, strict):
        calls.append(strict)
        html = out / "_build" / builder
        html.mkdir(parents=True)
        (html / "index.html").write_text(f"page {len(calls)}\n")

    monkeypatch.setattr(render, "_sphinx", build)
    return calls


@pytest.fixture
def renders(sphinx, monkeypatch):
    """The same without what a browser needs, which takes a second each time."""
    monkeypatch.setattr(render, "write_bundle", lambda *_: None)
    return sphinx


def test_executed_notebooks_stand_in_for_their_sources(found, sphinx, tmp_path):
    assert render_book(found, tmp_path)
    stage = tmp_path / "stage"
    assert (stage / "ephemeral/four-sources.ipynb").exists()
    assert not (stage / "ephemeral/four-sources.md").exists()
    assert (stage / "_toc.yml").exists()
    (run,) = json.loads((stage / "collated.json").read_text())["runs"].values()
    assert (run["seconds"], run["cpu"]) == (1.0, 2.5)
    assert not (stage / "profiles").exists()
    with Image.open(stage / "_site/thumbnails/four-sources-line.png") as picture:
        assert max(picture.size) == render.THUMBNAIL
    assert not (stage / "_build").exists()
    assert sphinx == [True]  # warnings are errors


def test_nothing_is_rendered_twice(found, renders, tmp_path):
    assert render_book(found, tmp_path)
    assert not render_book(found, tmp_path)
    assert len(renders) == 1
    (tmp_path / "html/index.html").unlink()
    assert render_book(found, tmp_path)
    found.values["own-number"] = {"page": "ephemeral/four-sources", "value": 2}
    assert render_book(found, tmp_path)
    assert len(renders) == 3


def test_site_files_are_copied(found, renders, tmp_path):
    render_book(found, tmp_path)
    for name in ("scorecard.csv", "errata.csv", "figures.json", "manifest.json"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "html" / name).read_bytes()
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert "figures/four-sources-line.svg" in manifest["files"]


@pytest.mark.parametrize("error", [RenderFailed("warnings"), KeyboardInterrupt()])
def test_failed_build_keeps_book(found, renders, tmp_path, monkeypatch, error):
    render_book(found, tmp_path)
    before = {p: p.read_bytes() for p in (tmp_path / "html").rglob("*") if p.is_file()}
    beside = (tmp_path / "manifest.json").read_bytes()
    found.values["own-number"] = {"page": "ephemeral/four-sources", "value": 2}

    def fail(*_):
        raise error

    monkeypatch.setattr(render, "_sphinx", fail)
    with pytest.raises(type(error)):
        render_book(found, tmp_path)
    assert {p: p.read_bytes() for p in (tmp_path / "html").rglob("*") if p.is_file()} == before
    assert (tmp_path / "manifest.json").read_bytes() == beside


def test_a_failed_build_is_tried_again(found, renders, tmp_path, monkeypatch):
    def fail(*_):
        raise RenderFailed("warnings")

    with monkeypatch.context() as patch:
        patch.setattr(render, "_sphinx", fail)
        with pytest.raises(RenderFailed):
            render_book(found, tmp_path)
    assert render_book(found, tmp_path)


@pytest.mark.process
def test_sphinx_says_why_it_failed(tmp_path):
    (tmp_path / "stage").mkdir()
    with pytest.raises(RenderFailed, match="Table of Contents"):
        render._sphinx(tmp_path / "stage", tmp_path / "out", "html", True)


# Static files that small sites share


LINKED = """<link href="_static/style.css?v=1"><script src='_static/a/b.js'></script>
<p>the folder _static/ of a site</p>"""


@pytest.fixture
def site(tmp_path):
    """Make a site aside with one style, share it, and return its page as it lies in place."""

    def make(name, style):
        made, place = tmp_path / "aside" / name, tmp_path / "runs" / name / "html"
        for path, text in {
            "page.html": LINKED, "inner/page.html": LINKED.replace("_static", "../_static", 1),
            "_static/style.css": style, "_static/a/b.js": "",
        }.items():  # fmt: skip
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_text(text)
        move_to_shared(made, place, tmp_path / "runs/_static")
        place.parent.mkdir(parents=True)
        made.rename(place)
        return place

    return make


def linked(page: Path):
    """Return the files that a page links to, from where it lies."""
    references = re.findall(r"""(?:href|src)=["']([^"'?]+)""", page.read_text())
    return [(page.parent / reference).resolve() for reference in references]


def test_sites_share_static_files(site, tmp_path):
    places = [site("one", "red"), site("two", "red"), site("three", "blue")]
    copies = sorted((tmp_path / "runs/_static").iterdir())
    assert len(copies) == 2
    assert not [place for place in places if (place / "_static").exists()]
    for place, style in zip(places, ("red", "red", "blue"), strict=True):
        (sheet, script) = linked(place / "page.html")
        assert sheet.read_text() == style
        assert script.exists()
        assert linked(place / "inner/page.html")[0] == sheet
        assert "the folder _static/ of a site" in (place / "page.html").read_text()


def test_unshareable_files_are_copied(site, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/_static").write_text("in the way")
    with pytest.raises(OSError, match="_static"):
        site("one", "red")
