"""`save_figure`, `save_table` and `save_data`: what is kept, and what they refuse."""

import json
import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import style
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from pypdf import PdfReader

from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    fold_names,
    ink,
    is_narrow,
    label_names,
    paper,
    save_data,
    save_figure,
    save_table,
)
from scorecard.record import FORMATS, VARIABLE, run_facts
from scorecard.saving import (
    DARK_STYLE,
    INK,
    NARROW_STYLE,
    NARROW_WIDTH,
    NONE,
    PAPER,
    STYLE,
    VARIANTS,
    WIDTH,
)

DATA = pd.DataFrame({"epoch": [0, 1, 2], "reward": [0.1, 1 / 3, 2.5e-9]})


def curve(data=DATA):
    """Return a function that draws a curve and returns some data."""

    def draw(figure):
        (axis,) = add_panels(figure)
        axis.plot(DATA["epoch"], DATA["reward"], label=r"$\gamma_k$")
        add_legend(figure)
        return data

    return draw


def save(id="page-curve", data=DATA, caption="Reward *rises*.", alt="A rising line.", **options):
    return save_figure(id, curve(data), caption, alt, **options)


def files(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "figures").iterdir())}


def test_figure_is_set_of_files(start_run):
    """Of the data to twelve digits, of what it was drawn from, and of no date or place."""
    folder = start_run(notebook="part/page", parameters={"budget": 2})
    save(caption="Two\n  lines.", alt=" A\nline. ")
    found = files(folder)
    ends = (*FORMATS, *VARIANTS, "csv", "json")
    assert set(found) == {f"page-curve.{end}" for end in ends}
    read = pd.read_csv(folder / "figures/page-curve.csv")
    pd.testing.assert_frame_equal(read, DATA, rtol=1e-11)
    description = json.loads(found["page-curve.json"])
    assert description["notebook"] == "part/page"
    assert description["parameters"] == {"budget": 2}
    assert description["caption"] == "Two lines."
    assert description["alt"] == "A line."
    assert {"numpy", "scipy", "matplotlib", "pandas", "python"} <= set(description["versions"])
    for name, content in found.items():
        assert str(folder).encode() not in content, name
        assert b"CreationDate" not in content, name
        assert b"<dc:date>" not in content, name


def test_same_inputs_give_same_bytes(start_run):
    first = start_run("first")
    save()
    second = start_run("second")
    with mpl.rc_context({"font.size": 3, "text.color": "red"}):  # which leaves no trace
        save()
    assert files(first) == files(second)


def test_words_of_pdf_can_be_read(start_run):
    folder = start_run()

    def draw(figure):
        add_panels(figure)[0].set_title("Offices fill first")
        return DATA

    save_figure("page-words", draw, "Words.", "Words.")
    (page,) = PdfReader(folder / "figures" / "page-words.pdf").pages
    assert "Offices fill first" in page.extract_text()


def test_layout_is_rounded(start_run, monkeypatch):
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


def test_data_may_be_mapping(start_run):
    folder = start_run()
    save(data={"x": np.arange(3), "name": ["a", "b, c", 'd"']})
    read = pd.read_csv(folder / "figures/page-curve.csv")
    assert list(read["name"]) == ["a", "b, c", 'd"']


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
    with pytest.raises(ValueError, match=r"^id "):
        save(id=id)


def test_an_id_is_used_once(start_run, monkeypatch):
    """And remains free where the data of a figure are refused."""
    monkeypatch.setattr("scorecard.saving.VARIANTS", {"svg": ()})
    start_run()
    for data in (pd.DataFrame(), {"x": []}, {}):
        with pytest.raises(ValueError, match="data of the figure"):
            save(data=data)
    save()
    with pytest.raises(ValueError, match="'page-curve' is taken"):
        save()
    save(id="page-other")


