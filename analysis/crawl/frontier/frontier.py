"""The state of a crawl: the sources to fetch in each epoch, for any fetcher.

The frontier gets from a policy (or a learner) as many sources as the budget allows and passes the
results of their fetches to it. It handles what the model does not have:

* *Crawl delays* of hosts, in seconds (`Hosts` of `analysis.crawl.frontier.state`).
* A *failed* fetch (an error, a time-out, no feed) uses one fetch of the budget and gives no
  observation. The source's age keeps increasing; the source is not fetched for
  1, 2, 4, ... epochs after the first, second, third, ... consecutive failure, at most `patience`.
* A source that robots.txt *forbids* is not fetched for as long, and for at least a day
  (RFC 9309, section 2.4: rules are not used for longer).
* A source that is *gone* (HTTP status 410) is not fetched for `GONE_AGAIN`, unless `revive` is
  called.
* A reply may state a *rest*: seconds in which its source, or the whole host, is not to be fetched
  (``Retry-After``, ``Cache-Control``), limited to `longest` seconds.
* A fetch that has not ended when its epoch is closed is *late*: its source is not chosen again
  before it ends, and the result counts for the epoch in which it ends.

The policy observes the true age of every source. Its choices are used in its own order of
preference, which is that of its choices for budgets of 1, 2, 3, ...; sources that may not be
fetched, or whose host allows no more fetches, are passed over. Sources at their maximal age come
before all others, the longest overdue first.

Sources and hosts are identified by name (a source usually by its URL), so that a state can be
restored for another list: new sources are as never crawled, and the state of sources that are no
longer listed is kept in case they return.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Floats
from analysis.checks import (
    Rng,
    check_array,
    check_choice,
    check_integer,
    check_integers,
    check_kind,
    check_number,
    check_positive,
    check_rng,
    check_whole,
    shown,
)
from analysis.crawl.frontier.pinged import PingedOrder
from analysis.crawl.frontier.state import (
    DAY,
    FORBIDDEN,
    FOUND,
    GONE,
    GONE_AGAIN,
    KINDS,
    LONGEST,
    NEVER,
    CrawlState,
    Hosts,
    HostState,
    Outcome,
    SourceState,
    in_other_epochs,
    learned_bytes,
    restore_policy,
)
from analysis.display import brief
from analysis.ephemeral.policies import Observation, Policy, RoundRobinPolicy, select_arms
from analysis.ephemeral.sources import read_only
from analysis.ephemeral.timetables.table import Timetable
from analysis.learning.environment import ItemSums

# Division of an epoch's budget among sources whose hosts limit the fetches.

Arms = NDArray[np.int64]


@dataclass
class Places:
    """Remaining fetches of an epoch, in all and by host, and sources that may be chosen."""

    left: int
    host: list[str]
    room: dict[str, int]
    free: NDArray[np.bool_]
    age: Arms
    taken: list[int] = field(default_factory=list)

    def filter_available(self, arms: Arms) -> Arms:
        """Return the given sources that are free and whose host allows another fetch."""
        open_ = [i for i in arms[self.free[arms]].tolist() if self.room[self.host[i]] > 0]
        return np.array(open_, dtype=np.int64)

    def can_fetch_all(self, arms: Arms) -> bool:
        """Return whether the budget and the hosts allow a fetch of all given sources."""
        count: dict[str, int] = {}
        for i in arms.tolist():
            count[self.host[i]] = count.get(self.host[i], 0) + 1
        return arms.size <= self.left and all(self.room[h] >= n for h, n in count.items())

    def take(self, arms: Arms) -> None:
        """Choose sources in their order while the budget and their hosts allow it."""
        for i in arms.tolist():
            if self.left and self.free[i] and self.room[self.host[i]] > 0:
                self.taken.append(i)
                self.free[i] = False
                self.left -= 1
                self.room[self.host[i]] -= 1


def take_by_preference(
    places: Places, policy: Policy, observation: Observation, rng: np.random.Generator, budget: int
) -> None:
    """Choose sources in a policy's order of preference until the places are taken.

    The order is that of its choices for budgets of 1, 2, 3, ..., each with the same draws. A policy
    that has no order, such as a timetable, may return the choice for the epoch's `budget` instead.
    """
    size, draws = places.age.size, rng.bit_generator.state
    choices: dict[int, Arms] = {0: np.empty(0, dtype=np.int64)}

    def first(count: int) -> Arms:
        if count not in choices:
            rng.bit_generator.state = draws
            asked = max(count, policy.budget) if isinstance(policy, Timetable) else count
            choices[count] = select_arms(policy, observation, asked, rng, most=max(count, budget))
        return choices[count]

    few, many = 0, places.left
    while places.left and few < size:
        _take_in_order(places, first, few, many)
        if first(many).size < many:
            return  # the policy chooses no more
        few, many = many, min(2 * many, size)


def _take_in_order(places: Places, first: Callable[[int], Arms], few: int, many: int) -> None:
    """Choose from the first `many` sources of an order without the first `few`.

    If not all of them can be fetched, those of the first half are preferred.
    """
    new = places.filter_available(np.setdiff1d(first(many), first(few), assume_unique=True))
    if many - few <= 1 or places.can_fetch_all(new):
        places.take(new[np.argsort(-places.age[new], kind="stable")])
        return
    middle = (few + many) // 2
    _take_in_order(places, first, few, middle)
    _take_in_order(places, first, middle, many)


# Passing the results of fetches to a policy, in the form that it takes.


def pass_results(
    policy: Policy, outcomes: Sequence[Outcome], age: NDArray[np.int64], seconds: float
) -> None:
    """Call ``observe`` of a policy with outcomes, or ``update`` with their rewards, if it has any.

    `found` are successful fetches, `age` the ages of all sources before them, shape (N,), and
    `seconds` the length of an epoch. A learner with ``sees_items`` gets `ItemSums` of the outcomes
    whose items have ages, and plain rewards of the others.
    """
    if hasattr(policy, "observe") and outcomes:
        policy.observe(list(outcomes))
    elif hasattr(policy, "update") and outcomes:
        sees_items = getattr(policy, "sees_items", False)
        aged = [
            sees_items and _has_ages(outcome, int(age[outcome.source]), seconds)
            for outcome in outcomes
        ]
        for items in (True, False):
            chosen = [
                outcome
                for outcome, has_ages in zip(outcomes, aged, strict=True)
                if has_ages == items
            ]
            if not chosen:
                continue
            arms = np.array([outcome.source for outcome in chosen], dtype=np.int64)
            worth = np.array([outcome.reward for outcome in chosen])
            ages = np.array([outcome.aged or 0.0 for outcome in chosen]) / seconds
            policy.update(arms, ItemSums(worth, ages) if items else worth)


def _has_ages(outcome: Outcome, age: int, seconds: float) -> bool:
    """Whether the ages of an outcome's items are consistent with the age of its source.

    Items that are on average older than the source's age existed before its last fetch, which the
    estimates exclude.
    """
    if outcome.aged is None:
        return False
    oldest = outcome.reward * float(age) * seconds
    return outcome.aged <= oldest and (outcome.aged > 0) <= (outcome.reward > 0)


@brief
class TurnPolicy:
    """Fetch the sources in turn: those that were chosen longest ago come first.

    The order is stored here and not derived from the ages, as in `RoundRobinPolicy`: the age of a
    source keeps increasing when its fetch fails or is not allowed. Without failures and refusals
    the two policies choose the same sources.

    Parameters
    ----------
    size : int
        N, the number of sources.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.crawl import TurnPolicy
    >>> from analysis.ephemeral import Observation
    >>> seen = Observation(0, np.ones(3, dtype=int), np.full(3, np.nan))
    >>> policy = TurnPolicy(3)
    >>> policy.record_choice(np.array([0, 2]))
    >>> policy.select(seen, 2).tolist()
    [0, 1]
    """

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init__(self, size: int) -> None:
        size = check_integer("size", size, 1)
        self._chosen = np.arange(-size, 0)  # number of the choice that named each source last
        self._choices = np.zeros(1, dtype=np.int64)

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the `budget` sources whose turn it is, by number."""
        budget = check_whole("budget", budget, 1, self._chosen.size)
        return np.sort(np.argsort(self._chosen, kind="stable")[:budget])

    def record_choice(self, arms: Arms) -> None:
        """Move the sources that are fetched to the end of the order."""
        order = arms[np.argsort(self._chosen[arms], kind="stable")]
        self._chosen[order] = self._choices[0] + np.arange(order.size)
        self._choices += order.size

    def rescale(self, ratio: float) -> None:
        """Do nothing: the order does not depend on the length of an epoch."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the order as arrays, for `restore`."""
        return {"chosen": self._chosen.copy(), "choices": self._choices.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore an order that `state` returned."""
        self._chosen[...] = state["chosen"]
        self._choices[...] = state["choices"]


@brief
class Frontier:
    """The state of a crawl, epoch by epoch.

    Parameters
    ----------
    policy : Policy
        The policy. Its optional methods are called: ``observe`` with the outcomes of successful
        fetches or, without it, ``update`` with their rewards (as `ItemSums` if its attribute
        ``sees_items`` is true and new items have ages); ``record_choice`` with the sources that are
        fetched. `RoundRobinPolicy` is replaced by `TurnPolicy`.
    hosts : sequence
        Host of each of the N sources, by any name.
    budget : int or whole float
        Fetches in an epoch, from 1 to N.
    rng : numpy.random.Generator or seed
        For randomised policies.
    ages : int or array_like of int, shape (N,)
        Epochs since the last fetch of each source, 1 at the epoch that follows it.
    seconds : float
        Length of an epoch.
    patience : int
        Largest number of epochs in which a failing source is not fetched.
    longest : float
        Longest rest or crawl delay that a site can ask for, in seconds.
    names : sequence of str, optional
        A name for each source; their numbers by default.
    min_age, max_age : int or array_like of int, shape (N,)
        Age below which a source is not fetched, and age from which on it comes before all others.

    Attributes
    ----------
    epoch : int
        Number of the epoch that is open, or of the next one.
    age, failures, rest_until : ndarray of int, shape (N,)
        Epochs since the last fetch; consecutive failures; epoch before which a source is not
        fetched.
    kind : list of str
        Outcome of the last fetch of each source, empty before the first.
    memory : list of str
        The reader's memory of each source.
    min_age, max_age : ndarray of int, shape (N,)
        As given.
    pinged : PingedOrder or None
        May be set between two epochs: pings then bring fetches forward.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init__(
        self,
        policy: Policy,
        hosts: Sequence[Hashable],
        budget: int,
        *,
        rng: Rng,
        ages: int | ArrayLike = 1,
        seconds: float = 1.0,
        patience: int = 64,
        longest: float = LONGEST,
        names: Sequence[str] | None = None,
        min_age: int | ArrayLike = 0,
        max_age: int | ArrayLike = NEVER,
    ) -> None:
        check_kind("policy", policy, Policy)
        check_kind("hosts", hosts, Sequence)
        rng = check_rng(rng)
        check_kind("names", names, Sequence, None)
        for name in names or ():
            check_kind("names", name, str)
        size = len(hosts)
        if size == 0 or isinstance(hosts, str | bytes):
            raise ValueError(f"hosts must have an entry for each source, got {shown(hosts)}")
        self.policy = TurnPolicy(size) if type(policy) is RoundRobinPolicy else policy
        self.rng = rng
        self.budget = check_whole("budget", budget, 1, size)
        self.seconds = check_positive("seconds", seconds)
        self.patience = check_integer("patience", patience, 1)
        self.longest = check_number("longest", longest, 0, high_open=True)
        self.names = [str(i) for i in range(size)] if names is None else list(names)
        self.number = {name: i for i, name in enumerate(self.names)}
        if len(self.number) != size:
            raise ValueError(f"names must be {size} different ones, got {len(self.number)}")
        self.epoch = 0
        self.age = _ages("ages", ages, size).copy()
        self.min_age = _ages("min_age", min_age, size)
        self.max_age = _ages("max_age", max_age, size)
        if (self.max_age < np.maximum(self.min_age, 1)).any():
            raise ValueError("max_age must be at least 1 and not below min_age")
        self.failures = np.zeros(size, dtype=np.int64)
        self.rest_until = np.zeros(size, dtype=np.int64)
        self.kind = [""] * size
        self.memory = [""] * size
        self._host: list[str] = [str(host) for host in hosts]
        self._hosts = Hosts(self.seconds, self.longest)
        self._aside: dict[str, SourceState] = {}  # states of sources that are no longer listed
        self._waiting: set[int] = set()
        self._late: set[int] = set()
        self._outcomes: list[Outcome] = []
        self.pinged: PingedOrder | None = None

    @property
    def is_open(self) -> bool:
        """Whether fetches of this epoch have not ended."""
        return bool(self._waiting)

    @property
    def late(self) -> frozenset[int]:
        """Sources whose fetch did not end in its epoch."""
        return frozenset(self._late)

    @property
    def available(self) -> NDArray[np.bool_]:
        """Which sources may be fetched in this epoch."""
        free = np.array(self._hosts.are_free(self._host, self.epoch))
        here = np.ones(self.age.size, dtype=bool)
        here[list(self._late)] = False
        return here & free & (self.rest_until <= self.epoch) & (self.age >= self.min_age)

    @property
    def crawl_delay(self) -> dict[str, float]:
        """Seconds between two fetches of each host whose rules are known, by its name."""
        return dict(self._hosts.delay)

    def refusals(self, host: str) -> int:
        """Return the epochs in a row in which a host asked for fewer requests."""
        return self._hosts.refusals.get(host, 0)

    def choose(self) -> Arms:
        """Open the epoch: return the sources to fetch, in increasing order.

        An epoch without sources ends at once; the next call opens the next epoch.
        """
        if self._waiting:
            raise RuntimeError(f"epoch {self.epoch} is not over: {len(self._waiting)} fetches left")
        arms = self._selected(self.budget)
        if hasattr(self.policy, "record_choice"):
            self.policy.record_choice(arms.copy())
        if self.pinged is not None:
            self.pinged.record(arms, self.budget, self.policy, self.seconds)
        self._waiting = set(arms.tolist())
        self._outcomes = []
        if not self._waiting:
            self._end([])
        return arms

    def offers(self, most: int) -> Floats:
        """Return the indices of the sources that `choose` would return for a budget of `most`.

        Parameters
        ----------
        most : int
            A budget; one above N counts as N.

        Returns
        -------
        ndarray
            In decreasing order; infinite for a source at its maximal age.

        Raises
        ------
        ValueError
            If the policy has no index, by which sources of several frontiers could be compared, or
            one at a price of this frontier's own.
        """
        index, kind = getattr(self.policy, "index", None), type(self.policy).__name__
        if index is None:
            raise ValueError(f"policy must have an index to be compared, got a {kind}")
        if getattr(self.policy, "is_priced", False):
            raise ValueError(
                f"policy must have an index that does not depend on the budget of this part "
                f"(policy index, not lagrangian), got a {kind} at a price of its own"
            )
        draws = self.rng.bit_generator.state
        arms = self._selected(min(check_integer("most", most, 0), self.age.size))
        self.rng.bit_generator.state = draws
        overdue = self.age[arms] >= self.max_age[arms]
        name = f"index of policy {type(self.policy).__name__}"
        by_age = check_array(name, index(self.age.copy()), finite=False)
        if by_age.shape != self.age.shape:
            raise ValueError(f"{name} must have shape {self.age.shape}, got {by_age.shape}")
        return np.sort(np.where(overdue, np.inf, by_age[arms]))[::-1]

    def import_state(
        self,
        sources: Mapping[str, SourceState],
        hosts: Mapping[str, HostState],
    ) -> None:
        """Store the state of another frontier at the same epoch, for sources that are listed next.

        Parameters
        ----------
        sources, hosts : mapping
            As in its `CrawlState`.
        """
        self._aside |= {name: s for name, s in sources.items() if name not in self.number}
        self._hosts.import_state(hosts)

    def settle(self, outcome: Outcome) -> None:
        """Record the outcome of the fetch of one source; the last one ends the epoch.

        Raises
        ------
        ValueError
            If the source is not fetched in this epoch and is not late, or was settled before.
        """
        source = outcome.source
        if source in self._late:
            self._late.remove(source)
            self._outcomes.append(outcome)
            if not self._waiting:  # between two epochs
                self._learn([outcome])
        elif source in self._waiting:
            outcomes = [*self._outcomes, outcome]
            if len(self._waiting) == 1:
                self._end(outcomes)
            self._outcomes = outcomes
            self._waiting.remove(source)
        else:
            raise ValueError(
                f"source must be one of {sorted(self._waiting | self._late)} in epoch "
                f"{self.epoch}, got {source}"
            )

    def close(self) -> None:
        """End the epoch; unfinished fetches are late."""
        if self._waiting:
            self._end(self._outcomes)
            self._late |= self._waiting
            self._waiting = set()

    def expect(self, source: int) -> None:
        """Mark a source as late, whose fetch was begun by another process or before a restart."""
        self._late.add(check_integer("source", source, 0, self.age.size - 1))

    @property
    def outcomes(self) -> list[Outcome]:
        """Return the outcomes of the current epoch, or of the last one, by source."""
        return sorted(self._outcomes, key=lambda outcome: outcome.source)

    def skip(self, epochs: int) -> None:
        """Advance the epoch and all ages by a number of epochs in which nothing is fetched."""
        if self._waiting:
            raise RuntimeError(f"epoch {self.epoch} is not over")
        epochs = check_integer("epochs", epochs, 0, NEVER)
        self.epoch += epochs
        self.age += epochs

    def revive(self, source: int) -> None:
        """Make a source that is gone, forbidden or resting available again."""
        self.failures[source] = self.rest_until[source] = 0
        self.kind[source] = ""

    def move(self, source: int, host: Hashable) -> None:
        """Assign a source to another host."""
        self._host[source] = str(host)

    def state(self) -> CrawlState:
        """Return the state on which the next epoch depends; no epoch may be open.

        Raises
        ------
        ValueError
            If the policy learns but cannot be saved.
        """
        if self._waiting:
            raise RuntimeError(f"epoch {self.epoch} is not over")
        layout, rows, shared = learned_bytes(self.policy, self.age.size)
        sources = {
            name: SourceState(
                last=int(self.epoch - self.age[i]),
                failures=int(self.failures[i]),
                rest_until=int(self.rest_until[i]),
                kind=self.kind[i],
                memory=self.memory[i],
                learned=rows[i],
            )
            for name, i in self.number.items()
        }
        return CrawlState(
            epoch=self.epoch,
            seconds=self.seconds,
            rng=dict(self.rng.bit_generator.state),
            policy=type(self.policy).__name__,
            layout=layout,
            learned=shared,
            sources=self._aside | sources,
            hosts=self._hosts.state(),
        )

    def restore(self, state: CrawlState) -> None:
        """Restore a state, whose sources and length of epochs may differ from this one's.

        The estimates of a policy are converted to epochs of another length by its method
        ``rescale``, which gets the old length over the new one.

        Raises
        ------
        ValueError
            If it is the state of another policy, or of epochs of another length whose policy
            cannot convert its estimates, or invalid.
        """
        if state.policy:  # else it has learned nothing
            self._restore_policy(state)
        if state.seconds != self.seconds:
            state = in_other_epochs(state, self.seconds)
        self.epoch = check_integer("epoch", state.epoch, 0)
        for name, i in self.number.items():
            if name not in state.sources:
                continue
            source = state.sources[name]
            self.age[i] = check_integer("age", state.epoch - source.last, 0, NEVER)
            self.failures[i] = check_integer("failures", source.failures, 0, NEVER)
            self.rest_until[i] = check_integer("rest_until", source.rest_until, 0, NEVER)
            self.kind[i] = check_choice("kind", source.kind, ("", *KINDS))
            self.memory[i] = source.memory
        self.rng.bit_generator.state = state.rng
        self._hosts.restore(state.hosts)
        self._aside = {n: s for n, s in state.sources.items() if n not in self.number}

    def _restore_policy(self, state: CrawlState) -> None:
        seconds = state.learned_seconds or state.seconds
        rescale = getattr(self.policy, "rescale", None)
        if seconds != self.seconds and rescale is None and hasattr(self.policy, "state"):
            raise ValueError(
                f"seconds (CRAWL_PERIOD) must be those of the state, {seconds:g}, for a "
                f"{type(self.policy).__name__}, whose estimates hold for one length of epochs"
            )
        restore_policy(self.policy, self.age.size, state, self.number)
        if seconds != self.seconds and rescale is not None:
            rescale(seconds / self.seconds)

    def _selected(self, budget: int) -> Arms:
        """Choose sources in the policy's order of preference until the budget is spent."""
        # Read-only: the policy gets the same observation for each budget that it is asked for.
        age, state = read_only(self.age.copy()), read_only(np.full(self.age.size, np.nan))
        observation = Observation(self.epoch, age, state)
        places = Places(budget, self._host, self._hosts.room(self._host), self.available, self.age)
        overdue = np.flatnonzero(self.age >= self.max_age)
        places.take(overdue[np.argsort((self.max_age - self.age)[overdue], kind="stable")])
        policy = self.policy
        if self.pinged is not None:
            policy = self.pinged.add_pings(policy, self.number, age, budget, self.seconds)
        take_by_preference(places, policy, observation, self.rng, budget)
        return np.sort(np.array(places.taken, dtype=np.int64))

    def _end(self, outcomes: list[Outcome]) -> None:
        """Update the policy and the sources, increase all ages by one, and begin the next epoch.

        If the policy raises an error, nothing has changed.
        """
        self._learn(sorted(outcomes, key=lambda outcome: outcome.source))
        self.age += 1
        self.epoch += 1

    def _learn(self, outcomes: list[Outcome]) -> None:
        """Pass the results to the policy; update ages, crawl delays, failures and rests."""
        successes = [outcome for outcome in outcomes if outcome.kind == FOUND]
        pass_results(self.policy, successes, self.age, self.seconds)
        if self.pinged is not None:
            self.pinged.observe(successes, self.names, self.policy, self.seconds)
        self._hosts.count_refusals((self._host[o.source], o.status) for o in outcomes if o.status)
        for outcome in outcomes:
            self._hosts.note(self._host[outcome.source], outcome, self.epoch)
            source, pause = outcome.source, self._hosts.epochs(outcome.rest)
            self.kind[source] = outcome.kind
            if outcome.kind == FOUND:
                self.failures[source] = 0
                self.memory[source] = outcome.memory
                self.age[source] = 0
            else:
                self.failures[source] += 1
                wait = min(2 ** min(int(self.failures[source]) - 1, 62), self.patience)
                day = self._hosts.epochs(DAY) if outcome.kind == FORBIDDEN else 0
                pause = max(pause, wait, day)
                if outcome.kind == GONE:
                    pause = max(pause, math.ceil(min(GONE_AGAIN / self.seconds, NEVER // 2)))
            self.rest_until[source] = self.epoch + pause


def _ages(name: str, ages: int | ArrayLike, size: int) -> Arms:
    array = check_integers(name, ages)
    if array.shape not in ((), (size,)):
        raise ValueError(f"{name} must be one number or {size}, got shape {array.shape}")
    if not 0 <= array.min() <= array.max() <= NEVER:
        raise ValueError(f"{name} must be in [0, {NEVER}], got {shown(ages)}")
    return np.broadcast_to(array, size)
