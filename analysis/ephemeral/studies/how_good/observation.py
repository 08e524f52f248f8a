"""Studies of observation: what seeing some of the contents is worth.

`bunched` makes items rarer and dearer by one factor, which leaves every expected content, and so
every static list, as it is: what a policy then gains, it gains by observing. Three questions of the
report's introduction and conclusion follow: how the reward depends on which sources are observed;
whether less popular sources are crawled when the popular ones hold little; and whether an index
that is fed with wrong rates tunes itself where it sees contents.

Reference: report 8702, introduction, section 7 (mixed case) and conclusion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.checks import check_integer, check_number
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.environment import Environment
from analysis.ephemeral.policies import WhittlePolicy
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.simulation import compare, simulate_random
from analysis.results import Estimate

Floats = NDArray[np.float64]
ObservedSets = Mapping[str, ArrayLike]

_WARM_UP = 50
INFORMED = "told the truth"
#: Which of four sources are observed, by name.
OBSERVED = {
    "all observed": np.ones(4, bool),
    "1 and 2 observed": np.array([True, True, False, False]),
    "3 and 4 observed": np.array([False, False, True, True]),
    "none observed": np.zeros(4, bool),
}


def bunched(sources: Sources, factor: float) -> Sources:
    """Return sources whose items are so many times rarer and worth as much more.

    Parameters
    ----------
    sources : Sources
        N sources.
    factor : float
        Positive; 1 leaves them as they are.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """
    factor = check_number("factor", factor, 0, low_open=True)
    return replace(
        sources,
        arrival_rate=sources.arrival_rate / factor,
        mean_utility=sources.mean_utility * factor,
    )


def reward_by_observation(
    sources: Sources,
    law: Utility,
    factors: Sequence[float],
    observed_sets: ObservedSets,
    budget: int,
    horizon: int,
    runs: int,
    seed: int,
) -> tuple[pd.DataFrame, dict[str, Floats]]:
    """Measure the index policy's reward by how contents are bunched and what is observed.

    Parameters
    ----------
    sources : Sources
        N sources.
    law : Utility
        Law of the utilities.
    factors : sequence of float
        See `bunched`.
    observed_sets : mapping of str to bool or array_like of bool, shape (N,)
        Which sources are observed, by a name.
    budget, horizon, runs : int
        Sources crawled per epoch, epochs of a run, and replications, at least 2.
    seed : int
        Seed of the contents, common to all.

    Returns
    -------
    table : pandas.DataFrame
        Columns ``factor``, ``observed``, ``reward`` and its 95% interval ``low`` to ``high``.
    rewards : dict of str to ndarray, shape (runs,)
        Average reward of each run at the last factor, by what is observed; run by run on the same
        content.
    """
    rows, rewards = [], {}
    for factor in factors:
        arrivals = Arrivals(bunched(sources, factor), law)
        for name, observed in observed_sets.items():
            result = compare(
                arrivals, ["whittle"], budget, horizon, runs, np.random.default_rng([seed, 3]),
                observed=observed, warm_up=_WARM_UP,
            )  # fmt: skip
            rewards[name] = result.rewards["whittle"]
            estimate = Estimate.of(rewards[name])
            rows.append((float(factor), name, estimate.value, *estimate.interval))
    table = pd.DataFrame(rows, columns=["factor", "observed", "reward", "low", "high"])
    return table, rewards


def visits_by_content(
    sources: Sources, law: Utility, popular: int, horizon: int, runs: int, seed: int
) -> Floats:
    """Measure how often the others are crawled, by how much the popular sources hold.

    The index policy observes everything and crawls one source an epoch.

    Parameters
    ----------
    sources : Sources
        N sources, the popular ones first.
    law : Utility
        Law of the utilities.
    popular : int
        How many are popular, in [1, N - 1].
    horizon, runs : int
        Epochs of a run, at least 4, and number of runs, at least 1.
    seed : int
        Seed of the contents.

    Returns
    -------
    ndarray, shape (4,)
        Share of crawls that go to the others, in the quarters of all epochs from the one at which
        the popular sources hold least to the one at which they hold most.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """
    popular = check_integer("popular", popular, 1, len(sources) - 1)
    horizon = check_integer("horizon", horizon, 4)
    runs = check_integer("runs", runs, 1)
    policy, arrivals = WhittlePolicy(sources), Arrivals(sources, law)
    held, elsewhere = [], []
    for stream in np.random.default_rng([seed, 4]).spawn(runs):
        environment = Environment(sources, arrivals.sample(horizon, stream))
        while environment.epoch < environment.horizon:
            chosen = policy.select(environment.observation, 1)
            held.append(float(environment.state[:popular].sum()))
            elsewhere.append(bool(chosen[0] >= popular))
            environment.step(chosen)
    quarters = np.array_split(np.argsort(held, kind="stable"), 4)
    return np.array([np.mean(np.array(elsewhere)[quarter]) for quarter in quarters])


def regained(rewards: Mapping[str, Floats], name: str) -> Estimate:
    """Return the share of what the truth would add that a policy wins back by observing.

    Parameters
    ----------
    rewards : mapping of str to ndarray, shape (runs,)
        As `self_tuning` returns them; "none observed" is among them.
    name : str
        Which policy.
    """
    blind = rewards["none observed"]
    return Estimate.of((rewards[name] - blind) / (rewards[INFORMED] - blind))


def tunes(rewards: Mapping[str, Floats], name: str) -> bool:
    """Whether a policy that observes earns clearly more than one that observes nothing."""
    return Estimate.of(rewards[name] - rewards["none observed"]).low > 0


def gain_by_truth(rewards: Mapping[str, Floats], name: str) -> tuple[float, Estimate]:
    """Return the share of what the truth adds that a policy wins back, and what it adds.

    Parameters
    ----------
    rewards : mapping of str to ndarray, shape (runs,)
        As `self_tuning` returns them.
    name : str
        Which policy.

    Returns
    -------
    won : float
        As `regained` has it; 0 where the truth adds nothing beyond its interval.
    known : Estimate
        Reward of who is told the truth, less that of who observes nothing.
    """
    known = Estimate.of(rewards[INFORMED] - rewards["none observed"])
    return regained(rewards, name).value if known.low > 0 else 0.0, known


def self_tuning(
    believed: Sources,
    truth: Sources,
    law: Utility,
    observed_sets: ObservedSets,
    horizon: int,
    runs: int,
    seed: int,
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Play the index of believed rates against contents of the true ones, one crawl an epoch.

    Parameters
    ----------
    believed, truth : Sources
        N sources as the policy has them, and as they are.
    law : Utility
        Law of the utilities.
    observed_sets : mapping of str to bool or array_like of bool, shape (N,)
        Which sources are observed, by a name.
    horizon, runs : int
        Epochs of a run, more than 50, and number of runs, at least 1.
    seed : int
        Seed of the contents, common to all.

    Returns
    -------
    rewards : dict of str to ndarray, shape (runs,)
        Average reward by set, and ``INFORMED`` for a policy that is told the truth and
        observes everything.
    frequencies : dict of str to ndarray, shape (runs, N)
        Crawls per epoch of each source.
    """
    runs = check_integer("runs", runs, 1)
    policies = {name: (believed, observed) for name, observed in observed_sets.items()}
    policies[INFORMED] = (truth, True)
    rewards = {name: np.empty(runs) for name in policies}
    frequencies = {name: np.empty((runs, len(truth))) for name in policies}
    for r, stream in enumerate(np.random.default_rng([seed, 6]).spawn(runs)):
        content = Arrivals(truth, law).sample(horizon, stream)
        for name, (belief, observed) in policies.items():
            run = simulate_random(
                belief, "whittle", 1, content, observed=observed, warm_up=_WARM_UP
            )
            rewards[name][r], frequencies[name][r] = run.average_reward, run.frequency
    return rewards, frequencies
