"""A timetable for crawling, and a certificate of how near it is to the best of all policies.

Every source has one constant gap from a grid, or is never crawled; at most one source alternates
between two neighbouring gaps. `timetable` finds gaps and phases; what the timetable at hand can
lose at most follows from `guarantees.bound_at_price`.

*Construction of a timetable: gaps from a grid, phases from a packing, and a bound.* The gaps solve
the relaxed problem over a grid (`analysis.ephemeral.timetables.gaps`), phases come from a packing
in which no epoch has more crawls than the budget (`analysis.ephemeral.timetables.packing`), and of
several grids the best is taken.

On the powers of two the relaxed problem is attained exactly, so that no policy earns more than
1/(1 - 0.0378209) - 1 = 3.94% more, whatever the sources and the budget.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count
from os import PathLike

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import check_integer, check_kind, check_whole
from analysis.display import brief
from analysis.ephemeral.policies import Arms, Observation, check_ages
from analysis.ephemeral.relaxed import age_limits, relaxed_problem
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.gaps import best_power_of_two, check_odd_parts, choose, grids
from analysis.ephemeral.timetables.guarantees import bound_at_price
from analysis.ephemeral.timetables.hosts import (
    Hosts,
    bound_with_hosts,
    number_hosts,
    place_on_hosts,
    prices,
)
from analysis.ephemeral.timetables.packing import (
    cron_line,
    disjoint,
    entries_of,
    insert,
    keeps_ages,
    reward_of_entries,
)


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Timetable:
    """The sources crawled at each epoch, for ever, and a bound on the reward of every policy.

    Each entry is due at the epochs t with t = phase modulo gap. A source has one entry, or none if
    it is never crawled; at most one source (with hosts, one of each host) has several, whose epochs
    together are two neighbouring gaps apart. There is no state but the number of the epoch.

    Attributes
    ----------
    sources : Sources
        The N sources.
    budget : int
        Crawls per epoch that are never exceeded.
    source, gap, phase, channel : ndarray of int, shape (E,)
        One row an entry: number of its source, epochs between two crawls, first epoch, and which of
        the `budget` crawls of an epoch it takes.
    average_reward : float
        Reward per epoch, in the long run.
    bound : float
        No policy earns more in the long run, see `bound_at_price`.
    price : float
        The price of a crawl at which that bound is found.
    min_age, max_age : ndarray, shape (N,)
        Limits within which the gaps of each source lie; `bound` is for policies that keep them.
    grid : str
        Name of the grid of gaps.
    hosts : Hosts, optional
        Hosts whose crawls lie apart; `bound` is for policies that keep them apart.
    """

    sources: Sources
    budget: int
    source: Ints
    gap: Ints
    phase: Ints
    channel: Ints
    average_reward: float
    bound: float
    price: float
    min_age: Floats
    max_age: Floats
    grid: str
    hosts: Hosts | None = None

    def __len__(self) -> int:
        return self.source.size

    def __str__(self) -> str:
        earned = (
            f"{len(self.sources):,} sources, {self.budget:,} crawls an epoch: earns "
            f"{self.average_reward:.6g}, no policy more than {self.bound:.6g} "
            f"({self.margin:.4%} more; price {self.price:.6g}). Gaps: {self.grid}."
        )
        return f"{earned}\n{self.to_frame().to_string(index=False, max_rows=20)}"

    @property
    def margin(self) -> float:
        """Largest share by which any policy can earn more than the timetable does.

        0 where there is nothing to earn; inf where the timetable alone earns nothing.
        """
        if self.average_reward <= 0.0:
            return np.inf if self.bound > 0.0 else 0.0
        # Rounding can lift a reward that is the bound above it.
        return max(0.0, self.bound / self.average_reward - 1.0)

    @cached_property
    def _by_gap(self) -> list[tuple[int, Ints, Ints]]:
        """Return each different gap with the phases of its entries, rising, and their sources."""
        order = np.lexsort((self.phase, self.gap))
        different, first = np.unique(self.gap[order], return_index=True)
        parts = np.split(order, first[1:])
        return [
            (int(gap), self.phase[entries], self.source[entries])
            for gap, entries in zip(different, parts, strict=False)  # no entry, one empty part
        ]

    def crawls(self, epoch: int) -> Ints:
        """Return the sources that are crawled at an epoch, in rising order.

        Parameters
        ----------
        epoch : int
            Number of the epoch, not negative.

        Returns
        -------
        ndarray of int
        """
        epoch = check_integer("epoch", epoch, 0)
        due = [np.empty(0, dtype=np.int64)]
        for gap, phase, source in self._by_gap:
            first, last = np.searchsorted(phase, [epoch % gap, epoch % gap + 1])
            due.append(source[first:last])
        return np.sort(np.concatenate(due))

    def due(self, first: int, end: int) -> tuple[Ints, Ints]:
        """Return the crawls of the epochs from `first` to before `end`.

        Parameters
        ----------
        first, end : int
            Numbers of epochs.

        Returns
        -------
        epoch, entry : ndarray of int
            Epoch and number of the entry of each crawl, by entry and then by epoch.
        """
        due = first + (self.phase - first) % self.gap
        count = np.maximum(0, -(-(end - due) // self.gap)).astype(np.intp)
        entry = np.repeat(np.arange(len(self)), count)
        turn = np.arange(entry.size) - np.repeat(np.cumsum(count) - count, count)
        return due[entry] + turn * self.gap[entry], entry

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the sources of this epoch, as a policy for `simulate` and its like."""
        check_ages(observation, len(self.sources))
        budget = check_whole("budget", budget, self.budget)
        return self.crawls(observation.epoch)

    def verify(self) -> bool:
        """Check from the entries alone what the timetable promises, for ever.

        Returns
        -------
        bool
            Whether no two entries of one of the `budget` channels are ever due together; the
            reward is that of the gaps between the crawls of each source; crawls of a host lie
            apart; and the bound follows from the price.
        """
        placed = (
            self.channel.size == 0 or 0 <= self.channel.min() <= self.channel.max() < self.budget
        )
        within = bool(((self.phase >= 0) & (self.phase < self.gap)).all())
        numbered = bool(((self.source >= 0) & (self.source < len(self.sources))).all())
        if not (placed and within and numbered and disjoint(self.channel, self.gap, self.phase)):
            return False
        reward = reward_of_entries(self.sources, self.source, self.gap, self.phase)
        return bool(
            self._keeps_limits()
            and np.isclose(reward, self.average_reward, rtol=1e-9, atol=0.0)
            and self._bound_of_prices() <= self.bound * (1 + 1e-9)
        )

    def _bound_of_prices(self) -> float:
        """Return the bound that follows from the prices."""
        if self.hosts is not None:
            return bound_with_hosts(self.sources, self.budget, self.price, self.hosts)
        limits = {"min_age": self.min_age, "max_age": self.max_age}
        return bound_at_price(self.sources, self.budget, self.price, **limits)

    def _keeps_limits(self) -> bool:
        """Return whether gaps lie in the limits of each source, and crawls of a host apart."""
        if self.hosts is not None and not self.hosts.keep_apart(self.source, self.gap, self.phase):
            return False
        return keeps_ages(self.min_age, self.max_age, self.source, self.gap)

    def to_frame(self) -> pd.DataFrame:
        """Return one row an entry: name of the source, gap, phase, channel."""
        names = self.sources.names or ()
        columns = {"gap": self.gap, "phase": self.phase, "channel": self.channel}
        return pd.DataFrame({"name": [names[i] for i in self.source], **columns})

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write `to_frame` as a CSV file."""
        self.to_frame().to_csv(path, index=False, lineterminator="\n")

    def dates(
        self, start: pd.Timestamp, seconds: int, epochs: int, urls: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """List the crawls of some epochs with their dates, for schedulers that take dates.

        Epochs are numbered from 1970-01-01 00:00 UTC, so that every list of the same timetable
        continues the last one.

        Parameters
        ----------
        start : pandas.Timestamp
            A date with a time zone; the first epoch listed is the first that begins then or later.
        seconds : int
            Length of an epoch, at least 1.
        epochs : int
            Number of epochs, at least 1.
        urls : sequence of str, optional
            Names of the sources in the list; those of `sources` by default.

        Returns
        -------
        pandas.DataFrame
            Columns epoch, date (UTC) and name; one row a crawl, in the order of dates.

        Raises
        ------
        ValueError
            Naming the argument, its value and the allowed range.
        """
        if start.tzinfo is None:
            raise ValueError(f"start must have a time zone, got {start}")
        seconds = check_integer("seconds", seconds, 1)
        epochs = check_integer("epochs", epochs, 1)
        names = self._names(urls)
        first = -int(-start.timestamp() // seconds)
        epoch, entry = self.due(first, first + epochs)
        order = np.lexsort((self.source[entry], epoch))
        return pd.DataFrame(
            {
                "epoch": epoch[order],
                "date": pd.to_datetime(epoch[order] * seconds, unit="s", utc=True),
                "name": [names[i] for i in self.source[entry[order]]],
            }
        )

    def periods(self, seconds: int = 1, urls: Sequence[str] | None = None) -> pd.DataFrame:
        """List the entries for schedulers that take a period and a phase.

        A source is fetched at the times that are the phase modulo the period, counted from
        1970-01-01 00:00 UTC like the epochs of `dates`.

        Parameters
        ----------
        seconds : int
            Length of an epoch, at least 1; with 1, periods and phases are in epochs.
        urls : sequence of str, optional
            Names of the sources in the list; those of `sources` by default.

        Returns
        -------
        pandas.DataFrame
            Columns period, phase (both in seconds) and url; one row an entry.

        Raises
        ------
        ValueError
            Naming the argument, its value and the allowed range.

        Examples
        --------
        >>> from analysis.ephemeral import four_sources, timetable
        >>> print(timetable(four_sources(), 1).periods(3600).to_csv(index=False))
        period,phase,url
        7200,0,1
        7200,3600,2
        <BLANKLINE>
        """
        seconds = check_integer("seconds", seconds, 1, 2**22)
        names = self._names(urls)
        return pd.DataFrame(
            {
                "period": self.gap * seconds,
                "phase": self.phase * seconds,
                "url": [names[i] for i in self.source],
            }
        )

    def crontab(self, command: str, minutes: int = 60, urls: Sequence[str] | None = None) -> str:
        r"""Write the timetable for cron, one line an entry.

        Parameters
        ----------
        command : str
            Command that fetches a source; its name follows, quoted for the shell.
        minutes : int
            Length of an epoch, at least 1.
        urls : sequence of str, optional
            Names of the sources in the lines; those of `sources` by default.

        Returns
        -------
        str
            Lines of a crontab.

        Examples
        --------
        >>> from analysis.ephemeral import four_sources, timetable
        >>> print(timetable(four_sources(), 1).crontab("fetch").splitlines()[0])
        0 * * * * [ $(( $(date +\%s) / 3600 \% 2 )) -eq 0 ] && fetch 1
        """
        minutes = check_integer("minutes", minutes, 1)
        names = self._names(urls)
        return "".join(
            cron_line(names[source], gap, phase, command, minutes)
            for source, gap, phase in zip(self.source, self.gap, self.phase, strict=True)
        )

    def _names(self, urls: Sequence[str] | None) -> Sequence[str]:
        """Return `urls`, one name a source, or the names of `sources`; raise naming `urls`."""
        names = self.sources.names if urls is None else urls
        if names is None or len(names) != len(self.sources):
            raise ValueError(f"urls must have {len(self.sources)} entries, one a source")
        return names

    def without(self, source: int) -> Timetable:
        """Return the timetable without one source; all others keep their epochs.

        Parameters
        ----------
        source : int
            Number of the source; the numbers after it fall by one.

        Returns
        -------
        Timetable
            Its bound is that of the same price for the remaining sources.
        """
        source = check_integer("source", source, 0, len(self.sources) - 1)
        if len(self.sources) <= max(self.budget, 1):
            raise ValueError(f"source must leave at least {self.budget} others, one a crawl")
        others = np.delete(np.arange(len(self.sources)), source)
        entry = np.flatnonzero(self.source != source)
        number = self.source[entry] - (self.source[entry] > source)
        names = self.sources.names or ()
        remaining = replace(self.sources.subset(others), names=[names[i] for i in others.tolist()])
        limits = (self.min_age[others], self.max_age[others])
        entries = (number, self.gap[entry], self.phase[entry], self.channel[entry])
        return self._with_entries(remaining, limits, *entries)

    def with_source(self, added: Sources, gap: int | None = None) -> Timetable:
        """Return the timetable with one more source, in the part of the budget that is free.

        If no class of its gap is free, entries of longer gaps move, each of which has one irregular
        gap, once. Where a source that alternates between two gaps would have to move in parts, it
        keeps to the longer of its gaps instead.

        Parameters
        ----------
        added : Sources
            One source with a cost of 1; it gets the next number, and a number for a name if its own
            is taken.
        gap : int, optional
            A power of two; by default the best one at the price of the timetable, or the next one
            that fits. A source that is not worth that price is never crawled.

        Returns
        -------
        Timetable
            Its bound is that of the same price for all sources.

        Raises
        ------
        ValueError
            If the timetable has other gaps than powers of two or the budget has no room; make a
            new timetable then.
        """
        check_kind("added", added, Sources)
        if len(added) != 1 or added.cost[0] != 1.0 or added.period != self.sources.period:
            raise ValueError("added must be one source with a cost of 1 and the same period")
        best = best_power_of_two(added, self.price) if gap is None else _check_power_of_two(gap)
        room = self.budget - float((1.0 / self.gap).sum())
        if best * room < 1.0:
            if gap is not None or (best and room <= 0.0):
                raise ValueError(f"gap must fit in what is left of the budget, {room:.6g}, got "
                                 f"1/{best}")  # fmt: skip
            best = max(best, 1 << int(np.ceil(-np.log2(room)))) if best else 0
        joined = Sources(
            np.append(self.sources.arrival_rate, added.arrival_rate),
            np.append(self.sources.mean_utility, added.mean_utility),
            np.append(self.sources.decay_rate, added.decay_rate),
            period=self.sources.period,
            names=_append_name(self.sources.names or (), (added.names or ("",))[0]),
        )
        entries = (self.source, self.gap, self.phase, self.channel)
        if best:
            channel, phase = insert(self.channel, self.gap, self.phase, self.budget, best)
            number, gaps = np.append(self.source, len(joined) - 1), np.append(self.gap, best)
            entries = (number, gaps, phase, channel)
        limits = (np.append(self.min_age, 1.0), np.append(self.max_age, np.inf))
        wider = self._with_entries(joined, limits, *entries)
        if np.isnan(wider.average_reward):  # entries of one source have moved apart
            return self._with_one_entry_a_source().with_source(added, gap)
        return wider

    def _with_one_entry_a_source(self) -> Timetable:
        """Return the timetable in which each source has its entry of the least gap alone."""
        order = np.lexsort((self.gap, self.source))
        first = np.sort(order[np.unique(self.source[order], return_index=True)[1]])
        entries = (self.source[first], self.gap[first], self.phase[first], self.channel[first])
        return self._with_entries(self.sources, (self.min_age, self.max_age), *entries)

    def _with_entries(
        self,
        sources: Sources,
        limits: tuple[Floats, Floats],
        source: Ints,
        gap: Ints,
        phase: Ints,
        channel: Ints,
    ) -> Timetable:
        """Return other entries for other sources, with their reward and the bound at the price."""
        if self.hosts is not None:
            raise ValueError("a timetable with hosts cannot change its sources: make a new one")
        least, most = limits
        return replace(
            self, sources=sources, source=source, gap=gap, phase=phase, channel=channel,
            min_age=least, max_age=most,
            average_reward=reward_of_entries(sources, source, gap, phase),
            bound=bound_at_price(sources, self.budget, self.price, min_age=least, max_age=most),
        )  # fmt: skip


def _check_power_of_two(gap: int) -> int:
    """Return a gap that is a power of two up to 2^40, or raise naming `gap`."""
    gap = check_integer("gap", gap, 1, 2**40)
    if gap & (gap - 1):
        raise ValueError(f"gap must be a power of two, got {gap}")
    return gap


def _append_name(names: Sequence[str], name: str) -> list[str]:
    """Return names and one more, or a number if there is that one already."""
    used = set(names)
    numbers = map(str, count(len(used) + 1))
    return [*names, next(n for n in chain([name], numbers) if n not in used)]


# Construction of a timetable: gaps from a grid, phases from a packing, and a bound


def timetable(
    sources: Sources,
    budget: int,
    *,
    min_age: ArrayLike = 1,
    max_age: ArrayLike = np.inf,
    odd_parts: Sequence[int] | None = None,
    hosts: Sequence[Hashable] | None = None,
    host_gap: int = 1,
) -> Timetable:
    """Choose gaps and phases for all sources, and bound the reward of every policy.

    Parameters
    ----------
    sources : Sources
        N sources with costs of 1.
    budget : int or whole float
        Crawls per epoch, from 1 to N.
    min_age, max_age : array_like, shape (N,) or scalar
        Least and greatest number of epochs between two crawls of a source; the greatest may be
        ``inf``, for a source that may be left alone.
    odd_parts : sequence of int, optional
        Gaps are m 2^j with m among these; (1,) for powers of two alone. By default several
        grids are tried and the best is taken.
    hosts : sequence of hashable, shape (N,), optional
        Host of each source; gaps are then powers of two, each source that is crawled has one.
    host_gap : int
        Least number of epochs between two crawls of a host, at least 1; 1 without hosts.

    Returns
    -------
    Timetable

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range. Costs other than 1, maximal ages
        for which no grid has gaps that fit together, and limits of ages or odd parts beside hosts
        are refused.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> table = timetable(four_sources(), 2)
    >>> table.gap.tolist(), table.phase.tolist()
    ([1, 2, 8, 4, 8], [0, 0, 1, 3, 5])
    >>> f"no policy earns more than {table.margin:.2%} above it"
    'no policy earns more than 0.15% above it'
    """
    check_kind("sources", sources, Sources)
    budget = check_whole("budget", budget, 1, len(sources))
    if (sources.cost != 1.0).any():
        raise ValueError("sources must have costs of 1 for a timetable: with other costs whether "
                         "phases exist is an NP-hard question")  # fmt: skip
    limits = age_limits(sources, min_age, max_age)
    host_gap = check_integer("host_gap", host_gap, 1, 2**20 if hosts is not None else 1)
    if hosts is not None:
        if (limits[0] > 1).any() or np.isfinite(limits[1]).any() or odd_parts is not None:
            raise ValueError("hosts must come without min_age, max_age and odd_parts")
        return _on_hosts(sources, budget, hosts, host_gap)
    relaxed = relaxed_problem(sources, budget, min_age=min_age, max_age=max_age)
    if odd_parts is not None:
        odd_parts = check_odd_parts(odd_parts)
    tried = [choose(sources, budget, g, *limits) for g in grids(odd_parts, budget, limits[0])]
    choices = [choice for choice in tried if choice is not None]
    if not choices:
        raise ValueError("max_age must leave room for gaps of the grid within the budget")
    best = max(choices, key=lambda choice: choice.average_reward)
    # Least gaps can leave a part of the budget that is worth nothing.
    price = relaxed.subsidy if (1.0 / limits[0]).sum() > budget else 0.0
    return Timetable(
        sources, budget, *entries_of(best, budget), best.average_reward, relaxed.bound, price,
        *limits, best.grid.name,
    )  # fmt: skip


def _on_hosts(sources: Sources, budget: int, hosts: Sequence[Hashable], host_gap: int) -> Timetable:
    """Return a timetable of powers of two in which crawls of a host lie apart."""
    number = number_hosts(hosts, len(sources))
    price, priced = prices(sources, budget, number, host_gap)
    bound = bound_with_hosts(sources, budget, price, priced)
    source, gap, phase, channel = place_on_hosts(sources, budget, price, priced)
    limits = np.ones(len(sources)), np.full(len(sources), np.inf)
    grid = f"powers of two, crawls of a host {host_gap} epochs apart"
    earned = reward_of_entries(sources, source, gap, phase)
    return Timetable(
        sources, budget, source, gap, phase, channel, earned, bound, price, *limits, grid, priced
    )
