"""Many copies of each source: the Weber-Weiss limit, and when it fails.

With R copies of each of N sources and a budget of R M crawls, the relaxed bound per copy does not
depend on R. Weber and Weiss (1990) show that the index policy reaches it as R grows, if the fluid
limit of the copies' ages has a globally attracting fixed point. Expected contents are without
noise: ages of copies that start alike stay alike, phases never mix, and the condition can fail. The
condition is met when contents are random and observed.

Copies of one source at one age are alike, so a deterministic run needs only their number: its cost
does not grow with R. A random run plays every copy, with the stochastic index of its source. The
policy's loss is far smaller than the noise of a run, so the relaxed policy is played beside it on
the same content: less lambda* for each crawl above the budget, that one earns the bound on average,
and the difference of the two is nearly free of noise.

Reference: Weber and Weiss, J. Appl. Prob. 27 (1990); Verloop (2016); slides, slide on the policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.arrays import Floats, Ints
from analysis.checks import Rng, check_choice, check_integer, check_number, check_rng
from analysis.ephemeral.arrivals import Arrivals
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.kernels import mark_top, receive, tabulated_index
from analysis.ephemeral.simulation import follow_to_cycle
from analysis.ephemeral.sources import Sources, check_unit_costs
from analysis.ephemeral.stochastic.index import StochasticIndex, index_table, source_law
from analysis.kernel_cache import njit

STARTS = ("together", "random")
_DRAWS = 8000  # lattice points that contents are drawn from


@dataclass(frozen=True)
class ReplicaRun:
    """Reward of the index policy on many copies.

    `average_reward` is per epoch and copy, over one exact `period` in epochs, if that is not 0.
    `relaxed_reward` is that of the relaxed policy per epoch and copy on the same content, less
    the subsidy for each crawl above the budget; ``nan`` if it was not played.
    """

    average_reward: float
    period: int
    relaxed_reward: float = np.nan


def simulate_replicas(
    sources: Sources,
    budget: float,
    copies: int,
    *,
    start: str = "together",
    oldest_start: int = 20,
    horizon: int = 4000,
    rng: Rng = None,
) -> ReplicaRun:
    """Run the index policy on copies of each of N types of source, with expected contents.

    The budget is in crawls per epoch and copy, in (0, N]; times `copies` it must be whole. The
    start is of `STARTS`: all ages 1, or drawn with `rng` from 1 to `oldest_start` for every copy.
    After `horizon` epochs without a period the second half is averaged. ValueError names the
    argument, its value and the allowed range.
    """
    crawls = _whole_budget(sources, budget, copies)
    check_choice("start", start, STARTS)
    oldest_start = check_integer("oldest_start", oldest_start, 1)
    horizon = check_integer("horizon", horizon, 2)
    oldest = max(int(sources.settled_age.max()), oldest_start)
    ages = np.arange(1, oldest + 1)[:, None] * np.ones(len(sources))
    order = np.argsort(-whittle_index_at_age(sources, ages).T.ravel(), kind="stable")
    content = sources.state_at_age(ages).T.copy()
    counts = np.zeros((len(sources), oldest), dtype=np.int64)
    if start == "together":
        counts[:, 0] = copies
    else:
        if rng is None:
            raise ValueError("rng must be a numpy.random.Generator for a random start")
        shares = np.full(oldest_start, 1 / oldest_start)
        rng = check_rng(rng)
        counts[:, :oldest_start] = rng.multinomial(copies, shares, size=len(sources))

    def step(counts: Ints) -> tuple[float, Ints]:
        return _crawl_groups(counts, content, order, crawls), counts  # changed in place

    rewards, first = follow_to_cycle(step, counts, horizon, key=np.ndarray.tobytes)
    period = 0 if first is None else len(rewards) - first
    averaged = rewards[-period:] if period else rewards[horizon // 2 :]
    return ReplicaRun(float(np.mean(averaged)) / copies, period)


def simulate_random_replicas(
    arrivals: Arrivals,
    curves: Sequence[StochasticIndex],
    budget: float,
    copies: int,
    horizon: int,
    rng: Rng,
    *,
    start: str = "together",
    warm_up: int = 50,
    subsidy: float | None = None,
) -> ReplicaRun:
    """Run the stochastic index policy on copies of each source, with observed random contents.

    Contents are drawn from their law on a fine lattice that keeps the mean; `curves` has the index
    of each of the N types. The budget is that of `simulate_replicas`; the start is of `STARTS`:
    empty, or each copy with its limit u* times a uniform number. The first `warm_up` epochs are
    left out of the average. With a `subsidy`, the multiplier of the relaxed problem, the relaxed
    policy, which crawls every copy of a larger index, is played on the same content. ValueError
    names the argument, its value and the allowed range.
    """
    rng = check_rng(rng)
    sources = arrivals.sources
    crawls = _whole_budget(sources, budget, copies)
    check_choice("start", start, STARTS)
    horizon = check_integer("horizon", horizon, 2)
    warm_up = check_integer("warm_up", warm_up, 0, horizon - 1)
    level = np.inf if subsidy is None else check_number("subsidy", subsidy, 0)
    table = index_table(curves)
    arrived = np.array([float(curve.state[-1]) for curve in curves]) / _DRAWS
    laws = [
        source_law(sources, i, law, float(arrived[i]), _DRAWS)
        for i, law in enumerate(arrivals.laws)
    ]
    total = np.stack([np.cumsum(law) / law.sum() for law in laws])
    kind = np.repeat(np.arange(len(sources)), copies)
    state = np.zeros(kind.size)
    if start == "random":
        state = sources.u_star[kind] * rng.random(kind.size)
    rewards, relaxed = np.empty(horizon), np.empty(horizon)
    guide = np.stack([np.searchsorted(row, np.linspace(0, 1, 4097)) for row in total])
    _play_copies(
        kind, state, sources.alpha[kind], table.values, table.step, total, guide, arrived,
        crawls, level, rewards, relaxed, rng,
    )  # fmt: skip
    beside = np.nan if subsidy is None else float(relaxed[warm_up:].mean()) / copies
    return ReplicaRun(float(rewards[warm_up:].mean()) / copies, 0, beside)


def _whole_budget(sources: Sources, budget: float, copies: int) -> int:
    """Return the crawls per epoch, or raise naming the argument."""
    budget = check_number("budget", budget, 0, len(sources), low_open=True)
    copies = check_integer("copies", copies, 1)
    check_unit_costs(sources)
    crawls = round(budget * copies)
    if crawls < 1 or abs(crawls - budget * copies) > 1e-9 * crawls:
        raise ValueError(f"budget times copies must be a whole number, got {budget * copies:g}")
    return crawls


@njit
def _crawl_groups(counts: Ints, content: Floats, order: Ints, crawls: int) -> float:
    """Crawl copies in the order of their groups, let all others age, and return the reward."""
    kinds, oldest = counts.shape
    fresh = np.zeros(kinds, dtype=np.int64)
    earned, remaining = 0.0, crawls
    for cell in order:
        kind, age = cell // oldest, cell % oldest
        crawled = min(remaining, counts[kind, age])
        if crawled:
            counts[kind, age] -= crawled
            fresh[kind] += crawled
            earned += crawled * content[kind, age]
            remaining -= crawled
            if remaining == 0:
                break
    for kind in range(kinds):
        counts[kind, oldest - 1] += counts[kind, oldest - 2]
        for age in range(oldest - 2, 0, -1):
            counts[kind, age] = counts[kind, age - 1]
        counts[kind, 0] = fresh[kind]
    return earned


@njit
def _play_copies(
    kind: Ints,
    state: Floats,
    alpha: Floats,
    index: Floats,
    step: Floats,
    total: Floats,
    guide: Ints,
    arrived: Floats,
    crawls: int,
    subsidy: float,
    rewards: Floats,
    relaxed: Floats,
    rng: np.random.Generator,
) -> None:
    """Play every copy, and write `rewards` and `relaxed`, one entry an epoch.

    `guide` speeds up drawing from the distribution functions `total`.
    """
    size, most = state.size, total.shape[1] - 1
    priority, work = np.empty(size), np.empty(size)
    chosen = np.zeros(size, dtype=np.bool_)
    cells = guide.shape[1] - 1
    beside, content = state.copy(), np.empty(size)
    for epoch in range(rewards.size):
        for i in range(size):
            priority[i] = tabulated_index(index[kind[i]], step[kind[i]], 1.0, state[i])
        mark_top(priority, crawls, work, chosen)
        rewards[epoch] = 0.0
        relaxed[epoch] = crawls * subsidy if subsidy < np.inf else 0.0
        for i in range(size):
            k = kind[i]
            if subsidy < np.inf and tabulated_index(index[k], step[k], 1.0, beside[i]) > subsidy:
                relaxed[epoch] += beside[i] - subsidy
                beside[i] = 0.0
            if chosen[i]:
                rewards[epoch] += state[i]
                state[i] = 0.0
            uniform = rng.random()
            point = guide[k, int(uniform * cells)]
            while point < most and total[k, point] < uniform:
                point += 1
            content[i] = point * arrived[k]
        receive(alpha, content, state)
        receive(alpha, content, beside)
