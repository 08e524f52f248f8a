"""Sources of ephemeral content: the model of sections 2 and 8 of the report.

Items appear at source i as a Poisson process of rate Lambda_i; an item's utility starts at a
random xi with mean xibar_i and fades as exp(-mu_i t). A crawl takes all that is there. With one
decision every T time units, the expected content X_i of source i follows

    X_i(t+1) = alpha_i X_i(t) + u_i   when passive, earning 0              (2)
    X_i(t+1) = u_i                    when active, earning X_i(t)          (3)

    alpha_i = exp(-mu_i T),   u_i = Lambda_i xibar_i (1 - alpha_i) / mu_i,   (1)
    u*_i = u_i / (1 - alpha_i) = Lambda_i xibar_i / mu_i.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015).
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis import missing_extra
from analysis.checks import check_array, check_file, check_kind, check_number, check_positive, shown

if TYPE_CHECKING:
    import pandas as pd

FADING = 1e-100, 1e100
"""Least and greatest mu T. Outside, content and index leave the range of floating-point numbers."""
SHOWN = 10
"""Sources that a table of them shows."""
ROUNDING = 1e-12
"""Share of a budget by which rounding may let a sum of costs miss it: 0.1 + 0.2 fits in 0.3."""


_ARRAYS = ("arrival_rate", "mean_utility", "decay_rate", "cost")


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Mark an array as read-only and return it."""
    array.setflags(write=False)
    return array


class _Numerals(Sequence[str]):
    """The labels "1", "2", ..., made when they are read, so that millions take no memory."""

    def __init__(self, size: int) -> None:
        self._numbers = range(1, size + 1)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, key):  # type: ignore[no-untyped-def, override]
        numbers = self._numbers[key]
        return tuple(map(str, numbers)) if isinstance(numbers, range) else str(numbers)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Numerals):
            return len(self) == len(other)
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return reprlib.repr(tuple(self[:7]))


