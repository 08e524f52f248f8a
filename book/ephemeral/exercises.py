"""The exercises of this part: the numbers that their solutions quote. No parameter moves them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from analysis.ephemeral.arrivals import Arrivals
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.instances import lognormal_sources
from analysis.ephemeral.optimum.costs import simulate_costs
from analysis.ephemeral.optimum.dual import dual_descent
from analysis.ephemeral.policies import SingleSourcePolicy, WhittlePolicy
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.scheduler.core import Scheduler, rewards
from analysis.ephemeral.scheduler.register import spread_ages
from analysis.ephemeral.simulation import long_run_cycle
from analysis.ephemeral.sources import Sources, four_sources
from analysis.ephemeral.stochastic.replicas import simulate_replicas
from analysis.ephemeral.stochastic.simulation import Environment
from analysis.ephemeral.theory.formula import printed_index
from book.ephemeral.lagrangian_index import make_lockstep


def _scale_sources(utility: list[float], decay: float) -> Sources:
    """Return sources with 250 items per time unit each, and one decay rate."""
    size = len(utility)
    return Sources(np.full(size, 250.0), np.array(utility), np.full(size, decay))


def solve_four_sources() -> dict[str, float]:
    """Return numbers in the solutions of the exercises on the page of this name.

    Keys: ``ratio``, u_2/u_1 at which source 2 is left alone, and its share of the crawls a little
    ``above`` and ``below``; the ``period`` at M = 3, the index of source 4 one epoch before
    (``waits``) and at (``comes``) that age, and of source 3 at age 1 (``holds``); the largest
    relative error of Theorem 1 as printed where mu = 1e-8 (``slow``).
    """
    four = four_sources()
    ratio = float((1 - four.alpha[0]) ** 2)
    share = {
        side: long_run_cycle(_scale_sources([1.0, factor * ratio], 0.7), "whittle", 1)
        for side, factor in {"above": 1.02, "below": 0.98}.items()
    }
    period = long_run_cycle(four, "whittle", 3).period
    ages = np.repeat([[1], [period - 1], [period]], len(four), axis=1)
    index = whittle_index_at_age(four, ages)
    slow, ages = _scale_sources([1.0], 1e-8), np.arange(1, 201)[:, None]
    printed = printed_index(slow, slow.state_at_age(ages))
    return {
        "solution-ratio": ratio,
        "solution-above": float(share["above"].frequency[1]),
        "solution-below": float(share["below"].frequency[1]),
        "solution-period": period,
        "solution-holds": float(index[0, 2]),
        "solution-waits": float(index[1, 3]),
        "solution-comes": float(index[2, 3]),
        "solution-slow": float(np.abs(printed / whittle_index_at_age(slow, ages) - 1).max()),
    }


def solve_dual_descent() -> dict[str, float]:
    """Return numbers in the solutions of the exercises on the page of this name.

    Keys: distance of the price from the multiplier at M = 2 after 1000 epochs, by step a and power
    p: ``a2-p5`` for 2 and 0.5, and so on; spread of the price in the second half of 4000 epochs if
    it is sent at every epoch (``every``) and at every tenth (``tenth``), and what the latter
    spends (``tenth-spent``); the last price and the multiplier with costs 2, 1, 1.5 and 1 and a
    budget of 2.5 (``costs-price``, ``costs-multiplier``).
    """
    four = four_sources()
    multiplier = relaxed_problem(four, 2).subsidy
    powers = {"p5": 0.5, "p6": 0.6, "p8": 0.8, "p10": 1.0}
    far = {
        f"solution-a{step}-{name}": abs(
            dual_descent(four, 2, 1000, step=step, power=power).subsidy[-1] - multiplier
        )
        for step in (2, 20)
        for name, power in powers.items()
    }
    every, tenth = (simulate_seldom_price(four, 2.0, 4_000, often) for often in (1, 10))
    costly = replace(four, cost=np.array([2.0, 1.0, 1.5, 1.0]))
    return far | {
        "solution-every": float(every[0][2_000:].std()),
        "solution-tenth": float(tenth[0][2_000:].std()),
        "solution-tenth-spent": float(tenth[1][2_000:].mean()),
        "solution-costs-price": float(dual_descent(costly, 2.5, 20_000).subsidy[-1]),
        "solution-costs-multiplier": relaxed_problem(costly, 2.5).subsidy,
    }


def simulate_seldom_price(
    sources: Sources, budget: float, horizon: int, every: int
) -> tuple[np.ndarray, np.ndarray]:
    """Run dual descent with a price that moves once in `every` epochs, by their overspending."""
    price, spent = np.empty(horizon), np.empty(horizon)
    ages, now, owed = np.ones(len(sources), int), 0.0, 0.0
    for t in range(horizon):
        crawled = whittle_index_at_age(sources, ages) >= now
        price[t], spent[t] = now, sources.cost[crawled].sum()
        ages = np.where(crawled, 1, ages + 1)
        owed += spent[t] - budget
        if (t + 1) % every == 0:
            now, owed = max(0.0, now + 20.0 / (t + 1) ** 0.6 * owed), 0.0
    return price, spent


def solve_how_good() -> dict[str, float]:
    """Return numbers in the solutions of the exercises on the page of this name.

    Keys: the ``multiplier`` of two sources of which one is crawled with gaps 1 and 2 in turn, and
    the relative loss of that ``cycle``; the reward of a policy that takes the decay of source 3
    for half of what it is, if it observes nothing (``blind``) and if it observes sources 3 and 4
    (``seeing``), and of one that has the true decay (``knowing``).
    """
    four, pair = four_sources(), _scale_sources([1.0, 0.4], 0.7)
    wrong = replace(four, decay_rate=four.decay_rate * np.array([1.0, 1.0, 0.5, 1.0]))
    content = [Arrivals(four).sample(600, np.random.default_rng([7, run])) for run in range(2)]
    observed = np.array([False, False, True, True])
    return {
        "solution-multiplier": relaxed_problem(pair, 1).subsidy,
        "solution-cycle": _relative_loss(
            pair, 1, long_run_cycle(pair, "whittle", 1).average_reward
        ),
        "solution-blind": _reward_of_beliefs(four, wrong, content, False),
        "solution-seeing": _reward_of_beliefs(four, wrong, content, observed),
        "solution-knowing": _reward_of_beliefs(four, four, content, observed),
    }


def solve_newer_policies() -> dict[str, float]:
    """Return numbers in the solutions of the exercises on the page of this name.

    Keys: with six copies each of two types with due ages 2 and 3, the relative loss of the index
    policy from equal ages (``equal``) and its ``period``; the ``period-split`` of two copies of
    the four sources at M = 3/2, and the share of crawls of both copies of source 2 at once
    (``both``).
    """
    types = _scale_sources([1.0, 0.5], 0.5)
    copies = simulate_replicas(types, 5 / 6, 6)
    twice = four_sources().subset(np.repeat(np.arange(4), 2))
    split = long_run_cycle(twice, "whittle", 3)
    return {
        "solution-equal": _relative_loss(types, 5 / 6, copies.average_reward),
        "solution-period": copies.period,
        "solution-period-split": split.period,
        "solution-both": float(np.mean([{2, 3} <= set(arms) for arms in split.crawls])),
    }


def solve_stochastic_arrivals() -> dict[str, float]:
    """Return numbers in the solutions of the exercises on the page of this name.

    Keys: ``variability``, of 250 items per epoch; ``items``, exponential ones per epoch that vary
    as much, and ``batch``, how many exponential ones come at once to the same effect; ``one``, the
    reward of a crawler that stays with source 1.
    """
    variability, exponential = 160.0, 1.0
    batch = (1 + variability) / (1 + exponential)
    staying = long_run_cycle(four_sources(), SingleSourcePolicy(0), 1).average_reward
    return {
        "solution-variability": variability,
        "solution-items": 250 / batch,
        "solution-batch": batch,
        "solution-one": staying,
    }


def solve_at_scale() -> dict[str, float]:
    """Return numbers in the solutions of the exercises on the page of this name.

    Keys: ``waiting``, sources of 20,000 whose index is between half of the multiplier and all of
    it in the long run, when the index of one that is never crawled is at its limit u*; standard
    deviation of the reward in epochs 100 to 300, relative to its mean, if all were crawled at
    once, with one decay rate (``alike``) and with lognormal ones (``spread``).
    """
    size, budget, rng = 20_000, 200, np.random.default_rng(1)
    sources = lognormal_sources(size, rng)
    one_decay = replace(sources, decay_rate=np.full(size, np.exp(-3.0)))
    relaxed = relaxed_problem(sources, budget)
    index = whittle_index_at_age(sources, spread_ages(sources, budget, rng))
    index = np.where(sources.u_star > relaxed.subsidy, index, sources.u_star)
    paths = {
        name: rewards(Scheduler(variant, budget, 1), 300)[100:]
        for name, variant in {"alike": one_decay, "spread": sources}.items()
    }
    swings = {f"solution-{name}": float(path.std() / path.mean()) for name, path in paths.items()}
    half = (index >= relaxed.subsidy / 2) & (index < relaxed.subsidy)
    return swings | {"solution-waiting": int(half.sum())}


def solve_many_machines() -> dict[str, float]:
    """Return a number in the solution of an exercise on the page of this name.

    Keys: ``regained``, the multiplier times the budget over the relaxed bound, for 20,000 sources.
    """
    size, budget = 20_000, 200
    relaxed = relaxed_problem(lognormal_sources(size, np.random.default_rng(1)), budget)
    return {"solution-regained": relaxed.subsidy * budget / relaxed.bound}


def solve_costs_and_budgets() -> dict[str, float]:
    """Return numbers in the solutions of the exercises on the page of this name.

    Keys: crawls of source 1 per epoch at a cost of 6, the others at 1, and a budget of 6, by the
    sets of largest index (``index``) and of largest fees (``value``); for a source that fades
    within an epoch, brings 60, 120 or 150 and may be crawled once in six epochs, the reward if it
    is crawled whenever that is allowed (``allowed-60``, ...) and by its index (``ranked-60``,
    ...), and without it (``without``).
    """
    costly = replace(four_sources(), cost=np.array([6.0, 1.0, 1.0, 1.0]))
    solutions = {
        f"solution-{fill}": float(simulate_costs(costly, fill, 6.0).frequency[0])
        for fill in ("index", "value")
    }
    for brings in (60, 120, 150):
        arms = _add_fleeting_source(brings)
        run = simulate_costs(arms, "value", 1.0, least_age=[6, 1, 1, 1])
        solutions[f"solution-ranked-{brings}"] = run.average_reward
        solutions[f"solution-allowed-{brings}"] = reward_when_allowed(arms, 6, 600)
    others = arms.subset(slice(1, None))
    return solutions | {"solution-without": long_run_cycle(others, "whittle", 1).average_reward}


def _add_fleeting_source(brings: float) -> Sources:
    """Return a source that fades within an epoch and holds so much, and three of Table 1's kind."""
    return Sources(
        np.array([20.0 * brings, 250.0, 250.0, 250.0]),
        np.array([1.0, 0.7, 1.0, 0.08]),
        np.array([20.0, 0.35, 0.7, 0.21]),
    )


