"""Online dual descent for the relaxed problem, which the slides announce.

The relaxed problem's dual function is convex in the subsidy lambda, and its slope is the budget
less what the sources spend under lambda. So let the sources act, each on its own, and move the
subsidy against the overspending,

    v_i(t) = 1{ gamma_i(t) >= lambda_t },
    lambda_{t+1} = [ lambda_t + a_t ( sum_i C_i v_i(t) - M ) ]^+,   a_t = step / (t + 1)^power.

The only message is the price lambda_t; no source needs the state of another. It serves both
budgets: costs of one (M crawls on average) and any C_i. The spending is that of the moment, not of
the subsidy's stationary regime, which is why the steps must fade slowly enough and yet fade.

Reference: slides, "Some other developments"; report 8702, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_array, check_integer, check_number, check_positive
from analysis.ephemeral.kernels import h, relative_index, relative_index_at_age
from analysis.ephemeral.sources import Sources, check_budget
from analysis.kernel_cache import njit


@read_only_arrays
@dataclass(frozen=True)
class DualRun:
    """Subsidy lambda_t, cost and reward of each epoch of a run; arrays of shape (horizon,)."""

    subsidy: Floats
    spent: Floats
    reward: Floats

    def __repr__(self) -> str:
        return (
            f"DualRun(horizon={self.subsidy.size}, last subsidy={self.subsidy[-1]:.6g}, "
            f"average reward={self.reward.mean():.6g})"
        )


def dual_descent(
    sources: Sources,
    budget: float,
    horizon: int,
    *,
    step: float = 20.0,
    power: float = 0.6,
    initial_subsidy: float = 0.0,
    content: ArrayLike | None = None,
) -> DualRun:
    """Find the relaxed problem's subsidy while crawling.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Cost per epoch on average, in (0, sum of costs].
    horizon : int
        Number of epochs, at least 1.
    step, power : float
        a_t = step / (t + 1)^power; step positive (in units of the index), power in [0, 1].
    initial_subsidy : float
        lambda_0, not negative.
    content : array_like, shape (N, horizon), optional
        Random content of each epoch, observed. Without it content is expected content, and the
        index is that of the age.

    Returns
    -------
    DualRun

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> from analysis.ephemeral import dual_descent, four_sources, relaxed_problem
    >>> run = dual_descent(four_sources(), 2, 20_000)
    >>> print(f"{run.subsidy[-1]:.2f} {relaxed_problem(four_sources(), 2).subsidy:.2f}")
    43.60 43.60
    """
    budget = check_budget(sources, budget)
    horizon = check_integer("horizon", horizon, 1)
    step = check_positive("step", step)
    power = check_number("power", power, 0, 1)
    price = check_number("initial_subsidy", initial_subsidy, 0, high_open=True)
    arrived = np.zeros((len(sources), 1)) if content is None else check_array("content", content, 0)
    if content is not None and arrived.shape != (len(sources), horizon):
        shape = (len(sources), horizon)
        raise ValueError(f"content must have shape {shape}, got {arrived.shape}")
    subsidy, spent, reward = (np.empty(horizon) for _ in range(3))
    _descend(
        sources.decay, sources.u_star, sources.cost, np.ascontiguousarray(arrived.T),
        content is not None, budget, step, power, price, subsidy, spent, reward,
    )  # fmt: skip
    return DualRun(subsidy, spent, reward)


@njit
def _descend(
    decay: Floats,
    u_star: Floats,
    cost: Floats,
    content: Floats,
    random: bool,
    budget: float,
    step: float,
    power: float,
    price: float,
    subsidy: Floats,
    spent: Floats,
    reward: Floats,
) -> None:
    """Play the recursion and write its path to `subsidy`, `spent` and `reward`."""
    size = decay.size
    age, state = np.ones(size), u_star * -np.expm1(-decay)
    alpha, h_decay = np.exp(-decay), np.empty(size)
    for i in range(size):
        h_decay[i] = h(decay[i])
    for t in range(subsidy.size):
        subsidy[t], spent[t], reward[t] = price, 0.0, 0.0
        for i in range(size):
            if random:
                share = state[i] / u_star[i] if u_star[i] > 0 else 0.0
                index = relative_index(decay[i], h_decay[i], share)
            else:
                index = relative_index_at_age(decay[i], h_decay[i], age[i])
                state[i] = u_star[i] * -np.expm1(-decay[i] * age[i])
            if index * u_star[i] / cost[i] >= price:
                spent[t] += cost[i]
                reward[t] += state[i]
                state[i], age[i] = 0.0, 0.0
            if random:
                state[i] = alpha[i] * state[i] + content[t, i]
            age[i] += 1.0
        price = max(0.0, price + step / (t + 1.0) ** power * (spent[t] - budget))
