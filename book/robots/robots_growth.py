"""The growth of the switching curve: its criterion on small fleets, and the order of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from scipy.optimize import brentq

from analysis.robots.curve import ReducedQueue, growth, optimal_sequence
from analysis.robots.curve.growth import check_curve, convex_rates, prove_growth
from analysis.robots.curve.reduced import evaluate_exactly, generate_curves
from book.robots.shared import ALWAYS, HIGH, LOW, NEVER, solve_sequence
from scorecard import add_panels, save_figure, save_values


@dataclass(frozen=True)
class Orders:
    """In which order boxes are added to the optimal curve, at some rates."""

    # Columns rate, q, r, order and index (the weight at which the box is added); order 0 and
    # index 0 for boxes of every optimal curve.
    table: pd.DataFrame
    rates: list[float]  # lambda, in the unit of mu
    only_added: bool  # whether at each rate all optima are curves and none gives up a box

    @property
    def different(self) -> int:
        """Number of different orders of the rates."""
        return len({tuple(rows["order"]) for _, rows in self.table.groupby("rate")})


def find_orders(robots: int, capacity: int, rates: Sequence[float]) -> Orders:
    """Return the order in which boxes are added as the weight rises, for each rate (mu = 1)."""
    rows, only_added = [], True
    for rate in rates:
        sequence = solve_sequence(robots, rate, capacity)
        only_added &= sequence.grows and sequence.are_curves
        places = {box: position for position, box in enumerate(sequence.switched, start=1)}
        index = sequence.index()
        rows += [
            (rate, q, r, places.get((q, r), 0 if index[q, r] == 0 else np.nan), index[q, r])
            for q in range(capacity + 1)
            for r in range(robots)
        ]
    table = pd.DataFrame(rows, columns=["rate", "q", "r", "order", "index"])
    return Orders(table, list(rates), bool(only_added))


@dataclass(frozen=True)
class Convex:
    """The conditions for convex rates: how many polynomials, and whether all hold."""

    polynomials: int
    holds: bool


def check_small_fleets(largest: int) -> pd.DataFrame:
    """Check the growth criterion for every curve of small fleets, one row a problem."""
    rows = []
    for number in range(2, largest + 1):
        for queue in growth.list_problems(number):
            checked = [check_curve(queue, curve) for curve in generate_curves(queue)]
            rows.append(
                {
                    "N": number,
                    "K": f"{queue.capacity or f'{number} or more'}",
                    "curves": len(checked),
                    "polynomials": sum(curve_check.polynomials for curve_check in checked),
                    "with a negative coefficient": sum(
                        len(curve_check.negative) for curve_check in checked
                    ),
                    "all conditions": all(curve_check.holds for curve_check in checked),
                }
            )
    return pd.DataFrame(rows).set_index(["N", "K"])


def tabulate_proofs(largest: int) -> pd.DataFrame:
    """Return the counts of the search for all K >= N, one row a fleet."""
    fleets = range(2, largest + 1)
    proofs = [prove_growth(ReducedQueue(number)) for number in fleets]
    return pd.DataFrame(
        {
            "falling by 0 or 1": [2**number - 1 for number in fleets],
            "met on the way": [proof.curves for proof in proofs],
            "signs of polynomials": [proof.polynomials for proof in proofs],
            "intervals of λ": [len(proof.intervals) for proof in proofs],
        },
        index=pd.Index(fleets, name="N"),
    )


def summarise_checks() -> pd.DataFrame:
    """Return curves and polynomials for each number of robots, over all capacities."""
    fleets = growth.read_checked_fleets()
    by = fleets.groupby(["looked at", "robots"])
    table = by.agg(
        problems=("capacity", "size"), curves=("curves", "sum"),
        polynomials=("polynomials", "sum"), holds=("holds", "all"),
    )  # fmt: skip
    return table.drop(columns="holds").loc[table["holds"]]


def certify_code() -> pd.DataFrame:
    """Return the hash of the code that wrote the two files, and that of the present code."""
    files = (growth.PROOFS, growth.INSTANCES)
    written = {path.name: pd.read_csv(path)["code"].unique() for path in files}
    return pd.DataFrame(
        {
            "computed by code": {name: ", ".join(codes) for name, codes in written.items()},
            "the code is now": growth.code_hash(),
        }
    ).rename_axis("file")


def measure_shortened_passage() -> float:
    """Return the time by which one robot more shortens a passage of nine.

    The curve K-1 on rows 0..7, K-2 on row 8 with lambda = mu, at the box (K-2, 8).
    """
    nine, flat = ReducedQueue(9), (8,) * 8 + (7,)
    policy, rates = nine.curve_policy(flat), nine.linear_rates(Fraction(1))
    times = evaluate_exactly(nine, policy, 1, rates).times
    return -float(times[nine.boxes.index((7, 8))])


def check_convex_rates() -> Convex:
    """Check the polynomials for convex rates of two and three robots."""
    checked = [
        check_curve(ReducedQueue(n), curve, rates=convex_rates(n, 12))
        for n in (2, 3)
        for curve in generate_curves(ReducedQueue(n))
    ]
    return Convex(
        sum(curve_check.polynomials for curve_check in checked),
        all(curve_check.holds for curve_check in checked),
    )


# Values and tables


def save_orders(orders: Orders) -> None:
    """Save how many rates and orders there are, and whether boxes are only added."""
    save_values(
        "robots-growth",
        {
            "rates": len(orders.rates),
            "orders": orders.different,
            "orders-differ": orders.different > 1,
            "only-added": orders.only_added,
        },
    )


def save_checks(checks: Checks) -> None:
    """Save the numbers of the checks that the page quotes."""
    save_values(
        "robots-growth",
        {
            "fleet": checks.fleet,
            "nine-shorter": checks.shorter,
            "convex": checks.convex.polynomials,
        },
    )


def index_gap(rate: float) -> float:
    """Return the index of the box (K, 0) less that of (K-1, 2), for three robots and K = 3."""
    index = optimal_sequence(3, Fraction(rate).limit_denominator(10**6), 1, exact=True).index()
    return float(index[3, 0] - index[2, 2])


def find_ties() -> tuple[float, float]:
    """Return the two rates between 1/4 and 2 at which these boxes have the same index."""
    low = brentq(index_gap, 0.25, 0.5, xtol=1e-6)
    return float(low), float(brentq(index_gap, 1.0, 2.0, xtol=1e-6))


def save_solutions() -> None:
    """Save the numbers that the solutions quote."""
    low, high = find_ties()
    save_values("robots-growth", {"tie-low": low, "tie-high": high})


# Claims


#: The number of robots in the theorem on small fleets.
GROWN = 9


@dataclass(frozen=True)
class Checks:
    """Results that the page's theorems rest on."""

    orders: Orders  # the optimal policies of one fleet at some rates
    live: pd.DataFrame  # as `check_small_fleets` returns it
    fleet: int  # largest fleet of the long checks
    convex: Convex  # the polynomials for convex rates
    shorter: float  # as `measure_shortened_passage` returns it


