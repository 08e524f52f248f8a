"""The page `prices`: indices at a price, bounds by the number of pages, checks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.optimize import linprog

from analysis.arrays import Floats
from analysis.ephemeral import Sources, whittle_index_at_age
from analysis.joint import (
    Engine,
    PricedSolution,
    batch_value,
    crawl_reward,
    priced_index,
    priced_problem,
)
from analysis.mdp import policy_iteration
from scorecard import COLOURS, add_legend, add_panels, save_figure, save_value

#: Largest age of the chains and programmes of the checks, and of those compared.
CHAIN, COMPARED = 40, 25
#: Ages of the linear programme.
PROGRAMME = 200


def compute_indices(sources: Sources, price: float, ages: int) -> pd.DataFrame:
    """Return the index of each source by its age: without a price, fetch all, fresh only."""
    age = np.arange(1, ages + 1)[:, None] * np.ones(len(sources))
    columns = {
        "source": np.arange(1, len(sources) + 1) * np.ones_like(age),
        "age": age,
        "free": whittle_index_at_age(sources, age),
        "all": priced_index(sources, age, price),
        "fresh": priced_index(sources, age, price, fresh=True),
    }
    frame = pd.DataFrame({name: values.T.ravel() for name, values in columns.items()})
    return frame.astype({"source": int, "age": int})


def compute_bounds(sources: Sources, budget: float, points: int) -> pd.DataFrame:
    """Return bounds and prices by the pages that are indexed per epoch."""
    most = float((sources.arrival_rate * sources.period).sum())
    rows = []
    for pages in np.linspace(0.02, 0.8, points) * most:
        all_pages, fresh = (
            priced_problem(sources, budget, pages, fresh=only_fresh) for only_fresh in (False, True)
        )
        rows.append((pages, all_pages.bound, fresh.bound, all_pages.price, fresh.price))
    return pd.DataFrame(rows, columns=["pages", "all", "fresh", "price-all", "price-fresh"])


@dataclass(frozen=True)
class Checks:
    """Checks of the theorems on random instances."""

    instances: int  # random sources with a random price
    # Largest difference between the index and the subsidy at which a dynamic programme ties, as a
    # share of u*.
    index_error: float
    nested: float  # share of them on which the passive states grow with the subsidy
    # Largest relative difference between the dual's bound and the linear programme's.
    bound_error: float


def check_theorems(instances: int, seed: int) -> Checks:
    """Compare index and bound with a dynamic and a linear programme on random instances.

    Rates are spread over decades, prices from nothing to more than any page is worth.
    """
    rng = np.random.default_rng([seed, 31])
    errors, nested, gaps = [], [], []
    for number in range(instances):
        sources = sample_sources(rng, 1)
        price = float(sources.mean_utility[0]) * rng.uniform(0, 1.1)
        error, grows = measure_index_error(sources, price, fresh=bool(number % 2))
        errors.append(error)
        nested.append(grows)
        several = sample_sources(rng, int(rng.integers(2, 5)))
        budget = rng.uniform(0.1, 1) * len(several)
        pages = rng.uniform(0.05, 1.1) * float((several.arrival_rate * several.period).sum())
        exact = solve_linear_programme(several, budget, pages)
        gaps.append(abs(priced_problem(several, budget, pages).bound / exact - 1))
    return Checks(instances, max(errors), float(np.mean(nested)), max(gaps))


def sample_sources(rng: np.random.Generator, size: int) -> Sources:
    """Return random sources whose rates differ by decades."""
    ranges = ((-1.0, 1.0), (-1.0, 1.0), (-1.0, 0.5))
    arrival_rate, mean_utility, decay_rate = (
        10.0 ** rng.uniform(low, high, size) for low, high in ranges
    )
    return Sources(arrival_rate, mean_utility, decay_rate)


def measure_index_error(sources: Sources, price: float, *, fresh: bool) -> tuple[float, bool]:
    """Compare the index of one source with the dynamic programme of its ages.

    At every index, and between each two, waiting must be best in the states with a smaller index,
    crawling in those with a larger one, and both in those that have it. Returns how far states are
    from that, as a share of u*, and whether the passive states only grow with the subsidy.
    """
    age = np.arange(1, CHAIN + 1)[:, None]
    reward = crawl_reward(sources, age, price, fresh)[:, 0]
    index = priced_index(sources, age, price, fresh)[:COMPARED, 0]
    unit = float(sources.u_star[0])
    levels = np.unique(np.append(index, [-0.1 * unit, 1.1 * unit]))
    worst, before, nested = 0.0, np.zeros(COMPARED, dtype=bool), True
    for subsidy in np.sort(np.append(levels, 0.5 * (levels[1:] + levels[:-1]))):
        better = advantage_of_waiting(reward, subsidy)[:COMPARED]
        wrong = np.where(index < subsidy, -better, np.where(index > subsidy, better, 0.0))
        if subsidy < index.max():  # crawling and waiting tie; at the cap, in the best state alone
            wrong = np.where(index == subsidy, np.abs(better), wrong)
        worst = max(worst, float(wrong.max()) / unit)
        passive = better > -1e-9 * unit
        nested = nested and not (before & ~passive).any()
        before = passive
    return max(worst, 0.0), nested


def advantage_of_waiting(reward: Floats, subsidy: float) -> Floats:
    """Return the advantage of waiting over a crawl, by age, from an exact dynamic programme."""
    ages = reward.size
    wait, restart = np.zeros((2, ages, ages))
    wait[np.arange(ages), np.minimum(np.arange(1, ages + 1), ages - 1)] = 1.0
    restart[:, 0] = 1.0
    earned = np.array([np.full(ages, subsidy), reward])
    bias = policy_iteration([wait, restart], earned).bias
    values = earned + np.array([wait @ bias, restart @ bias])
    difference: Floats = values[0] - values[1]
    return difference


def solve_linear_programme(sources: Sources, budget: float, pages: float) -> float:
    """Return the relaxed bound of whole crawls by one linear programme over sources and ages."""
    age = np.arange(1.0, PROGRAMME + 1)
    content = np.array([sources.state_at_age(k) for k in age]).T.ravel()
    crawled_pages = np.outer(sources.arrival_rate * sources.period, age).ravel()
    cost = np.repeat(sources.cost, PROGRAMME)
    optimum = linprog(
        -content / content.max(),
        A_ub=np.vstack([cost / budget, crawled_pages / pages, np.kron(np.eye(len(sources)), age)]),
        b_ub=np.ones(2 + len(sources)),
        method="highs",
    )
    return float(-optimum.fun * content.max())


def compute_stale_example(pages: int) -> tuple[float, float, float]:
    """Return an example in which the bound for whole crawls fails, as stale pages are lost first.

    One source of a hundred pages an epoch that fade fast, an engine that indexes `pages` of them at
    once, and the freshest join first. Returns the two bounds and what crawling at each epoch earns.
    """
    source = Sources(np.array([100.0]), np.ones(1), np.array([5.0]))
    all_pages, fresh = (
        priced_problem(source, 1, pages, fresh=only_fresh).bound for only_fresh in (False, True)
    )
    earned = batch_value(source, Engine(1e12, pages), [1.0], 0)[0]
    return all_pages, fresh, float(earned[0])


# Values and tables


def save_solutions(all_pages: PricedSolution, fresh: PricedSolution, free: float) -> None:
    """Save what the relaxed problems give at the page's budget and pages."""
    for name, solution in (("all", all_pages), ("fresh", fresh)):
        save_value(f"prices-{name}-bound", solution.bound)
        save_value(f"prices-{name}-price", solution.price)
    save_value("prices-free-share", fresh.bound / free)