def test_figure_shown_by_hand_only(start_run, monkeypatch, tmp_path):
    start_run()
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    save()
    assert shown == []
    monkeypatch.delenv(VARIABLE)
    monkeypatch.chdir(tmp_path)
    run_facts.cache_clear()
    save()
    save()  # a cell may run twice
    assert [image.format for image in shown] == ["png", "png"]
    assert (tmp_path / "_output/figures/page-curve.svg").exists()


def test_figure_drawn_for_each_screen(start_run):
    start_run()
    seen = []

    def draw(figure):
        seen.append((figure.get_figwidth(), is_narrow(figure), ink(), paper()))
        return DATA

    save_figure("page-curve", draw, "It rises.", "A line.")
    pages = (("black", "white"), (INK, PAPER))
    assert seen == [
        (width, narrow, *page)
        for width, narrow in ((WIDTH, False), (NARROW_WIDTH, True))
        for page in pages
    ]


def test_drawing_with_chance_refused(start_run):
    start_run()
    generator = np.random.default_rng(1)
    with pytest.raises(ValueError, match="draw of the figure"):
        save_figure("page-curve", lambda figure: {"x": generator.random(2)}, "Chance.", "Points.")


def test_finished_figure_refused(start_run):
    start_run()
    with pytest.raises(TypeError, match="draw"):
        save_figure("page-curve", Figure(), "It rises.", "A line.")


# Colours


