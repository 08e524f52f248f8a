"""Learners: the compiled loops against an object an arm, NumPy steps, and one epoch at a time.

Every row runs both sides on the same arrivals and the same random numbers, and holds what they
learned or earned against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from analysis.ephemeral import Arrivals, Observation, Sources, Utility, four_sources
from analysis.learning import (
    AgeBlindUcb,
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
    JointQ,
    Lspe,
    LspeOptions,
    WhittleQ,
    WhittleQOptions,
    play,
)
from benchmarks._timing import row

SOURCES = four_sources()
SEEDS, HORIZON, SHORT = 8, 10_000, 400


def rows() -> Iterator[dict[str, Any]]:
    """Yield one comparison after another."""
    content = [
        Arrivals(SOURCES, Utility("exponential")).sample(HORIZON, rng)
        for rng in np.random.default_rng(1).spawn(SEEDS)
    ]
    yield object_row(4, 2)
    yield object_row(50, 5)
    yield lspe_row(content[0])
    for name, make in makers().items():
        yield learner_row(name, make, content)


def quickest(calls: Iterable[Callable[[], Any]], steps: int = HORIZON) -> float:
    """Return the least time a step among calls of so many steps each."""
    times = []
    for call in calls:
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times) / steps


def makers() -> dict[str, Callable[[], Any]]:
    """Name every learner and say how it is made."""
    certainty = {
        f"certainty equivalence, {how}": partial(
            CertaintyEquivalence, 4, CertaintyEquivalenceOptions(how)
        )
        for how in ("forced", "ucb", "thompson", "gain")
    }
    return {
        "LSPE(0), corrected": partial(Lspe, SOURCES, LspeOptions.corrected()),
        "LSPE(0), as printed": partial(Lspe, SOURCES, LspeOptions.as_printed()),
        "LSPE(0), rank one": partial(
            Lspe, SOURCES, LspeOptions.corrected(regulariser="sherman-morrison")
        ),
        **certainty,
        "Whittle-index Q-learning": partial(WhittleQ, 4),
        "joint Q-learning": partial(JointQ, 4, 2),
        "age-blind UCB1": partial(AgeBlindUcb, 4),
    }


def learner_row(name: str, make: Callable[[], Any], content: list[np.ndarray]) -> dict[str, Any]:
    """Time a batch of seeds in the compiled loop, and one short run an epoch at a time."""
    streams = np.random.default_rng(2).spawn(SEEDS)
    make().play(SOURCES, content[0][:, :10], 2, np.random.default_rng(0))
    ours = quickest(
        partial(make().play, SOURCES, stream, 2, rng)
        for stream, rng in zip(content, streams, strict=True)
    )
    short = content[0][:, :SHORT]
    theirs = quickest(
        (partial(play, SOURCES, make(), short, 2, np.random.default_rng(3)) for _ in range(3)),
        SHORT,
    )
    slow = play(SOURCES, make(), short, 2, np.random.default_rng(3))
    fast = make().play(SOURCES, short, 2, np.random.default_rng(3))
    np.testing.assert_allclose(fast.reward, slow.reward, rtol=1e-8)
    return row(
        f"{name}, one step",
        ours,
        "select and update from Python, one epoch at a time",
        theirs,
        f"N = 4, M = 2; best of {SEEDS} seeds of {HORIZON} steps: {1 / ours:,.0f} steps/s",
    )


class ObjectArm:
    """One arm of Whittle-index Q-learning as published code writes it: a table and Python loops."""

    def __init__(self, options: WhittleQOptions) -> None:
        self.o = options
        states = range(options.oldest)
        self.q = [[[0.0, 0.0] for _ in states] for _ in states]
        self.subsidy = [0.0 for _ in states]
        self.visits = [[0, 0] for _ in states]

    def learn(self, age: int, crawled: bool, found: float) -> None:
        """Add one transition to every reference age's table."""
        now, action = min(age, self.o.oldest) - 1, int(crawled)
        later = 0 if crawled else min(now + 1, self.o.oldest - 1)
        self.visits[now][action] += 1
        visits = self.visits[now]
        alpha = self.o.step / (1.0 + visits[action] / self.o.patience) ** 0.75
        for k in range(self.o.oldest):
            table = np.array(self.q[k])
            earned = found if crawled else self.subsidy[k]
            change = earned + np.max(table[later]) - np.mean(table) - table[now, action]
            self.q[k][now][action] += alpha * change
        if not crawled:
            gamma = self.o.subsidy_step / (1.0 + visits[0] / self.o.patience)
            self.subsidy[now] += gamma * (self.q[now][now][1] - self.q[now][now][0])


