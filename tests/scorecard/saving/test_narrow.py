"""A figure for a telephone: one column of panels, letters that can be read, nothing cut off."""

import warnings
from itertools import pairwise

import pytest
from matplotlib import pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.text import Text

from scorecard import figure
from scorecard.saving.figures import MINIMUM_POINTS, WIDTH, reflow

LONG = r"reward of the epoch over the relaxed bound $\beta^*(\lambda)$, in units of source 1"


@pytest.fixture
def drawn():
    """Two panels side by side that share an axis, with long words and a legend of four lines."""
    fig, axes = figure(1, 2, sharey=True)
    for number, axis in enumerate(axes):
        for line in range(4):
            axis.plot([1, 2, 3], [line, 1, number], label=f"a policy with a long name {line}")
        axis.set_title(LONG, fontsize=6)
        axis.set_xlabel(LONG)
    axes[0].set_ylabel("reward per epoch")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    fig.draw_without_rendering()
    reflow(fig)
    fig.draw_without_rendering()
    yield fig
    plt.close(fig)


def test_panels_stand_below_each_other_with_labels_of_their_own(drawn):
    upper, lower = (axes.get_window_extent() for axes in drawn.axes)
    assert upper.y0 > lower.y1
    assert upper.x0 == pytest.approx(lower.x0)
    for axes in drawn.axes:
        assert axes.get_ylabel() == "reward per epoch"
        assert any(label.get_visible() for label in axes.get_yticklabels())


def test_no_letter_is_small_and_none_stands_outside(drawn):
    assert drawn.get_figwidth() == WIDTH
    assert all(text.get_fontsize() >= MINIMUM_POINTS for text in drawn.findobj(Text))
    everything = drawn.get_tightbbox(drawn.canvas.get_renderer())
    assert everything.x0 > -0.02
    assert everything.x1 < WIDTH + 0.02


def test_mathematics_is_not_broken(drawn):
    for axes in drawn.axes:
        for words in (axes.get_title("left"), axes.get_xlabel()):
            assert "\n" in words
            assert words.replace("\n", " ") == LONG


def test_long_names_of_a_reader_leave_panels_their_width():
    """As the middle of a title, which a layout keeps room for, lay outside of a narrow panel."""
    fig, axes = figure(6, 1, height=8, sharex=True)
    names = ["https://news.a-long-name.example/all/the/items.xml", "a b", "ü" * 48, "c", "d", "e"]
    for axis, name in zip(axes, names, strict=True):
        axis.plot([1, 2], [0, 100])
        axis.set_title(f"source {name}: crawled at 100% of these epochs", fontsize="small")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that a layout was not applied, for want of room
        reflow(fig)
        fig.draw_without_rendering()
    dpi = fig.get_dpi()
    for axis, name in zip(fig.axes, names, strict=True):
        assert axis.get_window_extent().width > 1.2 * dpi
        assert axis.get_window_extent().height > 0.4 * dpi
        title = axis.get_title("left")
        assert "".join(title.split()) == "".join(
            f"source {name}:crawledat100%oftheseepochs".split()
        )
        assert axis._left_title.get_window_extent().x1 < WIDTH * dpi


def test_points_with_bars_keep_their_marks_in_the_legend():
    fig, axes = figure(height=3.0)
    for marker in "os":
        axes.errorbar([0, 1], [1, 2], yerr=0.1, marker=marker, linestyle="none", label=marker)
    axes.legend()
    fig.draw_without_rendering()
    reflow(fig)
    (legend,) = fig.legends
    marks = {line.get_marker() for line in legend.findobj(Line2D)}
    plt.close(fig)
    assert {"o", "s"} <= marks


def test_long_names_beside_an_axis_leave_the_panel_its_width():
    fig, axis = figure(height=4.0)
    names = ["a long name of a policy, chosen settings", "a policy", "another name, defaults"]
    axis.barh(range(3), [1, 2, 3])
    axis.set_yticks(range(3), names)
    fig.draw_without_rendering()
    reflow(fig)
    fig.draw_without_rendering()
    shown = [label.get_text() for label in axis.get_yticklabels()]
    width = axis.get_window_extent().width / fig.bbox.width
    plt.close(fig)
    assert [" ".join(name.split()) for name in shown] == names
    assert max(len(line) for name in shown for line in name.split("\n")) <= 26
    assert width > 0.4


def test_a_legend_is_folded_below_the_panels(drawn):
    (legend,) = drawn.legends
    assert len(legend.get_texts()) == 4
    box = legend.get_window_extent()
    assert box.width <= drawn.bbox.width
    assert box.y1 < min(axes.get_window_extent().y0 for axes in drawn.axes)


def test_numbers_on_an_axis_do_not_run_into_each_other():
    fig, axis = figure()
    axis.plot([0, 1], [0, 1])
    axis.set_xticks([0, 0.01, 0.02, 0.5, 1], ["0.000", "0.010", "0.020", "0.500", "1.000"])
    fig.draw_without_rendering()
    reflow(fig)
    fig.draw_without_rendering()
    boxes = [b.get_window_extent() for b in axis.get_xticklabels() if b.get_visible()]
    assert len(boxes) == 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    plt.close(fig)


def test_an_empty_panel_goes_and_a_drawing_without_axes_stays():
    fig, (drawing, empty) = figure(columns=2)
    for axes in (drawing, empty):
        axes.axis("off")
    drawing.plot([0, 1], [0, 1])
    fig.draw_without_rendering()
    reflow(fig)
    assert fig.axes == [drawing]
    plt.close(fig)


def test_names_on_an_axis_are_turned_and_none_is_hidden():
    fig, axis = figure()
    names = [f"{10**n}, {n}0000" for n in range(9)]
    axis.plot(range(9), range(9))
    axis.set_xticks(range(9), names)
    fig.draw_without_rendering()
    reflow(fig)
    labels = axis.get_xticklabels()
    assert [label.get_text() for label in labels if label.get_visible()] == names
    assert {label.get_rotation() for label in labels} == {35}
    plt.close(fig)
