"""An index policy for millions of sources.

At every epoch the policy crawls in order of index until the budget is spent: of Whittle's index
(Theorem 1 of the report), or of the Lagrangian index plus the price of a crawl, which rises with
the age as well and is never negative. It ranks only the sources that are due under a threshold
theta (see `calendar`) and accepts the result only if the lowest index crawled is above theta;
otherwise the calendar is sorted anew under a lower threshold and the choice repeated. So the
crawled sources are those of a full sort at every epoch, also with costs, ties and budgets that
change.

The rules:

* Sources below their minimal age (politeness: a crawl delay) are never crawled.
* If pages have a price, the index of a source is at most the net value of its best crawl (see
  `register`), and a source whose crawls are worth less than their pages waits for its maximal age.
* If pages join the queue of an engine, the index of a source is that of the value of its pages when
  they are indexed, at the length of the queue that was set last.
* Sources at their maximal age come first, the longest overdue before the others.
* The rest come in order of index. Ties, among the overdue too, go to the smaller number.
* A source whose cost exceeds the whole budget of the epoch is passed over. Otherwise crawling stops
  at the first source that costs more than the rest of the budget.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), section 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis import missing_extra
from analysis.arrays import Floats
from analysis.checks import (
    check_array,
    check_choice,
    check_integer,
    check_kind,
    check_number,
    check_positive,
)
from analysis.display import brief
from analysis.ephemeral.lagrangian import TUNED_EVERY, TUNED_STEP
from analysis.ephemeral.lagrangian import crawl_price as solve_for_price
from analysis.ephemeral.relaxed import due_ages
from analysis.ephemeral.scheduler import calendar as buckets
from analysis.ephemeral.scheduler import epoch as epoch_kernel
from analysis.ephemeral.scheduler.epoch import MARGIN, ROOM, Choice, Threshold, choose
from analysis.ephemeral.scheduler.register import Now, Register, checked_engine, spread_ages
from analysis.ephemeral.scheduler.register import limits as check_limits
from analysis.ephemeral.scheduler.state import read_state, write_state
from analysis.ephemeral.sources import Sources

if TYPE_CHECKING:
    import pandas as pd

Numbers = NDArray[np.int64]
NO_MAXIMAL_AGES = np.empty(0, np.int32)
PRIORITIES = ("whittle", "lagrangian")
"""Indices by which sources are ranked."""
IDLE = 1e-3
"""Relative change of a tuned price that is not worth sorting the calendar anew."""


@brief
class Scheduler:
    """Crawl sources in order of Whittle index, in time that grows with the number of crawls.

    Sources are numbered from 0 in the order in which they are added. `add` assigns new numbers, or
    those of removed sources on request.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Cost that an epoch may spend; the number of crawls if every crawl costs 1.
    ages : int or array_like of int, shape (N,), optional
        Epochs since the last crawl of each source, 1 at the epoch that follows it. By default
        `register.spread_ages` spreads them evenly over the epochs in which the sources fall due:
        sources that begin at one age can stay in step, at a loss, for as long as anyone followed.
    min_age : int or array_like of int, shape (N,)
        Politeness: least number of epochs between two crawls of a source.
    max_age : int or array_like of int, shape (N,), optional
        Age from which on a source comes before all others.
    precision : {"double", "single"}
        How rates are stored. In single precision a source takes 20 bytes instead of 28; the crawls
        are those of the index policy for sources whose u*/C and mu T are rounded to it.
    price : float, optional
        Price of a page in units of content, if a crawl takes all pages; without it no price can be
        set later. Takes 16 bytes a source.
    index_rate : float, optional
        Pages that an engine indexes per unit of time, first come first served, with no limit on the
        queue. A page has its value when it is indexed (`register.queued_sources`). Takes 16 bytes a
        source.
    queue : int
        Pages waiting at the engine; above 0 with an `index_rate` only.
    priority : {"whittle", "lagrangian"}
        The index by which sources are ranked. The Lagrangian index takes 8 bytes a source, and
        neither a `price` of pages nor an `index_rate`.
    crawl_price : float, optional
        lambda of the Lagrangian index, for each unit of crawl cost; by default
        `analysis.ephemeral.crawl_price` for the sources and the budget at the start.
    tune_price : bool
        Let the price of a crawl follow sources and budget: after every 50 epochs it moves towards
        the mean of the marginal Whittle indices, as in `TunedLagrangianPolicy`, unless it is
        within a thousandth of where it would move. Then the calendar is sorted anew.

    Attributes
    ----------
    epoch : int
        Number of the next epoch, from 0.
    budget : float
        May be set at any time. If it is less than the maximal ages require, it is spent on the
        longest overdue.
    price, queue : float, int
        May be set at any time if a price, or an `index_rate`, was given; the calendar is then
        sorted anew.
    crawl_price : float
        May be set at any time with the priority "lagrangian", None to solve for it anew; the
        calendar is then sorted anew. Sources that are added or changed leave it as it is,
        unless it is tuned.
    marginal_index : float
        Index, or Lagrangian index plus price, at which the budget of the last crawl was spent;
        negative if it was not.

    Raises
    ------
    ValueError
        If an argument is out of range, or the maximal ages require more than the budget.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> scheduler = Scheduler(four_sources(), budget=1)
    >>> [scheduler.crawl()[0].tolist() for _ in range(4)]
    [[0], [1], [0], [1]]
    """

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init__(
        self,
        sources: Sources,
        budget: float,
        ages: int | ArrayLike | None = None,
        *,
        min_age: int | ArrayLike = 0,
        max_age: int | ArrayLike | None = None,
        precision: str = "double",
        price: float | None = None,
        index_rate: float | None = None,
        queue: int = 0,
        priority: str = "whittle",
        crawl_price: float | None = None,
        tune_price: bool = False,
    ) -> None:
        check_kind("sources", sources, Sources)
        check_kind("tune_price", tune_price, bool)
        engine = checked_engine(index_rate, queue)
        price = None if price is None else check_number("price", price, 0, high_open=True)
        check_choice("precision", precision, tuple(buckets.PRECISIONS))
        self.budget = check_positive("budget", budget)
        self.epoch, self.marginal_index = 0, np.nan
        check_choice("priority", priority, PRIORITIES)
        if priority == "whittle" and crawl_price is not None:
            raise ValueError("crawl_price must be None unless the priority is 'lagrangian'")
        if priority == "whittle" and tune_price:
            raise ValueError("tune_price must be False unless the priority is 'lagrangian'")
        if priority == "lagrangian" and (price is not None or engine is not None):
            raise ValueError(
                "priority must be 'whittle' where pages have a price or join a queue, got "
                "'lagrangian'"
            )
        if priority == "lagrangian":
            crawl_price = solved_price(sources, self.budget, crawl_price)
        self._threshold = Threshold(margin=_margin(sources, crawl_price))
        self._register = Register(precision, sources.cost[:1], price, engine, crawl_price)
        self._ranked = epoch_kernel.Ranked()
        # Sum and number of the marginal Whittle indices since the last price, if it is tuned.
        self._marginal = (0.0, 0) if tune_price else None
        self.add(sources, ages, min_age=min_age, max_age=max_age)

    @property
    def price(self) -> float:
        """Price of a page; 0 if none was given."""
        return self._register.price

    @price.setter
    def price(self, price: float) -> None:
        self._register.set_price(price, self._now)

    @property
    def queue(self) -> int:
        """Pages waiting at the engine; 0 without an engine."""
        return self._register.queue

    @queue.setter
    def queue(self, queue: int) -> None:
        self._register.set_queue(queue, self._now)

    @property
    def crawl_price(self) -> float:
        """Price of a crawl in the Lagrangian index; 0 if sources rank by Whittle's."""
        return self._register.crawl_price or 0.0

    @crawl_price.setter
    def crawl_price(self, price: float | None) -> None:
        if self._register.crawl_price is None:
            raise ValueError("crawl_price needs a scheduler of the priority 'lagrangian'")
        if price is None:
            price = solved_price(self._register.as_sources(), self.budget, None)
        self._register.set_crawl_price(price, self._now)
        if self._marginal is not None:
            self._marginal = 0.0, 0

    @property
    def _now(self) -> Now:
        return Now(self.epoch, self.threshold)

    @property
    def threshold(self) -> float:
        """Least index of the sources that are ranked at an epoch, adapted by the scheduler."""
        return self._threshold.level

    @property
    def rebuilds(self) -> int:
        """Number of times that the calendar was sorted anew."""
        return self._threshold.rebuilds

    def __len__(self) -> int:
        return self._register.size

    @property
    def ages(self) -> Numbers:
        """Epochs since the last crawl of each source, by number; 0 where it was removed."""
        entries = self._register.entries()
        ages = np.zeros(self._register.total, dtype=np.int64)
        ages[entries["number"]] = self.epoch - entries["last"]
        return ages

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        return self._register.nbytes + self._ranked.nbytes

    def crawl(self, budget: float | None = None, *, floor: float = 0.0) -> tuple[Numbers, Floats]:
        """Crawl the sources of this epoch, and advance to the next.

        Parameters
        ----------
        budget : float, optional
            Budget of this epoch alone, instead of `self.budget`.
        floor : float
            Sources of a smaller index are not crawled in this epoch, unless they are overdue.

        Returns
        -------
        sources : ndarray of int
            Numbers of the crawled sources, in no particular order.
        expected_rewards : ndarray
            Expected content of each at its age.

        Raises
        ------
        ValueError
            If the budget or the floor is negative or not finite.
        """
        budget = self.budget if budget is None else budget
        budget = check_number("budget", budget, 0, high_open=True)
        floor = check_number("floor", floor, 0, high_open=True)
        calendar, cost, limits = self._register.calendar, self._register.cost, self._register.limits
        ranked, want, room = self._ranked, budget, budget * ROOM
        cut, tie, count = self._select(budget, floor)
        while self._threshold.above(max(lowest := self._lowest(cut, tie), floor)):
            want *= 1.3
            if self.threshold == 0 or not self._threshold.lower(
                want, room, calendar, self.epoch, cost, limits
            ):
                break  # all are ranked, cost more than the budget, or are below their minimal age
            cut, tie, count = self._select(budget, floor)
        self.marginal_index = cut
        self._threshold.follow(max(lowest, floor), count, ranked.number.size, self.epoch)
        price = self._tuned_price(cut, tie)
        numbers, rewards = np.empty(count, np.int64), np.empty(count)
        epoch_kernel.settle(
            calendar, self.epoch, self.threshold, cut, tie, limits,
            ranked.rank, ranked.content, numbers, rewards,
        )  # fmt: skip
        rewards *= cost[numbers] if cost.size > 1 else cost[0]
        self.epoch += 1
        if price is not None:
            # Near the margin indices move as the price does: a lower one would sort twice.
            self._threshold.level *= min(1.0, price / self.crawl_price)
            self.crawl_price = price
        return numbers, rewards

    def demand(self, subsidy: ArrayLike, *, most_cost: float = np.inf) -> Any:
        """Return the cost of all sources that may be crawled with an index of at least `subsidy`.

        Parts of a crawler with a common multiplier use it. Sources below their minimal age do not
        count. A source at its maximal age counts by its index, as all others do, so that the demand
        never increases with the subsidy.

        Parameters
        ----------
        subsidy : float or array_like
            Not negative.
        most_cost : float
            Sources that cost more do not count.

        Returns
        -------
        float or ndarray
            One cost for each subsidy.

        Raises
        ------
        ValueError
            If a subsidy or the cost is negative or not a number.
        """
        subsidies = check_array("subsidy", subsidy, 0)
        most_cost = check_number("most_cost", most_cost, 0)
        levels, position = np.unique(subsidies.ravel(), return_inverse=True)
        calendar, cost, limits = self._register.calendar, self._register.cost, self._register.limits
        if levels.size and self._threshold.above(levels[0]):
            totals, _ = epoch_kernel.demand(calendar, self.epoch, levels, cost, limits, most_cost)
        else:
            self._ranked.fill(calendar, self.epoch, limits, NO_MAXIMAL_AGES, len(self))
            totals = self._ranked.demand(levels, cost, most_cost)
        demands = totals[position.ravel()].reshape(subsidies.shape)
        return demands if demands.ndim else float(demands)

    def reserve(self, count: int) -> None:
        """Allocate memory for `count` sources in all, so that adding them copies nothing."""
        self._register.reserve(check_integer("count", count, 0))

    def add(
        self,
        sources: Sources,
        ages: int | ArrayLike | None = None,
        *,
        min_age: int | ArrayLike = 0,
        max_age: int | ArrayLike | None = None,
        numbers: ArrayLike | None = None,
    ) -> Numbers:
        """Add sources, or removed sources again.

        Parameters
        ----------
        sources : Sources
            The sources.
        ages, min_age, max_age
            As in the class.
        numbers : array_like of int, optional
            Numbers of removed sources, to be assigned to these; new ones by default.

        Returns
        -------
        ndarray of int
            The numbers of the sources.

        Raises
        ------
        ValueError
            If an argument is out of range, a number is in use or was never assigned, or the maximal
            ages require more than the budget.
        """
        check_kind("sources", sources, Sources)
        if ages is None:
            check_limits(min_age, max_age, len(sources))  # refuses wrong ones by name
            level = self.marginal_index
            subsidy = level if 0 < level < epoch_kernel.OVERDUE else None
            ages = spread_ages(sources, self.budget, subsidy=subsidy, max_age=max_age)
        return self._register.add(sources, ages, min_age, max_age, numbers, self.budget, self._now)

    def remove(self, numbers: ArrayLike) -> None:
        """Remove sources, by number.

        Raises
        ------
        ValueError
            If there is no such source, or a number occurs twice.
        """
        self._register.remove(numbers, self._now)

    def rerate(self, numbers: ArrayLike, sources: Sources) -> None:
        """Set new rates, utilities and costs of sources; ages and limits do not change.

        Parameters
        ----------
        numbers : array_like of int
            Numbers of the sources.
        sources : Sources
            Their new parameters, in the same order.

        Raises
        ------
        ValueError
            If there is no such source, a number occurs twice, the lengths differ, or the maximal
            ages require more than the budget at the new costs.
        """
        self._register.rerate(numbers, sources, self.budget, self._now)

    def plan(self, epochs: int, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Crawl for some epochs and return the schedule as a data frame.

        Parameters
        ----------
        epochs : int
            Number of epochs, at least 1.
        names : sequence of str, optional
            A label for each number, such as ``sources.names``.

        Returns
        -------
        pandas.DataFrame
            Columns epoch, source (the number, or its label) and expected_reward, in order of epoch
            and number.

        Raises
        ------
        ValueError
            If `epochs` is out of range or a number has no label.
        """
        import pandas as pd

        total = self._register.total
        if names is not None and len(names) < total:
            raise ValueError(f"names must have a label for each of {total}, got {len(names)}")
        frames = []
        for _ in range(check_integer("epochs", epochs, 1)):
            numbers, rewards = self.crawl()
            order = np.argsort(numbers)
            labels = numbers[order] if names is None else [names[i] for i in numbers[order]]
            columns = {"epoch": self.epoch - 1, "source": labels, "expected_reward": rewards[order]}
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the whole state to a NumPy archive (.npz), for `load`.

        A file of that name is replaced atomically: a process that is killed while it saves leaves
        the old state.

        Raises
        ------
        ValueError
            If the budget was set to an invalid value.
        """
        budget = check_number("budget", self.budget, 0, high_open=True)
        state = self._register.state(self._now, budget)
        write_state(path, state._replace(marginal=self._marginal))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Scheduler:
        """Return a scheduler with a saved state, whose crawls are those of the one that was saved.

        Raises
        ------
        ValueError
            If the file does not hold a saved scheduler, or was changed since.
        """
        state = read_state(path)
        self = cls.__new__(cls)
        self.epoch, self.budget, self.marginal_index = state.epoch, state.budget, np.nan
        self._register = Register.of(state)
        sources = self._register.as_sources() if state.crawl_price is not None else None
        self._threshold = Threshold(state.level, _margin(sources, state.crawl_price))
        self._ranked = epoch_kernel.Ranked()
        self._marginal = state.marginal
        return self

    def _select(self, budget: float, floor: float) -> Choice:
        """Rank the sources of this epoch's bucket, and choose those that the budget pays for."""
        calendar, limits, ranked = self._register.calendar, self._register.limits, self._ranked
        ranked.fill(calendar, self.epoch, limits, limits.most, len(self))
        if floor > 0:
            ranked.rank[ranked.rank < floor] = epoch_kernel.WAITING
        return choose(budget, ranked.number, ranked.rank, self._register.cost)

    def _lowest(self, cut: float, tie: int) -> float:
        """Return the least rank that has to be in the epoch's bucket: the cut.

        To tune the price, that of the first source that waits.
        """
        if self._marginal is None:
            return cut
        _, first = epoch_kernel.find_marginal(self._ranked.number, self._ranked.rank, cut, tie)
        return epoch_kernel.WAITING if first < 0 else float(self._ranked.rank[first])

    def _tuned_price(self, cut: float, tie: int) -> float | None:
        """Count the marginal Whittle index of this epoch; return the next price if it is time."""
        if self._marginal is None or not 0 <= cut < epoch_kernel.OVERDUE:
            return None
        positions = epoch_kernel.find_marginal(self._ranked.number, self._ranked.rank, cut, tie)
        if min(positions) < 0:
            return None
        calendar = self._register.calendar
        total, count = self._marginal
        total += sum(epoch_kernel.whittle_at(calendar, self.epoch, at) for at in positions) / 2
        self._marginal = total, count + 1
        if count + 1 < TUNED_EVERY:
            return None
        self._marginal = 0.0, 0
        move = TUNED_STEP * (total / TUNED_EVERY - self.crawl_price)
        return self.crawl_price + move if abs(move) > IDLE * self.crawl_price else None


def solved_price(sources: Sources, budget: float, crawl_price: float | None) -> float:
    """Return a checked price of a crawl, or the one that solves the relaxed problem."""
    if crawl_price is not None:
        return check_number("crawl_price", crawl_price, 0, high_open=True)
    return solve_for_price(sources, min(budget, float(sources.cost.sum())))


def _margin(sources: Sources | None, crawl_price: float | None) -> float:
    """Return the margin of the threshold: near its due age the Lagrangian index rises less."""
    if sources is None or crawl_price is None:
        return MARGIN
    due = due_ages(sources, crawl_price)
    due = due[np.isfinite(due)]
    return MARGIN / float(np.median(due)) if due.size else MARGIN


class Crawls(Protocol):
    """A scheduler with known ages."""

    def crawl(self) -> tuple[NDArray[np.int64], Floats]:
        """Crawl the sources of this epoch."""


def rewards(scheduler: Crawls, epochs: int) -> Floats:
    """Crawl for some epochs and return the expected reward of each; the scheduler advances."""
    return np.array([scheduler.crawl()[1].sum() for _ in range(epochs)])


# Sources from a Parquet file. Each part of it becomes entries of the calendar and is then freed: a
# table of all sources is never in memory.

RATES = ("arrival_rate", "mean_utility", "decay_rate")
AGES = {"age": "ages", "min_age": "min_age", "max_age": "max_age"}
"""Columns that may be there, and the arguments of `Scheduler.add` that they become."""


def scheduler_from_parquet(
    path: str | PathLike[str],
    budget: float,
    *,
    period: float = 1.0,
    precision: str = "single",
    rows: int = 2**19,
) -> Scheduler:
    """Read sources from a Parquet file and make a scheduler of them; they are numbered by row.

    The file has the columns arrival_rate, mean_utility and decay_rate, and any of cost, age,
    min_age and max_age; others, such as name, are not read. The budget is the cost that an epoch
    may spend, the period T the time between two epochs; `rows` are read at a time. ValueError names
    the file, the rows and the reason.
    """
    rows = check_integer("rows", rows, 1)
    budget = check_positive("budget", budget)
    period = check_positive("period", period)
    check_choice("precision", precision, tuple(buckets.PRECISIONS))
    scheduler = None
    for first, total, columns in _parts(path, rows):
        age_columns = {
            name: columns.pop(column) for column, name in AGES.items() if column in columns
        }
        try:
            sources = Sources(**columns, period=period)
            share = budget * len(sources) / total  # of the budget, for the ages of this part
            age_columns.setdefault(
                "ages", spread_ages(sources, share, max_age=age_columns.get("max_age"))
            )
            if scheduler is None:
                scheduler = Scheduler(sources, budget, **age_columns, precision=precision)
                scheduler.reserve(total)
            else:
                scheduler.add(sources, **age_columns)
        except ValueError as error:
            last = first + len(columns["arrival_rate"]) - 1
            raise ValueError(f"{path}, rows {first} to {last}: {error}") from None
    if scheduler is None:
        raise ValueError(f"{path} must hold at least one source, got none")
    return scheduler


def _parts(path: str | PathLike[str], rows: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield the first row of each part, the number of all rows, and the part's columns."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as error:
        raise missing_extra(error, "tables") from None

    try:
        file = ParquetFile(path, memory_map=True)
    except (OSError, ArrowInvalid) as error:
        raise ValueError(f"{path}: {str(error).strip()}") from None
    with file:
        present = file.schema_arrow.names
        if missing := [name for name in RATES if name not in present]:
            raise ValueError(f"{path} must have a column {missing[0]}, got {', '.join(present)}")
        chosen = [name for name in (*RATES, "cost", *AGES) if name in present]
        first = 0
        for batch in file.iter_batches(batch_size=rows, columns=chosen):
            columns = {name: batch[name].to_numpy(zero_copy_only=False) for name in chosen}
            yield first, file.metadata.num_rows, columns
            first += batch.num_rows