def luminance(colour):
    parts = np.array(mpl.colors.to_rgb(colour))
    linear = np.where(parts <= 0.04, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(colour, page):
    light, dark = sorted((luminance(colour), luminance(page)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("changes", [[], [DARK_STYLE]])
def test_colours_differ_from_page(changes):
    with style.context([STYLE, *changes], after_reset=True):
        values = [mpl.colors.to_hex(name) for name in COLOURS]
        assert len(set(values)) == len(values)
        assert min(contrast(value, paper()) for value in values) > 2
        assert contrast(ink(), paper()) > 12
        assert values[-1] == mpl.colors.to_hex(ink())


def test_dark_drawing_has_no_ink_of_light_one(start_run):
    folder = start_run()
    save()
    for ending in VARIANTS:
        text = (folder / "figures" / f"page-curve.{ending}").read_text()
        ET.fromstring(text)
        found = set(re.findall("#[0-9a-f]{6}", text))
        dark = "dark" in ending
        assert (PAPER in found, "#ffffff" in found) == (dark, not dark), ending
        assert ("#0072b2" in found) != dark, ending


# Narrow screens


def narrow_figure(height=3.6):
    return Figure(figsize=(NARROW_WIDTH, height), layout="constrained")


@pytest.mark.parametrize(
    ("count", "columns", "rows"), [(1, 1, 1), (2, 2, 2), (3, 3, 3), (7, 3, 4), (4, 1, 4)]
)
def test_panels_stacked_where_narrow(count, columns, rows):
    wide = Figure(figsize=(WIDTH, 3.6))
    assert len(add_panels(wide, count, columns)) == count
    assert wide.get_figheight() == 3.6
    narrow = narrow_figure()
    panels = add_panels(narrow, count, columns, sharex=True)
    assert len(panels) == len(narrow.axes) == count
    assert panels[0].get_subplotspec().get_gridspec().nrows == rows
    assert (narrow.get_figheight() > 3.6) == (columns > 1)
    labelled = [axis for axis in panels if axis.xaxis.get_tick_params()["labelbottom"]]
    assert labelled == panels[-min(panels[0].get_subplotspec().get_gridspec().ncols, count) :]


def test_legend_above_panels():
    with style.context([STYLE, NARROW_STYLE], after_reset=True):
        figure = narrow_figure()
        (axis,) = add_panels(figure)
        for marker in "os^":
            label = f"a policy with a name of many words, {marker}"
            axis.errorbar([0, 1], [1, 2], yerr=0.1, marker=marker, linestyle="none", label=label)
        add_legend(figure, title="policy")
        figure.draw_without_rendering()
        (legend,) = figure.legends
        box = legend.get_window_extent()
        assert box.x1 <= figure.bbox.width
        assert box.y0 > axis.get_window_extent().y1
        assert figure.get_figheight() > 3.6
        marks = {line.get_marker() for line in legend.findobj(Line2D)}
        assert {"o", "s", "^"} <= marks


def test_long_label_folded_where_narrow():
    with style.context([STYLE, NARROW_STYLE], after_reset=True):
        figure = narrow_figure()
        (axis,) = add_panels(figure)
        axis.plot([0, 1], label=" ".join(["many words"] * 12))
        add_legend(figure)
        figure.draw_without_rendering()
        assert figure.legends[0].get_window_extent().x1 <= figure.bbox.width


def test_names_without_glyphs_numbered():
    labels, sentence = label_names(["news", "新闻", "שלום", "Ærø $5"])
    assert labels == ["news", "no. 2", "no. 3", r"Ærø \$5"]
    assert sentence == " In the picture no. 2 is 新闻 and no. 3 is \u2068שלום\u2069."
    assert label_names(["a", "b"]) == (["a", "b"], "")


def test_long_names_folded_where_narrow():
    names = ["a long name of a policy, chosen settings", "$x$ of a formula that is not broken"]
    assert fold_names(Figure(figsize=(WIDTH, 3.6)), names) == names
    folded = fold_names(narrow_figure(), names)
    assert [" ".join(name.split()) for name in folded] == names
    assert ["\n" in name for name in folded] == [True, False]


def test_legend_has_each_label_once():
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    for axis in add_panels(figure, 2, sharey=True):
        axis.plot([0, 1], label="index")
        axis.plot([1, 0], label="greedy")
    add_legend(figure)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["index", "greedy"]


# Tables and data


FRAME = pd.DataFrame(
    {
        "reward": [0.1, 1 / 3, np.nan],
        "share": [0.25, -1e-9, 1.0],
        "visits": [1200, 2, 3],
        "exact": [True, False, True],
    },
    index=pd.Index(["first", "a, b", "c"], name="policy"),
)
COLUMNS = {"instance": "number of the instance", "loss": "loss, in %"}
INSTANCES = pd.DataFrame({"instance": [0, 1], "loss": [2.5, 1 / 3]})


def save_rewards(id="page-rewards", frame=FRAME, caption="One *rises*.", **options):
    return save_table(id, frame, caption, **options)


def read(folder, id="page-rewards"):
    return json.loads((folder / f"tables/{id}.json").read_text())


def test_table_keeps_all_digits(start_run):
    folder = start_run(notebook="part/page", parameters={"budget": 2})
    assert save_rewards(formats={"share": ".1%", "visits": ",d"}) is None
    table = read(folder)
    assert table["header"] == ["policy", "reward", "share", "visits", "exact"]
    assert table["rows"] == [
        ["first", "0.1", "25.0%", "1,200", "yes"],
        ["a, b", "0.333333", "0.0%", "2", "no"],  # no sign before a number that rounds to zero
        ["c", NONE, "100.0%", "3", "yes"],
    ]
    assert (table["heads"], table["notebook"], table["parameters"]) == (
        1,
        "part/page",
        {"budget": 2},
    )
    kept = pd.read_csv(folder / "tables/page-rewards.csv", index_col="policy")
    pd.testing.assert_frame_equal(kept, FRAME, rtol=1e-8)


def test_one_format_is_for_fractions_only(start_run):
    folder = start_run()
    save_rewards(formats=".2f")
    assert read(folder)["rows"][0][1:4] == ["0.10", "0.25", "1200"]


def test_index_levels_are_headings(start_run):
    folder = start_run()
    save_rewards(frame=FRAME.reset_index())
    assert read(folder)["heads"] == 0
    frame = FRAME.reset_index().set_index(["policy", "visits"])
    save_rewards("page-other", frame, labels={"visits": r"$n$, crawls"})
    table = read(folder, "page-other")
    assert table["heads"] == 2
    assert table["header"][:2] == ["policy", "$n$, crawls"]
    assert (folder / "tables/page-other.csv").read_text().startswith("policy,visits,reward")


def test_tables_and_data_have_same_bytes(start_run):
    written = []
    for name in ("first", "second"):
        folder = start_run(name)
        save_data("page-instances", INSTANCES, "One row an instance.", COLUMNS)
        save_rewards(instances="page-instances")
        files = sorted(path for path in folder.rglob("*") if path.parent != folder)
        written.append({path.name: path.read_bytes() for path in files})
    assert set(written[0]) == {
        "page-rewards.csv", "page-rewards.json", "page-instances.csv", "page-instances.json",
    }  # fmt: skip
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "Page"}, "id must be lower-case words"),
        ({"caption": " \n"}, "caption of the table 'page-rewards'"),
        ({"frame": FRAME.iloc[:0]}, r"must have rows and columns, got shape \(0, 4\)"),
        ({"frame": FRAME.rename_axis(None)}, "index of 'page-rewards' must have a name"),
        ({"frame": FRAME.set_axis(["a", "a", "b", "c"], axis=1)}, "must have one name each"),
        ({"frame": FRAME.rename(columns={"reward": 1})}, "must have one name each"),
        ({"formats": {"rewards": ".2f"}}, r"formats must name columns .* got \['rewards'\]"),
        ({"labels": {"Reward": "R"}}, r"labels must name columns .* got \['Reward'\]"),
        ({"instances": "page-unknown"}, "instances must be the id of data saved before"),
    ],
)
def test_useless_table_is_refused(start_run, change, said):
    folder = start_run()
    with pytest.raises(ValueError, match=said):
        save_rewards(**change)
    assert not (folder / "tables").exists()
    save_rewards()  # the id is still free


