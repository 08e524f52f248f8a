"""Where a switch leaves a policy with two closed classes: which of them is left, and how.

With fewer places than robots, and rates that robots do not bring each for itself, a switch can
close a second class of states, of the same cost theta at the parameter t where it happens.  Beyond
t one of the two is cheaper, and the other has to be left.  What is open at t is by how much the
values of the two classes differ: the switched box asks for a difference delta on one side of where
its own gap vanishes, and as delta moves there, boxes are switched whose gaps vanish, one after the
other, until one class is closed.  All gaps are affine in delta, and their slopes are differences of
the probability to end in one of the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.results import NotConverged
from analysis.robots.curve.reduced import Box, Entry, Pair, ReducedQueue

Bools = NDArray[np.bool_]

#: Slopes in delta that are rounding, in double precision.
ROUNDING = 1e-11


def reunite(
    queue: ReducedQueue,
    table: Bools,
    box: Box,
    parameter: Any,
    gain: Any,
    rates: tuple[Any, Sequence[Any]],
    solve: Callable[[Sequence[Entry], Sequence[Pair]], Sequence[Sequence[Any]]],
) -> Iterator[Box]:
    """Yield the boxes that are to be switched at one parameter until one class is closed.

    `box` was switched at the parameter t, where the cost is theta, the gain; `table`, shape (K + 1,
    N + 1), says where a robot is started since then, and the caller switches in it what is yielded.
    `rates` are mu and the total arrival rates with 0..N active robots, `solve` is `solve_floats` or
    `solve_fractions` of `reduced`.  Raises NotConverged if there are more than two closed classes,
    no box is left to switch, or switches do not end.
    """
    for _ in queue.boxes:
        label = queue.closed_classes(table)
        if label.max() < 1:
            return
        if label.max() > 1:
            raise NotConverged("several classes of states close at the same parameter")
        here, slopes = _gaps(queue, table, label, parameter, gain, rates, solve)
        place = {one: number for number, one in enumerate(queue.boxes)}
        last = place[box]
        wanted = -1 if table[box] else 1  # sign of the gap of the box that was switched
        direction = wanted if slopes[last] > 0 else -wanted
        start = -here[last] / slopes[last]
        rounding = ROUNDING if isinstance(start, float) else 0
        following: dict[Box, Any] = {}
        for one, number in place.items():
            slope = direction * slopes[number]
            if one != box and (slope > rounding if table[one] else slope < -rounding):
                following[one] = -(here[number] + start * slopes[number]) / slope
        if not following:
            raise NotConverged("no box leads out of a class that is left")
        box = min(following, key=lambda one: following[one])
        yield box
    raise NotConverged("more switches at one parameter than there are boxes")


def _gaps(
    queue: ReducedQueue,
    table: Bools,
    label: NDArray[np.int64],
    parameter: Any,
    gain: Any,
    rates: tuple[Any, Sequence[Any]],
    solve: Callable[[Sequence[Entry], Sequence[Pair]], Sequence[Sequence[Any]]],
) -> tuple[list[Any], list[Any]]:
    """Return each box's gap where both classes are worth the same, and its slope in delta.

    Of each class one equation says nothing new, its cost being known; of the two, one gives way to
    the difference delta, the other to the value of the reference, which is 0.
    """
    entries, costs = queue.coefficients(table, *rates)
    reference = len(queue.states) - 1
    first, second = (int(np.flatnonzero(label == number)[0]) for number in (0, 1))
    kept = [x for x in entries if x[0] not in (first, second) and x[1] != reference]
    kept += [
        (first, place, sign) for place, sign in ((first, 1), (second, -1)) if place != reference
    ]
    kept.append((second, reference, 1))
    right = [(loss + parameter * time - gain, 0) for loss, time in costs]
    right[first], right[second] = (0, 1), (0, 0)
    solution = [*solve(kept, right)[:reference], (0, 0)]
    return queue.gaps([x[0] for x in solution]), queue.gaps([x[1] for x in solution])
