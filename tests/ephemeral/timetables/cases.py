"""Random sets of sources of all kinds, and second methods to hold timetables against."""

from itertools import product
from math import lcm

import numpy as np
from scipy.optimize import linprog

from analysis.ephemeral import Sources


def random_case(seed):
    """Sources of like or very different rates, some worth nothing, and a budget."""
    rng = np.random.default_rng([29, seed])
    size = int(rng.choice([1, 2, 3, 4, 5, 8, 20, 60]))
    spread = float(rng.choice([0.0, 0.3, 1.0, 2.0]))
    sources = Sources(
        rng.lognormal(0, spread, size) * (rng.random(size) > 0.1),
        rng.lognormal(0, spread / 2, size),
        rng.lognormal(-1, spread, size),
    )
    return sources, int(rng.integers(1, size + 1))


def value_of_linear_program(content, gaps, budget):
    """Largest reward of frequencies of gaps whose sum is the budget, by HiGHS.

    `content`, shape (N, G), is what a crawl of each source brings after each gap.
    """
    size, count = content.shape
    cost = -(content / gaps).ravel()
    once = np.kron(np.eye(size), np.ones(count))
    load = np.tile(1 / gaps, size)[None]
    bounds = np.concatenate([np.ones(size), [budget]])
    found = linprog(cost, A_ub=np.vstack([once, load]), b_ub=bounds, method="highs")
    return -found.fun


def bound_of_real_gaps(sources, budget):
    """Largest reward when gaps may be any real numbers of at least 1 on average, by bisection.

    At a price the best gap g has X(g) - g X'(g) equal to it.
    """
    limit, decay = sources.u_star, sources.decay

    def at(price):
        low, high = np.ones(len(sources)), np.full(len(sources), 1e9)
        for _ in range(100):
            gap = np.sqrt(low * high)
            fade = np.exp(-decay * gap)
            short = limit * (1 - fade - decay * gap * fade) < price
            low, high = np.where(short, gap, low), np.where(short, high, gap)
        surplus = np.maximum(0, (limit * -np.expm1(-decay * high) - price) / high)
        return price * budget + surplus.sum()

    low, high = 0.0, float(limit.max(initial=0.0))
    for _ in range(80):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return at(high)


def phases_exist(gaps, budget):
    """Tell by trying all phases whether constant gaps fit, the load of every epoch counted."""
    period = lcm(*gaps)
    epochs = np.arange(period)
    for phases in product(*(range(gap) for gap in gaps[1:])):
        load = (epochs % gaps[0] == 0).astype(int)
        for gap, phase in zip(gaps[1:], phases, strict=True):
            load += epochs % gap == phase
        if load.max() <= budget:
            return True
    return False


def crawl_times(table, horizon):
    """Crawls of every source in so many epochs, epoch by epoch, and the largest load."""
    crawled = np.zeros((len(table.sources), horizon), dtype=bool)
    largest = 0
    for epoch in range(horizon):
        due = table.crawls(epoch)
        assert np.unique(due).size == due.size
        largest = max(largest, due.size)
        crawled[due, epoch] = True
    return crawled, largest


def gaps_around(crawled):
    """Gaps between crawls of one source over a period, around its end."""
    times = np.flatnonzero(crawled)
    return np.diff(times, append=times[:1] + crawled.size)
