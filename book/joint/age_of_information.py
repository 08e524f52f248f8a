"""The page `age-of-information`: closed forms of queues, and simulations of each."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.optimize import brentq

from analysis.arrays import Floats
from analysis.ephemeral import Sources
from analysis.joint import Engine, queued_index, simulate_engine
from analysis.results import Estimate
from scorecard import COLOURS, add_legend, add_panels, save_figure, save_value

DISCIPLINES = ("first come first served", "last come, preemptive", "no waiting", "last come")
#: Places of a buffer that is never full in these runs.
ROOM = 3000
#: Time between two crawls, with mean indexing times of 1.
STEP = 0.02


def mean_age(load: float, discipline: str, share: float = 1.0) -> float:
    """Return the mean age of the freshest page of a source indexed, in mean indexing times.

    Pages appear at rate `load`, this share of them from the source, and are indexed at rate 1. The
    page has the proofs. First come first served: Kaul, Yates, Gruteser (2012) for one source,
    Moltafet, Leinonen, Codreanu (2020) for several. Last come first served, one source: Kaul,
    Yates, Gruteser (2012) with preemption, Inoue and others (2019), equation 70, without. Where a
    page that finds the engine busy is lost, one source: Costa, Codreanu, Ephremides (2016).
    """
    own, spare = load * share, 1 - load
    if discipline == DISCIPLINES[2]:
        return 1 + (1 + load) / own - 1 / (1 + load)
    size = float(np.hypot(spare, 2 * np.sqrt(own)))  # theta^2 + (1 - load) theta = own
    theta = 2 * own / (size + spare) if spare > 0 else (size - spare) / 2
    if discipline == DISCIPLINES[1]:
        return (1 + theta) / own
    if discipline == DISCIPLINES[3]:
        busy = 1 - max(spare, 0.0) * (1 + theta)
        return 1 + (1 + busy * theta) / own
    if spare <= 0:
        raise ValueError(f"load must be below 1 for {discipline}, got {load}")
    return 1 / own + load / spare + spare / (spare + theta)


def mean_worth(load: float, decay: float, discipline: str) -> float:
    """Return the share of its worth that a page has left when it is indexed, 0 if it is lost.

    The transform at the decay rate of the time that a page spends in the queue: an exponential law
    of rate 1 - load; the law of a busy period; one indexing time; or one after a busy period, if
    the engine is busy.
    """
    if discipline == DISCIPLINES[0]:
        return (1 - load) / (1 - load + decay)
    if discipline == DISCIPLINES[2]:
        return 1 / ((1 + load) * (1 + decay))
    total = load + 1 + decay
    period = 2 / (total + float(np.sqrt(total**2 - 4 * load)))
    if discipline == DISCIPLINES[1]:
        return period
    idle = max(1 - load, 0.0)
    return (idle + (1 - idle) * period) / (1 + decay)


def simulate_age(
    load: float, discipline: str, pages: int, rng: np.random.Generator, share: float = 1.0
) -> float:
    """Return the mean age of the freshest page of a source indexed, in one run."""
    born = np.cumsum(rng.exponential(1 / load, pages))
    took = rng.exponential(1.0, pages)
    if discipline == DISCIPLINES[0]:
        before = np.cumsum(took) - took
        done = before + took + np.maximum.accumulate(born - before)
    elif discipline == DISCIPLINES[2]:
        done = _serve_without_waiting(born, took)
    else:
        done = _serve_last_come(born, took, discipline == DISCIPLINES[1])
    own = np.flatnonzero((rng.random(pages) < share) & np.isfinite(done))
    own = own[np.argsort(done[own])]
    fresh = own[np.maximum.accumulate(own) == own]
    born, done = born[fresh], done[fresh]
    # From one fresh page indexed to the next the age grows at rate 1 from the time the page took.
    length = np.diff(done)
    area = length * (done[:-1] - born[:-1]) + length**2 / 2
    return float(area.sum() / length.sum())


def _serve_without_waiting(born: Floats, took: Floats) -> Floats:
    """Return when each page is indexed, never if it finds the engine busy."""
    done, free = np.full(born.size, np.inf), 0.0
    for page, (arrival, length) in enumerate(zip(born.tolist(), took.tolist(), strict=True)):
        if arrival >= free:
            done[page] = free = arrival + length
    return done


def _serve_last_come(born: Floats, took: Floats, preempt: bool) -> Floats:
    """Return when each page is indexed, last come first served, never if the run ends before it."""
    remaining, done, now = took.tolist(), np.full(born.size, np.inf), 0.0
    stack: list[int] = []  # the page in service is the last one
    for page, arrival in enumerate(born.tolist()):
        while stack and now + remaining[stack[-1]] <= arrival:
            now += remaining[stack[-1]]
            done[stack.pop()] = now
        if stack:
            remaining[stack[-1]] -= arrival - now
        now = arrival
        stack.insert(len(stack) if preempt else max(len(stack) - 1, 0), page)
    return done


def simulate_worth(
    load: float, decay: float, discipline: str, time: float, rng: np.random.Generator
) -> float:
    """Return the share of worth that pages have left, by the simulation of crawler and engine.

    One source is crawled every `STEP`; what pages lose until they are crawled is divided out.
    """
    source = Sources(np.array([load]), np.ones(1), np.array([decay]), period=STEP)
    engine = Engine(1.0, 1 if discipline == DISCIPLINES[2] else ROOM)
    policy = queued_index(source, engine, "blind", ages=1)
    last, preempt = "last come" in discipline, discipline == DISCIPLINES[1]
    run = simulate_engine(
        source,
        engine,
        policy,
        1,
        int(time / STEP),
        order="last" if last else "first",
        preempt=preempt,
        push_out=last,
        warm_up=int(50 / STEP),
        rng=rng,
    )
    waited = -np.expm1(-decay * STEP) / (decay * STEP)
    return float(run.average_reward / (load * STEP * waited))


def compare_disciplines(
    loads: list[float], decay: float, time: float, runs: int, seed: int
) -> pd.DataFrame:
    """Return ages and worths by discipline and load, in closed form and simulated."""
    rows = []
    for row_number, discipline in enumerate(DISCIPLINES):
        for load in loads:
            seeds = [[seed, row_number, int(1e6 * load), run] for run in range(runs)]
            rngs = [np.random.default_rng(spawned) for spawned in seeds]
            pages = int(time * load) + 10
            ages = [simulate_age(load, discipline, pages, rng) for rng in rngs]
            worths = [simulate_worth(load, decay, discipline, time, rng) for rng in rngs]
            exact = mean_age(load, discipline), mean_worth(load, decay, discipline)
            row: list[object] = [discipline, load]
            for value, runs_of in zip(exact, (ages, worths), strict=True):
                estimate = Estimate.of(runs_of)
                row += [value, estimate.value, estimate.low, estimate.high]
            rows.append(row)
    parts = ("", " simulated", " low", " high")
    names = [name + suffix for name in ("age", "worth") for suffix in parts]
    return pd.DataFrame(rows, columns=["discipline", "load", *names])


def compare_shared_ages(
    loads: list[float], share: float, time: float, runs: int, seed: int
) -> pd.DataFrame:
    """Return the age of a source that brings a share of all pages, by discipline and load."""
    rows = []
    for row_number, discipline in enumerate(DISCIPLINES):
        for load in loads:
            rng = np.random.default_rng([seed, 7, row_number, int(1e6 * load)])
            pages = int(time * load) + 10
            ages = [
                simulate_age(load, discipline, pages, stream, share) for stream in rng.spawn(runs)
            ]
            estimate = Estimate.of(ages)
            exact = mean_age(load, discipline, share)
            rows.append((discipline, load, exact, estimate.value, estimate.low, estimate.high))
    columns = ["discipline", "load", "age", "age simulated", "age low", "age high"]
    return pd.DataFrame(rows, columns=columns)


def compute_curves(decay: float, points: int = 96) -> pd.DataFrame:
    """Return ages, and worth indexed per mean indexing time, by load and discipline."""
    rows = []
    for discipline in DISCIPLINES:
        most = 0.96 if discipline == DISCIPLINES[0] else 2.0
        for load in np.linspace(0.05, most, points).tolist():
            worth = load * mean_worth(load, decay, discipline)
            rows.append((discipline, load, mean_age(load, discipline), worth))
    return pd.DataFrame(rows, columns=["discipline", "load", "age", "worth"])


def find_best_loads(decay: float) -> tuple[float, float]:
    """Return the loads at which first come first served has the least age and the most worth.

    The age is least where its derivative -1/r^2 + r (2 - r)/(1 - r)^2 vanishes; the worth
    r (1 - r)/(1 - r + mu) is largest at r = 1 + mu - sqrt(mu (1 + mu)).
    """

    def slope(load: float) -> float:
        return -1 / load**2 + load * (2 - load) / (1 - load) ** 2

    return float(brentq(slope, 0.1, 0.9)), float(1 + decay - np.sqrt(decay * (1 + decay)))


# Values and tables


def save_page_values(table: pd.DataFrame, shared: pd.DataFrame, decay: float, runs: int) -> None:
    """Save how many intervals hold the closed form, and the best loads."""
    covering = sum(
        int(((frame[f"{name} low"] <= frame[name]) & (frame[name] <= frame[f"{name} high"])).sum())
        for frame, name in ((table, "age"), (table, "worth"), (shared, "age"))
    )
    save_value("age-of-information-inside", covering)
    save_value("age-of-information-intervals", 2 * len(table) + len(shared))
    save_value("age-of-information-runs", runs)
    age, worth = find_best_loads(decay)
    save_value("age-of-information-age-load", age)
    save_value("age-of-information-worth-load", worth)
    save_value("age-of-information-decay", decay)


# Figures


STYLES = ("-", "--", ":", "-.")


def draw_curves(frame: pd.DataFrame, decay: float) -> None:
    """Draw mean age and worth against the load, by discipline."""
    groups = [(name, frame[frame["discipline"] == name]) for name in DISCIPLINES]
    most = {name: rows["worth"].max() for name, rows in groups}
    values_text = ", ".join(f"{name} {value:.2f}" for name, value in most.items())

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2)
        for (name, rows), colour, style in zip(groups, COLOURS, STYLES, strict=False):
            axes[0].plot(rows["load"], rows["age"], style, color=colour, label=name)
            axes[1].plot(rows["load"], rows["worth"], style, color=colour)
        axes[0].set(ylabel="mean age (indexing times)", ylim=(0, 12))
        axes[1].set(ylabel="worth indexed\nper indexing time", ylim=(0, None))
        for axis in axes:
            axis.set(xlabel="load")
        add_legend(figure)
        return frame

    save_figure(
        "age-of-information-curves",
        draw,
        caption="First come first served, there is a load of the least age and one of the most "
        "worth; with preemption more pages never hurt. Mean age of the freshest page indexed, and "
        f"worth indexed of pages that fade at {decay:g} times the rate of indexing.",
        alt="Four curves in each of two panels. First come first served has a least age and a "
        "largest worth at loads below one; the worth of the others rises with the load. Largest "
        f"worth shown: {values_text}.",
        height=3.5,
    )
