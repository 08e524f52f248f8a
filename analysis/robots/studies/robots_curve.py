"""The page on the switching curve: experiments, claims and pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from numpy.typing import NDArray

from analysis.published import printed_rows
from analysis.report import COLOURS, Claim, figure, is_document_run, save_figure, save_value
from analysis.robots.controlled.control import RobotControl, without_cap
from analysis.robots.curve import (
    OptimalSequence,
    ReducedQueue,
    check,
    optimal_range,
    optimal_sequence,
)
from analysis.robots.curve.diagrams import curves
from analysis.robots.curve.growth import check_curve, convex_rates, prove
from analysis.robots.curve.reduced import evaluate_exactly
from analysis.robots.static.mm1k import optimal_robots
from analysis.robots.studies.robots_tables import read_gamma

STYLES = ("-", "--", "-.")


def checked_fleets() -> pd.DataFrame:
    """Return what the long exact checks found: one row for each problem and way of looking."""
    return pd.read_csv(check.PROOFS, dtype={"capacity": str})


def largest_proved_fleet() -> int:
    """Return N such that the growth of the curve is checked for 2..N robots and every capacity."""
    way = checked_fleets()
    way = way[(way["looked at"] == "on the way") & way["holds"]]
    robots = 1
    while {*map(str, range(2, robots + 1)), f">= {robots + 1}"} == set(
        way.loc[way["robots"] == robots + 1, "capacity"]
    ):
        robots += 1
    return robots


def summary_of_checks() -> pd.DataFrame:
    """Return curves and polynomials for each number of robots, over all capacities."""
    found = checked_fleets()
    by = found.groupby(["looked at", "robots"])
    table = by.agg(
        problems=("capacity", "size"), curves=("curves", "sum"),
        polynomials=("polynomials", "sum"), holds=("holds", "all"),
    )  # fmt: skip
    return table.drop(columns="holds").loc[table["holds"]]


def index_rises(index: NDArray[np.float64]) -> bool:
    """Whether the index rises with r, and no slower from (q, r + 1) to (q + 1, r)."""
    along = (index[:, :-1] <= index[:, 1:]).all()
    return bool(along and (index[:-1, 1:] <= index[1:, :-1]).all())


def draw_diagram(sequence: OptimalSequence, gammas: Sequence[float], arrival_rate: float) -> None:
    """Draw the diagram of boxes with their indices, and the curves of some weights."""
    index = sequence.index()
    capacity, robots = index.shape[0] - 1, index.shape[1]
    free = np.ma.masked_where((index == 0) | np.isinf(index), index)
    fig, axis = figure(width=9, height=3.9)
    mesh = axis.pcolormesh(
        np.arange(robots + 1) - 0.5, np.arange(capacity + 2) - 0.5, free,
        norm=LogNorm(), cmap="cividis", alpha=0.85,
    )  # fmt: skip
    middle = math.sqrt(free.min() * free.max())
    for (q, r), value in np.ndenumerate(index):
        words = "always" if value == 0 else "never" if math.isinf(value) else f"{value:.2g}"
        colour = "white" if 0 < value < middle else "black"
        axis.text(r, q, words, ha="center", va="center", fontsize=6.5, color=colour)
    _outline(axis, sequence, gammas)
    fig.colorbar(mesh, ax=axis, label="index: weight γ from\nwhich a robot is started")
    axis.set(xlabel="robots already active, r", ylabel="pages left, q")
    axis.set(xticks=range(robots), yticks=range(capacity + 1))
    axis.grid(False)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=len(gammas), fontsize="small")
    columns = [f"r = {r}" for r in range(robots)]
    rises = "Numbers rise from left to right and more steeply from bottom to top. "
    save_figure(
        "robots-curve-diagram",
        fig,
        pd.DataFrame(index, columns=columns).rename_axis("q").reset_index(),
        caption=f"The diagram of boxes for $N = {robots}$, $K = {capacity}$, "
        f"$\\lambda = {arrival_rate:g}$, $\\mu = 1$: each box bears its index, the weight of "
        "starvation from which a robot is started there. As the weight rises boxes are added one "
        "by one, and a line shows how far that has come at each of the given weights: it is the "
        "optimal switching curve.",
        alt=f"A grid of {robots} columns and {capacity + 1} rows. {rises * index_rises(index)}"
        "Lines separate boxes with an index below a weight from those above it.",
    )


def _outline(axis: Axes, sequence: OptimalSequence, gammas: Sequence[float]) -> None:
    """Draw the upper edge of the started boxes at each weight."""
    robots = sequence.queue.robots
    for number, gamma in enumerate(gammas):
        heights = sequence.policy(sequence.position(gamma))[:, :-1].sum(axis=0) - 0.5
        edges = np.repeat(np.arange(robots + 1) - 0.5, 2)[1:-1]
        shift = 0.05 * (number - (len(gammas) - 1) / 2)
        axis.plot(
            edges, np.repeat(heights, 2) + shift, linewidth=2.2,
            color=("black", COLOURS[1], COLOURS[3])[number % 3], linestyle=STYLES[number % 3],
            label=f"curve at γ = {gamma:g}",
        )  # fmt: skip


def draw_envelope(sequence: OptimalSequence, gammas: Sequence[float]) -> None:
    """Draw the optimal cost as the lower envelope of the lines of the sequence's policies."""
    costs = np.array(sequence.costs, dtype=float)
    high = 2.0 * max(gammas)
    grid = np.linspace(0.0, high, 200)
    fig, axis = figure(height=3.9)
    lines = costs[:, 0] + grid[:, None] * costs[:, 1]
    axis.plot(grid, lines, color="grey", linewidth=0.6, alpha=0.7)
    lowest = lines.min(axis=1)
    axis.plot(grid, lowest, color=COLOURS[0], linewidth=2.4, label="optimal cost")
    turns = np.array([p for p in map(float, sequence.breakpoints) if p <= high])
    axis.plot(
        turns, [sequence.gain(p) for p in turns], "|", color=COLOURS[1], markersize=9,
        label="breakpoints: a box is added",
    )  # fmt: skip
    axis.set(
        xlabel="weight of starvation γ (μ = 1)", ylabel="cost per unit of time\n(in lost pages)"
    )
    axis.set(xlim=(0, high), ylim=(0, 1.25 * lowest.max()))
    axis.legend(loc="upper left")
    distinct = len({(f"{loss:.10g}", f"{starved:.10g}") for loss, starved in costs})
    save_value("robots-curve-policies", len(sequence))
    save_value("robots-curve-lines", distinct)
    save_figure(
        "robots-curve-envelope",
        fig,
        pd.DataFrame({"gamma": grid, "optimal cost": lowest}),
        caption="Each policy of the sequence costs $L + \\gamma S$, a line in the weight (grey); "
        "the optimum is their lower envelope. There are "
        f"{len(sequence)} policies for all weights from nothing to infinity, on {distinct} lines: "
        "some boxes are added where no recurrent state asks for them.",
        alt="Many thin straight lines of different slope; the lowest of them at each weight "
        "together form a concave rising curve, on which ticks mark where a box is added.",
    )