@dataclass(frozen=True, eq=False)
class Sources:
    """N sources of ephemeral content; equal if all that follows is.

    Parameters
    ----------
    arrival_rate : array_like, shape (N,)
        Lambda_i, items per unit of time; not negative.
    mean_utility : array_like, shape (N,)
        xibar_i, mean initial utility of an item (clicks, say); not negative.
    decay_rate : array_like, shape (N,)
        mu_i, rate at which interest fades, per unit of time; positive.
    cost : array_like, shape (N,) or scalar
        C_i, cost of one crawl; positive.
    period : float
        T, time between two decision epochs; positive.
    names : sequence of str, optional
        One label a source; "1", "2", ... by default.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> sources = Sources([250, 250], [1.0, 0.7], [0.7, 0.35])
    >>> len(sources), sources.u.round(2).tolist()
    (2, [179.79, 147.66])
    """

    arrival_rate: NDArray[np.float64]
    mean_utility: NDArray[np.float64]
    decay_rate: NDArray[np.float64]
    cost: NDArray[np.float64] = 1.0  # type: ignore[assignment]  # one number stands for all
    period: float = 1.0
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        rates = {
            "arrival_rate": check_array("arrival_rate", self.arrival_rate, 0),
            "mean_utility": check_array("mean_utility", self.mean_utility, 0),
            "decay_rate": check_array("decay_rate", self.decay_rate, 0, low_open=True),
        }
        size = rates["arrival_rate"].size
        for name, array in rates.items():
            if array.ndim != 1 or array.size != size or size == 0:
                raise ValueError(
                    f"{name} must be one-dimensional with one entry a source, like arrival_rate, "
                    f"and at least one source; got shape {array.shape} against {size} sources"
                )
        cost = check_array("cost", self.cost, 0, low_open=True)
        if cost.shape not in {(), (size,)}:
            raise ValueError(f"cost must be a number or have shape ({size},), got {cost.shape}")
        check_kind("names", self.names, Iterable, None)
        names = _Numerals(size) if self.names is None else tuple(self.names)
        if not all(isinstance(name, str | Real) for name in names):
            raise ValueError(f"names must be texts or numbers, got {shown(self.names)}")
        if len(names) != size:
            raise ValueError(f"names must have {size} entries, one a source, got {len(names)}")
        arrays = {**rates, "cost": np.broadcast_to(cost, size).copy()}
        for name, array in arrays.items():
            object.__setattr__(self, name, read_only(array))
        period = check_positive("period", self.period)
        object.__setattr__(self, "period", period)
        object.__setattr__(self, "names", names)
        self._check_range()

    def _check_range(self) -> None:
        """Refuse rates of which content or index leave the range of floating-point numbers."""
        with np.errstate(over="ignore", under="ignore"):
            decay = self.decay_rate * self.period
            limit = self.arrival_rate * self.mean_utility / self.decay_rate
            largest = np.maximum(limit, limit / self.cost)
        low, high = FADING
        if not ((decay >= low) & (decay <= high)).all():
            i = int(np.argmin((decay >= low) & (decay <= high)))
            raise ValueError(
                f"decay_rate[{i}] times the period must be in [{low:g}, {high:g}], got {decay[i]:g}"
            )
        if not np.isfinite(largest).all():
            i = int(np.argmin(np.isfinite(largest)))
            raise ValueError(
                "arrival_rate * mean_utility / decay_rate must be a finite number, also for each "
                f"unit of cost, got {self.arrival_rate[i]:g} * {self.mean_utility[i]:g} / "
                f"{self.decay_rate[i]:g} at a cost of {self.cost[i]:g} for source {i}"
            )

    def __len__(self) -> int:
        return self.arrival_rate.size

    def __eq__(self, other: object) -> bool:
        """Whether rates, costs, period and names are the same."""
        if not isinstance(other, Sources):
            return NotImplemented
        return (
            self.period == other.period
            and self.names == other.names
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in _ARRAYS)
        )

    def __hash__(self) -> int:
        # Of the first sources: cheap, and the same for equal ones.
        first = (value for name in _ARRAYS for value in getattr(self, name)[:SHOWN].tolist())
        return hash((len(self), self.period, *first))

    def __repr__(self) -> str:
        return f"Sources(N={len(self)}, period={self.period:g})"

    def _repr_html_(self) -> str:
        """Table of the first sources, for notebooks."""
        import pandas as pd

        head = {name: getattr(self, name)[:SHOWN] for name in _ARRAYS}
        assert self.names is not None
        table = pd.DataFrame(head, index=pd.Index(list(self.names[:SHOWN]), name="source"))
        note = f", {SHOWN} shown" if len(self) > SHOWN else ""
        return f"{table.to_html()}<p>{len(self)} sources, period {self.period:g}{note}</p>"

    def __reduce__(self) -> tuple[type[Sources], tuple[Any, ...]]:
        """Build copies and pickles anew, so that their arrays are read-only, too."""
        names = None if isinstance(self.names, _Numerals) else self.names
        rates = (self.arrival_rate, self.mean_utility, self.decay_rate, self.cost)
        return Sources, (*rates, self.period, names)

    @cached_property
    def decay(self) -> NDArray[np.float64]:
        """mu_i T, how far interest fades in one epoch; shape (N,)."""
        return read_only(self.decay_rate * self.period)

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """exp(-mu_i T), the share of content that is left after one epoch; shape (N,)."""
        return read_only(np.exp(-self.decay))

    @cached_property
    def u(self) -> NDArray[np.float64]:
        """Expected content one epoch after a crawl, equation (1); shape (N,)."""
        return read_only(-np.expm1(-self.decay) * self.u_star)

    @cached_property
    def u_star(self) -> NDArray[np.float64]:
        """Limit of the expected content of a source that is never crawled; shape (N,)."""
        return read_only(self.arrival_rate * self.mean_utility / self.decay_rate)

    @property
    def settled_age(self) -> NDArray[np.float64]:
        """Age, a whole number, from which on the expected content is u* to machine precision."""
        return np.ceil(-np.log(np.finfo(float).eps / 4) / self.decay)

    def state_at_age(self, age: ArrayLike) -> NDArray[np.float64]:
        """Return the expected content `age` epochs after the last crawl, u* (1 - alpha^age).

        Parameters
        ----------
        age : array_like, shape (..., N)
            Epochs since the last crawl, 1 at the epoch that follows it; not negative.

        Returns
        -------
        ndarray, shape (..., N)
        """
        return -np.expm1(-self.decay * np.asarray(age)) * self.u_star

    def subset(self, places: slice | NDArray[Any]) -> Sources:
        """Return some of the sources, chosen as NumPy chooses.

        They keep the names that they were given; names that are numbers by default start anew.
        """
        names = None
        if not isinstance(self.names, _Numerals):
            assert self.names is not None
            names = [self.names[index] for index in np.arange(len(self))[places].tolist()]
        return Sources(
            self.arrival_rate[places],
            self.mean_utility[places],
            self.decay_rate[places],
            self.cost[places],  # type: ignore[index]
            self.period,
            names,
        )

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, period: float = 1.0) -> Sources:
        """Build sources from a data frame, one row a source.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns name, arrival_rate, mean_utility, decay_rate and, optionally, cost.
        period : float
            T, time between two decision epochs.

        Raises
        ------
        ValueError
            Naming the row, the column and the reason.
        """
        from analysis.ephemeral.tables import columns_of

        columns = columns_of(frame)
        return cls(**columns, period=period, names=frame["name"].astype(str).tolist())

    @classmethod
    def from_csv(cls, path: str | PathLike[str], period: float = 1.0) -> Sources:
        """Read sources from a CSV file; see `from_frame` for its columns.

        Raises
        ------
        ValueError
            Naming the file, the row, the column and the reason.
        """
        from analysis.ephemeral.tables import read_careful_csv, read_plain_csv

        try:
            return cls.from_frame(read_plain_csv(path), period)
        except (ModuleNotFoundError, ValueError):
            pass  # the careful reader needs pandas only, accepts more, and names row and column
        try:
            return cls.from_frame(read_careful_csv(path), period)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path}: {str(error).strip()}") from None

    @classmethod
    def from_parquet(cls, path: str | PathLike[str], period: float = 1.0) -> Sources:
        """Read sources from a Parquet file; see `from_frame` for its columns.

        Raises
        ------
        ValueError
            Naming the file, the row, the column and the reason.
        """
        import pandas as pd

        try:
            import pyarrow.parquet  # noqa: F401 (pandas reads by it, and does not name our extra)
        except ModuleNotFoundError as error:
            raise missing_extra(error, "tables") from None
        try:
            return cls.from_frame(pd.read_parquet(check_file("path", path)), period)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path}: {str(error).strip()}") from None


def check_budget(sources: Sources, budget: float) -> float:
    """Return a budget in cost per epoch, at most the sum of all costs, or raise naming it.

    Rounding may put the budget a little above the sum; the result is then the sum.
    """
    check_kind("sources", sources, Sources)
    total = float(sources.cost.sum())
    return min(check_number("budget", budget, 0, total * (1.0 + ROUNDING), low_open=True), total)


def four_sources() -> Sources:
    """Return the four sources of Table 1 of the report, with T = 1.

    Examples
    --------
    >>> four_sources().u.round(2).tolist()
    [179.79, 147.66, 35.96, 18.04]
    """
    return Sources(
        arrival_rate=np.array([250.0, 250.0, 250.0, 250.0]),
        mean_utility=np.array([1.0, 0.7, 0.2, 0.08]),
        decay_rate=np.array([0.7, 0.35, 0.7, 0.21]),
    )


def check_unit_costs(sources: Sources) -> None:
    """Raise ValueError unless every crawl costs 1."""
    if (sources.cost != 1.0).any():
        raise ValueError(f"sources must have costs of 1, got {sources.cost}")
