"""What pages say of computed values and of figures; the rest is tested on the built book."""

import json
from types import SimpleNamespace

import pytest
from sphinx.application import Sphinx

from analysis.report import sphinx_ext
from analysis.report.collate import DATA
from analysis.report.figures import FORMATS
from analysis.report.sphinx_ext import _computed

EVIL = "<script>alert(1)</script>"


@pytest.mark.parametrize(
    ("computed", "interval", "shown"),
    [
        ("260.3856", None, "260.3856"),
        ("260.3856", [259.99999, 260.5], "260.3856 (260.0000 to 260.5000)"),
        ("12345.6", [12345.1, 12346.2], "12345.6 (12345.1 to 12346.2)"),
        ("160", [155.4, 164.6], "160 (155 to 165)"),
        ("[95.520, 100.000]", [95.1, 100.0], "[95.520, 100.000] (95.100 to 100.000)"),
        ("1.23456e+08", [1.2e8, 1.3e8], "1.23456e+08 (1.2e+08 to 1.3e+08)"),
        ("", None, ""),
    ],
)
def test_an_interval_has_as_many_decimals_as_its_value(computed, interval, shown):
    assert _computed({"computed": computed, "interval": interval}) == shown


def test_html_in_a_caption_is_text_on_its_page_and_in_the_gallery(tmp_path, monkeypatch):
    """Even where a notebook hands on a reader's words as they are."""
    figure = {"notebook": "page", "alt": f'"{EVIL}'}
    figures = {
        "page-inside": figure | {"caption": f"An item of {EVIL} at $M = 1$ *rises*."},
        "page-alone": figure | {"caption": EVIL},
    }
    (tmp_path / "page.md").write_text(
        "# A page\n\n```{repro-figure} page-inside\n```\n\n```{repro-figure} page-alone\n```\n\n"
        "```{gallery}\n```\n"
    )
    runs = {"page": {"given": {"law": EVIL}}}
    data = {"figures": figures, "runs": runs, "document": False, "profile": "paper"}
    (tmp_path / DATA).write_text(json.dumps(data))
    (tmp_path / "_site/figures").mkdir(parents=True)
    for name in figures:
        for suffix in FORMATS:
            (tmp_path / f"_site/figures/{name}.{suffix}").write_text("<svg/>")
    extensions = ["myst_parser", "analysis.report.sphinx_ext"]
    settings = {"extensions": extensions, "myst_enable_extensions": ["dollarmath"]}
    out = tmp_path / "out"
    monkeypatch.setattr(sphinx_ext, "find_notebook", lambda name: SimpleNamespace(describe=list))
    settings |= {"root_doc": "page"}
    app = Sphinx(tmp_path, None, out, out, "html", settings, status=None, warning=None)
    app.build()
    text = (out / "page.html").read_text()
    shown = text[text.index('class="body"') :]
    assert EVIL not in shown
    assert shown.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 9  # captions, alt texts, note
    assert "<em>rises</em>" in shown
