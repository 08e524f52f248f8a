"""Figures of the page on the model and its index; what they show is computed on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.theory.formula import printed_eta
from book.ephemeral.model_and_index import KINDS, Cases
from scorecard import COLOURS, add_legend, add_panels, format_rounded, ink, pluralise, save_figure

_STYLES = ("-", "--", "-.", ":")
_FLOOR = 2e-17  # where an error of exactly zero is drawn


def draw_cycle(source: int, arm: Sources, gap: int = 4, cycles: int = 3) -> None:
    """Draw the content of a source that is crawled at a constant gap."""
    age = np.linspace(0, gap, 81)
    content = arm.state_at_age(age[:, None])[:, 0]
    time = np.concatenate([gap * n + age for n in range(cycles)])
    limit = float(arm.u_star[0])

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.plot(time, np.tile(content, cycles), color=COLOURS[0], label="content")
        crawls = gap * np.arange(1, cycles + 1)
        axis.plot(crawls, np.full(cycles, content[-1]), "o", color=ink(), label="taken by a crawl")
        axis.axhline(limit, color=ink(), linewidth=0.9, linestyle=":", label="limit $u^*$")
        axis.set(xlabel="epoch", ylabel="content (value units)", xticks=range(gap * cycles + 1))
        axis.set(xlim=(0, gap * cycles + 0.2), ylim=(0, 1.1 * limit or 1.0))
        add_legend(figure)
        return pd.DataFrame({"epoch": time, "content": np.tile(content, cycles)})

    save_figure(
        "model-and-index-cycle",
        draw,
        caption=f"Expected content of source {source}, crawled at every {gap}th epoch. It grows "
        "towards $u^*$, ever more slowly, and a crawl takes all there is (dots).",
        alt=f"A curve that rises from 0 to {content[-1]:.3g} and falls back to 0 at each crawl, "
        f"below a dotted line at {limit:.3g}.",
        height=2.8,
    )


def find_thresholds(content: Floats, advantages: Mapping[float, Floats]) -> dict[float, float]:
    """Return the content at which each advantage changes its sign, ``nan`` if it has one sign."""
    return {
        subsidy: float(np.interp(0, values, content, left=np.nan, right=np.nan))
        for subsidy, values in advantages.items()
    }


def draw_threshold(
    source: int, content: Floats, values: Mapping[float, Floats], advantages: Mapping[float, Floats]
) -> None:
    """Draw relative values and advantages of a crawl at several subsidies."""
    crossings = find_thresholds(content, advantages)
    listed = ", ".join(
        "none" if np.isnan(a) else f"{a:.1f}" for a in crossings.values()
    )  # below u, where the subsidy is small

    def draw(figure: Figure) -> pd.DataFrame:
        value_axis, gain_axis = add_panels(figure, 2)
        columns = {"content": content}
        for n, subsidy in enumerate(values):
            look = {"color": COLOURS[n % 7], "linestyle": _STYLES[n % 4]}
            label = rf"$C\lambda$ = {subsidy:g} $u^*$"
            value_axis.plot(content, values[subsidy], label=label, **look)
            gain_axis.plot(content, advantages[subsidy], **look)
            gain_axis.plot(crossings[subsidy], 0, "o", color=COLOURS[n % 7], markersize=6)
            columns[f"V at {subsidy:g} u*"] = values[subsidy]
            columns[f"advantage at {subsidy:g} u*"] = advantages[subsidy]
        gain_axis.axhline(0, color=ink(), linewidth=0.8)
        label = "relative value $V(x)$ (value units)"
        value_axis.set(xlabel="content $x$ (value units)", ylabel=label)
        label = r"$x - V(\alpha x + u) - C\lambda$ (value units)"
        gain_axis.set(xlabel="content $x$ (value units)", ylabel=label)
        value_axis.legend()
        return pd.DataFrame(columns)

    save_figure(
        "model-and-index-threshold",
        draw,
        caption=f"First panel: relative values of source {source} on $[u, u^*]$ are convex and "
        "rise. Second panel: what a crawl now gains over waiting one epoch rises with the content "
        "and falls with the subsidy; it changes sign at most once. Thresholds from $u$ on, by "
        f"rising subsidy: {listed}.",
        alt=f"Two panels with {pluralise(len(values), 'curve')} each, one a subsidy. In the first "
        "convex rising curves. In the second rising curves that lie lower for larger subsidies. "
        f"Contents at which they cross zero, by rising subsidy: {listed}.",
    )


def draw_gap(source: int, level: float, price: Floats, moved: Floats) -> None:
    """Draw the value one epoch later, and the same plus the subsidy, against the subsidy."""
    label = r"$C\lambda + V_\lambda(\alpha x + u)$"
    steepest = float((np.diff(moved) / np.diff(price)).min())

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.plot(price, moved, color=COLOURS[0], label=r"$V_\lambda(\alpha x + u)$")
        axis.plot(price, price + moved, color=COLOURS[1], linestyle="--", label=label)
        axis.axhline(level, color=ink(), linewidth=0.8)
        axis.annotate("$x$", (0, level), xytext=(4, 4), textcoords="offset points")
        axis.set(xlabel=r"subsidy $C\lambda$ (value units)", ylabel="value units")
        add_legend(figure)
        return pd.DataFrame({"subsidy": price, "value": moved, "sum": price + moved})

    save_figure(
        "model-and-index-gap",
        draw,
        caption=f"The gap in the report's proof of its Lemma 4, for source {source} at "
        f"$x = 0.8\\,u^*$: {describe_falls(steepest)}. With the subsidy added it never falls, so "
        "the state passes from active (below $x$) to passive once.",
        alt=f"Two curves against the subsidy. For the value one epoch later, "
        f"{describe_falls(steepest)}; the same value plus the subsidy rises throughout and crosses "
        "the level x once.",
        height=3.4,
    )


def describe_falls(steepest: float) -> str:
    """Return a text on the least slope of the value function in the subsidy."""
    if steepest > -0.005:  # interest is gone within an epoch: the state hardly matters
        return "the value function falls with the subsidy by less than 0.01 for each unit"
    return f"the value function falls with the subsidy, at up to {-steepest:.2f} for each unit"


def draw_curve(source: int, arm: Sources, curves: pd.DataFrame, orbit: pd.DataFrame) -> None:
    """Draw the index against the content, by definition and as printed."""
    limit, x = float(arm.u_star[0]), curves["content"].to_numpy()
    broken = curves["short form"].to_numpy().copy()
    broken[np.flatnonzero(np.diff(printed_eta(arm, x[:, None])[:, 0]))] = np.nan
    above = x >= limit
    name = f"ages 1 to {len(orbit)}"
    worst = float((arm.alpha * arm.u / arm.cost)[0])

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.plot(x, curves["index"], color=COLOURS[0], linewidth=2.2, label="index by definition")
        axis.plot(x, broken, color=COLOURS[1], linestyle="--", label="short form (Remark, slides)")
        axis.plot(
            x[above],
            curves["theorem"][above],
            color=COLOURS[2],
            linestyle="-.",
            linewidth=2,
            label="Theorem 1 above $u^*$",
        )
        axis.plot(orbit["content"], orbit["index"], "o", color=ink(), markersize=5, label=name)
        axis.axvline(limit, color=ink(), linewidth=0.8, linestyle=":")
        bottom = (limit, axis.get_ylim()[0])
        axis.annotate("$u^*$", bottom, xytext=(4, 6), textcoords="offset points")
        axis.set(xlabel="content $x$ (value units)", ylabel=r"index $\gamma(x)$ (value per cost)")
        add_legend(figure)
        return curves

    save_figure(
        "model-and-index-curve",
        draw,
        caption=f"The index of source {source}. On the orbit (dots) all forms agree. Between its "
        f"points the short form is too small, by less than {format_rounded(worst)} between $u$ and "
        "$u^*$ (that is $\\alpha u/C$, which it comes as near as one likes). From $u^*$ on Theorem "
        "1 of the report gives 0, and the short form, with $\\eta = 0$, the right $x/C$.",
        alt=f"A convex rising curve, the index, with {len(orbit)} dots on it. A dashed saw-tooth "
        f"curve touches it at the dots and drops by up to {format_rounded(worst, 1)} after each. "
        "Above u* a line at zero shows the printed theorem.",
        height=4,
    )


def describe_lost_digits(decay: Floats, error: Floats) -> str:
    """Return a text on the slow and fast decays at which the relative error is at least half."""
    accurate = np.flatnonzero(error < 0.5)
    if not accurate.size:
        return "at all of these decays"
    ends = []
    if accurate[0] > 0:
        ends.append(f"at decays up to {decay[accurate[0] - 1]:.0e}")
    if accurate[-1] < decay.size - 1:
        content = "where the content is $u^*$ to all digits"
        ends.append(f"from {decay[accurate[-1] + 1]:.1f} on, {content},")
    return " and ".join(ends) or "at none of these decays"


def draw_rounding(age: int, decay: Floats, errors: Mapping[str, Floats], stable: float) -> None:
    """Draw the relative error of each form of the index against the decay of interest."""
    bound = 10.0 ** np.ceil(np.log10(stable))
    theorem, short = list(errors.values())[:2]
    where = describe_lost_digits(decay, theorem)
    plain = where.replace("$u^*$", "u*").rstrip(",")

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        looks = zip(errors.items(), COLOURS, ("o", "s", "^", "v"), strict=False)
        for (name, error), colour, marker in looks:
            drawn = np.maximum(error, _FLOOR)
            axis.loglog(decay, drawn, marker, color=colour, markersize=3.5, label=name)
        axis.axhline(1, color=ink(), linewidth=0.8, linestyle=":")
        axis.set(
            xlabel=r"decay of interest in an epoch, $\mu T$", ylabel="relative error of the index"
        )
        add_legend(figure)
        return pd.DataFrame({"decay": decay, **errors})

    save_figure(
        "model-and-index-rounding",
        draw,
        caption=f"Relative error in double precision at age {age}, against the definition in 60 "
        f"decimal digits. The stable forms stay below {bound:.0e}. The printed forms lose digits "
        "where interest fades slowly, the short form also elsewhere when the ceiling flips. "
        f"Theorem 1 as printed is off by half or more {where}. "
        "Errors of exactly 0 are drawn at the bottom edge.",
        alt="Scatter of relative errors on logarithmic axes. Two stable forms stay below "
        f"{bound:.0e} for all decay rates. The error of Theorem 1 as printed rises as the decay "
        f"rate falls, and is a half or more {plain}; that of the short form scatters, up to "
        f"{short.max():.1e}.",
        height=3.8,
    )


def draw_definition(cases: Cases, index: Floats, defined: Floats) -> None:
    """Draw the relative difference of the closed form from the definition, one dot a case."""
    decay, difference = cases.sources.decay, np.abs(index / defined - 1)
    looks: Sequence[tuple[str, str]] = (("o", COLOURS[0]), ("s", COLOURS[1]), ("^", COLOURS[2]))
    bound = 10.0 ** np.ceil(np.log10(max(float(difference.max()), _FLOOR)))

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for kind, (name, (marker, colour)) in enumerate(zip(KINDS, looks, strict=True)):
            members = cases.kind == kind
            drawn = np.maximum(difference[members], _FLOOR)
            label = name.replace("u*", "$u^*$")
            axis.loglog(decay[members], drawn, marker, color=colour, markersize=4, label=label)
        axis.set(xlabel=r"decay of interest in an epoch, $\mu T$", ylabel="relative difference")
        axis.set_ylim(1e-17, 1e-8)
        axis.axhline(1e-9, color=ink(), linewidth=0.8, linestyle=":")
        axis.annotate("$10^{-9}$", (decay.min(), 1e-9), xytext=(0, -11), textcoords="offset points")
        add_legend(figure)
        return pd.DataFrame(
            {
                "decay": decay,
                "share of u*": cases.state / cases.sources.u_star,
                "cost": cases.sources.cost,
                "closed form": index,
                "definition": defined,
            }
        )

    save_figure(
        "model-and-index-definition",
        draw,
        caption=f"Closed form against definition on {len(index)} random sources, in random states "
        "near 0, below and above $u^*$, with random costs: the relative difference is below "
        f"{bound:.0e} throughout.",
        alt="Scatter of relative differences against the decay rate over eleven decades, all below "
        f"{bound:.0e}, far below a dotted line at one in a billion.",
        height=3.5,
    )
