"""Kernels of restart arms: named random generators and named structured families.

The restart slides (2019, slide 18) use "structured and randomly generated stochastic monotone
matrices" and print neither, so several natural readings stand side by side. Every kernel here is
stochastically monotone: the distribution functions F(x, y) of its rows fall as x grows. Sorting
the columns of any such F, mixing with the identity, and taking the larger of two independent
draws (F times G) all keep that. The slides' own costs are c(x, 0) = (x - 1)^2 and
c(x, 1) = (K - 1)^2 / 2 with restarts to the first state, b = 0.9.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analysis.arrays import Floats
from analysis.checks import Rng, check_choice, check_integer, check_number, check_rng
from analysis.restarts.arm import RestartArm, probability_rows

Kernel = Floats
#: The discount of the slides' experiments (slide 18).
SLIDE_DISCOUNT = 0.9


def _simplex_rows(states: int, rng: np.random.Generator, *, wears: bool = False) -> Kernel:
    """Rows uniform on the simplex; with `wears`, row x on the states from x on."""
    weights = rng.exponential(size=(states, states))
    if wears:
        weights = np.triu(weights)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _sort_distributions(kernel: Kernel) -> Kernel:
    """Sort each column of the rows' distribution functions, largest first."""
    distribution = -np.sort(-np.cumsum(kernel, axis=1), axis=0)
    distribution[:, -1] = 1.0
    return np.diff(distribution, axis=1, prepend=0.0)


def sorted_simplex(states: int, rng: Rng) -> Kernel:
    """Rows uniform on the simplex, columns of the distribution function sorted."""
    rng = check_rng(rng)
    return _sort_distributions(_simplex_rows(check_integer("states", states, 2), rng))


def sorted_wearing(states: int, rng: Rng) -> Kernel:
    """As `sorted_simplex`, but row x puts no mass below x: the arm only wears."""
    rng = check_rng(rng)
    return _sort_distributions(_simplex_rows(check_integer("states", states, 2), rng, wears=True))


def lazy_simplex(states: int, rng: Rng) -> Kernel:
    """P I + (1 - p) times a `sorted_simplex` kernel, p uniform on (0, 1)."""
    rng = check_rng(rng)
    return _lazy(sorted_simplex(states, rng), rng)


def lazy_wearing(states: int, rng: Rng) -> Kernel:
    """P I + (1 - p) times a `sorted_wearing` kernel, p uniform on (0, 1)."""
    rng = check_rng(rng)
    return _lazy(sorted_wearing(states, rng), rng)


def _lazy(kernel: Kernel, rng: np.random.Generator) -> Kernel:
    stay = rng.uniform()
    return stay * np.eye(len(kernel)) + (1 - stay) * kernel


def raised_tails(states: int, rng: Rng) -> Kernel:
    """Tail sums raised row by row, each towards a uniform point between the last row's and 1.

    Row x + 1 has tails T' = T + (1 - T) V with V the tails of a random distribution scaled by a
    uniform number over the states left, so that the last rows do not all collapse on the worst.
    """
    rng = check_rng(rng)
    states = check_integer("states", states, 2)
    rows = _simplex_rows(states, rng)
    distribution = np.empty((states, states))
    distribution[0] = np.cumsum(rows[0])
    for x in range(1, states):
        lift = rng.uniform() / (states - x)
        distribution[x] = distribution[x - 1] * (1 - lift * (1 - np.cumsum(rows[x])))
    distribution[:, -1] = 1.0
    return np.diff(distribution, axis=1, prepend=0.0)


def sorted_quantiles(states: int, rng: Rng) -> Kernel:
    """Rows are the empirical laws of sorted uniform draws: integer-valued, often sparse."""
    rng = check_rng(rng)
    states = check_integer("states", states, 2)
    draws = np.sort(rng.integers(states, size=(states, states)), axis=0)
    kernel = np.zeros((states, states))
    np.add.at(kernel, (np.arange(states)[:, None], draws), 1.0 / states)
    return kernel


#: Random stochastically monotone kernels, by name.
RANDOM_KERNELS: dict[str, Callable[[int, np.random.Generator], Kernel]] = {
    "sorted-simplex": sorted_simplex,
    "sorted-wearing": sorted_wearing,
    "lazy-simplex": lazy_simplex,
    "lazy-wearing": lazy_wearing,
    "raised-tails": raised_tails,
    "sorted-quantiles": sorted_quantiles,
}


def _check_stay(stay: float) -> float:
    return check_number("stay", stay, 0, 1)


