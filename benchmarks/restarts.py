"""Restart bandits: the index against a public package and dense solves; simulation against loops.

Any arm with two actions: index and test of indexability against the same package.

Every row times both sides in the same process, the best of a few runs each, and holds what they
computed against each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.linalg.lapack import dgetrf

from analysis.bandits import Arm, certify_indexability
from analysis.restarts import RestartArm, elimination, whittle_index, whittle_indices
from analysis.restarts.bandit import RestartBandit, Scores, index_scores, myopic_scores
from analysis.restarts.instances import (
    random_walk,
    slide_arm,
    slide_arms,
    sorted_simplex,
    uniform_wear,
)
from analysis.restarts.simulation import simulate
from benchmarks._timing import best, row

DISCOUNT = 0.9


def rows() -> Iterator[dict[str, Any]]:
    """Yield one comparison after another."""
    yield from index_rows()
    for states in (2000, 4000):
        yield from large_rows(states)
    yield from simulation_rows()
    yield from arm_rows()


@contextmanager
def numpy_state() -> Iterator[None]:
    """Undo what importing the package does to NumPy's handling of floating-point errors."""
    state = np.geterr()
    try:
        yield
    finally:
        np.seterr(**state)


def package_index(arm: RestartArm) -> np.ndarray:
    with numpy_state():
        from markovianbandit.whittle_computation import compute_whittle_indices

        reset = np.tile(arm.reset, (arm.states, 1))
        kernel = np.array(arm.passive)
        _, index = compute_whittle_indices(
            kernel, reset, -arm.passive_cost, -arm.active_cost, beta=DISCOUNT
        )
    return np.asarray(index)


def threshold_solves(arm: RestartArm, thresholds: np.ndarray) -> np.ndarray:
    """L(k) and M(k) from one dense solve for each threshold."""
    found = []
    for k in thresholds:
        kept = np.arange(arm.states) < k
        system = np.eye(arm.states) - DISCOUNT * kept[:, None] * arm.passive
        cost = np.where(kept, arm.passive_cost, arm.active_cost)
        right = np.column_stack([cost, np.ones(arm.states)])
        found.append(arm.reset @ np.linalg.solve(system, right))
    return np.array(found)


def difference(index: np.ndarray, other: np.ndarray) -> str:
    gap = float(np.abs(index - other).max() / np.abs(index).max())
    if not gap < 1e-10:
        raise AssertionError(f"the two indices differ by {gap:.3g}")
    return f"relative difference {gap:.1e}"


def index_rows() -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(1)
    for states in (25, 100, 1000):
        arm = slide_arm(sorted_simplex(states, rng))
        ours, found = best(lambda arm=arm: whittle_index(arm, DISCOUNT), 9)
        theirs, index = best(lambda arm=arm: package_index(arm), 3)
        name = f"index, {states} states"
        yield row(name, ours, "markovianbandit-pkg", theirs, difference(found.index, index))
        sample = np.unique(np.linspace(0, states, min(states + 1, 12)).astype(int))
        solves, _ = best(lambda arm=arm, sample=sample: threshold_solves(arm, sample), 2)
        solves *= (states + 1) / len(sample)
        note = f"scaled up from {len(sample)} of {states + 1} thresholds"
        yield row(name, ours, "one dense solve per threshold", solves, note)

    arms = slide_arms("sorted-simplex", 100, 25, rng)
    ours, found = best(lambda: whittle_indices(arms, DISCOUNT), 9)
    theirs, index = best(lambda: [package_index(arm) for arm in arms], 2)
    note = f"per arm of a batch; {difference(found, np.array(index))}"
    yield row("index, 100 arms of 25 states in one call", ours / 100, "markovianbandit-pkg",
              theirs / 100, note)  # fmt: skip

    states = 1000
    passive = rng.dirichlet(np.ones(states), states)
    cost = rng.normal(size=(2, states))
    arm = RestartArm(passive, rng.dirichlet(np.ones(states)), *cost)
    ours, found = best(lambda: whittle_index(arm, DISCOUNT))
    theirs, index = best(lambda: package_index(arm), 3)
    note = f"method {found.method}; {difference(found.index, index)}"
    yield row("index, 1000 states, no thresholds", ours, "markovianbandit-pkg", theirs, note)


def large_rows(states: int) -> Iterator[dict[str, Any]]:
    """Yield an arm without zeros against the package and the bare factorisation, and a band."""
    arm = slide_arm(sorted_simplex(states, np.random.default_rng(1)))
    ours, found = best(lambda: whittle_index(arm, DISCOUNT), 5)
    theirs, index = best(lambda: package_index(arm), 0)
    name = f"index, {states} states"
    yield row(name, ours, "markovianbandit-pkg, one call", theirs, difference(found.index, index))
    system = np.eye(states) - DISCOUNT * arm.passive
    bare, _ = best(lambda: dgetrf(system.T.copy(order="F"), overwrite_a=1), 5)
    copy, _ = best(lambda: system.T.copy(order="F"), 5)
    note = "the factorisation alone, without which there is no index; 1 is as near as one can come"
    yield row(name, ours, "LAPACK's dgetrf of that size", bare - copy, note)
    for shape, kernel in (("a band", random_walk), ("a triangle", uniform_wear)):
        arm = slide_arm(kernel(states, 0.5))
        ours, found = best(lambda arm=arm: whittle_index(arm, DISCOUNT), 5)
        with patch.object(elimination, "factorise_in_envelope", lambda *of: None):
            theirs, dense = best(lambda arm=arm: whittle_index(arm, DISCOUNT), 3)
        note = difference(found.index, dense.index)
        name = f"index, {states} states, passive matrix {shape}"
        yield row(name, ours, "the same by a dense factorisation", theirs, note)


