"""Experiments (3) and (4), against the myopic policy.

Frames of systems are those of `analysis.restarts.systems.myopic_gaps` and `exact_costs`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.restarts.systems import fullest_bin
from book.restarts.shared import BIN, SYSTEM, printed_ticks
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    format_range,
    paper,
    pluralise,
    save_data,
    save_figure,
    save_table,
    save_value,
    save_values,
)
from scorecard.prints import printed_number

#: How much dearer, relatively, one exact cost is than another to count as dearer.
DEARER = 1e-6


def tabulate_savings(large: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the savings of the index policy and of other policies, a row a generator."""
    by = large.groupby("kernel", sort=False)
    systems = by.eps.size()
    ahead = cells.assign(ahead=100 * (1 - cells["index"] / cells.lookahead))
    size, budget = large.arms.iloc[0], large.budget.iloc[0]
    ahead = ahead[(ahead.arms == size) & (ahead.budget == budget)]
    columns = pd.DataFrame(
        {
            "systems": systems,
            "least": by.eps.min(),
            "median": by.eps.median(),
            "greatest": by.eps.max(),
            "half-width": (by.high.mean() - by.low.mean()) / 2,
            "in one bin": 100 * by.eps.agg(fullest_bin, 1) / systems,
            "two epochs": ahead.groupby("kernel", sort=False).ahead.median(),
            "above bound": by.gap.median(),
        }
    )
    return columns.reindex(large.kernel.unique())


def select_losses(small: pd.DataFrame) -> pd.DataFrame:
    """Return the systems on which the myopic policy is cheaper than the index with its best ties.

    ``loss`` is the percentage by which the index policy costs more, greatest first.
    """
    loss = 100 * (small.index_best / small.myopic - 1)
    return small.assign(loss=loss)[loss > 100 * DEARER].sort_values(
        "loss", ascending=False, kind="stable"
    )


# Values and tables


def save_numbers(
    table: pd.DataFrame, large: pd.DataFrame, small: pd.DataFrame, printed: pd.DataFrame
) -> None:
    """Save the numbers that the page quotes, bounds rounded outward to the digit shown."""
    worst = select_losses(small)
    numbers = {
        "arms": int(large.arms.iloc[0]),
        "budget": int(large.budget.iloc[0]),
        "median-least": table["median"].min(),
        "median-most": table["median"].max(),
        "greatest": large.eps.max(),
        "widest": float(np.ceil(10 * (table["greatest"] - table["least"]).max()) / 10),
        "beaten": len(worst) > 0,
        "loss": float(np.ceil(100 * worst.loss.max()) / 100) if len(worst) else 0.0,
        "surely": len(worst),
        "negative": int((small["index"] > (1 + DEARER) * small.myopic).sum()),
        "small": len(small),
        "printed-half": float((printed.high - printed.low).mean() / 2),
        "half": float((large.high - large.low).mean() / 2),
    }
    save_values("restart-myopic", numbers)


def save_counts(large: tuple[int, int], printed: tuple[int, int], half: float) -> None:
    """Save paths and epochs of both simulations, and how many paths a half-width of 0.05 takes."""
    for prefix, counts in (("", large), ("printed-", printed)):
        for name, count in zip(("paths", "epochs"), counts, strict=True):
            save_value(f"restart-myopic-{prefix}{name}", count)
    save_value("restart-myopic-enough", large[0] * (half / 0.05) ** 2)


SAVING = {
    "eps": "saving of the index policy over the myopic one, % of the latter's cost",
    "low": "lower end of its 95% interval",
    "high": "upper end of its 95% interval",
    "bound": "relaxed bound on the cost per epoch",
    "gap": "by what percentage the index policy is above the bound",
}
SIMULATED = {
    "index": "simulated cost per epoch of the index policy",
    "myopic": "simulated cost per epoch of the myopic policy",
}
AHEAD = {"lookahead": "simulated cost per epoch of the policy that looks two epochs ahead"}


def save_systems(large: pd.DataFrame, cells: pd.DataFrame) -> None:
    """Save every simulated system of experiments (3) and (4): of one size, and of all sizes."""
    columns = SYSTEM | SIMULATED | SAVING
    save_data(
        "restart-myopic-systems",
        large[list(columns)],
        "One row a random system of one size and budget, simulated on common random numbers.",
        columns,
    )
    columns = SYSTEM | SIMULATED | AHEAD | SAVING
    save_data(
        "restart-myopic-cells",
        cells[list(columns)],
        "One row a random system of each size and budget, simulated on common random numbers.",
        columns,
    )


def save_as_printed(systems: pd.DataFrame, paths: int, epochs: int) -> None:
    """Save the systems that are simulated with the slides' own counts."""
    columns = systems[["kernel", "arms", "budget", "index", "myopic", "eps", "low", "high"]].copy()
    columns.loc[columns.low == columns.high, ["low", "high"]] = np.nan  # both policies act alike
    save_table(
        "restart-myopic-as-printed",
        columns,
        f"Systems simulated by {paths} paths of {epochs} epochs with costs added up as the slides "
        "print it: cost of both policies, the saving in % and its 95% interval.",
        formats=".3f",
    )


