r"""What is left of the controlled queue once early starts are settled: free boxes, one parameter.

While queue and robots together are fewer than K, a robot is always started (the page on the
switching curve proves it).  So the states (q, r) with q + r >= K or r = N are closed, and only the
*boxes* (q, r), K - r <= q <= K, r < N, are free: is a robot started with q pages left and r others
active?  With lambda_r the rate of r active robots (lambda r if each works for itself), a policy's
relative values on these states solve one of two linear systems,

* for one capacity, with the cost per unit of time theta of the policy as one more unknown,

    theta + (mu 1(q>0) + lambda_r) V(q, r) = gamma 1(q=0) + lambda_r 1(q=K)
                  + mu 1(q>0) V(q-1, .) + lambda_r V(min(q+1, K), .),      t = gamma;

* for all capacities K >= N at once, the *triangle problem*: in j = K - q free places it closes on
  0 <= j <= r <= N but for (j, r) = (N, N), whose value is 0, and K and gamma enter by theta alone,

    (mu + lambda_r) v(j, r) = -theta + lambda_r 1(j=0) + mu v(j+1, .) + lambda_r v(max(j-1, 0), .),

  t = theta: losses less theta times the time until N places are free and all robots run.

Both are affine in t, so that the gap d(q, r) = V(q, r+1) - V(q, r) of a box is l - t w.

Switching curves are Young diagrams of started boxes: `add_box` grows one into the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from analysis.arrays import Bools, Floats, Ints
from analysis.checks import check_array, check_choice, check_integer
from analysis.robots.policy_chain import recurrent_class, successors

Box = tuple[int, int]
Curve = tuple[int, ...]
Entry = tuple[int, int, Any]
Pair = tuple[Any, Any]
FAMILIES = ("all", "gentle")


@dataclass(frozen=True)
class ReducedQueue:
    """The free decisions of the controlled queue, for one capacity or for all K >= N.

    Parameters
    ----------
    robots : int
        Available robots N, at least 1.
    capacity : int, optional
        Places in the queue K, at least 1.  Without it, the triangle problem: q is then counted as
        if K were N, and N - q is the number of free places.
    """

    robots: int
    capacity: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "robots", check_integer("robots", self.robots, 1))
        if self.capacity is not None:
            object.__setattr__(self, "capacity", check_integer("capacity", self.capacity, 1))

    @property
    def is_triangle(self) -> bool:
        """Whether this is the triangle problem, of all capacities K >= N."""
        return self.capacity is None

    @property
    def top(self) -> int:
        """The length of a full queue: K, or N in the triangle problem."""
        return self.robots if self.capacity is None else self.capacity

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (K + 1, N + 1) of a table of decisions."""
        return self.top + 1, self.robots + 1

    @cached_property
    def states(self) -> tuple[Box, ...]:
        """The closed set of states (q, r); the last one is the reference, of value 0."""
        states = [
            (q, r)
            for q in range(self.top, -1, -1)
            for r in range(self.robots + 1)
            if q + r >= self.top or r == self.robots
        ]
        states.remove((max(self.top - self.robots, 0), self.robots))
        return (*states, (max(self.top - self.robots, 0), self.robots))

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        """The free decisions (q, r), by rising r, then rising q."""
        rows = range(self.robots)
        return tuple((q, r) for r in rows for q in range(max(self.top - r, 0), self.top + 1))

    def linear_rates(self, arrival_rate: Any) -> list[Any]:
        """Return lambda r for r = 0..N: robots that work each for itself."""
        return [arrival_rate * r for r in range(self.robots + 1)]

    def curve_policy(self, curve: ArrayLike) -> Bools:
        """Return the table of a curve f: a robot is started if q <= f(r), or q + r < K."""
        heights = np.asarray(curve)
        if heights.shape != (self.robots,):
            raise ValueError(
                f"curve must have one height for each of 0 to {self.robots - 1} active robots, "
                f"got shape {heights.shape}"
            )
        q, r = np.indices(self.shape)
        table = q + r < self.top
        table[:, :-1] |= q[:, :-1] <= heights
        table[:, -1] = False
        return table

    def lossless_curve(self) -> tuple[int, ...]:
        """Return the lowest curve f_0(r) = K - 1 - r, on which no box is started."""
        return tuple(max(self.top - 1 - r, -1) for r in range(self.robots))

    def moves(self, starts: Bools) -> tuple[Ints, Ints]:
        """Return the place in `states` of each state's successors, departure first, -1 for none.

        A page that is lost and leaves the state as it was is no move.
        """
        positions = np.full(self.shape, -1)
        for position, state in enumerate(self.states):
            positions[state] = position
        numbers = np.array([q * (self.robots + 1) + r for q, r in self.states])
        flat = np.append(positions.ravel(), -1)
        departure, arrival = successors(starts, starts)
        return flat[departure[numbers]], flat[arrival[numbers]]

    def closed_classes(self, starts: Bools) -> Ints:
        """Return the number of each state's closed class, by its place in `states`; -1 for none.

        Where K >= N departures alone lead from everywhere to the reference: there is one class.
        """
        departure, arrival = (np.where(to < 0, -1, to + 1) for to in self.moves(starts))
        return recurrent_class(np.append(-1, departure), np.append(-1, arrival))[1:]

    def coefficients(
        self, starts: Bools, service_rate: Any, rates: Sequence[Any]
    ) -> tuple[list[Entry], list[Pair]]:
        """Return the linear system of a policy, in whatever numbers the rates are.

        The unknowns are the values of `states`, the reference's place being taken by theta (for one
        capacity) or left out (in the triangle problem).  Entries are (row, column, coefficient),
        those of one place to be added up; the right side of each equation is c + t c', as (c, c').
        """
        departure, arrival = self.moves(starts)
        reference = len(self.states) - 1
        rows = reference if self.is_triangle else reference + 1
        entries: list[Entry] = []
        costs: list[Pair] = []
        for row, (q, r) in enumerate(self.states[:rows]):
            for rate, target in ((service_rate, departure[row]), (rates[r], arrival[row])):
                if target >= 0:
                    ends = ((row, rate), (int(target), -rate))
                    entries += [
                        (row, column, value) for column, value in ends if column != reference
                    ]
            if not self.is_triangle:
                entries.append((row, reference, 1))
            weight = -1 if self.is_triangle else int(q == 0)
            costs.append((rates[r] if q == self.top else 0, weight))
        return entries, costs

    def gaps(self, values: Sequence[Any]) -> list[Any]:
        """Return d = V(q, r+1) - V(q, r) for each box, given the values of all states."""
        position_of = {state: position for position, state in enumerate(self.states)}
        return [values[position_of[q, r + 1]] - values[position_of[q, r]] for q, r in self.boxes]


