"""Timetables on random and on chosen sets: their loss, and that of the index policy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.checks import check_integer
from analysis.ephemeral.instances import even_decay_sources, random_set
from analysis.ephemeral.optimum.schedules import schedule_reward, spread_schedule
from analysis.ephemeral.relaxed import due_ages, relaxed_bound, relaxed_problem
from analysis.ephemeral.scheduler.admission import spread_ages
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.simulation import long_run_cycle
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.studies.experiment import on_hard_sets
from analysis.ephemeral.timetables.construction import timetable
from analysis.ephemeral.timetables.guarantees import chord_loss, guaranteed_loss

#: Sources and budgets of the comparison with the index policy; a tenth is crawled in the last ones.
SIZES = ((4, 1), (10, 1), (10, 2), (30, 1), (30, 3), (100, 10), (300, 30), (1000, 100))
#: Budgets at which ten times as many sources are planned.
BUDGETS = (1, 3, 10, 30, 100, 300, 1000, 3000)
_WARM_UP, _EPOCHS = 500, 2500


def index_loss(sources: Sources, budget: int, price: float, rng: np.random.Generator) -> float:
    """Share of the relaxed bound that the index policy loses, after a warm-up; not negative.

    The bound is that of the epochs that are simulated: by weak duality at a price lambda a source
    whose gaps add up to T + a(0) - a(T), with its ages a at both ends, earns at most lambda for
    each crawl and c_i for each epoch of its gaps.
    """
    scheduler = Scheduler(sources, budget, spread_ages(sources, budget, rng))
    for _ in range(_WARM_UP):
        scheduler.crawl()
    first = scheduler.ages
    earned = sum(scheduler.crawl()[1].sum() for _ in range(_EPOCHS))
    gap = due_ages(sources, price)
    surplus = np.maximum(0.0, (sources.state_at_age(gap) - price) / gap)
    gaps = _EPOCHS + first - scheduler.ages
    return float(1 - earned / (price * budget * _EPOCHS + np.sum(surplus * gaps)))


def losses(replications: int, seed: int) -> pd.DataFrame:
    """Compare timetable, index policy and even list with the relaxed bound on random sets.

    One row a set: sources, budget, replication; timetable, powers of two, index and even list,
    shares of the relaxed bound that each loses.
    """
    replications = check_integer("replications", replications, 1)
    rows = []
    for size, budget in SIZES:
        for replication in range(replications if size < 1000 else min(replications, 3)):
            rng = np.random.default_rng([seed, size, budget, replication])
            sources = even_decay_sources(size, rng)
            table = timetable(sources, budget)
            rewards = {
                "timetable": table.average_reward,
                "powers of two": timetable(sources, budget, odd_parts=(1,)).average_reward,
                "even list": _even_list(sources, budget),
            }
            lost = {name: 1 - reward / table.bound for name, reward in rewards.items()}
            lost["index"] = index_loss(sources, budget, table.price, rng)
            rows.append({"sources": size, "budget": budget, "replication": replication, **lost})
    return pd.DataFrame(rows)


def _even_list(sources: Sources, budget: int) -> float:
    """Reward of the list that spreads the relaxed frequencies, earliest deadline first."""
    frequency = np.clip(relaxed_problem(sources, budget).frequency, 0.0, 1.0)
    return schedule_reward(sources, spread_schedule(frequency, budget, 2520))


def losses_by_budget(budgets: Sequence[int], seed: int) -> pd.DataFrame:
    """Compare losses of timetables, for ten sources a crawl, with the proved bound.

    One row a budget: proved, the loss that no set exceeds; timetable and powers of two, the losses
    on one random set; grid, what the gaps are.
    """
    rows = []
    for budget in budgets:
        rng = np.random.default_rng([seed, budget])
        sources = even_decay_sources(10 * budget, rng)
        best = timetable(sources, budget)
        plain = timetable(sources, budget, odd_parts=(1,))
        rows.append(
            {
                "budget": budget,
                "proved": guaranteed_loss(budget),
                "timetable": 1 - best.average_reward / best.bound,
                "powers of two": 1 - plain.average_reward / plain.bound,
                "grid": best.grid,
            }
        )
    return pd.DataFrame(rows)


def hard_rewards() -> pd.DataFrame:
    """Return what the index policy and timetables earn on the hard sets, and their bounds."""
    return on_hard_sets(_hard_reward)


def _hard_reward(sources: Sources, budget: int) -> dict[str, float]:
    bound = relaxed_bound(sources, budget)[0]
    index = long_run_cycle(sources, "whittle", budget).average_reward
    table = timetable(sources, budget, odd_parts=(1,)).average_reward
    return {
        "bound": bound,
        "timetable": table,
        "index": index,
        "timetable's loss": 1 - table / bound,
        "index's loss": 1 - index / bound,
        "index below timetable": 1 - index / table,
    }


def losses_of_random_sets(instances: int, seed: int) -> pd.DataFrame:
    """Return the losses of timetable and index policy on the book's random sets of four."""
    rows = []
    for instance in range(instances):
        sources, budget = random_set(instance, seed)
        table = timetable(sources, budget)
        index = long_run_cycle(sources, "whittle", budget).average_reward
        rows.append((1 - table.average_reward / table.bound, 1 - index / table.bound))
    return pd.DataFrame(rows, columns=["timetable", "index"])


def equal_sources(copies: Sequence[int]) -> pd.DataFrame:
    """Return the loss of powers of two on equal sources, one crawl an epoch, at the worst decay."""
    rows = []
    for number in copies:
        worst = 0.0
        for decay in np.linspace(1.45, 1.7, 26) / number:
            alike = Sources(np.full(number, decay), np.ones(number), np.full(number, decay))
            table = timetable(alike, 1, odd_parts=(1,))
            worst = max(worst, 1 - table.average_reward / table.bound)
        rows.append((number, worst, chord_loss(2.0)))
    return pd.DataFrame(rows, columns=["sources", "loss", "proved"])
