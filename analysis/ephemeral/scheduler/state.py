"""The state of a scheduler in a file, checked before compiled code uses it.

Compiled loops do not check the numbers of an entry: an invalid one would read and write memory
outside the arrays. So a state is read only if it is unchanged (the file has a digest of all arrays)
and every array is valid for a scheduler.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from hashlib import sha256
from os import PathLike
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.checks import check_file
from analysis.ephemeral.lagrangian import TUNED_EVERY
from analysis.ephemeral.scheduler.calendar import NEVER, NO_CAPS, Limits, precision_of
from analysis.files import replacing

T = TypeVar("T")
NO_QUEUE = np.empty((0, 2))
"""The array `empty` of a state without a queue."""
LATEST = 2**31 - 1
"""Largest number of an epoch, or of a source, that an entry can hold."""


class QueuedEngine(NamedTuple):
    """An engine with a queue: pages indexed per unit of time, and pages waiting."""

    index_rate: float
    queue: int


class State(NamedTuple):
    """The whole state of a scheduler.

    `entries` are those of its calendar, in any order; `cost` and `limits` hold one number for all
    sources or one a number; `epoch` is the next one, `total` the numbers assigned so far, `level`
    the threshold. If pages have a price, `pages` holds the pages of an epoch, one a number; if they
    join a queue, `empty` holds u*/C at an empty queue and log delta. `crawl_price` is None unless
    sources rank by the Lagrangian index, `marginal` unless that price is tuned: then it holds sum
    and number of the marginal Whittle indices since the last price.
    """

    entries: NDArray[np.void]
    cost: Floats
    limits: Limits
    epoch: int
    total: int
    budget: float
    level: float
    pages: Floats = NO_CAPS
    price: float = 0.0
    empty: Floats = NO_QUEUE
    engine: QueuedEngine | None = None
    crawl_price: float | None = None
    marginal: tuple[float, int] | None = None


def write_state(path: str | PathLike[str], state: State) -> None:
    """Write a state to a NumPy archive, which replaces an earlier one."""
    arrays = {
        "entries": state.entries,
        "cost": state.cost,
        "least": state.limits.least,
        "most": state.limits.most,
        "counts": np.array([state.epoch, state.total], np.int64),
        "levels": np.array([state.budget, state.level]),
    }
    if state.pages.size:
        arrays |= {"pages": state.pages, "price": np.array([state.price])}
    if state.engine:
        arrays |= {"empty": state.empty, "engine": np.array(state.engine, float)}
    if state.crawl_price is not None:
        arrays |= {"crawl_price": np.array([state.crawl_price])}
    if state.marginal is not None:
        arrays |= {"marginal": np.array(state.marginal, float)}
    write_arrays(path, arrays)


def read_state(path: str | PathLike[str]) -> State:
    """Read a state that `write_state` wrote; ValueError if the file's content is not valid."""
    return read_arrays(path, _checked)


def write_arrays(path: str | PathLike[str], arrays: dict[str, NDArray[Any]]) -> None:
    """Write arrays and their digest to a NumPy archive, which replaces an earlier one."""
    named: dict[str, Any] = {"digest": _digest(arrays), **arrays}
    with replacing(path) as file:
        np.savez(file, **named)  # old NumPy would save other options as arrays


def read_arrays(path: str | PathLike[str], check: Callable[[dict[str, NDArray[Any]]], T]) -> T:
    """Return the checked arrays of a file.

    ValueError, with the path, if the file was changed since, or `check` raises an error.
    """
    with open(check_file("path", path, math.inf), "rb") as file:
        try:
            with np.load(file, allow_pickle=False) as saved:
                arrays = {name: saved[name] for name in saved.files}
            digest = arrays.pop("digest")
            if digest.dtype != np.uint8 or not np.array_equal(digest, _digest(arrays)):
                raise ValueError("it was changed since")
            return check(arrays)
        except Exception as error:  # a damaged archive can cause any error in its reader
            raise ValueError(f"{path} must be a file that `save` wrote: {error}") from error


