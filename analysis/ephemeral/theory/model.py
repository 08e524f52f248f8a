"""Sections 2 to 4 of the report: content, the constraint, its Lagrangian, and printed sums.

The growth of expected content is integrated by a solver for differential equations and compared
with (1) to (3); contents under random controls are compared with the statements of section 4.

Several formulas of the documents sum over m while the summand has the index t. As printed such a
sum of t + 1 equal terms is t + 1 times the last one; `as_printed` and `as_meant` evaluate both
readings on the same run. The relaxed problem is solved twice: through the dual function and its
multiplier, and as a linear programme over occupation measures, from which the report derives the
multiplier.

Reference: report 8702, (1) to (6) and the formulas of sections 3 and 4; slides, (1) to (8).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad, solve_ivp
from scipy.optimize import linprog

from analysis.arrays import Bools, Floats, read_only_arrays
from analysis.checks import Rng, check_integer, check_rng
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.instances import random_sources
from analysis.ephemeral.optimum.costs import exact_sets
from analysis.ephemeral.policies import Policy
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.simulation import simulate
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.theory.equations import discounted_value, gain_by_solver
from analysis.results import NotConverged

_EPOCHS = 4000
_BUDGETS = (1, 2, 3)


@dataclass(frozen=True)
class ModelChecks:
    """Deviations of (1) to (3), alpha and u* from numerical integration."""

    # By T, the right side of (1) over its middle, averaged over the sources.
    lacks: dict[float, float]
    # `growth_error` from 0.7 u*, and from an empty source.
    growth: float
    fresh_growth: float
    # Largest difference of alpha from the share of interest that is left after an epoch.
    left: float
    # Largest relative difference of u* from the content after many epochs without a crawl.
    limit: float
    above: bool  # whether u* is more than u
    # Contents of the first source one, two and three epochs after a crawl, over u.
    aged: Floats
    # Largest relative difference of u and alpha from those of the same sources in units of T: rates
    # Lambda T and mu T with a period of 1.
    rescaled: float


def model_checks(by_period: Mapping[float, Sources]) -> ModelChecks:
    """Compare the model's equations with the growth of content, integrated numerically.

    `by_period` has the same sources with several periods T.
    """
    sources = by_period[1.0]
    content, aged = np.zeros(len(sources)), []
    for _ in range(int(40 / sources.decay.min()) + 3):
        content = sources.alpha * content + sources.u
        aged.append(content[0] / sources.u[0])
    faded = [
        np.abs(_fade(group.decay_rate, period) / group.alpha - 1).max()
        for period, group in by_period.items()
    ]
    return ModelChecks(
        lacks={
            period: float((group.u / _printed_middle(group, period)).mean())
            for period, group in by_period.items()
        },
        growth=max(growth_error(group, 0.7) for group in by_period.values()),
        fresh_growth=max(growth_error(group, 0.0) for group in by_period.values()),
        left=float(max(faded)),
        limit=float(np.abs(content / sources.u_star - 1).max()),
        above=bool((sources.u_star > sources.u).all()),
        aged=np.array(aged[:3]),
        rescaled=max(_change_of_unit(group) for group in by_period.values()),
    )


def _change_of_unit(sources: Sources) -> float:
    """Return the largest relative change of u and alpha if the period becomes the unit of time."""
    period = sources.period
    unit = replace(
        sources,
        arrival_rate=sources.arrival_rate * period,
        decay_rate=sources.decay_rate * period,
        period=1.0,
    )
    changes = [unit.u / sources.u, unit.alpha / sources.alpha]
    return float(np.abs(np.array(changes) - 1).max())


def _printed_middle(sources: Sources, period: float) -> Floats:
    """Return Lambda E[xi exp(-mu tau)] with the age tau uniform on the epoch."""
    columns = zip(sources.arrival_rate, sources.mean_utility, sources.decay_rate, strict=True)
    return np.array(
        [
            rate * quad(lambda t, xi=xi, mu=mu: xi * np.exp(-mu * t) / period, 0, period)[0]
            for rate, xi, mu in columns
        ]
    )


def _fade(rate: Floats, period: float) -> Floats:
    """Return the share of interest left after an epoch, by numerical integration."""
    flow = solve_ivp(
        lambda _, x: -rate * x, (0, period), np.ones(rate.size), rtol=1e-10, atol=1e-12
    )
    return np.asarray(flow.y[:, -1])


def growth_error(sources: Sources, share: float) -> float:
    """Return the largest relative difference of (2) and (3) from content integrated over an epoch.

    The content at the start is `share` u*; 0 is an empty source, as in (3).
    """
    limit = sources.u_star
    flow = solve_ivp(
        lambda _, x: sources.arrival_rate * sources.mean_utility - sources.decay_rate * x,
        (0, sources.period), share * limit, rtol=1e-10, atol=1e-10,
    )  # fmt: skip
    stated = sources.alpha * share * limit + sources.u
    return float(np.abs(flow.y[:, -1] / stated - 1).max())


@dataclass(frozen=True)
class TransientChecks:
    """Whether the statements on contents before and after the first crawl hold in every run."""

    # Under any control contents are at most those without a crawl, and less after a crawl.
    stays_below: bool
    # A source above u* decreases towards it while it is not crawled, without reaching it.
    falls: bool
    drops: bool  # after the first crawl contents are at most u*
    as_free: bool  # in some run contents are those without a crawl until a later first crawl
    empty: bool  # an empty source has the same content an epoch later whether it is crawled or not
    # Number of runs from either side of u*, and their length.
    runs: int
    epochs: int


def step(content: Floats, crawl: Bools | bool) -> Floats:
    """Return the content of the next epoch by (2) and (3), with alpha = 0.7 and u* = 1."""
    return np.asarray(np.where(crawl, 0.0, 0.7 * content) + 0.3)


def transient_checks(runs: int, epochs: int, rng: Rng) -> TransientChecks:
    """Follow contents under random controls, from starts below and above u*, with alpha = 0.7.

    There are at least 2 runs; every other one starts below u*.
    """
    rng = check_rng(rng)
    runs = check_integer("runs", runs, 2)
    epochs = check_integer("epochs", epochs, 1)
    control = rng.random((runs, epochs)) < rng.uniform(0, 1, (runs, 1))
    low = np.arange(runs) % 2 == 1
    begin = np.where(low, rng.uniform(0, 1, runs), rng.uniform(1, 3, runs))
    content, free, untouched = begin.copy(), begin.copy(), np.ones(runs, bool)
    stays_below = falls = drops = True
    as_free = False
    for crawl in control.T:
        untouched &= ~crawl
        content = step(content, crawl)
        before, free = free[~low], step(free, np.zeros(runs, bool))
        falls &= bool((free[~low] < before).all() and (free[~low] > 1 - 1e-12).all())
        touched = ~untouched & low
        stays_below &= bool((content <= free + 1e-12).all())
        stays_below &= bool((content[touched] < free[touched]).all())
        drops &= bool((content[~untouched] <= 1).all())
        yet = untouched & low & control.any(axis=1)
        as_free |= bool(yet.any() and (content[yet] == free[yet]).all())
    crawled, passive = step(np.zeros(2), np.array([True, False]))
    empty = bool(crawled == passive)
    return TransientChecks(stays_below, falls, drops, as_free, empty, runs // 2, epochs)


# The constraint, its Lagrangian, and printed sums


def as_printed(state: ArrayLike, action: ArrayLike) -> float:
    """Return the limit superior of (1/t) sum over m = 0, ..., t of state(t) action(m).

    The run's second half consists of whole cycles: the average of the actions tends to theirs, and
    the limit superior is that times the largest state. A maximum over a finite run would keep the
    factor (t + 1)/t, which tends to 1.
    """
    late = slice(np.size(state) // 2, None)
    return float(np.asarray(state)[late].max() * np.asarray(action)[late].mean())


def as_meant(state: ArrayLike, action: ArrayLike) -> float:
    """Return the limit superior of (1/t) sum over m = 0, ..., t of state(m) action(m).

    The run's second half consists of whole cycles, whose average is the limit.
    """
    late = slice(np.size(state) // 2, None)
    return float((np.asarray(state)[late] * np.asarray(action)[late]).mean())


def dual_value(sources: Sources, budget: float, subsidy: float) -> float:
    """Return the dual function, lambda M + sum over sources of max(0, max_k (X_k - lambda C) / k).

    The budget is M in cost per epoch; the subsidy lambda is negative if crawling is rewarded.
    """
    ages = np.arange(1, 400)[:, None]
    terms = (sources.state_at_age(ages) - subsidy * sources.cost) / ages
    return float(subsidy * budget + np.maximum(terms.max(axis=0), 0).sum())


def occupation_optimum(sources: Sources, budget: float) -> float:
    """Return the largest average reward under the average constraint, by linear programming.

    The variables are the rates at which each source completes cycles of each age, up to 150; the
    cycles of a source take at most all epochs, and their cost is at most the budget. NotConverged
    if the programme is not solved.
    """
    age = np.arange(1, 151)
    size = len(sources)
    reward = sources.state_at_age(age[:, None]).T.ravel()
    time = np.kron(np.eye(size), age)
    cost = np.repeat(sources.cost, age.size)
    solution = linprog(-reward, np.vstack([time, cost]), np.append(np.ones(size), budget))
    if not solution.success:
        raise NotConverged(solution.message)
    return float(-solution.fun)


def worst_duality_gap(sets: int, rng: Rng) -> float:
    """Return the largest relative difference of dual bound and linear programme on random sets.

    The sets have two to five sources with costs.
    """
    rng = check_rng(rng)
    gaps = []
    for number in range(check_integer("sets", sets, 1)):
        sources = random_sources(2 + number % 4, rng, costs=True)
        budget = float(rng.uniform(0.1, 0.9) * sources.cost.sum())
        solution = relaxed_problem(sources, budget)
        dual = dual_value(sources, budget, solution.subsidy)
        gaps.append(abs(dual / occupation_optimum(sources, budget) - 1))
    return max(gaps)


@dataclass(frozen=True)
class RelaxationChecks:
    """Numbers on the constraint, the Lagrangian and the policy for given sources."""

    spent: dict[int, set[float]]  # costs of an epoch under the policy, by M
    # Number of sets of sources whose cost is exactly 1 if each source costs 2; and exactly 3/2.
    exact: int
    broken: int
    ordered: bool  # whether no source with a larger index was left out at any epoch
    average: dict[int, float]  # average cost of the solution of the relaxed problem, by M
    # For M = 2: optimum of the linear programme, and the dual function at the multiplier with
    # lambda (M/N - v), as the report has it, and with lambda (v - M/N), as the slides' (7).
    occupation: float
    plus: float
    minus: float
    # For M = 2 and costs of 2: the minimum of the dual function without the costs, and the
    # optimum of the linear programme.
    costless: float
    costly: float
    # Sum of the gains of N one-source problems at that multiplier, by policy iteration, less the
    # subsidies that the budget does not pay.
    split: float
    duality: float  # `worst_duality_gap`
    sets: int  # number of random sets behind it


def relaxation_checks(
    sources: Sources, policy: Policy | str, sets: int, rng: Rng
) -> RelaxationChecks:
    """Compute the checks for the index policy and the relaxed problem on at least four sources.

    The duality gap is the largest on so many random `sets`.
    """
    spent, ordered = {}, True
    for m in _BUDGETS:
        run = simulate(sources, policy, m, 200)
        spent[m] = set(run.crawled.T @ sources.cost)
        index = whittle_index(sources, run.state.T)
        chosen = np.where(run.crawled.T, index, np.inf).min(axis=1)
        best_waiting = np.where(run.crawled.T, -np.inf, index).max(axis=1)
        ordered &= bool((chosen >= best_waiting * (1 - 1e-12)).all())
    solved = {m: relaxed_problem(sources, m) for m in _BUDGETS}
    price = solved[2].subsidy
    gains = [
        limit * gain_by_solver(float(decay), cost * price / limit)
        for decay, limit, cost in zip(sources.decay, sources.u_star, sources.cost, strict=True)
    ]
    costly = replace(sources, cost=np.full(len(sources), 2.0))
    return RelaxationChecks(
        spent=spent,
        exact=len(exact_sets(costly, 1.0)),
        broken=len(exact_sets(sources, 1.5)),
        ordered=ordered,
        average={m: float(s.frequency @ sources.cost) for m, s in solved.items()},
        occupation=occupation_optimum(sources, 2),
        plus=dual_value(sources, 2, price),
        minus=dual_value(sources, 2, -price),
        costless=occupation_optimum(replace(sources, cost=np.ones(len(sources))), 2),
        costly=occupation_optimum(costly, 2),
        split=float(sum(gains) + price * (2 - sources.cost.sum())),
        duality=worst_duality_gap(sets, rng),
        sets=sets,
    )


@read_only_arrays
@dataclass(frozen=True)
class Runs:
    """Runs on which printed sums are evaluated, as printed and as meant."""

    # Costs of the epochs if all sources are crawled at every N-th epoch; shape (epochs,).
    bursts: Floats
    rewards: Floats  # rewards of the index policy with M = 1, in its cycle; shape (epochs,)
    # Content and crawls of source 1, crawled at two ages in turn; shape (epochs,).
    content: Floats
    crawls: Floats


def runs_to_read(sources: Sources, gaps: tuple[int, int] = (3, 1)) -> Runs:
    """Return the runs on which the sums of sections 2 and 3 are evaluated.

    Source 1 is crawled at the ages `gaps` in turn.
    """
    size = len(sources)
    bursts = np.tile([float(sources.cost.sum()), *[0.0] * (size - 1)], _EPOCHS // size)
    rewards = simulate(sources, "whittle", 1, _EPOCHS, initial_state="fresh").reward
    ages = np.resize(np.concatenate([np.arange(1, gap + 1) for gap in gaps]), _EPOCHS)
    content = sources.state_at_age(ages[:, None])[:, 0]
    crawls = np.append(ages[1:] == 1, True).astype(float)
    return Runs(bursts, rewards, content, crawls)


@dataclass(frozen=True)
class Discounted:
    """One optimal run of the discounted problem, with u* = C = 1, and its sums."""

    value: float  # V_delta(u) by (8)
    # Sum over m of delta^t k(X(t)) at t = 1, after as many terms as the run has epochs; and the
    # sum over t.
    letter: float
    meant: float
    # Discounted reward from a larger and a smaller start under the same control.
    higher: float
    lower: float


def discounted_run() -> Discounted:
    """Run the maximiser of (8) from u, and one fixed control from two starts.

    mu T is 0.7, C lambda 0.4 u*, and the discount 0.9.
    """
    decay, subsidy, discount, epochs = 0.7, 0.4, 0.9, 400
    alpha, fresh = np.exp(-decay), -np.expm1(-decay)

    def value(x: float) -> float:
        return float(discounted_value(decay, subsidy, discount, x))

    x, earned, control = fresh, [], []
    for _ in range(epochs):
        wait = subsidy + discount * value(alpha * x + fresh)
        crawl = x + discount * value(fresh) >= wait
        earned.append(x if crawl else subsidy)
        control.append(crawl)
        x = fresh if crawl else alpha * x + fresh
    weights = discount ** np.arange(epochs)

    def reward(begin: float) -> float:
        content, total = begin, 0.0
        for weight, crawl in zip(weights, control, strict=True):
            total += weight * (content if crawl else subsidy)
            content = fresh + (0.0 if crawl else alpha * content)
        return float(total)

    return Discounted(
        value=value(fresh),
        letter=float(epochs * weights[1] * earned[1]),
        meant=float(weights @ np.array(earned)),
        higher=reward(0.9),
        lower=reward(0.5),
    )