def list_checks(checks: Checks) -> dict[str, bool]:
    """Return each statement of the page, and whether its check holds."""
    return {
        "boxes are only added as the weight rises": checks.orders.only_added,
        "growth of small fleets, every curve": bool(
            (checks.live["with a negative coefficient"] == 0).all()
            and checks.live["all conditions"].all()
        ),
        f"growth is checked up to {GROWN} robots": checks.fleet == GROWN,
        "growth for convex rates of two and three robots": checks.convex.holds,
        "a passage of nine robots that one more shortens": checks.shorter > 0,
    }


# Figures


def draw_orders(orders: Orders) -> None:
    """Draw the boxes of a fleet with their places in the order, one panel a rate."""
    table, rates = orders.table, orders.rates
    capacity, robots = int(table["q"].max()), int(table["r"].max()) + 1
    differ = "the orders differ" if orders.different > 1 else "the order is the same"

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, len(rates), sharey=True)
        for axis, rate in zip(axes, rates, strict=True):
            rows = table[table["rate"] == rate]
            places = rows.pivot(index="r", columns="q", values="order").to_numpy()
            ranked = np.ma.masked_where(np.isnan(places) | (places == 0), places)
            grid = np.arange(capacity + 2) - 0.5, np.arange(robots + 1) - 0.5
            settled = np.ma.masked_where(~ranked.mask, np.isnan(places))
            axis.pcolormesh(*grid, settled, cmap=ListedColormap([ALWAYS, NEVER]), vmin=0, vmax=1)
            axis.pcolormesh(*grid, ranked, cmap=LinearSegmentedColormap.from_list("", [LOW, HIGH]))
            for (r, q), number in np.ma.ndenumerate(ranked):
                axis.text(q, r, f"{number:.0f}", ha="center", va="center", color="black")
            axis.set(title=f"λ = {rate:g}", xlabel="pages left, q", xticks=range(capacity + 1))
            axis.set(yticks=range(robots))
            axis.grid(False)
        figure.supylabel("robots already active, r")
        return table

    save_figure(
        "robots-growth-order",
        draw,
        caption=f"The order in which boxes are added to the optimal curve as the weight of "
        f"starvation rises, for $N = {robots}$, $K = {capacity}$, $\\mu = 1$, one panel for each "
        "rate $\\lambda$. Green boxes are in every optimal curve, orange ones in none.",
        alt=f"Grids of {capacity + 1} queue lengths by {robots} numbers of active robots, one for "
        f"each of {len(rates)} rates, with the boxes numbered as they are added"
        + (f"; between the rates {differ}." if len(rates) > 1 else "."),
        height=min(6.0, 1.7 + 0.3 * robots),
    )