def save_checks(checks: Checks, stale: tuple[float, float, float]) -> None:
    """Save the differences of independent methods, and the example against the smaller bound."""
    for name in ("instances", "nested"):
        save_value(f"prices-{name}", getattr(checks, name))
    for name in ("index_error", "bound_error"):
        # Rounding differs from one processor to the next: it is given to a power of ten.
        size = getattr(checks, name)
        save_value(
            f"prices-{name.replace('_', '-')}",
            next(10.0**-d for d in (12, 10, 8, 6, 0) if size <= 10.0**-d),
        )
    for name, value in zip(("whole", "fresh", "earned"), stale, strict=True):
        save_value(f"prices-stale-{name}", value)


# Figures


MARKS = "os^D"


def draw_indices(frame: pd.DataFrame, price: float) -> None:
    """Draw the index of each source against its age, with and without a price."""
    last = frame[frame["age"] == frame["age"].max()]
    capped = int((last["all"] < last["free"] * (1 - 1e-12)).sum())

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2, sharey=True)
        for axis, name, title in zip(
            axes, ("all", "fresh"), ("fetch all", "fresh only"), strict=True
        ):
            for (source, rows), colour, mark in zip(
                frame.groupby("source"), COLOURS, cycle(MARKS), strict=False
            ):
                look = {"color": colour, "marker": mark, "markersize": 4}
                axis.plot(rows["age"], rows["free"], ":", **look)
                axis.plot(rows["age"], rows[name], **look, label=f"source {source}")
            axis.set(xlabel="age (epochs)", title=title)
        figure.supylabel("index (content)")
        add_legend(figure)
        return frame

    save_figure(
        "prices-indices",
        draw,
        caption=f"Index against age at a price of {price:.3g} a page (lines) and without one "
        "(dotted), where crawls take all pages and where they take fresh ones only.",
        alt=f"Curves of the index of {len(last)} sources. At the price {capped} of them end on a "
        "level line below the dotted one where crawls take all pages; the curves of fresh crawls "
        "end at or above these lines.",
        height=3.6,
    )


def draw_bounds(frame: pd.DataFrame) -> None:
    """Draw bound and price against the number of pages indexed per epoch."""
    first = frame.iloc[0]

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2)
        for axis, prefix, label in zip(
            axes,
            ("", "price-"),
            ("bound (content per epoch)", "price (content per page)"),
            strict=True,
        ):
            axis.plot(frame["pages"], frame[f"{prefix}fresh"], color=COLOURS[1], label="fresh only")
            axis.plot(
                frame["pages"], frame[f"{prefix}all"], "--", color=COLOURS[0], label="fetch all"
            )
            axis.set(xlabel="pages indexed per epoch", ylabel=label)
        add_legend(figure)
        return frame

    save_figure(
        "prices-bounds",
        draw,
        caption="Relaxed bound, and the price of a page at it, by the pages that are indexed per "
        "epoch. Where pages are no bottleneck the price is nothing.",
        alt="Two bounds that rise with the pages and join, fresh only the higher: "
        f"{first['fresh']:.0f} against {first['all']:.0f} at {first['pages']:.0f} pages. "
        f"The prices fall to {frame['price-fresh'].iloc[-1]:.2f}.",
        height=3.4,
    )