def solve_lagrangian_index() -> dict[str, float]:
    """Return numbers in the solutions of the exercises on the page of this name.

    Keys: ``solution-third``, the index policy's loss in lockstep with a third of the content kept,
    and ``solution-apart``, that of half of it kept and B one epoch younger than A.
    """
    kept, edge = 1 / 3, 1e-5
    first, second = (1 - kept) ** 2, (1 - kept) ** 2 * (1 + 2 * kept)
    third = make_lockstep(second - edge, first + edge, kept)
    half = make_lockstep(0.5 - edge, 0.25 + edge)
    apart = long_run_cycle(half, "whittle", 2, initial_age=[2, 1, 1, 1])
    return {
        "solution-third": _relative_loss(
            third, 2, long_run_cycle(third, "whittle", 2).average_reward
        ),
        "solution-apart": _relative_loss(half, 2, apart.average_reward),
    }


def reward_when_allowed(sources: Sources, least_age: int, horizon: int) -> float:
    """Return the average reward if the first source is crawled whenever it is old enough.

    At all other epochs the largest index of the others is crawled; the first 40% do not count.
    """
    ages, earned = np.full(len(sources), least_age), []
    for _ in range(horizon):
        index = whittle_index_at_age(sources, ages)
        arm = 0 if ages[0] >= least_age else 1 + int(np.argmax(index[1:]))
        earned.append(sources.state_at_age(ages)[arm])
        ages = ages + 1
        ages[arm] = 1
    return float(np.mean(earned[2 * horizon // 5 :]))


def _relative_loss(sources: Sources, budget: float, reward: float) -> float:
    """Return the relative loss against the relaxed bound, 0 up to rounding."""
    loss = 1 - reward / relaxed_problem(sources, budget).bound
    return 0.0 if abs(loss) < 1e-9 else float(loss)


def _reward_of_beliefs(
    truth: Sources, believed: Sources, content: list[np.ndarray], observed: ArrayLike
) -> float:
    """Play the index of believed sources on content of the true ones, one crawl an epoch."""
    policy, earned = WhittlePolicy(believed), []
    for arrivals in content:
        environment = Environment(truth, arrivals, observed=observed)
        while environment.epoch < environment.horizon:
            earned.append(environment.step(policy.select(environment.observation, 1)).sum())
    return float(np.mean(earned))
