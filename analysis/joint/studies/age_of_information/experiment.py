"""What the page `age-of-information` computes: closed forms of queues, and simulations of each."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from analysis.ephemeral import Sources
from analysis.joint import Engine, queued_index, simulate_engine
from analysis.results import Estimate

Floats = NDArray[np.float64]

DISCIPLINES = ("first come first served", "last come, preemptive", "no waiting")
#: Places of a buffer that is never full in these runs.
ROOM = 3000
#: Time between two crawls, with mean indexing times of 1.
STEP = 0.02


def mean_age(load: float, discipline: str) -> float:
    """Return the mean age of the freshest page indexed, in mean indexing times.

    Pages appear at rate `load` and are indexed at rate 1: Kaul, Yates, Gruteser (2012) for first
    come first served, at a load below 1, and for last come first served with preemption; Costa,
    Codreanu, Ephremides (2016) where a page that finds the engine busy is lost.
    """
    if discipline == DISCIPLINES[0]:
        return 1 + 1 / load + load**2 / (1 - load)
    if discipline == DISCIPLINES[1]:
        return 1 + 1 / load
    return 2 + 1 / load - 1 / (1 + load)


def mean_worth(load: float, decay: float, discipline: str) -> float:
    """Return the share of its worth that a page has left when it is indexed, 0 if it is lost.

    The transform at the decay rate of the time that a page spends in the queue: an exponential law
    of rate 1 - load, the law of a busy period, or one indexing time.
    """
    if discipline == DISCIPLINES[0]:
        return (1 - load) / (1 - load + decay)
    if discipline == DISCIPLINES[1]:
        total = load + 1 + decay
        return 2 / (total + float(np.sqrt(total**2 - 4 * load)))
    return 1 / ((1 + load) * (1 + decay))


def simulated_age(load: float, discipline: str, pages: int, rng: np.random.Generator) -> float:
    """Return the mean age of the freshest page indexed in one run of so many pages."""
    born = np.cumsum(rng.exponential(1 / load, pages))
    took = rng.exponential(1.0, pages)
    if discipline == DISCIPLINES[0]:
        before = np.cumsum(took) - took
        done = before + took + np.maximum.accumulate(born - before)
        kept = np.arange(pages)
    elif discipline == DISCIPLINES[1]:
        done = born + took
        kept = np.flatnonzero(done[:-1] < born[1:])
    else:
        done, kept_pages, free = born + took, [], 0.0
        for page, (arrival, end) in enumerate(zip(born.tolist(), done.tolist(), strict=True)):
            if arrival >= free:
                kept_pages.append(page)
                free = end
        kept = np.array(kept_pages)
    born, done = born[kept], done[kept]
    # From one page indexed to the next the age grows at rate 1 from the time the page took.
    length = np.diff(done)
    area = length * (done[:-1] - born[:-1]) + length**2 / 2
    return float(area.sum() / length.sum())


def simulated_worth(
    load: float, decay: float, discipline: str, time: float, rng: np.random.Generator
) -> float:
    """Return the share of worth that pages have left, by the simulation of crawler and engine.

    One source is crawled every `STEP`; what pages lose until they are crawled is divided out.
    """
    source = Sources(np.array([load]), np.ones(1), np.array([decay]), period=STEP)
    engine = Engine(1.0, 1 if discipline == DISCIPLINES[2] else ROOM)
    policy = queued_index(source, engine, "blind", ages=1)
    last = discipline == DISCIPLINES[1]
    run = simulate_engine(
        source,
        engine,
        policy,
        1,
        int(time / STEP),
        order="last" if last else "first",
        preempt=last,
        push_out=last,
        warm_up=int(50 / STEP),
        rng=rng,
    )
    waited = -np.expm1(-decay * STEP) / (decay * STEP)
    return float(run.average_reward / (load * STEP * waited))


def table(loads: list[float], decay: float, time: float, runs: int, seed: int) -> pd.DataFrame:
    """Return ages and worths by discipline and load, in closed form and simulated.

    Returns
    -------
    pandas.DataFrame
        Columns discipline, load; age, worth; and each simulated with low and high, ends of 95%
        intervals.
    """
    rows = []
    for place, discipline in enumerate(DISCIPLINES):
        for load in loads:
            seeds = [[seed, place, int(1e6 * load), run] for run in range(runs)]
            rngs = [np.random.default_rng(one) for one in seeds]
            pages = int(time * load) + 10
            age = Estimate.of([simulated_age(load, discipline, pages, rng) for rng in rngs])
            worth = Estimate.of(
                [simulated_worth(load, decay, discipline, time, rng) for rng in rngs]
            )
            rows.append(
                {
                    "discipline": discipline,
                    "load": load,
                    "age": mean_age(load, discipline),
                    "age simulated": age.value,
                    "age low": age.low,
                    "age high": age.high,
                    "worth": mean_worth(load, decay, discipline),
                    "worth simulated": worth.value,
                    "worth low": worth.low,
                    "worth high": worth.high,
                }
            )
    return pd.DataFrame(rows)


def curves(decay: float, points: int = 96) -> pd.DataFrame:
    """Return ages, and worth indexed per mean indexing time, by load and discipline."""
    rows = []
    for discipline in DISCIPLINES:
        most = 0.96 if discipline == DISCIPLINES[0] else 2.0
        for load in np.linspace(0.05, most, points).tolist():
            worth = load * mean_worth(load, decay, discipline)
            rows.append((discipline, load, mean_age(load, discipline), worth))
    return pd.DataFrame(rows, columns=["discipline", "load", "age", "worth"])


def best_loads(decay: float) -> tuple[float, float]:
    """Return the loads at which first come first served has the least age and the most worth.

    The age is least where its derivative -1/r^2 + r (2 - r)/(1 - r)^2 vanishes; the worth
    r (1 - r)/(1 - r + mu) is largest at r = 1 + mu - sqrt(mu (1 + mu)).
    """

    def slope(load: float) -> float:
        return -1 / load**2 + load * (2 - load) / (1 - load) ** 2

    return float(brentq(slope, 0.1, 0.9)), float(1 + decay - np.sqrt(decay * (1 + decay)))