def draw(figure):
    return INSTANCES


def test_figures_tables_and_data_share_their_ids(start_run):
    folder = start_run()
    save_data("page-instances", INSTANCES, "One row an instance.", COLUMNS)
    with pytest.raises(ValueError, match="'page-instances' is taken: another data"):
        save_rewards("page-instances")
    save_rewards()
    with pytest.raises(ValueError, match="'page-rewards' is taken: another table"):
        save_figure("page-rewards", draw, "It falls.", "A line.")
    with pytest.raises(ValueError, match="instances"):
        save_figure("page-curve", draw, "It falls.", "A line.", instances="page-rewards")
    save_figure("page-curve", draw, "It falls.", "A line.", instances="page-instances")
    description = json.loads((folder / "figures/page-curve.json").read_text())
    assert description["instances"] == "page-instances"


def test_data_explain_every_column(start_run):
    folder = start_run(notebook="part/page")
    save_data("page-instances", INSTANCES, "One row\n an instance.", COLUMNS)
    data = json.loads((folder / "data/page-instances.json").read_text())
    assert (data["description"], data["count"]) == ("One row an instance.", 2)
    assert [column["name"] for column in data["columns"]] == ["instance", "loss"]
    kept = pd.read_csv(folder / "data/page-instances.csv")
    pd.testing.assert_frame_equal(kept, INSTANCES, rtol=1e-8)


@pytest.mark.parametrize(
    ("description", "columns", "said"),
    [
        (" ", COLUMNS, "description of the data"),
        ("Rows.", {"instance": "a number"}, "columns of the data"),
        ("Rows.", COLUMNS | {"more": "what there is not"}, "columns of the data"),
        ("Rows.", COLUMNS | {"loss": " "}, "columns of the data"),
    ],
)
def test_data_that_nobody_explains_are_refused(start_run, description, columns, said):
    folder = start_run()
    with pytest.raises(ValueError, match=said):
        save_data("page-instances", INSTANCES, description, columns)
    assert not (folder / "data").exists()


def test_opened_notebook_shows_frame(start_run, monkeypatch, tmp_path):
    start_run()
    monkeypatch.delenv(VARIABLE)
    monkeypatch.chdir(tmp_path)
    run_facts.cache_clear()
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    save_rewards()
    save_rewards()  # a cell may run twice
    assert [frame is FRAME for frame in shown] == [True, True]