@dataclass(frozen=True)
class Evaluation:
    """A policy's gaps and cost as affine functions of the parameter t.

    `losses` and `times` are l and w of each box, d = l - t w; `cost` is (L, S) with theta = gamma S
    + L, None in the triangle problem, where theta is the parameter; `scale` is the size below which
    a slope is rounding, 0 in exact arithmetic.
    """

    losses: list[Any]
    times: list[Any]
    cost: tuple[Any, Any] | None
    scale: Any


def evaluate(
    queue: ReducedQueue, starts: Bools, service_rate: float, rates: Sequence[float]
) -> Evaluation:
    """Return the gaps of a policy in double precision.

    `starts`, shape (K + 1, N + 1), says where a robot is started; the service rate is mu and the
    rates are lambda_0 = 0 to lambda_N.  Raises ValueError if the policy has several recurrent
    classes.
    """
    solution = solve_floats(*queue.coefficients(starts, service_rate, rates))
    largest = max(max(abs(x), abs(y)) for x, y in solution)
    return _described(queue, solution, 1e-13 * largest)


def evaluate_exactly(
    queue: ReducedQueue, starts: Bools, service_rate: Any, rates: Sequence[Any]
) -> Evaluation:
    """Return what `evaluate` does as fractions (needs python-flint), from integers or fractions.

    Raises ValueError if a rate is a float, or the policy has several recurrent classes.
    """
    entries, costs = queue.coefficients(starts, service_rate, rates)
    return _described(queue, solve_fractions(entries, costs), 0)


