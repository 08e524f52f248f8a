"""Instances of restart arms: kernels, random and structured, and arms of the applications.

The restart slides (2019, slide 18) use "structured and randomly generated stochastic monotone
matrices" and print neither, so several natural readings stand side by side. Every kernel here is
stochastically monotone: the distribution functions F(x, y) of its rows fall as x grows. Sorting
the columns of any such F, mixing with the identity, and taking the larger of two independent
draws (F times G) all keep that. The slides' own costs are c(x, 0) = (x - 1)^2 and
c(x, 1) = (K - 1)^2 / 2 with restarts to the first state, b = 0.9.

The applications are those that slide 3 names in words, and a crawler:

* Machine maintenance: a machine wears from 0 (new) to K - 1 (worst); running it costs more the
  more it is worn, repairing it costs more too, and makes it new.
* Queue scheduling: packets arrive at a queue, the channel empties the queues it is given; holding
  a packet costs, a transmission costs, and an emptied queue restarts from the arrivals of an epoch.
* Crawling: the age of a source is its state, and a crawl at age k collects
  X_k = u*(1 - alpha^k) and resets the age to 1. At discount b the index is

      w_b(k) = X_k - u alpha^k (b + b^2 + ... + b^k),   u = (1 - alpha) u*,

  and falls to the average-reward index X_k - k u alpha^k as b tends to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from analysis.arrays import Floats
from analysis.checks import (
    Rng,
    check_array,
    check_choice,
    check_integer,
    check_number,
    check_positive,
    check_rng,
)
from analysis.restarts.arm import RestartArm, check_discount, check_states, probability_rows

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


def machine(wear: ArrayLike, running_cost: ArrayLike, repair_cost: ArrayLike) -> RestartArm:
    """Return a machine whose repair makes it new.

    `wear` is the kernel of an epoch without repair, from new (first) to worst (last), shape
    (states, states); both costs, shape (states,), are those of an epoch. Raises ValueError if the
    wear is no kernel, or there is not a finite cost for each state.
    """
    kernel = probability_rows("wear", wear)
    states = kernel.shape[-1]
    if kernel.shape != (states, states):
        raise ValueError(f"wear must be a square matrix, got shape {kernel.shape}")
    running = check_states("running_cost", running_cost, states)
    repair = check_states("repair_cost", repair_cost, states)
    return RestartArm(kernel, np.eye(states)[0], running, repair)


def example_machines(states: int = 6) -> list[RestartArm]:
    """Return four machines: a steady, a fast cheap, a suddenly failing and a dear one."""
    states = check_integer("states", states, 2)
    level = np.arange(states, dtype=np.float64) / (states - 1)
    return [
        machine(one_step(states, 0.5), 10 * level**2, 4 + 2 * level),
        machine(two_step(states, 0.3), 6 * level, 2 + level),
        machine(shock(states, 0.85), 12 * level, 5 + 0 * level),
        machine(uniform_wear(states, 0.7), 20 * level**2, 8 + 4 * level),
    ]


def queue(
    arrivals: ArrayLike, capacity: int, holding_cost: float, transmission_cost: float,
    loss_cost: float = 0.0,
) -> RestartArm:  # fmt: skip
    """Return a queue that a transmission empties; its state is the packets held, 0 to `capacity`.

    `arrivals`, shape (most + 1,), is the law of the packets that arrive in an epoch, none of which
    may exceed the capacity; packets beyond it are lost. Costs are per packet held over an epoch
    without transmission, per transmission, and per lost packet. Raises ValueError if an argument is
    wrong.
    """
    law = probability_rows("arrivals", arrivals)
    if law.ndim != 1:
        raise ValueError(f"arrivals must be one distribution, got shape {law.shape}")
    capacity = check_integer("capacity", capacity, max(1, law.size - 1))
    holding_cost = check_number("holding_cost", holding_cost)
    transmission_cost = check_number("transmission_cost", transmission_cost)
    loss_cost = check_number("loss_cost", loss_cost)
    waiting = np.arange(capacity + 1)
    kernel = np.zeros((capacity + 1, capacity + 1))
    lost = np.zeros(capacity + 1)
    for packets, probability in enumerate(law):
        np.add.at(kernel, (waiting, np.minimum(waiting + packets, capacity)), probability)
        lost += probability * np.maximum(waiting + packets - capacity, 0)
    cost = holding_cost * waiting + loss_cost * lost
    return RestartArm(kernel, kernel[0], cost, np.full(capacity + 1, float(transmission_cost)))


def example_queues(capacity: int = 7) -> list[RestartArm]:
    """Return four queues: a steady trickle, bursts, a busy cheap one and a rare urgent one."""
    capacity = check_integer("capacity", capacity, 4)
    bursts = np.array([0.8, 0.0, 0.0, 0.2])
    return [
        queue(stats.binom.pmf(np.arange(2), 1, 0.5), capacity, 1.0, 1.0, 5.0),
        queue(bursts, capacity, 1.0, 1.0, 5.0),
        queue(stats.binom.pmf(np.arange(5), 4, 0.3), capacity, 0.4, 0.5, 2.0),
        queue(np.array([0.9, 0.1]), capacity, 6.0, 2.0, 20.0),
    ]


def state_scores(arms: Sequence[RestartArm]) -> list[Floats]:
    """Return the rule of thumb "worst state first" (most worn machine, longest queue)."""
    return [np.arange(arm.states, dtype=np.float64) for arm in arms]


def crawl_reward(u_star: float, alpha: float, age: ArrayLike) -> Floats:
    """Return X_k = u*(1 - alpha^k), what a crawl at age k (epochs) is expected to collect.

    u* is the expected utility of a source that was never crawled, alpha in (0, 1) what is left of
    an item's utility after an epoch. Raises ValueError if one is out of range.
    """
    alpha = check_number("alpha", alpha, 0, 1, low_open=True, high_open=True)
    u_star = check_positive("u_star", u_star)
    return np.asarray(-u_star * np.expm1(check_array("age", age, 0) * np.log(alpha)))


def crawler_arm(u_star: float, alpha: float, ages: int) -> RestartArm:
    """Return a source as a restart arm whose state is its age, 1 to `ages` (then held).

    A passive epoch costs 0, an active one -X_k (`crawl_reward`); a crawl restarts at age 1.
    """
    ages = check_integer("ages", ages, 2)
    kernel = np.eye(ages, k=1)
    kernel[-1, -1] = 1.0
    reward = crawl_reward(u_star, alpha, np.arange(1, ages + 1))
    return RestartArm(kernel, np.eye(ages)[0], np.zeros(ages), -reward)


def crawler_index(u_star: float, alpha: float, discount: float, age: ArrayLike) -> Floats:
    """Return the index at ages from 1 on in closed form; at discount 1 for average rewards."""
    discount = check_discount(discount)
    k = check_array("age", age, 1)
    collected = crawl_reward(u_star, alpha, k)
    weight = k if discount == 1 else discount * -np.expm1(k * np.log(discount)) / (1 - discount)
    return np.asarray(collected - u_star * (1 - alpha) * alpha**k * weight)