def _digest(arrays: dict[str, NDArray[Any]]) -> NDArray[np.uint8]:
    """Return a digest of names, kinds, shapes and contents of arrays."""
    digest = sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.descr} {array.shape}\n".encode())
        digest.update(array.data)
    return np.frombuffer(digest.digest(), np.uint8)


def _checked(arrays: dict[str, NDArray[Any]]) -> State:
    """Return the state that the arrays hold, or raise ValueError naming the one that is wrong."""
    entries, cost = arrays["entries"], arrays["cost"]
    least, most = arrays["least"], arrays["most"]
    counts, levels = arrays["counts"], arrays["levels"]
    pages, price = arrays.get("pages", NO_CAPS), arrays.get("price", np.zeros(1))
    precision_of(entries)
    require("counts", counts.dtype == np.int64 and counts.shape == (2,))
    epoch, total = counts.tolist()
    require("counts", 0 <= epoch <= LATEST and entries.size <= total <= LATEST)
    require("levels", levels.dtype == np.float64 and levels.shape == (2,))
    budget, level = levels.tolist()
    require("levels", 0 <= budget < np.inf and level >= 0)
    require("cost", cost.dtype == np.float64 and cost.shape in {(1,), (total,)})
    require("cost", np.isfinite(cost).all() and (cost > 0).all())
    require("least", least.dtype == np.int32 and least.shape in {(1,), (total,)})
    require("least", ((least >= 0) & (least <= NEVER)).all())
    require("most", most.dtype == np.int32 and most.shape in {(0,), (total,)})
    require("most", ((most >= 1) & (most <= NEVER)).all())
    require("most", most.size == 0 or (least <= most).all())
    require("pages", pages.dtype == np.float64 and pages.shape in {(0,), (total,)})
    require("pages", (np.isfinite(pages) & (pages >= 0)).all())
    require("price", price.dtype == np.float64 and price.shape == (1,))
    require("price", np.isfinite(price).all() and (price >= 0).all())
    require("entries", entries.ndim == 1)
    number, last = entries["number"], entries["last"]
    require("number", ((number >= 0) & (number < total)).all())
    occupied = np.zeros(total, dtype=bool)
    occupied[number] = True
    require("number", np.count_nonzero(occupied) == entries.size)
    require("last", ((last >= -NEVER) & (last <= epoch)).all())
    limit, decay = entries["limit"], entries["decay"]
    require("limit", (np.isfinite(limit) & (limit >= 0)).all())
    require("decay", (np.isfinite(decay) & (decay > 0)).all())
    held = (entries, cost, Limits(least, most), epoch, total, budget, level)
    empty, engine = arrays.get("empty", NO_QUEUE), arrays.get("engine", np.empty(0))
    require("empty", empty.dtype == np.float64 and empty.shape in {(0, 2), (total, 2)})
    require("empty", np.isfinite(empty).all() and (empty * [1, -1] >= 0).all())
    require("engine", engine.dtype == np.float64 and engine.shape == (2 * bool(empty.size),))
    require("engine", np.isfinite(engine).all() and (engine[:1] > 0).all())
    require("engine", (engine[1:] >= 0).all() and (engine[1:] % 1 == 0).all())
    queued = QueuedEngine(float(engine[0]), int(engine[1])) if engine.size else None
    crawl_price = arrays.get("crawl_price")
    if crawl_price is not None:
        require("crawl_price", crawl_price.dtype == np.float64 and crawl_price.shape == (1,))
        require("crawl_price", 0 <= crawl_price[0] < np.inf)
    charged = None if crawl_price is None else float(crawl_price[0])
    marginal, tuned = arrays.get("marginal"), None
    if marginal is not None:
        require("marginal", marginal.dtype == np.float64 and marginal.shape == (2,))
        require("marginal", np.isfinite(marginal).all() and (marginal >= 0).all())
        require("marginal", marginal[1] % 1 == 0 and marginal[1] < TUNED_EVERY)
        require("marginal", charged is not None)
        tuned = float(marginal[0]), int(marginal[1])
    return State(*held, pages, float(price[0]), empty, queued, charged, tuned)


def require(name: str, right: Any) -> None:
    """Raise ValueError naming an array of a saved state that is not right."""
    if not right:
        raise ValueError(f"{name} is not valid for a scheduler")