def save_savings(table: pd.DataFrame) -> None:
    """Save the table of `tabulate_savings`."""
    save_table(
        "restart-myopic-generators",
        table,
        "Saving of the index policy over the myopic one by generator, in % but for the "
        "number of systems: its range, the mean half-width of an interval, how many systems in a "
        "hundred one bin of 1% can hold, the median saving over the policy that looks two "
        "epochs ahead, and how far the index policy is above the relaxed bound.",
        formats={**dict.fromkeys(table.columns.drop("systems"), ".2f"), "half-width": ".2g"},
        instances="restart-myopic-systems",
    )


def save_gaps(cells: pd.DataFrame) -> None:
    """Save by how much the index policy is above the relaxed bound, by size and budget."""
    save_table(
        "restart-myopic-gaps",
        cells.groupby(["arms", "budget"]).gap.agg(["min", "median", "max"]),
        "By what percentage the index policy is above the relaxed bound: least, median and "
        "greatest of all systems of a size and budget.",
        formats=".2f",
        instances="restart-myopic-cells",
    )


def save_losses(worst: pd.DataFrame) -> None:
    """Save the systems on which the myopic policy is the better one, if there are any."""
    if worst.empty:
        return
    columns = ["kernel", "budget", "optimal", "index_best", "myopic", "loss"]
    save_table(
        "restart-myopic-losses",
        worst[columns].head(5).reset_index(drop=True),
        f"The systems, of {len(worst)}, on which the index policy with ties broken in the best way "
        "loses most to the myopic policy: exact costs, and the loss in %.",
        formats=".4f",
        labels={"optimal": "optimum", "index_best": "index, best ties", "loss": "loss (%)"},
    )


#: Arms and budget of the cells that the solution quotes.
QUOTED = ((25, 5), (75, 5), (25, 1), (75, 1))


def save_solutions(cells: pd.DataFrame, kernel: str = "lazy-wearing") -> None:
    """Save the median saving of a generator for few and many arms to a repair, where it was run."""
    medians = cells[cells.kernel == kernel].groupby(["arms", "budget"], as_index=False).eps.median()
    savings = {(cell.arms, cell.budget): cell.eps for cell in medians.itertuples()}
    save_value("restart-myopic-wearing", saves_like_wear(savings))
    for cell in QUOTED:
        if cell in savings:
            save_value(f"restart-myopic-{cell[0]}-{cell[1]}", savings[cell])


def saves_like_wear(medians: Mapping[tuple[int, int], float]) -> bool:
    """Whether savings rise with the arms at a large budget and fall at a small one."""
    if not all(cell in medians for cell in QUOTED):
        return False
    few_large, many_large, few_small, many_small = (medians[cell] for cell in QUOTED)
    return bool(many_large > few_large and many_small < few_small)


# Claims


def claims(
    as_printed: pd.DataFrame,
    replications: tuple[int, int],
    cells: pd.DataFrame,
    cell_paths: int,
    large: pd.DataFrame,
    small: pd.DataFrame,
    alike: pd.DataFrame,
    drawn: tuple[Sequence[float], Sequence[float]],
    states: int,
) -> list[Claim]:
    """Return the page's claims on the rows of slides 18, 20 and 21.

    `as_printed`: systems simulated with the slides' own counts; `cells`: systems of all
    generators, sizes and budgets; `cell_paths`: paths of each of them; `large`: systems of one
    size; `small`: small systems solved exactly; `alike`: systems of identical arms; `drawn`: the
    ticks of both axes of the histogram.
    """
    ticks, counts = drawn
    paths, epochs = replications
    half = float((as_printed.high - as_printed.low).mean() / 2)
    used = {"systems": len(as_printed), "half": half}
    by = cells.groupby("kernel", sort=False).eps
    ranges = [{"generator": name, "least": eps.min(), "most": eps.max()} for name, eps in by]
    cell_size = cells.groupby(["kernel", "arms", "budget"]).size().max()
    ranked = cells.sort_values("eps")
    ends = {"C-e34-lo": ranked.iloc[0], "C-e34-hi": ranked.iloc[-1]}
    counts_of = large.kernel.value_counts()
    drawn_of = {"often": counts_of.index[0], "least": int(counts_of.min())}
    return [
        claim("C-mc-5000", paths, numbers=used),
        claim("C-mc-250", epochs, numbers=used),
        claim("C-eps-def"),
        claim("C-e34-X", states),
        claim("C-e34-n", sorted(cells.arms.unique())),
        claim("C-e34-m", sorted(cells.budget.unique())),
        *(
            claim(
                row,
                end.eps,
                interval=(end.low, end.high),
                replications=cell_paths,
                numbers={"each": cell_size, "paths": cell_paths, "ranges": ranges},
            )
            for row, end in ends.items()
        ),
        claim(
            "C-e34-fig",
            figure="restart-myopic-histogram",
            numbers={"width": BIN, "most": int(counts_of.max()), **drawn_of},
        ),
        claim("C-e34-100", int(counts_of.max()), numbers=drawn_of),
        claim("C-e34-xaxis", ticks),
        claim("C-e34-yaxis", counts),
        claim("C-e34-split"),
        _conclusion(cells, small, alike),
    ]


