"""Every drawing of the book at the width at which it is shown, wide and narrow, light and dark."""

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import style
from matplotlib.figure import Figure

from scorecard import add_panels
from scorecard.saving import STYLE, WIDTH
from tests.support import sample

#: Width in pixels of a figure in the column of a page, and on a telephone.
WIDE, NARROW = 700, 358
LOOK = Path(__file__).with_name("figures.js").read_text(encoding="utf-8")
FAULTS = ("overlapping", "cut", "small", "faint", "crossed", "bare", "pointless")


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


def test_figures_can_be_read(site, look):
    """A quarter of all drawings at each commit."""
    read, found = 0, {}
    drawings = [path.name for path in (site.html / "figures").glob("*.svg")]
    for path in (site.html / "figures" / name for name in sample(drawings, len(drawings) // 4)):
        said = look(path.read_text(encoding="utf-8"), NARROW if ".narrow." in path.name else WIDE)
        read += said["texts"]
        if faults := {fault: said[fault] for fault in FAULTS if said[fault]}:
            found[path.name] = faults
    assert read > 500
    assert found == {}


@pytest.fixture
def drawing():
    """Return a function that draws on an axis, on a light page or a dark one; it returns an SVG."""

    def drawing(draw, *changes):
        file = io.StringIO()
        with style.context([STYLE, *changes], after_reset=True):
            figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
            draw(*add_panels(figure))
            figure.savefig(file, format="svg")
        return file.getvalue()

    return drawing


def faulty(said):
    return {fault for fault in FAULTS if said[fault]}


def without_points(lines):
    """Give lines a legend that has lost their points."""
    legend = lines[0].axes.legend(loc="upper left")
    for key in legend.legend_handles:
        key.set_marker("")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("fault", "draw"),
    [
        ("overlapping", lambda axis: [axis.text(0.5, 0.5, "one"), axis.text(0.505, 0.505, "two")]),
        ("cut", lambda axis: axis.text(0.9, 0.5, "a text that leaves the page", in_layout=False)),
        ("small", lambda axis: axis.text(0.5, 0.5, "small", fontsize=4)),
        ("faint", lambda axis: axis.text(0.5, 0.5, "faint", color="#bbbbbb")),
        ("crossed", lambda axis: [axis.plot([0, 1], [0, 1]), axis.text(0.4, 0.5, "on the curve")]),
        ("bare", lambda axis: axis.set_yticks([0, 0.5, 1], [])),
        ("pointless", lambda axis: without_points(axis.plot([0, 1], [0, 1], "o-", label="curve"))),
    ],
)
def test_drawing_fault_is_seen(look, drawing, fault, draw):
    assert faulty(look(drawing(lambda axis: None))) == set()
    assert faulty(look(drawing(draw))) == {fault}


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
def test_rewards_stay_below_bounds(site, id):
    frame = pd.read_csv(site.html / f"figures/{id}.csv")
    assert beyond(frame).empty


def beyond_of_policies(frame):
    """The fluid formula is no policy's reward."""
    return frame[frame.policy != "fluid formula"].filter(like="M = ")


def beyond_of_parts(frame):
    """Under quotas no run loses less than their bound, and with a multiplier none less than 0."""
    runs = frame[frame.kind == "simulated"]
    bound = frame[frame.kind == "bound"].set_index(["parts", "split"]).loss
    least = bound.loc[pd.MultiIndex.from_frame(runs[["parts", "split"]])].to_numpy()
    return np.where(runs.exchange, 0.0, least) - (runs.loss + runs.half_width)


def beyond_of_ways(frame):
    """In units of the optimum within the budget, which the first four ways keep at each epoch."""
    kept = frame[["value", "index", "skip", "stop"]] - 1
    return kept.assign(debt=frame.debt - frame.bound)


#: By how much the rewards of a figure lie beyond what bounds them; a column of these, and what is
#: added to it to give a fault.
BEYOND = {
    "how-good-policies": (beyond_of_policies, "M = 2", 1.0),
    "how-good-random": (lambda f: -f.drop(columns=["sources", "budget"]), "whittle", -100.0),
    "many-machines-limits": (lambda f: f.relaxed - f.policy - f.half_width, "relaxed", 0.5),
    "many-machines-parts": (beyond_of_parts, "loss", -0.01),
    "many-copies-losses": (lambda f: -f[["two-level", "index"]], "two-level", -0.1),
    "newer-policies-copies": (lambda f: -f.high, "high", -1.0),
    "costs-and-budgets-losses": (beyond_of_ways, "debt", 1.0),
    "timetable-index": (lambda f: -f[["timetable", "index", "even list"]], "index", -1.0),
    "timetable-losses": (lambda f: f.timetable - f.proved, "timetable", 1.0),
    "optimum-random": (lambda f: 1 - f[["delay", "phases", "bound"]], "phases", -2.0),
    "robots-bounds-gains": (lambda f: f["lower bound"] - f.optimum, "optimum", -1.0),
}
#: Relative error of data with nine digits.
ROUNDING = 1e-8


@pytest.mark.parametrize("id", BEYOND)
def test_figures_stay_below_their_bounds(site, id):
    frame = pd.read_csv(site.html / f"figures/{id}.csv")
    excess, column, fault = BEYOND[id]
    assert np.nanmax(excess(frame)) <= ROUNDING
    assert np.nanmax(excess(frame.assign(**{column: frame[column] + fault}))) > ROUNDING
