"""Recall and precision of hubs and of their sources, learnt from what crawls find.

A crawl labels the pings of its source since the last crawl: a ping announced an item that the crawl
found, or it did not. The pings of a source that have labels are always its first ones, so that
labels are independent of when a policy crawls, and learning needs no exploration of pings; a source
that is never crawled is never labelled.

    precision of a hub     (1 + true pings) / (2 + labelled pings)
    recall of a hub        (1 + announced items) / (2 + items found)
    precision of a source  (w p + true pings) / (w + labelled pings),  p that of its hub

All counts fade as exp(-time / memory), between crawls too, so that distrust heals. At a crawl a
source's pings count as at most w of its hub, in the proportion that was true: otherwise one source
about which a liar pings would ruin the trust in all others of the hub.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from analysis.checks import check_file, check_integer, check_kind, check_number, check_positive
from analysis.display import brief
from analysis.ephemeral.signals.guarantees import silence_until_death
from analysis.files import replacing

if TYPE_CHECKING:
    import pandas as pd

MOST_MARKS = 1024
"""Marks that are remembered of a hub's pings of one source between two crawls."""


class _Counts:
    """Numbers that fade, at the time of their last change."""

    __slots__ = ("at", "values")

    def __init__(self, size: int, at: float) -> None:
        self.values, self.at = [0.0] * size, at

    def now(self, time: float, memory: float) -> list[float]:
        """Return the faded numbers."""
        fade = math.exp(-(time - self.at) / memory)
        return [fade * value for value in self.values]

    def add(self, time: float, memory: float, *more: float) -> None:
        """Fade the numbers and add to them."""
        self.values = [old + new for old, new in zip(self.now(time, memory), more, strict=True)]
        self.at = time