def _conclusion(cells: pd.DataFrame, small: pd.DataFrame, alike: pd.DataFrame) -> Claim:
    numbers = {
        "systems": len(cells),
        "better": int((cells.low > 0).sum()),
        "worse": int((cells.high < 0).sum()),
        "lost": len(select_losses(small)),
        "small": len(small),
    }
    equal = bool((alike.eps == 0).all())
    return claim("C-concl-myopic", outcome="equal" if equal else "unequal", numbers=numbers)


# Figures


MARKS = "os^D"


def draw_histogram(large: pd.DataFrame, paths: int) -> tuple[Floats, Floats]:
    """Draw the histograms of the saving on the slide's ticks; return the ticks of both axes."""
    names = large.kernel.unique()
    ticks, counts = printed_ticks("C-e34-xaxis"), printed_ticks("C-e34-yaxis")
    bins = np.arange(ticks[0] - 2 * BIN, ticks[-1] + 1.5 * BIN, BIN)
    medians = large.groupby("kernel").eps.median()
    half = float((large.high - large.low).mean() / 2)
    middles = format_range(medians.min(), medians.max(), ".2f")

    def draw(figure: Figure) -> pd.DataFrame:
        panels = add_panels(figure, len(names), 3, sharex=True, sharey=True)
        for axis, name in zip(panels, names, strict=True):
            eps = large[large.kernel == name].eps.to_numpy()
            weights = np.full(eps.size, 100 / eps.size)
            look = {"color": COLOURS[0], "edgecolor": paper(), "linewidth": 0.5}
            axis.hist(eps, bins=bins, weights=weights, **look)
            beyond = int(((eps < bins[0]) | (eps > bins[-1])).sum())
            axis.set_title(f"{name}, {eps.size}" + (f" ({beyond} beyond)" if beyond else ""))
        panels[0].set(xlim=(bins[0], bins[-1]), xticks=ticks, ylim=(0, 104), yticks=counts)
        figure.supxlabel(rf"$\varepsilon_{{\rm myp}}$ (%), bins of {BIN:g}")
        figure.supylabel("systems in a hundred")
        return large

    save_figure(
        "restart-myopic-histogram",
        draw,
        caption=f"What the index policy saves over the myopic one, $n = {large.arms.iloc[0]}$, "
        f"$m = {large.budget.iloc[0]}$. Medians in %: {middles}. By {paths} paths with a control "
        f"variate (half-width {half:.2f} on average). Redraws the histogram of slide 20 on its "
        "ticks, for every generator.",
        alt=f"{pluralise(len(names), 'histogram')} of the saving in %, with medians of {middles}.",
        instances="restart-myopic-systems",
        height=1 + 1.45 * math.ceil(len(names) / 3),
    )
    return ticks, counts


def draw_bands(cells: pd.DataFrame, paths: int) -> None:
    """Draw where the saving of each generator lies, for every size and budget."""
    names, sizes = list(cells.kernel.unique()), list(cells.arms.unique())
    budgets = list(cells.budget.unique())
    extent = cells.groupby(["kernel", "arms", "budget"], sort=False).eps.agg(
        ["min", "median", "max", "size"]
    )
    shades = {size: COLOURS[j % len(COLOURS)] for j, size in enumerate(sizes)}
    pairs = list(product(sizes, budgets))
    printed = (printed_number("C-e34-lo"), printed_number("C-e34-hi"))
    top = extent.reset_index().sort_values("max", kind="stable").iloc[-1]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for (i, name), (j, (size, budget)) in product(enumerate(names), enumerate(pairs)):
            low, middle, high = extent.loc[(name, size, budget), ["min", "median", "max"]]
            y = len(names) - i + 0.36 - 0.72 * j / max(1, len(pairs) - 1)
            mark = MARKS[budgets.index(budget) % len(MARKS)]
            axis.plot([low, high], [y, y], color=shades[size], linewidth=1)
            axis.plot(middle, y, mark, color=shades[size], markersize=3)
        axis.axvspan(*printed, color="grey", alpha=0.15)
        for size in sizes:
            axis.plot([], [], color=shades[size], label=f"$n = {size}$")
        for mark, budget in zip(MARKS, budgets, strict=False):
            axis.plot([], [], mark, color="grey", label=f"$m = {budget}$")
        axis.set(yticks=range(len(names), 0, -1), xlabel=r"$\varepsilon_{\rm myp}$ (%)")
        axis.set_yticklabels(names)
        add_legend(figure)
        return cells

    save_figure(
        "restart-myopic-bands",
        draw,
        caption=f"Least, median and greatest saving in every cell, {top['size']} systems of "
        f"{paths} paths each; the printed range is shaded. The greatest, {top['max']:.1f}%, is a "
        f"{top.kernel} system with $n = {top.arms}$, $m = {top.budget}$.",
        alt="For each generator a group of horizontal bars, one for each pair of n and m; the "
        f"longest reach is {top['max']:.1f} percent, of {top.kernel} kernels.",
        instances="restart-myopic-cells",
        height=4.6,
    )