@dataclass(frozen=True)
class TableWeight:
    """Where the weight of one row of the draft's tables lies among the breakpoints."""

    table: str
    arrival_rate: str
    capacity: int
    robots: int
    gamma: float
    low: float
    high: float


def table_weights() -> pd.DataFrame:
    """Return for each row of Tables 1 and 2 the breakpoints next to its weight (mu = 1)."""
    stems = {id.rsplit("-", 1)[0] for id in printed_rows() if id.startswith(("D-t1-0", "D-t2-0"))}
    keys = sorted(
        (stem.split("-")[1:] for stem in stems), key=lambda key: [key[0], *map(float, key[1:])]
    )
    rows = []
    for table, rate, places, printed in keys:
        capacity, lam = int(places), float(rate)
        gamma = read_gamma(printed, capacity, 1.0)
        if table == "t1":
            model = RobotControl(
                optimal_robots(lam, gamma, capacity, 1.0), lam, 1.0, capacity, gamma
            )
            policy = model.solve().policy
        else:
            model, solution = without_cap(lam, 1.0, capacity, gamma)
            policy = solution.policy
        queue = ReducedQueue(model.robots, capacity)
        low, high = optimal_range(queue, policy, 1.0, model.arrival_rates)
        rows.append(TableWeight(table[1:], rate, capacity, model.robots, gamma, low, high))
    names = {
        "arrival_rate": "λ",
        "capacity": "K",
        "robots": "N",
        "gamma": "γ",
        "low": "from",
        "high": "to",
    }
    return pd.DataFrame(rows).rename(columns=names)


def shared_lines(instances: int, robots: int, rng: np.random.Generator) -> int:
    """Count random concave rates (N robots, K >= N) with an optimum that is no switching curve."""
    strange = 0
    for _ in range(instances):
        steps = np.sort(np.exp(rng.uniform(-3, 1.5, size=robots)))[::-1]
        found = optimal_sequence(robots, [0.0, *np.cumsum(steps)])
        strange += not found.are_curves
    return strange