def solve_floats(entries: Sequence[Entry], right: Sequence[Pair]) -> list[list[float]]:
    """Solve a linear system, its entries as (row, column, number), for two right sides."""
    row, column, value = (np.array(numbers) for numbers in zip(*entries, strict=True))
    size = len(right)
    system = sparse.csc_array((value, (row, column)), shape=(size, size), dtype=np.float64)
    try:
        solved: Floats = sparse.linalg.splu(system).solve(np.array(right, dtype=np.float64))
    except RuntimeError:  # singular
        raise ValueError("starts must have one recurrent class, got several") from None
    pairs: list[list[float]] = solved.tolist()
    return pairs


def solve_fractions(entries: Sequence[Entry], right: Sequence[Pair]) -> list[list[Fraction]]:
    """Do the same in fractions; raises ValueError if a number is a float."""
    from flint import fmpq_mat

    system: Any = fmpq_mat(len(right), len(right))
    sides: Any = fmpq_mat(len(right), 2)
    for row, column, value in entries:
        system[row, column] += rational(value)
    for row, pair in enumerate(right):
        sides[row, 0], sides[row, 1] = map(rational, pair)
    try:
        solved = system.solve(sides, algorithm="dixon").tolist()
    except ZeroDivisionError:  # singular
        raise ValueError("starts must have one recurrent class, got several") from None
    return [[Fraction(int(x.p), int(x.q)) for x in row] for row in solved]


def rational(value: Any) -> Any:
    """Return a whole number or a fraction as FLINT's rational number, or raise ValueError."""
    from flint import fmpq

    if isinstance(value, fmpq):
        return value
    if not isinstance(value, Rational):
        raise ValueError(f"rates must be whole numbers or fractions to be exact, got {value!r}")
    return fmpq(int(value.numerator), int(value.denominator))


def _described(queue: ReducedQueue, solution: list[list[Any]], scale: Any) -> Evaluation:
    """Read the solution of the system, two columns, as gaps and cost."""
    reference = len(queue.states) - 1
    values = [*solution[:reference], [0, 0]]
    losses = queue.gaps([value[0] for value in values])
    times = queue.gaps([-value[1] for value in values])
    cost = None if queue.is_triangle else (solution[reference][0], solution[reference][1])
    return Evaluation(losses, times, cost, scale)


def check_rates(queue: ReducedQueue, rates: ArrayLike) -> list[float]:
    """Return the total rates lambda_0 = 0 < ... < lambda_N, or raise naming the argument."""
    checked = check_array("rates", rates, 0.0)
    if checked.shape != (queue.robots + 1,) or checked[0] != 0.0 or (np.diff(checked) <= 0).any():
        raise ValueError(
            f"rates must start with 0 and rise, one for each of 0 to {queue.robots} active "
            f"robots, got {checked.tolist()}"
        )
    return [float(rate) for rate in checked]


def generate_curves(queue: ReducedQueue, family: str = "all") -> Iterator[Curve]:
    """Yield the curves of a family.

    "all" are the switching curves that start early and leave the last robot off at a full queue,
    "gentle" those among them that fall by 0 or 1 from row to row.
    """
    check_choice("family", family, FAMILIES)
    lowest = queue.lossless_curve()

    def extend(head: Curve) -> Iterator[Curve]:
        row = len(head)
        if row == queue.robots:
            if head[-1] < queue.top:
                yield head
            return
        highest = head[-1] if head else queue.top
        least = max(lowest[row], highest - 1 if family == "gentle" and head else -1)
        for height in range(least, highest + 1):
            yield from extend((*head, height))

    yield from extend(())


def addable_boxes(queue: ReducedQueue, curve: Curve, family: str = "all") -> list[Box]:
    """Return the boxes (q, r) whose addition to a curve gives a curve of the family."""
    boxes = []
    for r, height in enumerate(curve):
        height_after = height + 1
        fits = height_after <= (curve[r - 1] if r else queue.top)
        if family == "gentle" and fits and r + 1 < len(curve):
            fits = curve[r + 1] >= height_after - 1
        if fits and (height_after, r) != (queue.top, queue.robots - 1):
            boxes.append((height_after, r))
    return boxes


def add_box(curve: Curve, box: Box) -> Curve:
    """Return the curve with the next box of a row added."""
    q, r = box
    return (*curve[:r], q, *curve[r + 1 :])