def object_row(size: int, budget: int) -> dict[str, Any]:
    """Compare with an object an arm and a Python loop over reference ages."""
    rng = np.random.default_rng(size)
    sources = Sources(rng.uniform(5, 50, size), np.ones(size), rng.uniform(0.05, 1, size))
    content = Arrivals(sources).sample(HORIZON, rng)
    options = WhittleQOptions()
    learner, arms = WhittleQ(size, options), [ObjectArm(options) for _ in range(size)]
    log: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    class Watched:
        def select(self, seen: Observation, budget: int, rng: np.random.Generator) -> np.ndarray:
            self.age = seen.age
            return learner.select(seen, budget, rng)

        def update(self, chosen: np.ndarray, found: np.ndarray) -> None:
            log.append((self.age, chosen, found))
            learner.update(chosen, found)

    play(sources, Watched(), content[:, :100], budget, np.random.default_rng(3))

    def learn(part: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> None:
        for age, chosen, found in part:
            harvest = dict(zip(chosen.tolist(), found.tolist(), strict=True))
            for i, arm in enumerate(arms):
                arm.learn(int(age[i]), i in harvest, harvest.get(i, 0.0))

    parts = [log[first : first + 25] for first in range(0, 100, 25)]
    theirs = quickest((partial(learn, part) for part in parts), size * 25)
    np.testing.assert_allclose(learner.index, [arm.subsidy for arm in arms], rtol=1e-9, atol=1e-9)
    WhittleQ(size, options).play(sources, content[:, :10], budget, np.random.default_rng(0))
    streams = np.random.default_rng(2).spawn(SEEDS)
    plays = [
        partial(WhittleQ(size, options).play, sources, content, budget, rng) for rng in streams
    ]
    ours = quickest(plays, size * HORIZON)
    return row(
        f"Whittle-index Q-learning, {size} arms, one arm update",
        ours,
        "an object an arm, a Python loop over reference ages",
        theirs,
        f"M = {budget}, 12 ages; {1 / ours:,.0f} against {1 / theirs:,.0f} arm updates/s; "
        "ours includes the world and the choice; indices agree to 1e-9",
    )


def lspe_row(content: np.ndarray) -> dict[str, Any]:
    """Compare with the corrected scheme in NumPy calls, as a user would write it."""
    options = LspeOptions.corrected()
    learner = Lspe(SOURCES, options)
    numpy_steps = NumpyLspe(options)
    theirs = quickest(
        (
            partial(one.run, content[:, :SHORT], np.random.default_rng(3))
            for one in (NumpyLspe(options), NumpyLspe(options), numpy_steps)
        ),
        SHORT,
    )
    learner.play(SOURCES, content[:, :SHORT], 1, np.random.default_rng(3))
    np.testing.assert_allclose(learner.q, numpy_steps.q, rtol=1e-6, atol=1e-9)
    streams = np.random.default_rng(2).spawn(SEEDS)
    ours = quickest(
        partial(Lspe(SOURCES, options).play, SOURCES, content, 1, rng) for rng in streams
    )
    return row(
        "LSPE(0), corrected, one step",
        ours,
        "NumPy, one call an equation",
        theirs,
        f"N = 4, M = 1, 14 features: {1 / ours:,.0f} steps/s; q agrees to 1e-6",
    )


class NumpyLspe:
    """The corrected scheme for one arm an epoch."""

    def __init__(self, options: LspeOptions) -> None:
        self.o, self.scale = options, SOURCES.u_star.max()
        self.upper = np.triu_indices(4)
        self.q, self.r, self.eta = np.zeros((4, 3)), np.zeros(14), 0.0
        self.A, self.B, self.b = np.zeros((14, 14)), np.eye(14), np.zeros(14)

    def run(self, content: np.ndarray, rng: np.random.Generator) -> None:
        """Meet a stream of arrivals."""
        held, x = SOURCES.u.copy(), SOURCES.u / self.scale
        for n in range(1, content.shape[1] + 1):
            s = x.sum() - x
            psi = np.stack([np.ones(4), s, s**2], axis=1)
            weight = self.o.kappa * (x - (self.q * psi).sum(axis=1))
            chance = np.exp(weight - weight.max())
            chance /= chance.sum()
            arm = int(np.searchsorted(np.cumsum(chance), rng.random()))
            active = np.arange(4) == arm
            y = (np.where(active, 0.0, SOURCES.alpha * x) + SOURCES.u / self.scale).copy()
            phi, phi_next = self.features(x), self.features(y)
            surprise = held[arm] / self.scale - self.eta
            signal = surprise + self.r @ (phi_next - phi)
            step = self.o.step / np.ceil(n / 500)
            self.q += step * signal * (self.o.kappa * (chance - active))[:, None] * psi
            b = 1 / (n + 1)
            self.eta += b * surprise
            self.B += b * (np.outer(phi, phi) - self.B)
            self.A += b * (np.outer(phi, phi_next - phi) - self.A)
            self.b += b * (phi * surprise - self.b)
            ridge = self.B + self.o.regularisation * np.eye(14)
            self.r = self.r + self.o.value_step * np.linalg.solve(ridge, self.A @ self.r + self.b)
            held = np.where(active, 0.0, SOURCES.alpha * held) + content[:, n - 1]
            x = y

    def features(self, x: np.ndarray) -> np.ndarray:
        """Return phi."""
        return np.concatenate([x, np.outer(x, x)[self.upper]])