def live_checks(largest: int) -> pd.DataFrame:
    """Check the growth criterion for every curve of small fleets, one row a problem."""
    rows = []
    for number in range(2, largest + 1):
        for queue in check.problems(number):
            found = [check_curve(queue, curve) for curve in curves(queue)]
            rows.append(
                {
                    "N": number,
                    "K": f"{queue.capacity or f'{number} or more'}",
                    "curves": len(found),
                    "polynomials": sum(one.polynomials for one in found),
                    "with a negative coefficient": sum(len(one.negative) for one in found),
                    "all conditions": all(one.holds for one in found),
                }
            )
    return pd.DataFrame(rows).set_index(["N", "K"])


def growth_proofs(largest: int) -> pd.DataFrame:
    """Return what the search meets on the way for all K >= N, one row a fleet."""
    fleets = range(2, largest + 1)
    proofs = [prove(ReducedQueue(number)) for number in fleets]
    return pd.DataFrame(
        {
            "falling by 0 or 1": [2**number - 1 for number in fleets],
            "met on the way": [proof.curves for proof in proofs],
            "signs of polynomials": [proof.polynomials for proof in proofs],
            "intervals of λ": [len(proof.intervals) for proof in proofs],
        },
        index=pd.Index(fleets, name="N"),
    )


def shortened_passage() -> tuple[float, int]:
    """Return how much shorter one robot more makes a passage of nine, and the signs that fail.

    The curve K-1 on rows 0..7, K-2 on row 8 with lambda = mu, at the box (K-2, 8).
    """
    nine, flat = ReducedQueue(9), (8,) * 8 + (7,)
    policy, rates = nine.curve_policy(flat), nine.linear_rates(Fraction(1))
    times = evaluate_exactly(nine, policy, 1, rates).times
    failing = check_curve(nine, flat, "gentle").negative
    return -float(times[nine.boxes.index((7, 8))]), len(failing)


def convex_checks() -> tuple[int, bool]:
    """Return the polynomials for convex rates of two and three robots, and whether all hold."""
    found = [
        check_curve(ReducedQueue(n), curve, rates=convex_rates(n, 12))
        for n in (2, 3)
        for curve in curves(ReducedQueue(n))
    ]
    return sum(one.polynomials for one in found), all(one.holds for one in found)


@dataclass(frozen=True)
class Checks:
    """What the page computes of the conjecture.

    Attributes
    ----------
    fleet : int
        Largest fleet of the long exact checks.
    live : pandas.DataFrame
        As `live_checks` returns it.
    grows, are_curves : bool
        Of the optimal policies of one instance, over all weights.
    convex : bool
        Whether all conditions hold for convex rates of two and three robots.
    shorter : float
        As `shortened_passage` returns it.
    shared_is_curve : bool
        Whether the optimum of the robots that share a line is a curve.
    strange : int
        Random fleets that share a line and have no curve.
    """

    fleet: int
    live: pd.DataFrame
    grows: bool
    are_curves: bool
    convex: bool
    shorter: float
    shared_is_curve: bool
    strange: int

    @property
    def small_fleets_hold(self) -> bool:
        """Whether every condition holds for the fleets that are checked on the page."""
        none_negative = (self.live["with a negative coefficient"] == 0).all()
        return bool(self.live["all conditions"].all() and none_negative)


#: The number in the theorem on small fleets.
THEOREM = 9


def require(found: Checks) -> pd.DataFrame:
    """Return what the page's theorems say in numbers.

    Raises ValueError where one fails for the document's parameters.
    """
    said = {
        f"the long checks reach {THEOREM} robots": found.fleet == THEOREM,
        "small fleets, every curve": found.small_fleets_hold,
        "boxes are only added as the weight rises": found.grows and found.are_curves,
        "convex rates of two and three robots": found.convex,
        "a passage of nine robots that one more shortens": found.shorter > 0,
        "a shared line without a curve": not found.shared_is_curve and found.strange > 0,
    }
    failed = [name for name, holds in said.items() if not holds]
    if failed and is_document_run():
        raise ValueError(f"checks must hold, got failures of {failed}")
    words = ["holds" if ok else "FAILS" for ok in said.values()]
    return pd.DataFrame({"checked": words}, index=list(said))


def claims(found: Checks) -> list[Claim]:
    """Return what the page says to what the draft suspects."""
    live = found.live.index.get_level_values("N").max()
    return [
        Claim(
            "D-suspect",
            found.small_fleets_hold and found.fleet >= live and found.are_curves,
            proof="curve-fleets",
            condition=f"at most {found.fleet} robots",
            evidence=f"proved on this page for N <= {found.fleet}, all K, lambda, mu and gamma, by "
            "early starts, a growth criterion and exact polynomials; those of fleets up to "
            f"{live} are computed on the page, those of larger ones by `make proofs`",
        )
    ]
