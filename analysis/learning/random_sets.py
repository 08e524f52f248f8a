"""Rules of learning on random sets of sources, all on the same arrivals.

Losses at three long horizons are recorded: ``python -m analysis.learning.random_sets`` writes
``losses.csv`` and ``cycles.csv`` beside this file, from which the page `learning-trap` takes its
numbers, with a hash of the code that computed them. It takes about six minutes on one processor. A
test compares the hash with that of the present code, and repeats some of the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.arrays import Floats
from analysis.checks import check_integer
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.instances import random_sources
from analysis.ephemeral.policies import WhittlePolicy
from analysis.ephemeral.simulation import long_run_cycle
from analysis.ephemeral.sources import Sources
from analysis.fingerprint import fingerprint
from analysis.learning.certainty_equivalence import (
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
)
from analysis.learning.environment import sample_items
from analysis.learning.identification import average_reward
from analysis.learning.loop import CompiledLearner
from analysis.learning.q_learning import WhittleQ
from analysis.learning.ucb import UcWhittle
from analysis.results import Estimate
from analysis.sweep import sweep


def _certain(exploration: str, **options: Any) -> Callable[[int], CompiledLearner]:
    return partial(
        CertaintyEquivalence, options=CertaintyEquivalenceOptions(exploration, **options)
    )


RULES: Mapping[str, Callable[[int], CompiledLearner]] = {
    "UCB on the index": _certain("ucb", confidence=0.5, floor=0.0),
    "the estimate": _certain("estimate", floor=0.0),
    "Whittle-index Q-learning": WhittleQ,
    "UCWhittle": UcWhittle,
    "Thompson": _certain("thompson", spread=1.0, floor=0.0),
    "pairs": _certain("estimate"),
    "gain and pairs": _certain("gain"),
    "draws and pairs": CertaintyEquivalence,
    "items": CertaintyEquivalence,
}
"""What makes a learner of N sources of each rule."""
ITEMS = "items"
"""The rule that is shown items; the others see their sums."""
LONG = ("UCB on the index", "Whittle-index Q-learning", "UCWhittle", "draws and pairs", ITEMS)
"""Rules that are played for the whole of any horizon; the others for `SHORT` epochs at most."""
SHORT = 20_000
STARTS = 12
"""Ages from which the cycles of the index policy are looked for."""
APART = 1e-4
"""Difference from which two cycles count as two, in %."""
CYCLES = ["set", "sources", "budget", "worst", "best", "entered", "jolted"]
"""Columns of what is known of the cycles of a set."""
SETS, HORIZON, SEED = 50, 200_000, 30
"""What is recorded, in the two files."""
FOLDER = Path(__file__).parent
FILES = FOLDER / "losses.csv", FOLDER / "cycles.csv"


def random_problem(instance: int, seed: int) -> tuple[Sources, int]:
    """Return a random set of 3 to 8 sources and a budget of at most a third of them."""
    rng = np.random.default_rng([seed, 11, instance])
    size = int(rng.integers(3, 9))
    budget = int(rng.integers(1, size // 3 + 1))
    return random_sources(size, rng), budget


def cycles(sources: Sources, belief: Sources, budget: int, ages: ArrayLike) -> Floats:
    """Average rewards of the cycles that the index policy of a belief enters from several ages.

    `ages` are those at the start, shape (starts, N), as the result has one entry a start; the
    rewards are those of the true `sources`.
    """
    policy = WhittlePolicy(belief)
    return np.array(
        [
            average_reward(sources, long_run_cycle(belief, policy, budget, initial_age=age))
            for age in np.asarray(ages)
        ]
    )


def jolted(
    sources: Sources, learner: CertaintyEquivalence, budget: int, ages: ArrayLike
) -> tuple[float, float]:
    """Rewards of the cycle in which a learner sits after a run, and of the best by its estimates.

    One pass of the crawls of a cycle leaves its ages, and the index policy stays there. So the
    learner may search, with its estimates, for the cycle that it expects most of, from its own ages
    and from `ages`, shape (starts, N). Both are true average rewards, if the estimates do not
    change any more.
    """
    u_star = np.maximum(np.nan_to_num(learner.u_star), np.finfo(float).tiny)
    rate = u_star * learner.decay
    belief = Sources(rate, np.ones(rate.size), learner.decay)
    ages = np.vstack([learner.age, np.asarray(ages)])
    best = int(cycles(belief, belief, budget, ages).argmax())
    before, after = cycles(sources, belief, budget, np.stack([ages[0], ages[best]]))
    return float(before), float(after)


def windows(horizon: int) -> tuple[int, ...]:
    """Return the horizons that are reported: a hundredth, a tenth and the whole of it."""
    return (horizon // 100, horizon // 10, horizon)


def losses(sets: int, horizon: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run all rules on the same arrivals, on random sets of sources, over T >= 1000 epochs.

    What is recorded is read. Two tables. A row a set, rule and horizon of `windows` that the rule
    is played for: ``set``, ``rule``, ``horizon``, ``loss`` (in % of the index policy's cycle from
    ages 1, over the second half of the horizon), ``regret`` (reward lost until then, in epochs of
    the cycle's reward). And a row a set: ``set``, ``sources``, ``budget``, ``worst`` and ``best``,
    in %, by which the cycles of the index policy with known rates fall short of the one from ages
    1; ``entered`` and ``jolted``, the same of the cycle that the learner of items enters and of the
    best by its estimates, ``nan`` where the policy with known rates has one cycle.
    """
    sets = check_integer("sets", sets, 2)
    if is_recorded(sets, horizon, seed):
        runs, known = (pd.read_csv(path).drop(columns="code") for path in FILES)
        return runs[runs.set < sets], known[known.set < sets]
    runs, known = _join([of_set(number, horizon, seed) for number in range(sets)])
    return runs, known


