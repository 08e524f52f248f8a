"""Which sources to fetch in which epoch, whatever fetches them: the state of a crawl.

The frontier asks a policy (or a learner) for as many sources as the budget allows and tells it what
was found. Beyond the model it knows what a real crawler meets:

* A *crawl delay* of D seconds on a host is a minimal age: with an epoch of T seconds, D > T, the
  host's sources rest until ceil(D / T) epochs after a fetch of any of them; with D <= T at most
  floor(T / D) of them are fetched in an epoch. A host of unknown rules is asked once in an epoch.
* A *failed* fetch (an error, a time-out, no feed) has cost its place in the budget and taught
  nothing. The source's age goes on, for what is there is still there; the source is left alone for
  1, 2, 4, ... epochs after the first, second, third, ... failure in a row, at most `patience`.
* A source that robots.txt *forbids* is not asked again.

A source that may not be fetched is shown to the policy at age 0, where nothing can have arrived and
every index is zero; if the policy wants it all the same (a learner that has to try every source),
the policy is asked for as many more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.checks import check_integer, check_number
from analysis.ephemeral.policies import Observation, Policy

Arms = NDArray[np.int64]
Floats = NDArray[np.float64]

FOUND, FAILED, FORBIDDEN = "found", "failed", "forbidden"
"""How a fetch can end."""


@dataclass(frozen=True)
class Outcome:
    """How the fetch of one source ended.

    Attributes
    ----------
    source : int
        Number of the source.
    kind : {"found", "failed", "forbidden"}
        Whether anything was learned.
    status : int
        HTTP status, 0 where no answer came.
    reward : float
        Worth of the new items.
    items : int
        Number of new items.
    memory : str
        What the reader remembers of the source from now on.
    delay : float or None
        Crawl delay that robots.txt of its host states, in seconds, 0 for none; None if unknown.
    """

    source: int
    kind: str
    status: int = 0
    reward: float = 0.0
    items: int = 0
    memory: str = ""
    delay: float | None = None


class Frontier:
    """The state of a crawl, epoch by epoch.

    Parameters
    ----------
    policy : Policy
        What chooses; if it has an ``update`` it is told what was found.
    hosts : array_like of int, shape (N,)
        Host of each source, from 0.
    budget : int
        Fetches in an epoch, from 1 to N.
    rng : numpy.random.Generator
        For policies that draw.
    ages : int or array_like of int, shape (N,)
        Epochs since the last fetch of each source, 1 at the epoch that follows it.
    seconds : float
        Length of an epoch.
    patience : int
        Most epochs for which a failing source is left alone.

    Attributes
    ----------
    epoch : int
        Number of the epoch that is open, or to come.
    age, failures, rest_until : ndarray of int, shape (N,)
        Epochs since the last fetch; failures in a row; epoch before which a source that failed is
        left alone.
    forbidden : ndarray of bool, shape (N,)
        Sources that robots.txt forbids.
    crawl_delay : ndarray, shape (hosts,)
        Seconds between two fetches of a host, ``nan`` while unknown.
    host_free : ndarray of int, shape (hosts,)
        Epoch from which on a host may be asked.
    memory : list of str
        The reader's memory of each source.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """

    def __init__(
        self,
        policy: Policy,
        hosts: ArrayLike,
        budget: int,
        *,
        rng: np.random.Generator,
        ages: int | ArrayLike = 1,
        seconds: float = 1.0,
        patience: int = 64,
    ) -> None:
        self.policy, self.rng = policy, rng
        self.hosts = np.asarray(hosts, dtype=np.int64)
        size = self.hosts.size
        self.budget = check_integer("budget", budget, 1, size)
        self.seconds = check_number("seconds", seconds, 0, low_open=True, high_open=True)
        self.patience = check_integer("patience", patience, 1)
        self.epoch = 0
        self.age = np.broadcast_to(np.asarray(ages, dtype=np.int64), size).copy()
        if (self.age < 0).any():
            raise ValueError(f"ages must be at least 0, got {self.age.min()}")
        self.failures = np.zeros(size, dtype=np.int64)
        self.rest_until = np.zeros(size, dtype=np.int64)
        self.forbidden = np.zeros(size, dtype=bool)
        self.crawl_delay = np.full(int(self.hosts.max()) + 1, np.nan)
        self.host_free = np.zeros(self.crawl_delay.size, dtype=np.int64)
        self.memory = [""] * size
        self._waiting: set[int] = set()
        self._outcomes: list[Outcome] = []

    @property
    def is_open(self) -> bool:
        """Whether sources of this epoch are still to be settled."""
        return bool(self._waiting)

    @property
    def available(self) -> NDArray[np.bool_]:
        """Which sources may be fetched in this epoch."""
        rested = (self.rest_until <= self.epoch) & (self.host_free[self.hosts] <= self.epoch)
        return rested & ~self.forbidden

    def choose(self) -> Arms:
        """Open the epoch: return the sources to fetch, in increasing order.

        An epoch without any is over at once; the next call goes on to the next epoch.
        """
        if self._waiting:
            raise RuntimeError(f"epoch {self.epoch} is not over: {len(self._waiting)} fetches left")
        arms = self._ask()
        self._waiting = set(arms.tolist())
        self._outcomes = []
        if not self._waiting:
            self._close()
        return arms

    def settle(self, outcome: Outcome) -> None:
        """Take in how the fetch of one source ended; the last one ends the epoch.

        Raises
        ------
        ValueError
            If the source is not to be fetched in this epoch, or was settled before.
        """
        if outcome.source not in self._waiting:
            raise ValueError(
                f"source must be one of {sorted(self._waiting)} in epoch {self.epoch}, "
                f"got {outcome.source}"
            )
        self._waiting.remove(outcome.source)
        self._outcomes.append(outcome)
        if not self._waiting:
            self._close()

    @property
    def outcomes(self) -> list[Outcome]:
        """How the fetches of the present epoch, or of the last one, ended; by source."""
        return sorted(self._outcomes, key=lambda outcome: outcome.source)

    def skip(self, epochs: int) -> None:
        """Let epochs pass in which nothing is fetched: real time does not wait."""
        if self._waiting:
            raise RuntimeError(f"epoch {self.epoch} is not over")
        self.epoch += check_integer("epochs", epochs, 0)
        self.age += epochs

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all that the next epoch depends on, as arrays; an epoch must not be open."""
        if self._waiting:
            raise RuntimeError(f"epoch {self.epoch} is not over")
        texts = {"memory": self.memory, "rng": self.rng.bit_generator.state}
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {f"policy_{name}": array for name, array in _policy_state(self.policy).items()}
        text = np.frombuffer(json.dumps(texts, sort_keys=True).encode(), dtype=np.uint8)
        return arrays | {"epoch": np.array(self.epoch), "text": text}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to a state.

        Raises
        ------
        ValueError
            If it is the state of another set of sources or of another policy.
        """
        for name in _ARRAYS:
            own = getattr(self, name)
            if name not in state or state[name].shape != own.shape:
                raise ValueError(f"state must be that of {self.age.size} sources and their hosts")
            own[...] = state[name]
        texts = json.loads(bytes(state["text"]))
        self.epoch = int(state["epoch"])
        self.memory = list(texts["memory"])
        self.rng.bit_generator.state = texts["rng"]
        kept = {name.removeprefix("policy_"): state[name] for name in state if "policy_" in name}
        wanted = _policy_state(self.policy)
        if {n: a.shape for n, a in kept.items()} != {n: a.shape for n, a in wanted.items()}:
            raise ValueError(f"state must be that of a {type(self.policy).__name__}")
        if kept:
            self.policy.restore(kept)  # type: ignore[attr-defined]

    def _ask(self) -> Arms:
        """Ask the policy for sources until the budget is spent on such as may be fetched."""
        available, size = self.available, self.age.size
        state = np.full(size, np.nan)
        seen = Observation(self.epoch, np.where(available, self.age, 0), state)
        asked = self.budget
        while True:
            arms = np.asarray(self.policy.select(seen, asked, self.rng), dtype=np.int64)
            taken = self._one_by_one(arms[available[arms]])
            short = self.budget - taken.size
            if short <= 0 or arms.size < asked or asked == size:
                return np.sort(taken[: self.budget])
            asked = min(asked + short, size)

    def _one_by_one(self, arms: Arms) -> Arms:
        """Leave out the younger of several sources of a host that allows fewer in an epoch."""
        with np.errstate(divide="ignore"):
            allowed = np.floor(self.seconds / self.crawl_delay)
        allowed[~(allowed >= 1)] = 1  # one where the delay is longer than an epoch, or unknown
        arms = arms[np.lexsort((arms, -self.age[arms]))]
        taken = np.zeros(allowed.size)
        kept = []
        for arm, host in zip(arms.tolist(), self.hosts[arms].tolist(), strict=True):
            if taken[host] < allowed[host]:
                taken[host] += 1
                kept.append(arm)
        return np.sort(np.array(kept, dtype=np.int64))

    def _close(self) -> None:
        """Tell the learner, move all ages on, and go to the next epoch."""
        found = [outcome for outcome in self.outcomes if outcome.kind == FOUND]
        arms = np.array([outcome.source for outcome in found], dtype=np.int64)
        if hasattr(self.policy, "update") and arms.size:
            self.policy.update(arms, np.array([outcome.reward for outcome in found]))
        for outcome in self._outcomes:
            source, host = outcome.source, self.hosts[outcome.source]
            if outcome.delay is not None:
                self.crawl_delay[host] = outcome.delay
            if outcome.kind == FORBIDDEN:
                self.forbidden[source] = True
                continue
            delay = float(self.crawl_delay[host])
            gap = 1 if math.isnan(delay) else max(math.ceil(delay / self.seconds), 1)
            self.host_free[host] = self.epoch + gap
            if outcome.kind == FAILED:
                self.failures[source] += 1
                wait = min(2 ** min(int(self.failures[source]) - 1, 62), self.patience)
                self.rest_until[source] = self.epoch + wait
            else:
                self.failures[source] = 0
                self.memory[source] = outcome.memory
                self.age[source] = 0
        self.age += 1
        self.epoch += 1


_ARRAYS = ("age", "failures", "rest_until", "forbidden", "crawl_delay", "host_free")


def _policy_state(policy: Policy) -> dict[str, NDArray[Any]]:
    """Return what a policy has learned; policies without ``update`` have nothing to keep."""
    if hasattr(policy, "state"):
        return dict(policy.state())
    if hasattr(policy, "update"):
        raise ValueError(
            f"policy must have state() and restore() to survive a restart, "
            f"as a {type(policy).__name__} that learns has not"
        )
    return {}


def to_line(outcome: Outcome, epoch: int) -> str:
    """Write an outcome as one line of JSON; numbers come back to the last digit."""
    return json.dumps({"epoch": epoch, **asdict(outcome)}) + "\n"


def from_line(line: str) -> tuple[int, Outcome]:
    """Read what `to_line` wrote: the epoch and the outcome."""
    fields = json.loads(line)
    return int(fields.pop("epoch")), Outcome(**fields)
