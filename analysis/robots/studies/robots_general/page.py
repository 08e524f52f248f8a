"""What the page on other indexing times and other robots computes, claims and draws."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.report import (
    COLOURS,
    Claim,
    claim,
    counted,
    figure,
    moves,
    save_figure,
    save_value,
    span,
)
from analysis.robots.controlled.control import RobotControl
from analysis.robots.general import mg1k
from analysis.robots.general.fleet import FleetControl, RobotKind, optimal_fleet
from analysis.robots.general.mg1k import (
    GeneralQueue,
    ServiceLaw,
    general_cost,
    optimal_general_load,
    optimal_general_robots,
)
from analysis.robots.static.mm1k import static_cost

Floats = NDArray[np.float64]

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKERS = "os^DvP"


def law_of(variation: float) -> ServiceLaw:
    """Return the gamma law of a squared coefficient of variation, constant times for 0."""
    return mg1k.deterministic() if variation == 0 else mg1k.gamma_law(variation)


@dataclass(frozen=True)
class Variability:
    """Best loads and numbers of robots by weight and variability, shape (weights, variations)."""

    gammas: list[float]
    variations: list[float]
    loads: Floats
    numbers: Floats


def by_variability(
    gammas: Sequence[float], variations: Sequence[float], arrival_rate: float, capacity: int
) -> Variability:
    """Return the best load and number of robots for gamma laws, in the order of variability."""
    increasing = sorted(variations)
    laws = [law_of(v) for v in increasing]
    loads = [[optimal_general_load(g, capacity, law) for law in laws] for g in gammas]
    numbers = [
        [optimal_general_robots(arrival_rate, g, capacity, law) for law in laws] for g in gammas
    ]
    return Variability(list(gammas), increasing, np.array(loads), np.array(numbers))


def save_predicates(found: Variability, steps: Floats, critical: float) -> None:
    """Keep what the page's sentences on variability depend on.

    Parameters
    ----------
    found : Variability
    steps : ndarray
        As `starvation_steps` returns them.
    critical : float
        gamma(K).
    """
    low, high = int(np.argmin(found.gammas)), int(np.argmax(found.gammas))
    save_value("robots-general-steps", int((steps > 0).sum()))
    save_value("robots-general-all-steps", steps.size)
    save_value("robots-general-loads", len(steps))
    save_value("robots-general-low-gamma", found.gammas[low])
    save_value("robots-general-high-gamma", found.gammas[high])
    for name, k in (("low", low), ("high", high)):
        save_value(f"robots-general-{name}-first", int(found.numbers[k, 0]))
        save_value(f"robots-general-{name}-last", int(found.numbers[k, -1]))
    save_value("robots-general-several-weights", low != high)
    save_value("robots-general-several-variations", steps.size > 0)
    save_value("robots-general-starves-more", bool(steps.size > 0 and (steps > 0).all()))
    save_value("robots-general-loads-fall", falls_below_critical(found, critical))


def falls_below_critical(found: Variability, critical: float) -> bool:
    """Whether the best load falls with the variability at every weight below the critical one."""
    steps = np.diff(found.loads[np.array(found.gammas) < critical])
    return bool(steps.size > 0 and (steps < 0).all())


def largest_errors(
    gammas: Sequence[float], variations: Sequence[float], capacity: int
) -> tuple[float, float]:
    """Return how far the chain is from the closed form, and its two loss rates from each other.

    The first for exponential times, the second for gamma laws; both relative.
    """
    times = mg1k.exponential()
    closed = max(
        abs(general_cost(rho, g, capacity, times) / float(static_cost(rho, g, capacity)) - 1)
        for rho in np.geomspace(0.05, 5, 40).tolist()
        for g in gammas
    )
    measured = [
        (rate, *GeneralQueue(rate, capacity, law_of(v)).measures())
        for v in variations
        for rate in (0.7, 1.0, 1.6)
    ]
    balance = max(abs(lost / (rate - (1 - empty)) - 1) for rate, empty, lost in measured)
    return float(closed), float(balance)


def starvation_steps(variations: Sequence[float], capacity: int) -> Floats:
    """Return the change of the starvation from each variability to the next, at 25 loads."""
    loads = np.geomspace(0.1, 4, 25)
    laws = [law_of(v) for v in sorted(variations)]
    empty = [[GeneralQueue(rho, capacity, law).measures()[0] for law in laws] for rho in loads]
    return np.diff(np.array(empty))


FAST_RATE, FAST, SLOW = 0.25, 6, RobotKind(0.1, 14, 0.01)


def fleet_scan(steps: Sequence[float], gamma: float, capacity: int) -> pd.DataFrame:
    """Return the best fixed and controlled fleets by the running cost of a fast robot."""
    rows = []
    for cost in steps:
        kinds = (RobotKind(FAST_RATE, FAST, float(cost)), SLOW)
        counts, fixed = optimal_fleet(kinds, gamma, capacity)
        own = FleetControl(kinds, 1.0, capacity, gamma).solve()
        idle = FleetControl(kinds, 1.0, capacity, gamma, substitution=True).solve()
        rows.append((cost, *counts, fixed, *own.mean_robots, own.gain, idle.gain))
    names = ["cost of a fast robot", "fast, fixed", "slow, fixed", "cost, fixed"]
    names += ["fast, controlled", "slow, controlled", "cost, controlled"]
    return pd.DataFrame(rows, columns=[*names, "cost, controlled, any idle robot"])


def fleet_neighbours(costs: Sequence[float], gamma: float, capacity: int) -> float:
    """Return the least saving of the best fixed fleet over fleets that differ by a robot or two."""
    gaps = []
    for cost in costs:
        kinds = (RobotKind(FAST_RATE, FAST, float(cost)), SLOW)
        counts, best = optimal_fleet(kinds, gamma, capacity)
        for shift in itertools.product((-1, 0, 1), repeat=2):
            other = [n + step for n, step in zip(counts, shift, strict=True)]
            allowed = all(0 <= n <= k.available for n, k in zip(other, kinds, strict=True))
            if allowed and any(shift) and any(other):
                load = sum(n * kind.arrival_rate for n, kind in zip(other, kinds, strict=True))
                running = sum(n * kind.running_cost for n, kind in zip(other, kinds, strict=True))
                gaps.append(float(static_cost(load, gamma, capacity)) + running - best)
    return min(gaps)


def alike_error() -> float:
    """Return how far two kinds that are alike are from one kind of all of them, relatively."""
    two = FleetControl((RobotKind(0.2, 4), RobotKind(0.2, 3)), 1.0, 5, 1.4).solve()
    return abs(two.gain / RobotControl(7, 0.2, 1.0, 5, 1.4).solve("sparse").gain - 1)


@dataclass(frozen=True)
class Checks:
    """How far the page's models are from what they have to agree with.

    Attributes
    ----------
    closed, balance : float
        As `largest_errors` returns them.
    misses, cases : int
        Simulated 95% intervals without the exact cost, of how many.
    alike : float
        As `alike_error` returns it.
    neighbours : float
        As `fleet_neighbours` returns it.
    """

    closed: float
    balance: float
    misses: int
    cases: int
    alike: float
    neighbours: float


def claims(found: Checks) -> list[Claim]:
    """Return what the page says to the work that the draft announces."""
    return [
        claim(
            "D-fut-general",
            found.closed < 1e-09 and found.balance < 1e-06 and (3 * found.misses <= found.cases),
            numbers={"cases": found.cases, "misses": found.misses},
        ),
        claim("D-fut-hetero", False, basis="judged", numbers={"alike": found.alike}),
        claim("D-fut-area", found.neighbours >= 0),
        claim("D-concl-mg1k", False, basis="judged"),
        claim("D-concl-companion"),
    ]


def _look(k: int) -> dict[str, Any]:
    return {"color": COLOURS[k % 7], "linestyle": STYLES[k % 6]}


def save_variation(found: Variability, arrival_rate: float, capacity: int, critical: float) -> None:
    """Draw the best load and number of robots against the variability."""
    fig, axes = figure(1, 2, width=9, height=3.8)
    data: dict[str, Any] = {"squared variation": found.variations}
    for k, g in enumerate(found.gammas):
        look = _look(k) | {"marker": MARKERS[k % 6], "markersize": 4}
        axes[0].plot(found.variations, found.loads[k], label=f"γ = {g:g}", **look)
        axes[1].plot(found.variations, found.numbers[k], **look)
        data[f"load, gamma = {g:g}"] = found.loads[k]
        data[f"robots, gamma = {g:g}"] = found.numbers[k]
    for axis, name in zip(axes, ("best load", "best number of robots"), strict=True):
        axis.axvline(1, color="grey", linewidth=0.8)
        axis.set(xlabel="squared coefficient of variation", ylabel=name)
    axes[0].set_ylim(top=1.28 * found.loads.max())
    axes[0].legend(fontsize="small", ncols=3)
    extremes = dict.fromkeys((int(np.argmin(found.gammas)), int(np.argmax(found.gammas))))
    ends = [
        f"at γ = {found.gammas[k]:g} the best number of robots "
        + moves(int(found.numbers[k, 0]), int(found.numbers[k, -1]), "d")
        for k in extremes
    ]
    save_figure(
        "robots-general-variation",
        fig,
        pd.DataFrame(data),
        caption="Best load (first) and best number of robots (second) against the variability of "
        f"indexing times with gamma law, $K = {capacity}$, $\\mu = 1$, $\\lambda = "
        f"{arrival_rate:g}$. The grey line marks exponential times, where $\\gamma(K) = "
        f"{critical:.2f}$ separates loads below one from loads above.",
        alt=f"{counted(len(found.gammas), 'line')}, one a weight. From the least to the most "
        f"variable times, {'; '.join(ends)}.",
    )


def save_laws(laws: Sequence[ServiceLaw], gamma: float, capacity: int) -> dict[str, float]:
    """Draw the cost against the load for several laws, and return their best loads."""
    rhos = np.linspace(0.03, 2.0, 80)
    fig, axis = figure(height=3.8)
    data: dict[str, Any] = {"load": rhos}
    best = {}
    for k, law in enumerate(laws):
        data[law.name] = [general_cost(float(rho), gamma, capacity, law) for rho in rhos]
        best[law.name] = optimal_general_load(gamma, capacity, law)
        axis.plot(rhos, data[law.name], label=law.name, **_look(k))
        least = general_cost(best[law.name], gamma, capacity, law)
        axis.plot(best[law.name], least, MARKERS[k % 6], color=COLOURS[k % 7])
    axis.set(xlabel="load ρ", ylabel="cost per unit of time\n(in lost pages)", ylim=(0, None))
    axis.legend(fontsize="small")
    same = [best[law.name] for law in laws[1:]]
    ends = span(min(same), max(same), ".2f")
    save_figure(
        "robots-general-laws",
        fig,
        pd.DataFrame(data),
        caption=f"Cost against load at $K = {capacity}$, $\\gamma = {gamma:g}$, for exponential "
        "times and for three laws with the same mean and the same variance, "
        f"{laws[1].variation:g} times that of the exponential. Marks are the best loads: {ends} "
        "for the three.",
        alt="Four curves that fall and then rise. The lowest points of the three of equal "
        f"variance lie at loads of {ends}; exponential times have theirs at "
        f"{best[laws[0].name]:.2f}.",
    )
    return best


def save_simulation(check: pd.DataFrame, inside: int, replications: int, model: str) -> None:
    """Draw simulated costs over exact ones."""
    ratio, error = check["simulated"] / check["exact"], check["half-width"] / check["exact"]
    fig, axis = figure(height=3.2)
    axis.errorbar(range(len(check)), ratio, yerr=error, fmt="o", capsize=4, color=COLOURS[0])
    axis.axhline(1, color="black", linewidth=1)
    axis.set(ylabel="simulated / exact cost", xlim=(-0.5, len(check) - 0.5))
    names = [
        f"{row[1]}\nN = {row[2]}" + ",\ncontrolled" * bool(row[3]) for row in check.itertuples()
    ]
    axis.set_xticks(range(len(check)), names, fontsize="small")
    save_figure(
        "robots-general-simulation",
        fig,
        check,
        caption=f"Simulated cost over exact cost, with 95% intervals from {replications} runs; "
        f"{model}. {inside} of {len(check)} intervals contain 1.",
        alt=f"{len(check)} points with error bars around the line at 1; {inside} of the bars cross "
        f"it. The widest bar is {error.max():.1%} on either side.",
    )


def save_fleet(scan: pd.DataFrame, gamma: float, capacity: int) -> None:
    """Draw the best fleets and their costs against the running cost of a fast robot."""
    fig, axes = figure(1, 2, width=9, height=3.8)
    costs = scan["cost of a fast robot"]
    for k, name in enumerate(("fast", "slow")):
        axes[0].step(costs, scan[f"{name}, fixed"], where="mid", label=f"{name}, fixed", **_look(k))
        mean = scan[f"{name}, controlled"]
        look = _look(k) | {"marker": MARKERS[k], "markersize": 3, "linewidth": 0.9}
        axes[0].plot(costs, mean, label=f"{name}, controlled (mean)", **look)
    for k, name in enumerate(("fixed", "controlled")):
        axes[1].plot(costs, scan[f"cost, {name}"], label=name, **_look(k + 2))
    most = scan[["fast, fixed", "slow, fixed"]].to_numpy().max()
    axes[0].set(ylabel="robots", ylim=(-0.5, 1.5 * most))
    axes[1].set(ylabel="cost per unit of time (in lost pages)", ylim=(0, None))
    for axis in axes:
        axis.set_xlabel("running cost of a fast robot (per unit of time)")
        axis.legend(fontsize="small", loc="best", ncols=1)
    leaves = float(costs[scan["fast, fixed"] == 0].min())
    saved = 1 - scan["cost, controlled"] / scan["cost, fixed"]
    save_figure(
        "robots-general-fleet",
        fig,
        scan,
        caption=f"Two kinds: fast robots (rate {FAST_RATE:g}, at most {FAST}) whose running cost "
        f"varies, slow ones (rate {SLOW.arrival_rate:g}, at most {SLOW.available}, cost "
        f"{SLOW.running_cost:g}); $K = {capacity}$, $\\gamma = {gamma:g}$, $\\mu = 1$. A fixed "
        f"fleet drops all fast robots from a cost of {leaves:g} on; control saves "
        f"{span(saved.min(), saved.max(), '.0%')} of the cost.",
        alt="First panel: the fixed numbers of the two kinds change by jumps as the fast kind "
        "becomes dearer, the mean numbers under control change more gradually. Second panel: the "
        "controlled fleet costs less than the fixed one throughout.",
    )