def _drift(states: int, stay: float, jumps: tuple[float, ...]) -> Kernel:
    """Stay with probability `stay`, else jump up by 1, 2, ... with the given shares."""
    stay = _check_stay(stay)
    kernel = np.zeros((check_integer("states", states, 2), states))
    for x in range(states):
        kernel[x, x] += stay
        for size, share in enumerate(jumps, start=1):
            kernel[x, min(x + size, states - 1)] += (1 - stay) * share
    return kernel


def one_step(states: int, stay: float) -> Kernel:
    """Stay with probability `stay`, else wear by one state."""
    return _drift(states, stay, (1.0,))


def two_step(states: int, stay: float) -> Kernel:
    """Stay with probability `stay`, else wear by one or two states, equally likely."""
    return _drift(states, stay, (0.5, 0.5))


def uniform_wear(states: int, stay: float) -> Kernel:
    """Stay with probability `stay`, else move to any worse state, equally likely."""
    stay = _check_stay(stay)
    kernel = np.triu(np.ones((check_integer("states", states, 2), states)), 1)
    kernel[:-1] *= (1 - stay) / kernel[:-1].sum(axis=1, keepdims=True)
    kernel[np.arange(states - 1), np.arange(states - 1)] = stay
    kernel[-1, -1] = 1.0
    return kernel


def random_walk(states: int, stay: float) -> Kernel:
    """Stay with probability `stay`, else up twice as often as down; held at both ends."""
    stay = _check_stay(stay)
    kernel = np.zeros((check_integer("states", states, 2), states))
    for x in range(states):
        kernel[x, x] += stay
        kernel[x, min(x + 1, states - 1)] += (1 - stay) * 2 / 3
        kernel[x, max(x - 1, 0)] += (1 - stay) / 3
    return kernel


def shock(states: int, stay: float) -> Kernel:
    """Stay with probability `stay`, else fail at once (the worst state)."""
    stay = _check_stay(stay)
    kernel = stay * np.eye(check_integer("states", states, 2))
    kernel[:, -1] += 1 - stay
    return kernel


#: Structured stochastically monotone kernels with one parameter `stay`, by name.
STRUCTURED_KERNELS: dict[str, Callable[[int, float], Kernel]] = {
    "one-step": one_step,
    "two-step": two_step,
    "uniform-wear": uniform_wear,
    "random-walk": random_walk,
    "shock": shock,
}


def kernel_names() -> tuple[str, ...]:
    """Names that `random_kernel` knows: the random generators, then the structured families."""
    return (*RANDOM_KERNELS, *STRUCTURED_KERNELS)


def random_kernel(name: str, states: int, rng: Rng) -> Kernel:
    """Draw a kernel by its name; `stay` of structured ones is uniform on (0.05, 0.95)."""
    rng = check_rng(rng)
    check_choice("kernel", name, kernel_names())
    if name in RANDOM_KERNELS:
        return RANDOM_KERNELS[name](states, rng)
    return STRUCTURED_KERNELS[name](states, rng.uniform(0.05, 0.95))


def slide_arm(passive: Kernel) -> RestartArm:
    """Return slide 18's arm: c(x, 0) = (x - 1)^2, c(x, 1) = (K - 1)^2 / 2, x from 1, Q = e_1."""
    states = len(probability_rows("passive", passive))
    levels = np.arange(states, dtype=np.float64)
    return RestartArm(
        passive, np.eye(states)[0], levels**2, np.full(states, 0.5 * (states - 1) ** 2)
    )


def slide_arms(
    name: str, count: int, states: int, rng: Rng, *, identical: bool = False
) -> list[RestartArm]:
    """Draw one instance of the slides' experiments: `count` arms with kernels of one generator.

    `name` is one of `kernel_names`; `identical` arms share one kernel, which the slides leave open.
    """
    rng = check_rng(rng)
    count = check_integer("count", count, 1)
    if identical:
        return [slide_arm(random_kernel(name, states, rng))] * count
    return [slide_arm(random_kernel(name, states, rng)) for _ in range(count)]


def unstructured_arm(states: int, rng: Rng) -> RestartArm:
    """Draw an arm of Dirichlet laws and normal costs: thresholds are hardly ever optimal."""
    rng = check_rng(rng)
    flat = np.ones(check_integer("states", states, 2))
    passive, reset = rng.dirichlet(flat, states), rng.dirichlet(flat)
    return RestartArm(passive, reset, *rng.normal(size=(2, states)))
