"""The page `optimum`: exact optima, policies and bounds of small systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.ephemeral import Sources, four_sources
from analysis.joint import Engine, JointSystem, delay_bound, phase_bound, priced_problem
from analysis.results import AverageSolution
from scorecard import COLOURS, add_legend, add_panels, save_figure, save_table, save_value

#: Shares of the dual price at which priced policies are tried, and of the places for a stop.
SHARES, STOPS = (0.25, 0.5, 1.0), (0.25, 0.5)
#: Room for rounding when gains are compared, as a share of the bound.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Solved:
    """A system, its optimum, and what bounds it and policies earn in it."""

    system: JointSystem  # the system
    optimum: AverageSolution  # its gain, with the bound on its error
    # Bounds: with a price a page, with the delay of one indexing, with a price a phase.
    fetch: float
    delay: float
    phases: float
    gains: Mapping[str, float]  # what the policies earn; of several prices or stops, the best
    full_price: float  # what the index with a frozen queue earns at the whole dual price

    @property
    def bound(self) -> float:
        """The least of the bounds."""
        return min(self.fetch, self.delay, self.phases)

    @property
    def in_order(self) -> bool:
        """Whether bounds, optimum and policies stand in their order, within the stated errors."""
        room = self.optimum.residual + ROUNDING * self.bound
        best = max(self.gains.values())
        return bool(self.bound + room >= self.optimum.gain >= best - room)


def solve_system(system: JointSystem) -> Solved:
    """Solve a system exactly and evaluate policies and bounds in it."""
    sources, engine, budget = system.sources, system.engine, system.budget
    delayed = delay_bound(sources, budget, engine)
    pages = engine.index_rate * sources.period
    stops = sorted({int(share * engine.places) for share in STOPS})

    def earned(index: str, price: float = 0.0, stop: int | None = None) -> float:
        return system.gain(system.index_policy(index, price=price, stop=stop))

    frozen = [earned("frozen", share * delayed.price) for share in SHARES]
    gains = {
        "blind": earned("blind"),
        "throttled": max(earned("blind", stop=stop) for stop in stops),
        "priced": max(earned("priced", share * delayed.price) for share in SHARES[1:]),
        "frozen queue": max(frozen),
    }
    return Solved(
        system=system,
        optimum=system.solve(),
        fetch=priced_problem(sources, budget, pages, fresh=True).bound,
        delay=delayed.bound,
        phases=phase_bound(sources, budget, engine, ages=6, parts=4, cells=8).bound,
        gains=gains,
        full_price=frozen[-1],
    )


def scale_four_sources(
    scale: float, index_rate: float, places: int, ages: int, *, windows: bool
) -> JointSystem:
    """Return the report's four sources with scaled rates, and an engine, one crawl an epoch."""
    four = four_sources()
    sources = Sources(scale * four.arrival_rate, four.mean_utility, four.decay_rate)
    widths = (1.0, np.inf) if windows else (np.inf,)
    return JointSystem(sources, 1, Engine(index_rate, places), ages, widths)


def sample_system(seed: int, number: int) -> JointSystem:
    """Return a system of two or three sources, with rates over more than a decade."""
    rng = np.random.default_rng([seed, number])
    size = int(rng.integers(2, 4))
    arrival_rate, mean_utility = 10.0 ** rng.uniform(-0.7, 0.7, (2, size))
    sources = Sources(arrival_rate, mean_utility, 10.0 ** rng.uniform(-1, 0.5, size))
    engine = Engine(10.0 ** rng.uniform(-0.5, 1), int(rng.integers(1, 7)))
    windows = [(np.inf,), (1.0, np.inf), (0.3, np.inf)][number % 3]
    order = ["freshest", "random"][number % 2]
    return JointSystem(sources, int(rng.integers(1, 3)), engine, 6 - size, windows, order)


def solve_random_systems(instances: int, seed: int) -> pd.DataFrame:
    """Solve random systems, one row each.

    ``delay`` and ``phases`` are bounds in units of the optimum, and ``bound`` the least of all;
    policies are shares of the optimum, ``full price`` of the bound.
    """
    rows = []
    for number in range(instances):
        solution = solve_system(sample_system(seed, number))
        gain = solution.optimum.gain
        rows.append(
            {
                "instance": number,
                "optimum": gain,
                "delay": solution.delay / gain,
                "phases": solution.phases / gain,
                "bound": solution.bound / gain,
                **{name: earned / gain for name, earned in solution.gains.items()},
                "full price": solution.full_price / solution.bound,
                "in order": solution.in_order,
            }
        )
    return pd.DataFrame(rows)


