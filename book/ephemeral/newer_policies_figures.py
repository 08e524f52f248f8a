"""Figure of the page `newer-policies`."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from scorecard import COLOURS, add_legend, add_panels, save_figure

#: Label and look of each line: a colour a content and index, a dash and marker a kind of start.
_COPIES = {
    ("expected", "together"): ("expected content, equal ages", COLOURS[1], "-", "s"),
    ("expected", "random"): ("expected content, random ages", COLOURS[1], "--", "x"),
    ("random", "together"): ("random content, equal ages", COLOURS[0], "-", "o"),
    ("random", "random"): ("random content, random ages", COLOURS[0], "--", "x"),
    ("closed form", "together"): ("random content, wrong index", COLOURS[2], "-", "^"),
}
_LEAST_GAP = 1e-6  # where a gap of zero is drawn


def draw_copies(copies: pd.DataFrame, runs: int) -> None:
    """Draw the gap to the bound against the number of copies, one panel a set of sources."""
    sets = copies["sources"].unique()
    most = int(copies[copies.content == "random"].copies.max())
    gaps = copies.assign(gap=copies["gap"].where(copies["gap"] > 1e-12, 0.0))  # not of rounding
    ends = gaps.sort_values("copies").groupby(["sources", "content", "start"]).gap
    flat = " and ".join(f"{ends.last()[name, 'expected', 'together']:.2g}" for name in sets)
    fallen = " and ".join(f"{ends.last()[name, 'random', 'together']:.1g}" for name in sets)
    moves = " and ".join(
        f"from {ends.first()[name, 'random', 'together']:.1g} to "
        f"{ends.last()[name, 'random', 'together']:.1g}"
        for name in sets
    )

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, len(sets), sharey=True)
        for axis, name in zip(axes, sets, strict=True):
            for (content, start), (label, colour, style, marker) in _COPIES.items():
                selected = (
                    (copies.sources == name) & (copies.content == content) & (copies.start == start)
                )
                line = copies.loc[selected, ["copies", "gap", "low", "high"]].clip(lower=_LEAST_GAP)
                look = {"color": colour, "linestyle": style, "marker": marker, "markersize": 4}
                axis.plot(line.copies, line.gap, label=label, **look)
                axis.fill_between(
                    line.copies, line.low, line.high, color=colour, alpha=0.2, linewidth=0
                )
            axis.set(xscale="log", yscale="log", xlabel="copies of each source")
            axis.set_title(name)
        axes[0].set_ylim(_LEAST_GAP, 0.3)
        figure.supylabel("gap to the relaxed bound (share)")
        add_legend(figure)
        return copies

    save_figure(
        "newer-policies-copies",
        draw,
        caption="Gap between the index policy and the relaxed bound. With random content, equal "
        f"ages and its own index it is {fallen} at {most} copies of each source on the two sets; "
        f"with expected content and equal ages it is {flat} with any number. The wrong index is "
        f"that of expected content. Bands: 95% intervals over {runs} runs where content is random, "
        f"the range of {runs} runs otherwise; a gap of zero is drawn at the bottom.",
        alt="Log-log panels of the gap. With expected content and equal ages at the beginning the "
        f"curve is flat, at {flat}. With random content and its own index the curves go {moves} "
        f"at {most} copies.",
        height=3.9,
    )