def simulation_rows() -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(2)
    for budget in (2, 5):
        bandit = RestartBandit(tuple(slide_arms("lazy-wearing", 75, 25, rng)), budget, DISCOUNT)
        policies = {"index": index_scores(bandit), "myopic": myopic_scores(bandit)}
        steps = 75 * 250
        numpy_s, numpy_mean = best(
            lambda b=bandit, p=policies: numpy_loop(b, p["index"], 100, 250), 1
        )
        object_s, _ = best(lambda b=bandit, p=policies: object_loop(b, p["index"], 1, 40), 1)
        per_step = {
            "vectorised NumPy loop": numpy_s / (100 * steps),
            "object per arm": object_s / (75 * 40),
        }
        for threads in (1, 2):
            ours, found = best(
                lambda b=bandit, p=policies, t=threads: simulate(
                    b, p, paths=1000, epochs=250, rng=np.random.default_rng(3), threads=t
                ),
                4,
            )
            ours /= 2 * 1000 * steps
            mean = found.mean("index")
            if not abs(mean.value - numpy_mean) < 10 * mean.half_width:
                raise AssertionError(f"means {mean.value:.4g} and {numpy_mean:.4g} disagree")
            for peer, theirs in per_step.items():
                name = f"arm-step, 75 arms, budget {budget}, {threads} thread(s)"
                yield row(name, ours, peer, theirs, f"{1 / ours:.2g} arm-steps a second")
    seconds, _ = best(
        lambda: simulate(
            bandit, policies, paths=5000, epochs=250, rng=np.random.default_rng(3), threads=2
        ),
        1,
    )
    loop = 2 * 5000 * steps * per_step["vectorised NumPy loop"]
    yield row("two policies, 75 arms, 5000 paths of 250 epochs", seconds,
              "vectorised NumPy loop", loop, "scaled up from 100 paths")  # fmt: skip


def numpy_loop(bandit: RestartBandit, scores: Scores, paths: int, epochs: int) -> float:
    """Simulate all paths and arms at once with NumPy; return the mean cost."""
    rng = np.random.default_rng(0)
    arms = np.arange(len(bandit.arms))
    states = bandit.shape[0]
    kernels = np.stack([np.vstack([arm.passive, arm.reset]) for arm in bandit.arms])
    distribution = np.cumsum(kernels, axis=2)
    distribution[..., -1] = 1.0
    # One sorted array of all rows, each shifted by its number, inverts every row at once.
    flat = (distribution + np.arange(len(arms) * (states + 1)).reshape(len(arms), -1, 1)).ravel()
    table = np.stack(scores)
    passive = np.stack([arm.passive_cost for arm in bandit.arms])
    active = np.stack([arm.active_cost for arm in bandit.arms])
    state = np.zeros((paths, len(arms)), dtype=np.int64)
    rows_at = np.arange(paths)[:, None]
    total = np.zeros(paths)
    for t in range(epochs):
        chosen = np.argpartition(-table[arms, state], bandit.budget)[:, : bandit.budget]
        cost = passive[arms, state]
        cost[rows_at, chosen] = active[chosen, state[rows_at, chosen]]
        total += (1 - bandit.discount) * bandit.discount**t * cost.sum(axis=1)
        state[rows_at, chosen] = states
        row_number = arms * (states + 1) + state
        drawn = np.searchsorted(flat, row_number + rng.random(state.shape))
        state = drawn - row_number * states
    return float(total.mean())


class _Environment:
    """One arm as an object with a step method, as bandit environments are often written."""

    def __init__(self, arm: RestartArm, rng: np.random.Generator) -> None:
        self.arm, self.rng, self.state = arm, rng, 0

    def step(self, action: int) -> float:
        arm = self.arm
        cost = arm.active_cost[self.state] if action else arm.passive_cost[self.state]
        law = arm.reset if action else arm.passive[self.state]
        self.state = int(self.rng.choice(arm.states, p=law))
        return float(cost)


def object_loop(bandit: RestartBandit, scores: Scores, paths: int, epochs: int) -> float:
    """Simulate one arm after another as objects; return the mean cost."""
    rng = np.random.default_rng(0)
    total = 0.0
    for _ in range(paths):
        arms = [_Environment(arm, rng) for arm in bandit.arms]
        for t in range(epochs):
            ranked = sorted(range(len(arms)), key=lambda i: -scores[i][arms[i].state])
            chosen = set(ranked[: bandit.budget])
            cost = sum(arm.step(int(i in chosen)) for i, arm in enumerate(arms))
            total += (1 - bandit.discount) * bandit.discount**t * cost
    return total / paths


def arm_rows() -> Iterator[dict[str, Any]]:
    """Yield the index and test of indexability of any arm against the package."""
    rng = np.random.default_rng(1)
    for states in (10, 25, 100, 500, 1000):
        arm = Arm(rng.dirichlet(np.ones(states), (2, states)), rng.normal(size=(2, states)))
        for discount in (0.9, 1.0):
            ours, found = best(lambda a=arm, b=discount: certify_indexability(a, b), 5)
            theirs, index = best(lambda a=arm, b=discount: package_index_of_arm(a, b), 3)
            note = f"from both ends of the subsidies; {difference(found.index, index)}"
            name = f"index of any arm, {states} states, discount {discount:g}"
            yield row(name, ours, "markovianbandit-pkg", theirs, note)


def package_index_of_arm(arm: Arm, discount: float) -> np.ndarray:
    with numpy_state(), redirect_stdout(StringIO()):
        from markovianbandit.whittle_computation import compute_whittle_indices

        kernels, rewards = map(np.array, arm.transitions), map(np.array, arm.rewards)
        _, index = compute_whittle_indices(*kernels, *rewards, beta=discount)
    return np.asarray(index)
