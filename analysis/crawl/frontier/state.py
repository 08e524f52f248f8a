"""Outcomes of fetches, and the state of sources, hosts and policies between two epochs.

With an epoch of T seconds and a crawl delay of D > T, a host rests until ceil(D / T) epochs after a
fetch; with D <= T at most floor(T / D) of its sources are fetched in an epoch. From a host with
unknown rules one source is fetched in an epoch. A host that refuses (`REFUSED`) rests for longer
after each epoch in a row in which it did.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.checks import (
    check_array,
    check_choice,
    check_integer,
    check_kind,
    check_number,
    set_fields,
)
from analysis.ephemeral.policies import Policy

FOUND, FAILED, FORBIDDEN, GONE = KINDS = "found", "failed", "forbidden", "gone"
"""Kinds of outcomes of a fetch."""
DAY = 86_400.0
LONGEST = 7 * DAY
"""Default longest rest that a site can ask for, in seconds."""
GONE_AGAIN = 30 * DAY
"""Seconds after which a source that was gone is fetched again: some come back."""
NEVER = 2**62
"""An age that no source reaches."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of the fetch of one source.

    Attributes
    ----------
    source : int
        Number of the source.
    kind : {"found", "failed", "forbidden", "gone"}
        Kind of the outcome.
    status : int
        HTTP status, 0 without an answer.
    reward : float
        Value of the new items.
    items : int
        Number of new items.
    memory : str
        New memory of the reader, if a feed was found.
    delay : float or None
        Crawl delay in the host's robots.txt, in seconds, 0 for none; None if unknown.
    rest, host_rest : float
        Seconds of rest that the source, or all of its host, asks for.
    known : int
        Number of listed items that had been listed before.
    ages : tuple of float
        Ages of all listed items in seconds, in increasing order; empty if dates are implausible.
    aged : float or None
        Sum of value times age in seconds over the new items; None if an age is not known.

    Raises
    ------
    ValueError
        If a number is negative or not finite.

    Examples
    --------
    >>> from analysis.crawl import Outcome
    >>> Outcome(3, "found", reward=1.5).items
    0
    """

    source: int
    kind: str
    status: int = 0
    reward: float = 0.0
    items: int = 0
    memory: str = ""
    delay: float | None = None
    rest: float = 0.0
    host_rest: float = 0.0
    known: int = 0
    ages: tuple[float, ...] = ()
    aged: float | None = None

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        check_kind("memory", self.memory, str)
        for name in ("source", "status", "items", "known"):
            set_fields(self, **{name: check_integer(name, getattr(self, name), 0)})
        for name in ("reward", "delay", "rest", "host_rest", "aged"):
            if name not in ("delay", "aged") or getattr(self, name) is not None:
                number = check_number(name, getattr(self, name), 0, high_open=True)
                set_fields(self, **{name: number})
        if not isinstance(self.ages, tuple) or self.ages:
            ages = check_array("ages", self.ages, 0)
            if ages.ndim != 1:
                raise ValueError(f"ages must have one axis, got shape {ages.shape}")
            set_fields(self, ages=tuple(ages.tolist()))


@dataclass(frozen=True)
class SourceState:
    """The state of one source in a frontier.

    Attributes
    ----------
    last : int
        Epoch of the last fetch; negative for fetches before the first epoch.
    failures : int
        Consecutive failures.
    rest_until : int
        Epoch before which it is not fetched.
    kind : str
        Outcome of the last fetch, empty before the first.
    memory : str
        The reader's memory.
    learned : bytes
        The policy's estimates for the source.
    """

    last: int
    failures: int = 0
    rest_until: int = 0
    kind: str = ""
    memory: str = ""
    learned: bytes = b""


@dataclass(frozen=True)
class CrawlState:
    """The state on which the next epoch of a crawl depends.

    Attributes
    ----------
    epoch : int
        Number of the next epoch.
    seconds : float
        Length of an epoch.
    rng : dict
        State of the random numbers.
    policy : str
        Name of the policy's class; empty if this policy has learned nothing yet.
    layout : str
        The policy's arrays as JSON, in the order of their bytes: name, type, and shape, of those
        with a row for each source ("each") and of the others ("whole").
    learned : bytes
        The policy's estimates that are common to all sources.
    sources : dict of str to SourceState
        By name, also those that are no longer listed.
    hosts : dict of str to (float or None, int, int)
        Crawl delay in seconds, None while unknown; first epoch in which a host may be fetched from;
        epochs in a row in which it asked for fewer requests.
    learned_seconds : float or None
        Length of the epochs in which the estimates count, if it is not `seconds`.
    """

    epoch: int
    seconds: float
    rng: dict[str, Any]
    policy: str
    layout: str
    learned: bytes
    sources: dict[str, SourceState]
    hosts: dict[str, tuple[float | None, int, int]]
    learned_seconds: float | None = None


def in_other_epochs(state: CrawlState, seconds: float) -> CrawlState:
    """Return a state between two epochs, counted in epochs of another length.

    The last epoch keeps its beginning and its number, and the next one follows it after `seconds`:
    what happened longer ago, or is to come, is as many seconds away as before, rounded to epochs
    (rests upwards, so that none becomes shorter). The policy's estimates stay as they are.
    """
    ratio = state.seconds / seconds

    def last(epoch: int) -> int:
        if epoch >= state.epoch:  # fetched after the last epoch
            return epoch
        return state.epoch - 1 - round(min((state.epoch - 1 - epoch) * ratio, NEVER / 2))

    def first(epoch: int) -> int:
        if epoch <= state.epoch:
            return epoch
        wait = (epoch - state.epoch + 1) * ratio
        return state.epoch - 1 + math.ceil(min(wait * (1 - 1e-12), NEVER / 2))

    sources = {
        name: replace(source, last=last(source.last), rest_until=first(source.rest_until))
        for name, source in state.sources.items()
    }
    hosts = {name: (delay, first(free), n) for name, (delay, free, n) in state.hosts.items()}
    return replace(state, seconds=seconds, sources=sources, hosts=hosts)


HostState = tuple[float | None, int, int]
"""Crawl delay in seconds, None where the rules are unknown; first epoch in which to fetch; epochs
in a row in which it refused."""
REFUSED = (429, 503)
"""HTTP statuses by which a host asks for fewer requests (RFC 6585, section 4; RFC 9110, 15.6.4)."""


def backoff(refusals: int) -> float:
    """Return the seconds of rest after so many earlier refusals: a minute, doubled up to a day.

    Examples
    --------
    >>> backoff(0), backoff(3)
    (60.0, 480.0)
    """
    return min(60.0 * 2 ** min(refusals, 11), DAY)


class Hosts:
    """The epochs, of length `seconds`, in which each host may be fetched from.

    `longest` limits the rest or crawl delay that a site can ask for, in seconds. `delay` holds the
    seconds between two fetches of each host whose rules are known, `free` the first epoch in which
    a host may be fetched from, and `refusals` the epochs in a row in which it refused.
    """

    def __init__(self, seconds: float, longest: float) -> None:
        self._seconds, self._longest = seconds, longest
        self.delay: dict[str, float] = {}
        self.free: dict[str, int] = {}
        self.refusals: dict[str, int] = {}

    def are_free(self, hosts: Iterable[str], epoch: int) -> list[bool]:
        """Return whether each host may be fetched from in an epoch."""
        return [self.free.get(host, 0) <= epoch for host in hosts]

    def epochs(self, seconds: float) -> int:
        """Return the least number of epochs that last so many seconds, at most `longest`."""
        least = min(seconds, self._longest) / self._seconds
        return math.ceil(min(least * (1 - 1e-12), NEVER // 2))

    def room(self, hosts: Iterable[str]) -> dict[str, int]:
        """Return how many fetches each host allows in one epoch."""
        room = dict.fromkeys(hosts, 1)  # its rules are unknown
        for host, delay in self.delay.items():
            most = self._seconds / delay * (1 + 1e-12) if delay > 0 else np.inf
            room[host] = max(int(min(most, NEVER)), 1)
        return room

    def note(self, host: str, outcome: Outcome, epoch: int) -> None:
        """Update the delay and the rest of a host after a fetch in an epoch."""
        if outcome.delay is not None:
            self.delay[host] = min(outcome.delay, self._longest)
        wait = self.epochs(outcome.host_rest)
        if outcome.kind != FORBIDDEN:  # otherwise only robots.txt was requested
            wait = max(wait, self.epochs(self.delay.get(host, 0.0)), 1)
        self.free[host] = max(self.free.get(host, 0), epoch + wait)

    def count_refusals(self, answered: Iterable[tuple[str, int]]) -> None:
        """Count an epoch of each host that refused in it; another answer ends the row.

        `answered` has host and HTTP status of each answer of the epoch, in any order.
        """
        refused: dict[str, bool] = {}
        for host, status in answered:
            refused[host] = refused.get(host, False) or status in REFUSED
        for host, has_refused in refused.items():
            if has_refused:
                self.refusals[host] = self.refusals.get(host, 0) + 1
            else:
                self.refusals.pop(host, None)

    def import_state(self, hosts: Mapping[str, HostState]) -> None:
        """Store the state of another frontier at the same epoch; the later of two epochs counts."""
        for host, (delay, free, refusals) in hosts.items():
            self.free[host] = max(self.free.get(host, 0), free)
            if refusals:
                self.refusals[host] = refusals
            if delay is not None:
                self.delay[host] = delay

    def state(self) -> dict[str, HostState]:
        """Return the state of each known host."""
        return {
            host: (self.delay.get(host), self.free.get(host, 0), self.refusals.get(host, 0))
            for host in self.delay.keys() | self.free.keys()
        }

    def restore(self, hosts: Mapping[str, HostState]) -> None:
        """Restore a state; raise ValueError if it is invalid."""
        for host, (delay, free, refusals) in hosts.items():
            self.free[host] = check_integer("free", free, 0, NEVER)
            if check_integer("refusals", refusals, 0, NEVER):
                self.refusals[host] = refusals
            if delay is not None:
                self.delay[host] = check_number("delay", delay, 0, high_open=True)


# The estimates of a policy as bytes, for the state of a crawl.

Arrays = dict[str, NDArray[Any]]


def learned_bytes(policy: Policy, size: int) -> tuple[str, list[bytes], bytes]:
    """Return the layout of the estimates of a policy, those of each of `size` sources, the others.

    Raises ValueError if the policy learns but cannot be saved.
    """
    per_source, shared = _arrays(policy, size)
    rows = [b"".join(array[i].tobytes() for array in per_source.values()) for i in range(size)]
    return _layout(per_source, shared), rows, b"".join(array.tobytes() for array in shared.values())


def _layout(per_source: Arrays, shared: Arrays) -> str:
    """Describe arrays by name, type and shape, those of `each` source without their first axis."""
    return json.dumps(
        {
            "each": [
                [name, array.dtype.str, array.shape[1:]] for name, array in per_source.items()
            ],
            "whole": [[name, array.dtype.str, array.shape] for name, array in shared.items()],
        }
    )


def restore_policy(policy: Policy, size: int, state: CrawlState, number: Mapping[str, int]) -> None:
    """Restore the estimates of a policy; those of new sources keep their initial values.

    `number` is the number of each source, by name. The state may be one of an earlier version,
    without the policy's ``NEW_ARRAYS``. Raises ValueError if it is that of another policy.
    """
    per_source, shared = _arrays(policy, size)
    new = getattr(policy, "NEW_ARRAYS", ())
    older = {name: array for name, array in per_source.items() if name not in new}
    layouts = {_layout(per_source, shared), _layout(older, shared)}
    formats = {
        sum(array[0].nbytes for array in columns.values()): columns
        for columns in (older, per_source)
    }
    sources = ((name, state.sources[name].learned) for name in number if name in state.sources)
    # Of a source without an estimate nothing is known.
    contents = {name: learned for name, learned in sources if learned}
    total = sum(array.nbytes for array in shared.values())
    kind = type(policy).__name__
    if state.policy != kind:
        raise ValueError(f"state must be that of a {kind}, got one of {state.policy}")
    if (
        state.layout not in layouts
        or {len(content) for content in contents.values()} - set(formats)
        or len(state.learned) != total
    ):
        raise ValueError(
            f"state must have the arrays {_layout(per_source, shared)} of a {kind}, "
            f"got {state.layout}"
        )
    _fill(list(shared.values()), state.learned)
    for name, content in contents.items():
        arrays = formats[len(content)].values()
        _fill([array[number[name] : number[name] + 1] for array in arrays], content)
    if per_source or shared:
        policy.restore(per_source | shared)  # type: ignore[attr-defined]


def _fill(arrays: list[NDArray[Any]], content: bytes) -> None:
    """Fill arrays one after the other with bytes."""
    start = 0
    for array in arrays:
        piece = content[start : start + array.nbytes]
        array[...] = np.frombuffer(piece, dtype=array.dtype).reshape(array.shape)
        start += array.nbytes


def _arrays(policy: Policy, size: int) -> tuple[Arrays, Arrays]:
    """Return the arrays of a policy that have a row for each source, and the others."""
    if hasattr(policy, "state"):
        arrays = {name: np.array(array) for name, array in sorted(policy.state().items())}
        per_source = {n: a for n, a in arrays.items() if a.ndim and len(a) == size}
        return per_source, {n: a for n, a in arrays.items() if n not in per_source}
    if hasattr(policy, "update") or hasattr(policy, "observe"):
        raise ValueError(
            f"policy must have state() and restore() to survive a restart, "
            f"as a {type(policy).__name__} that learns has not"
        )
    return {}, {}