def _join(results: Sequence[tuple[pd.DataFrame, ...]]) -> list[pd.DataFrame]:
    return [pd.concat(tables, ignore_index=True) for tables in zip(*results, strict=True)]


def of_set(
    number: int, horizon: int, seed: int, rules: tuple[str, ...] = tuple(RULES)
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of `losses` that are of one set, and of some rules."""
    horizon = check_integer("horizon", horizon, 1000)
    sources, budget = random_problem(number, seed)
    arrivals, starts, *own = np.random.default_rng([seed, 12, number]).spawn(2 + len(RULES))
    drawn = sample_items(Arrivals(sources, Utility("exponential")), horizon, arrivals)
    reference = long_run_cycle(sources, "whittle", budget).average_reward
    ages = starts.integers(1, 13, (STARTS, len(sources)))
    loss = 100 * (1 - cycles(sources, sources, budget, ages) / reference)
    worst, best, sits = max(loss.max(), 0.0), min(loss.min(), 0.0), (np.nan, np.nan)
    rows = []
    for (rule, make), stream in zip(RULES.items(), own, strict=True):
        if rule not in rules:
            continue
        learner = make(len(sources))
        played = horizon if rule in LONG else min(horizon, SHORT)
        content = drawn if rule == ITEMS else drawn.worth[:, :played]
        expected = learner.play(sources, content, budget, stream).expected / reference
        for until in (epochs for epochs in windows(horizon) if epochs <= played):
            late = 100 * (1 - expected[until // 2 : until].mean())
            rows.append((number, rule, until, late, until - expected[:until].sum()))
        if rule == ITEMS and worst - best > APART and isinstance(learner, CertaintyEquivalence):
            before, after = jolted(sources, learner, budget, ages)
            sits = 100 * (1 - before / reference), 100 * (1 - after / reference)
    return (
        pd.DataFrame(rows, columns=["set", "rule", "horizon", "loss", "regret"]),
        pd.DataFrame([(number, len(sources), budget, worst, best, *sits)], columns=CYCLES),
    )


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Summarise the runs of `losses` by rule and horizon.

    Columns ``rule``, ``horizon``, ``mean``, ``low``, ``high``, ``median``, ``largest``, ``regret``.
    """
    rows = []
    for (rule, until), group in runs.groupby(["rule", "horizon"], sort=False):
        mean = Estimate.of(group.loss.to_numpy())
        rows.append(
            (
                rule,
                until,
                mean.value,
                *mean.interval,
                group.loss.median(),
                group.loss.max(),
                group.regret.mean(),
            )
        )
    columns = ["rule", "horizon", "mean", "low", "high", "median", "largest", "regret"]
    return pd.DataFrame(rows, columns=columns)


def slope(table: pd.DataFrame, rule: str) -> float:
    """Return by how many powers of ten the mean regret grows over the last tenfold of epochs."""
    rows = table[table.rule == rule].sort_values("horizon")
    before, after = (float(value) for value in rows.regret.to_numpy()[-2:])
    return float(np.log10(after / before)) if before > 0 and after > 0 else float("nan")


def is_recorded(sets: int, horizon: int, seed: int) -> bool:
    """Whether runs of so many sets, of a horizon and a seed are in the files."""
    return sets <= SETS and (horizon, seed) == (HORIZON, SEED)


@cache
def code_hash() -> str:
    """Return the hash of all code that computes what is recorded."""
    return fingerprint(["analysis.learning.random_sets"], ignore_docstrings=True)[:12]


def certificate() -> pd.DataFrame:
    """Return the hash of the code that wrote the two files, beside that of the code as it is."""
    written = {path.name: ", ".join(pd.read_csv(path)["code"].unique()) for path in FILES}
    table = pd.DataFrame({"computed by code": written, "the code is now": code_hash()})
    return table.rename_axis("file")


def _of_recorded_set(number: int, _: object) -> tuple[pd.DataFrame, pd.DataFrame]:
    return of_set(number, HORIZON, SEED)


def main() -> None:
    """Play all runs and write the two files."""
    code = code_hash()  # of what runs: files may change while it does
    results = [replication[0] for replication in sweep(_of_recorded_set, range(SETS), seed=SEED)]
    for path, rows in zip(FILES, _join(results), strict=True):
        rows.assign(code=code).to_csv(path, index=False)


if __name__ == "__main__":
    main()
