"""`save_figure`: all files of a figure, the same bytes twice, and what it refuses."""

import json
import re
import warnings
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from fontTools.ttLib import TTFont
from matplotlib.artist import Artist
from matplotlib.layout_engine import ConstrainedLayoutEngine
from pypdf import PdfReader

from scorecard import figure, save_figure
from scorecard.run import FORMATS, NARROW, VARIABLE, run_facts
from scorecard.saving import figures
from scorecard.saving.figures import freeze_layout, uncover_texts

DATA = pd.DataFrame({"epoch": [0, 1, 2], "reward": [0.1, 1 / 3, 2.5e-9]})


def save(id="page-curve", data=DATA, caption="Reward *rises*.", alt="A rising line.", **options):
    fig, axis = figure(height=2)
    axis.plot(DATA["epoch"], DATA["reward"], label=r"$\gamma_k$")
    axis.legend()
    return save_figure(id, fig, data, caption, alt, **options)


def files(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "figures").iterdir())}


def test_a_figure_is_a_set_of_files(start_run):
    folder = start_run()
    save()
    ends = (*FORMATS, NARROW, "csv", "json")
    assert set(files(folder)) == {f"page-curve.{end}" for end in ends}


def test_the_same_inputs_give_the_same_bytes(start_run):
    first = start_run("first")
    save()
    second = start_run("second")
    plt.plot([1, 2], [3, 4])  # what was drawn before leaves no trace
    plt.close("all")
    save()
    assert files(first) == files(second)


def test_fonts_in_a_pdf_are_outlines_whose_letters_can_be_read(start_run):
    folder = start_run()
    fig, axis = figure(height=2)
    axis.set_title("Offices fill first")
    save_figure("page-words", fig, DATA, "Words.", "Words.")
    (page,) = PdfReader(folder / "figures" / "page-words.pdf").pages
    assert "Offices fill first" in page.extract_text()
    fonts = [font.get_object() for font in page["/Resources"]["/Font"].values()]
    inner = [font["/DescendantFonts"][0].get_object() for font in fonts if "/ToUnicode" in font]
    assert inner
    for one in inner:
        data = one["/FontDescriptor"]["/FontFile2"].get_data()
        with TTFont(BytesIO(data)) as font:
            assert "glyf" in font
            assert not {"GSUB", "GPOS", "GDEF"} & set(font.keys())


def test_the_last_bits_of_a_layout_leave_no_trace(start_run, monkeypatch):
    drawn = []
    for nudge in (0.0, 1e-13):
        folder = start_run(f"run-{nudge}")
        find = ConstrainedLayoutEngine.execute

        def nudged(self, figure, nudge=nudge, find=find):
            find(self, figure)
            for axes in figure.axes:
                place = axes.get_position(original=True)
                axes._set_position(place.translated(nudge, nudge))

        with monkeypatch.context() as patch:
            patch.setattr(ConstrainedLayoutEngine, "execute", nudged)
            save()
        drawn.append(files(folder))
    assert drawn[0] == drawn[1]


def test_other_data_give_other_bytes(start_run):
    first = start_run("first")
    save()
    second = start_run("second")
    save(data=DATA * 2)
    assert files(first)["page-curve.csv"] != files(second)["page-curve.csv"]


def test_no_file_holds_a_date_or_a_path(start_run):
    folder = start_run()
    save()
    for name, content in files(folder).items():
        assert str(folder).encode() not in content, name
        assert b"CreationDate" not in content, name
        assert b"<dc:date>" not in content, name


def test_the_csv_is_the_data(start_run):
    folder = start_run()
    save()
    read = pd.read_csv(folder / "figures/page-curve.csv")
    pd.testing.assert_frame_equal(read, DATA, rtol=1e-11)


def test_data_may_be_a_mapping_of_columns(start_run):
    folder = start_run()
    save(data={"x": np.arange(3), "name": ["a", "b, c", 'd"']})
    read = pd.read_csv(folder / "figures/page-curve.csv")
    assert list(read["name"]) == ["a", "b, c", 'd"']