@brief
class Reliability:
    """Estimates of what pings are worth, by hub and source.

    Hubs and sources have any names (str). Times are in one unit of your choice, and do not fall
    from call to call.

    Parameters
    ----------
    memory : float
        Time after which a count weighs exp(-1); `math.inf` for counts that stay.
    weight : float
        Pings w that a hub's precision is worth in the estimate of a source's; also the most that a
        source's pings count for its hub at a crawl, if more than one.
    death_rate : float
        Deaths of a hub per unit of time; 0 for hubs that do not die.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> trust = Reliability(memory=60.0)
    >>> for day in range(3):
    ...     _ = trust.observe_ping("hub", "blog", float(day))
    >>> trust.observe_crawl("blog", 3.0, items=2, announced={"hub": 1})
    >>> round(trust.precision("hub", "blog", 3.0), 3), round(trust.recall("hub", 3.0), 3)
    (0.385, 0.5)
    """

    def __init__(
        self, memory: float = math.inf, *, weight: float = 10.0, death_rate: float = 0.0
    ) -> None:
        self.memory = check_number("memory", memory, 0, low_open=True)
        self.weight = check_positive("weight", weight)
        self.death_rate = check_number("death_rate", death_rate, 0, high_open=True)
        self.time = -math.inf
        self._hubs: dict[str, _Counts] = {}  # pings, true, items, announced; pings seen, watched
        self._seen: dict[str, tuple[float, float]] = {}  # first and last ping
        self._pairs: dict[tuple[str, str], _Counts] = {}  # pings, true
        self._waiting: dict[str, dict[str, int]] = {}  # pings by source and hub, since its crawl
        self._marks: dict[tuple[str, str], set[Hashable]] = {}

    def observe_ping(
        self, hub: str, source: str, time: float, mark: Hashable | None = None
    ) -> bool:
        """Count a ping; return whether it is new.

        Parameters
        ----------
        hub, source : str
            Who sent it, and about which source.
        time : float
            Time of receipt, not before that of an earlier call.
        mark : hashable, optional
            What it announces, such as the item's address. A ping with a mark that this hub gave
            since the last crawl of the source is not new and does not count. Of `MOST_MARKS` and
            more marks only the first are remembered.

        Raises
        ------
        ValueError
            Naming the argument, its value and the allowed range.
        """
        time = self._clock(time)
        self._names(hub=hub, source=source)
        marks = self._marks.setdefault((hub, source), set()) if mark is not None else set()
        try:
            repeated = mark in marks
        except TypeError:
            raise ValueError(f"mark must be hashable, got {type(mark).__name__}") from None
        self.time = time
        self._of_hub(hub, time).add(time, self.memory, 0.0, 0.0, 0.0, 0.0, 1.0)
        self._seen[hub] = (self._seen.get(hub, (time, time))[0], time)
        if repeated:
            return False
        if mark is not None and len(marks) < MOST_MARKS:
            marks.add(mark)
        waiting = self._waiting.setdefault(source, {})
        waiting[hub] = waiting.get(hub, 0) + 1
        return True

    def observe_crawl(
        self, source: str, time: float, items: int, announced: Mapping[str, int] | None = None
    ) -> None:
        """Label the pings of a source since its last crawl.

        Parameters
        ----------
        source : str
            The source that was crawled.
        time : float
            When, not before an earlier call.
        items : int
            New items that the crawl found.
        announced : mapping of str to int
            Of these, how many each hub had announced since the last crawl; at most `items`. Hubs
            of the source that are left out announced none; name every hub that serves the source,
            with 0 if need be, for its recall to count the items.

        Raises
        ------
        ValueError
            Naming the argument, its value and the allowed range.
        """
        time = self._clock(time)
        self._names(source=source)
        items = check_integer("items", items, 0)
        check_kind("announced", announced, Mapping, None)
        by_hub = dict(announced or {})
        for hub, number in by_hub.items():
            self._names(hub=hub)
            check_integer(f"announced[{hub!r}]", number, 0, items)
        self.time = time
        waiting = self._waiting.pop(source, {})
        for hub in sorted({*waiting, *by_hub}):
            pings, true = waiting.get(hub, 0), by_hub.get(hub, 0)
            labelled = min(true, pings)
            counts = self._of_hub(hub, time)
            share = min(1.0, max(self.weight, 1.0) / max(pings, 1))
            counts.add(time, self.memory, share * pings, share * labelled, items, true, 0.0)
            pair = self._pairs.setdefault((hub, source), _Counts(2, time))
            pair.add(time, self.memory, pings, labelled)
            self._marks.pop((hub, source), None)

    def precision(self, hub: str, source: str, time: float) -> float:
        """Return the probability that the next ping of a hub about a source is true.

        ValueError as for `observe_ping`. Names that never occurred have the prior's.
        """
        time = self._clock(time)
        self._names(hub=hub, source=source)
        pings, true = self._counts(hub, time)[:2]
        of_hub = (1.0 + true) / (2.0 + pings)
        pair = self._pairs.get((hub, source))
        pings, true = pair.now(time, self.memory) if pair else (0.0, 0.0)
        return (self.weight * of_hub + true) / (self.weight + pings)

    def recall(self, hub: str, time: float) -> float:
        """Return the share of items that a hub announces; 0 while it is taken for dead."""
        time = self._clock(time)
        self._names(hub=hub)
        if not self.alive(hub, time):
            return 0.0
        _, _, items, announced, _ = self._counts(hub, time)
        return (1.0 + announced) / (2.0 + items)

    def alive(self, hub: str, time: float) -> bool:
        """Return whether a hub's silence leaves it more likely alive than dead."""
        time = self._clock(time)
        self._names(hub=hub)
        if self.death_rate == 0 or hub not in self._seen:
            return True
        first, last = self._seen[hub]
        # Counts that fade were collected over a fading time, too.
        watched = -self.memory * math.expm1(-(time - first) / self.memory)
        watched = time - first if math.isinf(self.memory) else watched
        rate = self._counts(hub, time)[4] / watched if watched > 0 else math.inf
        return math.isinf(rate) or time - last <= silence_until_death(rate, self.death_rate)

    def waiting(self, source: str) -> dict[str, int]:
        """Return the pings of each hub about a source since its last crawl."""
        self._names(source=source)
        return dict(self._waiting.get(source, {}))

    def table(self, time: float) -> pd.DataFrame:
        """Return a row a hub: pings labelled, recall, precision, alive, and sources."""
        import pandas as pd

        time = self._clock(time)
        sources: dict[str, int] = {}
        for hub, _ in self._pairs:
            sources[hub] = sources.get(hub, 0) + 1
        rows = [
            {
                "hub": hub,
                "sources": sources.get(hub, 0),
                "labelled pings": self._counts(hub, time)[0],
                "precision": (1.0 + self._counts(hub, time)[1])
                / (2.0 + self._counts(hub, time)[0]),
                "recall": self.recall(hub, time),
                "alive": self.alive(hub, time),
            }
            for hub in sorted(self._hubs)
        ]
        columns = ["hub", "sources", "labelled pings", "precision", "recall", "alive"]
        return pd.DataFrame(rows, columns=columns)

    def save(self, path: str | PathLike[str]) -> None:
        """Write all estimates to a file, for `load`; an older file is replaced atomically."""
        with replacing(path) as file:
            file.write(json.dumps(self.state()).encode())

    def state(self) -> dict[str, Any]:
        """Return all estimates, for `restored`, as JSON can hold them.

        Marks are not kept: a ping that is repeated after a restart counts again.
        """
        return {
            "reliability": 1,
            "settings": [_text(self.memory), self.weight, self.death_rate, _text(self.time)],
            "hubs": [
                [hub, *self._seen.get(hub, (counts.at, counts.at)), counts.at, *counts.values]
                for hub, counts in self._hubs.items()
            ],
            "pairs": [[*pair, counts.at, *counts.values] for pair, counts in self._pairs.items()],
            "waiting": [
                [source, hub, number]
                for source, by_hub in self._waiting.items()
                for hub, number in by_hub.items()
            ],
        }

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Reliability:
        """Return the estimates that were saved; ValueError if the file does not hold any."""
        with open(check_file("path", path), "rb") as file:
            content = file.read()
        try:
            return cls.restored(json.loads(content))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} must be a file that `save` wrote: {error}") from error

    @classmethod
    def restored(cls, state: Any) -> Reliability:
        """Return the estimates that `state` returned; ValueError if it is no such state."""
        try:
            return cls._restored(state)
        except (TypeError, KeyError, OverflowError) as error:
            raise ValueError(f"state must be what `state` returned: {error!r}") from error

    @classmethod
    def _restored(cls, state: Any) -> Reliability:
        if state["reliability"] != 1:
            raise ValueError("its format is unknown")
        memory, weight, death_rate, time = state["settings"]
        self = cls(float(memory), weight=weight, death_rate=death_rate)
        self.time = check_number("time", float(time), high_open=True)
        for hub, first, last, at, *values in state["hubs"]:
            self._names(hub=hub)
            self._hubs[hub] = self._read(at, values, 5)
            self._seen[hub] = (self._past(first), self._past(last))
        for hub, source, at, *values in state["pairs"]:
            self._names(hub=hub, source=source)
            self._pairs[hub, source] = self._read(at, values, 2)
        for source, hub, number in state["waiting"]:
            self._names(hub=hub, source=source)
            self._waiting.setdefault(source, {})[hub] = check_integer("waiting", number, 1)
        return self

    def _read(self, at: Any, values: list[Any], size: int) -> _Counts:
        counts = _Counts(size, self._past(at))
        if len(values) != size:
            raise ValueError(f"counts must be {size} numbers, got {len(values)}")
        counts.values = [check_number("counts", value, 0, high_open=True) for value in values]
        return counts

    def _past(self, time: Any) -> float:
        return check_number("time", time, high=self.time, low_open=True)

    def _counts(self, hub: str, time: float) -> list[float]:
        counts = self._hubs.get(hub)
        return counts.now(time, self.memory) if counts else [0.0] * 5

    def _of_hub(self, hub: str, time: float) -> _Counts:
        return self._hubs.setdefault(hub, _Counts(5, time))

    def _clock(self, time: float) -> float:
        return check_number("time", time, self.time, low_open=math.isinf(self.time), high_open=True)

    @staticmethod
    def _names(**names: str) -> None:
        for argument, name in names.items():
            check_kind(argument, name, str)


def _text(number: float) -> float | str:
    """Return a number as JSON can hold it."""
    return number if math.isfinite(number) else str(number)
