"""Restart arms for the applications that slide 3 names, and for a crawler.

* Machine maintenance: a machine wears from 0 (new) to K - 1 (worst); running it costs more the
  more it is worn, repairing it costs more too, and makes it new.
* Queue scheduling: packets arrive at a queue, the channel empties the queues it is given; holding
  a packet costs, a transmission costs, and an emptied queue restarts from the arrivals of an epoch.
* Crawling: the age of a source is its state, and a crawl at age k collects
  X_k = u*(1 - alpha^k) and resets the age to 1. At discount b the index is

      w_b(k) = X_k - u alpha^k (b + b^2 + ... + b^k),   u = (1 - alpha) u*,

  and falls to the average-reward index X_k - k u alpha^k as b tends to 1.

Source: the restart slides (2019), slide 3 (words only: the slides print no model of these).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from analysis.arrays import Floats
from analysis.checks import check_array, check_integer, check_number
from analysis.restarts.arm import RestartArm, check_discount, check_states, probability_rows


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
    from analysis.restarts.instances.generators import one_step, shock, two_step, uniform_wear

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
    held = np.arange(capacity + 1)
    kernel = np.zeros((capacity + 1, capacity + 1))
    lost = np.zeros(capacity + 1)
    for packets, probability in enumerate(law):
        np.add.at(kernel, (held, np.minimum(held + packets, capacity)), probability)
        lost += probability * np.maximum(held + packets - capacity, 0)
    cost = holding_cost * held + loss_cost * lost
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
    u_star = check_number("u_star", u_star, 0, low_open=True, high_open=True)
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