# Values and tables


def save_four_values(solutions: Mapping[str, Solved]) -> None:
    """Save what the scaled sources earn, with the errors of the optimum."""
    for crawls, solution in solutions.items():
        name = f"optimum-{crawls.replace(' ', '-')}"
        save_value(f"{name}-blind", solution.gains["blind"] / solution.optimum.gain)
        save_value(f"{name}-frozen", solution.gains["frozen queue"] / solution.optimum.gain)
    every, windows = solutions["fetch all"], solutions["with windows"]
    save_value("optimum-fetch-all-exact", bool(every.optimum.residual < 1e-9 * every.bound))
    save_value("optimum-fetch-all-states", len(every.system.states[1]))
    save_value("optimum-with-windows-age-error", windows.system.age_error)


def save_random_values(frame: pd.DataFrame) -> None:
    """Save medians and worst cases on random systems."""
    save_value("optimum-systems", len(frame))
    save_value("optimum-ordered", int(frame["in order"].sum()))
    for name in ("delay", "phases", "bound", "blind", "frozen queue"):
        save_value(f"optimum-{name.replace(' ', '-')}-median", float(frame[name].median()))
    for name in POLICIES:
        save_value(f"optimum-{name.replace(' ', '-')}-worst", float(frame[name].min()))
    for name in ("delay", "phases"):
        save_value(f"optimum-{name}-worst", float(frame[name].max()))
    save_value("optimum-full-price", float(1 - frame["full price"].median()))


# Figures


#: Policies of the page, and what they are called in its picture.
POLICIES = {
    "blind": "index of part I (blind)",
    "throttled": "blind, none while the queue is long",
    "priced": "index with a price of a page",
    "frozen queue": "index that sees the queue (frozen)",
}

LINES = ("-", "--", "-.", ":")


def save_four(solutions: Mapping[str, Solved]) -> None:
    """Tabulate bound, optimum and policies of the four sources, by the pages that crawls take."""
    rows = {
        crawls: {
            "bound": solution.bound,
            "optimum": solution.optimum.gain,
            **solution.gains,
            "frozen queue, dual price": solution.full_price,
        }
        for crawls, solution in solutions.items()
    }
    frame = pd.DataFrame(rows).rename(POLICIES).rename_axis("what")
    save_table(
        "optimum-four",
        frame,
        "Reward per epoch of the scaled sources: the least bound, the exact optimum, and policies "
        "at the best of their prices or stops.",
        formats=".4f",
    )


def draw_random_systems(frame: pd.DataFrame) -> None:
    """Draw bounds and policies against the optimum on random systems, each sorted."""
    share = 100 * (np.arange(len(frame)) + 0.5) / len(frame)

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2)
        for (name, label), colour, style in zip(POLICIES.items(), COLOURS, LINES, strict=False):
            axes[0].plot(share, np.sort(frame[name]), style, color=colour, label=label)
        for name, colour, style in zip(("delay", "phases"), COLOURS[4:], LINES, strict=False):
            label = {"delay": "bound, one price", "phases": "bound of phases"}[name]
            axes[1].semilogy(share, np.sort(frame[name]), style, color=colour, label=label)
        axes[0].set(xlabel="systems up to here (%)", ylabel="reward / optimum", ylim=(0, 1.02))
        axes[1].set(xlabel="systems up to here (%)", ylabel="bound / optimum")
        axes[1].yaxis.set_major_formatter("{x:g}")
        axes[1].yaxis.set_minor_formatter("{x:g}")
        add_legend(figure)
        return frame

    save_figure(
        "optimum-random",
        draw,
        caption="In the median the index that sees the queue earns "
        f"{frame['frozen queue'].median():.0%} of the optimum and the index of part I "
        f"{frame['blind'].median():.0%}. Policies and bounds as multiples of the optimum on "
        f"{len(frame)} random systems, each curve sorted.",
        alt=f"Policies: the median of the blind index is {frame['blind'].median():.2f} of the "
        f"optimum, that of the index with a frozen queue {frame['frozen queue'].median():.2f}. "
        f"Bounds: medians {frame['delay'].median():.2f} and {frame['phases'].median():.2f}.",
        height=3.8,
    )