def test_the_description_says_where_the_figure_comes_from(start_run):
    folder = start_run(notebook="part/page", parameters={"budget": 2})
    save(caption="Two\n  lines.", alt=" A\nline. ")
    description = json.loads((folder / "figures/page-curve.json").read_text())
    assert description["notebook"] == "part/page"
    assert description["parameters"] == {"budget": 2}
    assert description["caption"] == "Two lines."
    assert description["alt"] == "A line."
    assert {"numpy", "scipy", "matplotlib", "pandas", "python"} <= set(description["versions"])


@pytest.mark.parametrize("name", ["alt", "caption"])
@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_figure_without_words_is_refused(start_run, name, text):
    folder = start_run()
    with pytest.raises(ValueError, match=f"{name} of the figure 'page-curve'"):
        save(**{name: text})
    assert not (folder / "figures").exists()


@pytest.mark.parametrize(
    "id", ["", "Page", "page_curve", "page curve", "-page", "page-", "a--b", "page/curve", "page.x"]
)
def test_a_malformed_id_is_refused(start_run, id):
    start_run()
    with pytest.raises(ValueError, match="id must be lower-case words"):
        save(id=id)


def test_an_id_is_used_once(start_run):
    start_run()
    save()
    with pytest.raises(ValueError, match="'page-curve' is taken"):
        save()
    save(id="page-other")


@pytest.mark.parametrize("data", [pd.DataFrame(), {"x": []}, {}])
def test_a_figure_without_data_is_refused(start_run, data):
    start_run()
    with pytest.raises(ValueError, match="data of the figure"):
        save(data=data)
    save()  # the id is still free


def test_a_saved_figure_is_closed_and_shown_by_hand_only(start_run, monkeypatch, tmp_path):
    start_run()
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    open_before = len(plt.get_fignums())
    save()
    assert shown == []
    assert len(plt.get_fignums()) == open_before
    monkeypatch.delenv(VARIABLE)
    monkeypatch.chdir(tmp_path)
    run_facts.cache_clear()
    save()
    save()  # a cell may run twice
    assert len(shown) == 2
    assert (tmp_path / "_output/figures/page-curve.svg").exists()


def test_one_warning_names_all_missing_glyphs(start_run, monkeypatch):
    """By one warning of a notebook, whatever else is warned of; the files are whole."""
    folder = start_run()
    monkeypatch.setattr(figures, "warned_glyphs", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for id, name in {"page-one": "新闻", "page-other": "新闻与新", "page-last": "news"}.items():
            fig, axis = plt.subplots()
            axis.plot([0, 1], label=name)
            axis.set_title(name)
            axis.legend()
            fig.add_artist(Loud())
            save_figure(id, fig, {name: [0, 1]}, name, name)
    said = [str(w.message) for w in caught]
    lacking = [text for text in said if "glyphs" in text]
    assert [re.findall("'(.*)'", text) for text in lacking] == [["新闻"], ["与"]]
    assert not any("Glyph" in text for text in said)
    assert any("of its own" in text for text in said)
    assert len(list((folder / "figures").iterdir())) == 3 * 6


class Loud(Artist):
    """What warns of something else when it is drawn."""

    def draw(self, renderer):
        warnings.warn("a warning of its own", stacklevel=1)


def test_a_text_that_a_curve_crosses_gets_a_ground_and_no_other():
    fig, axis = figure()
    axis.plot([0, 1], [0, 1], label="a curve")
    crossed, free = axis.text(0.4, 0.5, "on the curve"), axis.text(0.1, 0.8, "beside it")
    legend = axis.legend(loc="upper right")
    freeze_layout(fig)
    uncover_texts(fig)
    assert crossed.get_bbox_patch() is not None
    assert free.get_bbox_patch() is None
    assert legend.get_frame_on()
    plt.close(fig)
