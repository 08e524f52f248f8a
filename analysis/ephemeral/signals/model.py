"""Sources whose items are announced by pings of a known recall and precision.

Items appear at source i as in `sources`. Each is announced at once with probability r, the recall,
independently of all else; false pings are an independent Poisson process, so that a ping announces
an item with probability p, the precision. Pings come at the rate psi = Lambda r / p.

Given all that a crawler has seen, the expected worth of what is at a source is

    Y = u* (1 - r) (1 - exp(-mu a)) + p xibar sum_j exp(-mu (t - s_j)),

a the time since its last crawl and s_j the times of its pings since then. It obeys the recursion of
random content, Y' = alpha Y + U when passive and Y' = U when crawled, with U = u (1 - r) + p xibar
S and S the discounted pings of one epoch. So the index of observed random content
(`analysis.ephemeral.stochastic`) is that of unreliable signals, with Y in the place of the content.
(Lambda, xibar, r, p) and (Lambda/p, p xibar, r, 1) have the same law of U.

This needs: independent sources; known constant rates, recall and precision; worths independent of
everything else; and what a source holds at the start known in the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Bools, Floats, read_only_arrays
from analysis.checks import (
    Rng,
    check_array,
    check_integer,
    check_integers,
    check_kind,
    check_number,
    check_rng,
    set_fields,
)
from analysis.display import brief
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.sources import Sources


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Signals:
    """Sources with pings of a known recall and precision.

    Parameters
    ----------
    sources : Sources
        N sources; `mean_utility` is the mean worth of an item.
    recall : float or array_like, shape (N,)
        Probability that an item is announced, in [0, 1].
    precision : float or array_like, shape (N,)
        Probability that a ping announces an item, in (0, 1]; read as 0 where no item is announced.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> signals = Signals(Sources([2.0], [1.0], [0.1]), recall=0.5, precision=0.2)
    >>> signals.ping_rate.tolist(), signals.jump.tolist(), signals.unannounced.tolist()
    ([5.0], [0.2], [10.0])
    """

    sources: Sources
    recall: ArrayLike
    precision: ArrayLike

    def __post_init__(self) -> None:
        check_kind("sources", self.sources, Sources)
        recall = check_shares("recall", self.recall, len(self.sources))
        precision = check_shares("precision", self.precision, len(self.sources))
        announced = self.sources.arrival_rate * recall > 0
        if (bad := announced & (precision == 0)).any():
            first_bad = int(np.argmax(bad))
            raise ValueError(
                f"precision[{first_bad}] must be above 0 where items are announced, got 0 at a "
                f"recall of {recall[first_bad]:g}"
            )
        set_fields(self, recall=recall, precision=np.where(announced, precision, 0.0))
        check_array("rate of pings, arrival_rate * recall / precision,", self.ping_rate, 0)

    def __len__(self) -> int:
        return len(self.sources)

    @cached_property
    def ping_rate(self) -> Floats:
        """psi, pings per unit of time, true and false; shape (N,)."""
        announced = self.sources.arrival_rate * np.asarray(self.recall)
        announcing = announced > 0
        with np.errstate(over="ignore"):
            return np.divide(
                announced, self.precision, out=np.zeros_like(announced), where=announcing
            )

    @cached_property
    def jump(self) -> Floats:
        """Expected worth p xibar that a ping announces; shape (N,)."""
        return np.asarray(self.precision) * self.sources.mean_utility

    @cached_property
    def unannounced(self) -> Floats:
        """u* (1 - r), the content without pings of a source never crawled; shape (N,)."""
        return self.sources.u_star * (1.0 - np.asarray(self.recall))

    def sample(self, epochs: int, rng: Rng) -> Floats:
        """Draw U, what each epoch adds to the expected worth.

        `simulate_random` and `compare_on` play policies on it as on random content: each crawl then
        earns Y, the conditional mean of what it finds.

        Parameters
        ----------
        epochs : int
            Number of epochs, at least 1.
        rng : numpy.random.Generator or seed
            Source of randomness.

        Returns
        -------
        ndarray, shape (N, epochs)

        Raises
        ------
        ValueError
            If an argument is wrong, or a source has more than 1e8 pings an epoch.
        """
        rng = check_rng(rng)
        epochs = check_integer("epochs", epochs, 1)
        source = self.sources
        pings = Sources(self.ping_rate, np.ones(len(self)), source.decay_rate, period=source.period)
        drawn = Arrivals(pings, Utility("deterministic")).sample(epochs, rng)
        steady = source.u * (1.0 - np.asarray(self.recall))
        return steady[:, None] + self.jump[:, None] * drawn


@brief
class SignalBelief:
    """Expected worth of what N sources hold, given all pings and crawls so far.

    At `time` the sources are empty. Times are those of receipt, in the unit of the rates, and do
    not fall from call to call.

    Parameters
    ----------
    signals : Signals
        N sources and their pings.
    time : float
        When the belief begins.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> signals = Signals(Sources([2.0, 1.0], [1.0, 1.0], [0.1, 0.1]), recall=1, precision=0.5)
    >>> belief = SignalBelief(signals)
    >>> belief.observe_pings([0, 0], time=1.0).tolist()
    [True, True]
    >>> belief.worth(1.0).tolist()
    [1.0, 0.0]
    >>> belief.observe_crawls([0], time=1.0)
    >>> belief.worth(2.0).tolist()
    [0.0, 0.0]
    """

    def __init__(self, signals: Signals, time: float = 0.0) -> None:
        check_kind("signals", signals, Signals)
        self.signals = signals
        self.time = check_number("time", time, -np.inf, np.inf, low_open=True, high_open=True)
        self.last = np.full(len(signals), self.time)
        self._pings = np.zeros(len(signals))  # discounted pings, at the time below
        self._at = np.full(len(signals), self.time)

    def observe_pings(
        self, numbers: ArrayLike, time: float, claimed: ArrayLike | None = None
    ) -> Bools:
        """Take pings in; return which of them count.

        Parameters
        ----------
        numbers : array_like of int
            Source of each ping; a source may occur more than once.
        time : float
            Time of receipt, not before that of an earlier call.
        claimed : array_like, optional
            When the item appeared by the ping's own account. A time after the receipt counts as the
            receipt. A ping about the time before the last crawl of its source does not count.

        Returns
        -------
        ndarray of bool

        Raises
        ------
        ValueError
            If there is no such source, or a time is not a number or falls.
        """
        chosen = self._numbers(numbers)
        time = self._clock(time)
        at = np.full(chosen.shape, time)
        if claimed is not None:
            stated = check_array("claimed", claimed, finite=False)
            if stated.shape != chosen.shape:
                raise ValueError(f"claimed must have shape {chosen.shape}, got {stated.shape}")
            at = np.minimum(stated, time)
        counted = (at > self.last[chosen]) if claimed is not None else np.ones(at.shape, np.bool_)
        self.time = time
        pinged, when = chosen[counted], at[counted]
        decay = self.signals.sources.decay_rate
        touched = np.unique(pinged)
        self._pings[touched] *= np.exp(-decay[touched] * (time - self._at[touched]))
        self._at[touched] = time
        np.add.at(self._pings, pinged, np.exp(-decay[pinged] * (time - when)))
        return counted

    def observe_crawls(self, numbers: ArrayLike, time: float) -> None:
        """Empty sources that are crawled at a time; ValueError as for `observe_pings`."""
        chosen = self._numbers(numbers)
        self.time = self._clock(time)
        self.last[chosen] = self._at[chosen] = self.time
        self._pings[chosen] = 0.0

    def worth(self, time: float) -> Floats:
        """Return Y, the expected worth of each source at a time that is not past; shape (N,)."""
        time = self._clock(time)
        source, silent = self.signals.sources, self.signals.unannounced
        age = -np.expm1(-source.decay_rate * (time - self.last)) * silent
        pings = self._pings * np.exp(-source.decay_rate * (time - self._at))
        return age + self.signals.jump * pings

    def index(self, time: float) -> Floats:
        """Return the index of expected content (Theorem 1 of the report) at Y; shape (N,).

        As a policy it comes close to the index of `signal_index`, and needs no lattice.
        """
        return whittle_index(self.signals.sources, self.worth(time))

    def _numbers(self, numbers: ArrayLike) -> np.ndarray:
        chosen = check_integers("numbers", numbers).ravel()
        for number in chosen[(chosen < 0) | (chosen >= len(self.signals))][:1].tolist():
            check_integer("numbers", number, 0, len(self.signals) - 1)
        return chosen

    def _clock(self, time: float) -> float:
        return check_number("time", time, self.time, np.inf, high_open=True)


def check_shares(name: str, values: ArrayLike, size: int) -> Floats:
    """Return shares in [0, 1], one for each of `size` sources."""
    array = check_array(name, values, 0, 1)
    if array.shape not in {(), (1,), (size,)}:
        raise ValueError(f"{name} must be one number or have shape ({size},), got {array.shape}")
    return np.array(np.broadcast_to(array, (size,)))
