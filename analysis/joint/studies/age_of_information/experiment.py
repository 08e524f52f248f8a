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

DISCIPLINES = ("first come first served", "last come, preemptive", "no waiting", "last come")
SHARED = DISCIPLINES[1:3]
"""Disciplines of which the age of one among several sources has a closed form here."""
#: Places of a buffer that is never full in these runs.
ROOM = 3000
#: Time between two crawls, with mean indexing times of 1.
STEP = 0.02


def mean_age(load: float, discipline: str, share: float = 1.0) -> float:
    """Return the mean age of the freshest page of a source indexed, in mean indexing times.

    Pages appear at rate `load`, this share of them from the source, and are indexed at rate 1.
    Kaul, Yates, Gruteser (2012) for first come first served, at a load below 1, and for last come
    first served with preemption; Costa, Codreanu, Ephremides (2016) where a page that finds the
    engine busy is lost; for last come first served without preemption see the page.

    Raises
    ------
    ValueError
        If the source brings a share only and the discipline has no such form here.
    """
    own = load * share
    if discipline == DISCIPLINES[1]:
        return (1 + load) / own
    if discipline == DISCIPLINES[2]:
        return 1 + (1 + load) / own - 1 / (1 + load)
    if share < 1:
        raise ValueError(f"share must be 1 for {discipline}, got {share}")
    if discipline == DISCIPLINES[0]:
        return 1 + 1 / load + load**2 / (1 - load)
    return 1 + 1 / load + min(load**2, 1.0)


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


def simulated_age(
    load: float, discipline: str, pages: int, rng: np.random.Generator, share: float = 1.0
) -> float:
    """Return the mean age of the freshest page of a source indexed in one run of so many pages."""
    born = np.cumsum(rng.exponential(1 / load, pages))
    took = rng.exponential(1.0, pages)
    if discipline == DISCIPLINES[0]:
        before = np.cumsum(took) - took
        done = before + took + np.maximum.accumulate(born - before)
        kept = np.arange(pages)
    elif discipline == DISCIPLINES[1]:
        done = born + took
        kept = np.flatnonzero(done[:-1] < born[1:])
    elif discipline == DISCIPLINES[2]:
        done, kept = _without_waiting(born, took)
    else:
        done, kept = _last_come(born, took)
    kept = kept[rng.random(kept.size) < share]
    born, done = born[kept], done[kept]
    # From one page indexed to the next the age grows at rate 1 from the time the page took.
    length = np.diff(done)
    area = length * (done[:-1] - born[:-1]) + length**2 / 2
    return float(area.sum() / length.sum())


def _without_waiting(born: Floats, took: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return when each page is indexed, and which are if those that find it busy are lost."""
    done, kept, free = born + took, [], 0.0
    for page, (arrival, end) in enumerate(zip(born.tolist(), done.tolist(), strict=True)):
        if arrival >= free:
            kept.append(page)
            free = end
    return done, np.array(kept)


def _last_come(born: Floats, took: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return when each page is indexed, last come first served, and which are fresh by then."""
    times, lengths = born.tolist(), took.tolist()
    done, now, came = np.full(born.size, np.inf), 0.0, 0
    waiting: list[int] = []
    served: list[int] = []
    while came < born.size:
        if not waiting:
            now = times[came]
            waiting.append(came)
            came += 1
        page = waiting.pop()
        now += lengths[page]
        done[page] = now
        served.append(page)
        while came < born.size and times[came] <= now:
            waiting.append(came)
            came += 1
    order = np.array(served)
    return done, order[np.maximum.accumulate(order) == order]


def simulated_worth(
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


def shared(loads: list[float], share: float, time: float, runs: int, seed: int) -> pd.DataFrame:
    """Return the age of a source that brings a share of all pages, by discipline and load.

    Returns
    -------
    pandas.DataFrame
        Columns discipline, load, age; age simulated, age low, age high, of 95% intervals.
    """
    rows = []
    for place, discipline in enumerate(SHARED):
        for load in loads:
            rng = np.random.default_rng([seed, 7, place, int(1e6 * load)])
            pages = int(time * load) + 10
            ages = [simulated_age(load, discipline, pages, one, share) for one in rng.spawn(runs)]
            found = Estimate.of(ages)
            exact = mean_age(load, discipline, share)
            rows.append((discipline, load, exact, found.value, found.low, found.high))
    columns = ["discipline", "load", "age", "age simulated", "age low", "age high"]
    return pd.DataFrame(rows, columns=columns)


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
