"""Every drawing of the book at the width at which it is shown, wide and narrow, light and dark."""

import io
import re
from pathlib import Path

import pandas as pd
import pytest
from matplotlib import pyplot as plt

from analysis.report import figure
from analysis.report.publishing.dark_figures import dark_svg

#: Width in pixels of a figure in the column of a page, and on a telephone.
WIDE, NARROW = 700, 358
LOOK = Path(__file__).with_name("figures.js").read_text(encoding="utf-8")
FAULTS = ("overlapping", "cut", "small", "faint", "crossed", "bare")


@pytest.fixture(scope="module")
def look(browser):
    """Return a function that says what is wrong with the texts of a drawing."""
    tab = browser.new_page(viewport={"width": 800, "height": 2400})

    def look(svg, width=WIDE):
        drawing = svg[svg.index("<svg") :]
        style = "body { margin: 0 } svg { display: block }"
        tab.set_content(f"<!doctype html><title>t</title><style>{style}</style>{drawing}")
        return tab.evaluate(LOOK, width)

    yield look
    tab.close()


def test_every_figure_can_be_read(site, look):
    read, found = 0, {}
    for path in sorted((site.html / "figures").glob("*.svg")):
        said = look(path.read_text(encoding="utf-8"), NARROW if ".narrow." in path.name else WIDE)
        read += said["texts"]
        if faults := {fault: said[fault] for fault in FAULTS if said[fault]}:
            found[path.name] = faults
    assert read > 1000
    assert found == {}


@pytest.fixture
def drawing():
    """Return a function that draws on an axis and returns the SVG."""

    def drawing(draw):
        fig, axis = figure()
        draw(axis)
        file = io.StringIO()
        fig.savefig(file, format="svg")
        plt.close(fig)
        return file.getvalue()

    return drawing


def faulty(said):
    return {fault for fault in FAULTS if said[fault]}


@pytest.mark.parametrize(
    ("fault", "draw"),
    [
        ("overlapping", lambda axis: [axis.text(0.5, 0.5, "one"), axis.text(0.51, 0.52, "two")]),
        ("cut", lambda axis: axis.text(0.9, 0.5, "a text that leaves the page", in_layout=False)),
        ("small", lambda axis: axis.text(0.5, 0.5, "small", fontsize=4)),
        ("faint", lambda axis: axis.text(0.5, 0.5, "faint", color="#bbbbbb")),
        ("faint", lambda axis: [axis.axvspan(0, 1, color="#0072B2"), axis.text(0.5, 0.5, "x")]),
        ("faint", lambda axis: axis.set_xlabel("yellow", color="#E69F00")),
        ("crossed", lambda axis: [axis.plot([0, 1], [0, 1]), axis.text(0.4, 0.5, "on the curve")]),
        ("crossed", lambda axis: [axis.axvline(0.5), axis.text(0.4, 0.5, "on the line")]),
        ("bare", lambda axis: axis.set_yticks([0, 0.5, 1], [])),
    ],
)
def test_a_fault_of_a_drawing_would_be_seen(look, drawing, fault, draw):
    assert faulty(look(drawing(lambda axis: None))) == set()
    assert faulty(look(drawing(draw))) == {fault}


def test_a_curve_behind_the_ground_of_a_text_or_in_a_legend_crosses_nothing(look, drawing):
    ground = {"facecolor": "white", "edgecolor": "none"}

    def draw(axis):
        axis.plot([0, 1], [0, 1], label="curve")
        axis.text(0.4, 0.5, "on the curve", bbox=ground)
        axis.legend(loc="upper left")

    assert faulty(look(drawing(draw))) == set()


def test_panels_may_share_the_labels_of_a_row_or_a_column(look):
    file = io.StringIO()
    fig, axes = figure(2, 2, sharex=True, sharey=True)
    fig.savefig(file, format="svg")
    assert look(file.getvalue())["bare"] == []
    file = io.StringIO()
    axes[1, 1].set_visible(False)  # the panel above it is now the last of its column
    fig.savefig(file, format="svg")
    plt.close(fig)
    assert look(file.getvalue())["bare"] == ["axes_2: x"]


def test_ink_that_stays_dark_on_a_dark_page_would_be_seen(look, drawing):
    light = drawing(lambda axis: axis.set_title("title", color="#1f77b4"))
    assert "title: " in str(look(dark_svg(light).replace("#1f77b4", "#202020"))["faint"])


def beyond(frame):
    """Return the rows of a figure's data in which a reward lies above its bound beyond its error.

    Rewards are given with the low end of their interval, with a half-width, or exactly.
    """
    if "reward" in frame and "half_width" in frame:
        least = frame[["reward"]].sub(frame["half_width"], axis=0)
    else:
        least = frame[[name for name in frame if re.fullmatch(r"(.* )?low", name)]]
    return frame[least.gt(frame["bound"] * (1 + 1e-9), axis=0).any(axis=1)]


#: Figures whose data give rewards with their error beside the bound that none can exceed.
BOUNDED = ("crawler-policies", "crawler-faults", "together-robots", "stochastic-index-rewards")


@pytest.mark.parametrize("id", BOUNDED)
def test_no_reward_of_a_figure_lies_above_its_bound_by_more_than_its_error(site, id):
    frame = pd.read_csv(site.html / f"figures/{id}.csv")
    assert beyond(frame).empty


@pytest.mark.parametrize(
    ("columns", "count"),
    [
        ({"bound": [2.0, 2.0], "low": [1.9, 2.1]}, 1),
        ({"bound": [2.0], "aware low": [1.0], "blind low": [2.1]}, 1),
        ({"bound": [2.0, 2.0], "reward": [2.1, 2.1], "half_width": [0.2, 0.05]}, 1),
    ],
)
def test_a_reward_above_its_bound_would_be_seen(columns, count):
    assert len(beyond(pd.DataFrame(columns))) == count
