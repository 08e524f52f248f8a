"""Figures of the page `learning-scheme`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.ephemeral.sources import Sources
from analysis.learning.scheme.chains import GradientCheck
from book.learning.learning_scheme import CORRECTED, HARVEST
from book.learning.shared import error_bound
from scorecard import COLOURS, add_legend, add_panels, ink, paper, save_figure
from scorecard.text import pluralise


def draw_thresholds(sources: Sources, first: Floats, levels: Floats) -> None:
    """Draw thresholds of the next sources against the content of the first."""
    drawn, top = range(1, min(len(sources), 4)), sources.u_star.max()
    above = [f"$T_{i + 1}$" for i in drawn if levels[-1, i] > sources.u_star[i]]
    ends = f": at the right end {', '.join(above)}" if above else ""

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for i in drawn:
            style, limit = ("-.", "-", "--")[i - 1], sources.u_star[i]
            axis.plot(first, levels[:, i], color=COLOURS[i], linestyle=style, label=f"$T_{i + 1}$")
            axis.axhline(limit, color=COLOURS[i], linewidth=0.9, linestyle=(0, (1, 3)))
            crowded = any(0 < sources.u_star[j] - limit < 0.1 * top for j in drawn)
            axis.annotate(
                f"$u^*_{i + 1}$", (first[-1], limit), xytext=(-2, -12 if crowded else 2),
                textcoords="offset points", ha="right", backgroundcolor=paper(),
            )  # fmt: skip
        axis.set(xlabel="content of source 1 (value units)", ylabel="threshold (value units)")
        axis.set(xlim=(0, sources.u_star[0]))
        add_legend(figure)
        return pd.DataFrame(
            {"content of source 1": first, **{f"T_{i + 1}": levels[:, i] for i in drawn}}
        )

    save_figure(
        "learning-scheme-thresholds",
        draw,
        caption="Thresholds of the index policy against the content of source 1, the others one "
        "epoch after a crawl. Thin dotted lines: $u^*_i$, which mean content never exceeds. Where "
        "a threshold lies above that line, the source is not crawled however long it waits"
        f"{ends}.",
        alt=f"Thresholds of {pluralise(len(drawn), 'source')}, which rise with the content of "
        f"source 1; {len(above)} of {len(drawn)} at an end above the largest content that the "
        "source of the threshold can have.",
        height=3.8,
    )


def draw_gradient(checks: Mapping[str, list[GradientCheck]]) -> None:
    """Draw components of the gradient of the harvest by formula against the true ones."""
    cosine = np.median([c.cosine for c in checks[HARVEST]])
    error = max(c.relative_error for c in checks[CORRECTED])

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2, sharey=True)
        styles = zip(axes, (COLOURS[1], COLOURS[0]), "xo", (HARVEST, CORRECTED), strict=True)
        rows = []
        for axis, colour, mark, name in styles:
            true = np.concatenate([c.true.ravel() for c in checks[name]])
            components = np.concatenate([c.formula.ravel() for c in checks[name]])
            axis.plot(true, components, mark, markersize=3.5, color=colour)
            ends = [true.min(), true.max()]
            axis.plot(ends, ends, color=ink(), linewidth=0.9)
            axis.axhline(0, color="grey", linewidth=0.6)
            title = "corrected" if name == CORRECTED else "as printed, own source"
            axis.set(xlabel="true component (scaled content)", title=title)
            axis.locator_params(axis="x", nbins=4)
            rows.append(pd.DataFrame({"formula": name, "true": true, "given": components}))
        figure.supylabel("component by the formula (scaled content)")
        return pd.concat(rows)

    save_figure(
        "learning-scheme-gradient",
        draw,
        caption=f"Components of the gradient of the harvest at {len(checks[HARVEST])} random "
        "points, by the formula and by central differences of the exact value (line: they agree). "
        f"The printed weight $V(y)$ has a median cosine of {cosine:.2f} with the true gradient; "
        "the corrected one agrees.",
        alt="Two scatter plots. As printed, the cosine with the true gradient is "
        f"{cosine:.2f} in the median. Corrected, all points lie on the diagonal, with a relative "
        f"error of at most {error_bound(error):.0e}.",
        height=3.6,
    )
