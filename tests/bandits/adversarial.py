"""Families of arms with two actions that are made to break an index, and the index's definition."""

from __future__ import annotations

import numpy as np

from analysis.bandits import Arm, Indexability
from analysis.mdp import policy_iteration, solve_discounted

DISCOUNTS = (0.1, 0.5, 0.9, 0.999, 1 - 1e-6, 1.0, 1.0)


def draw(family: str, number: int) -> tuple[Arm, float]:
    """Return an arm of at most eight states, of at most 16 in `copies`, and a discount."""
    rng = np.random.default_rng([number, *family.encode()])
    states = int(rng.integers(1, 9))
    rewards = rng.normal(size=(2, states))
    kernels = rng.dirichlet(np.full(states, rng.choice([0.1, 0.3, 1.0])), (2, states))
    kernels = FAMILIES[family](rng, states, kernels, rewards)
    return Arm(kernels, rewards), float(rng.choice(DISCOUNTS))


def deterministic(rng, states):
    """Each state and action lead to one state: chains that are periodic, or have many classes."""
    return np.eye(states)[rng.integers(states, size=(2, states))]


def integers(rng, states, kernels, rewards):
    """Small whole rewards and steps of one half: ties."""
    rewards[:] = rng.integers(-2, 3, rewards.shape)
    return (deterministic(rng, states) + deterministic(rng, states)) / 2


def frozen(rng, states, kernels, rewards):
    """Passive arms stay as they are and earn nothing: a rested bandit, several closed classes."""
    kernels[0], rewards[0] = np.eye(states), 0.0
    return kernels


def same(rng, states, kernels, rewards):
    """Actions that move alike: the index is the difference of the rewards."""
    kernels[1] = kernels[0]
    return kernels


def constant(rng, states, kernels, rewards):
    """Rewards of the action alone: all states tie."""
    rewards[:] = rewards[:, :1]
    return kernels


def decades(rng, states, kernels, rewards):
    """Rewards over 12 decades."""
    rewards[:] = 10.0 ** rng.uniform(-6, 6, rewards.shape) * rng.choice([-1, 1], rewards.shape)
    return kernels


def slow(rng, states, kernels, rewards):
    """States that are left once in many epochs."""
    rate = 10.0 ** -rng.uniform(2, 7)
    return (1 - rate) * np.eye(states) + rate * kernels


def cycle(rng, states, kernels, rewards):
    """Passive epochs go round, active ones leap: periodic."""
    turn = np.eye(states)
    return np.stack([np.roll(turn, 1, axis=1), np.roll(turn, int(rng.integers(states)), axis=1)])


def absorbing(rng, states, kernels, rewards):
    """The first state is never left: all others are transient."""
    kernels[:, 0] = np.eye(states)[0]
    return kernels


def reset(rng, states, kernels, rewards):
    """A restart arm."""
    kernels[1] = kernels[1, 0]
    return kernels


def walk(rng, states, kernels, rewards):
    """A walk between neighbours under either action."""
    up, down = np.roll(np.eye(states), 1, axis=1), np.roll(np.eye(states), -1, axis=1)
    up[-1], down[0] = np.eye(states)[-1], np.eye(states)[0]
    climbs = rng.random((2, states, 1))
    return climbs * up + (1 - climbs) * down


FAMILIES = {
    "dense": lambda rng, states, kernels, rewards: kernels,
    "deterministic": lambda rng, states, kernels, rewards: deterministic(rng, states),
    "whole rewards": integers,
    "frozen": frozen,
    "same moves": same,
    "rewards of the action alone": constant,
    "rewards over 12 decades": decades,
    "slow": slow,
    "periodic": cycle,
    "absorbing": absorbing,
    "restart": reset,
    "walk": walk,
}


def passive_advantage(arm: Arm, discount: float, subsidy: float) -> np.ndarray:
    """Return what passivity earns above activity in each state, by policy iteration."""
    rewards = arm.rewards + np.array([[subsidy], [0.0]])
    if discount == 1:
        bias = policy_iteration(arm.transitions, rewards, tolerance=1e-6).bias
    else:
        bias = solve_discounted(arm.transitions, rewards, discount, tolerance=1e-6).values
    worth = rewards + discount * arm.transitions @ (bias - bias[0])
    return worth[0] - worth[1]


def agrees(arm: Arm, discount: float, found: Indexability) -> bool:
    """Whether a result keeps to the definition.

    At a subsidy between two indices the passive states are those of the lower indices; a witness is
    passive at one subsidy and active at a higher one. What ties but for rounding is not compared.
    """
    if found.witness is not None:
        state, low, high = found.witness
        below, above = (passive_advantage(arm, discount, at)[state] for at in (low, high))
        return low < high and below > 0 > above
    steps = np.unique(found.index)
    size = np.abs(steps).max() + np.ptp(arm.rewards, axis=1).max()
    between = [steps[0] - size, *(steps[1:] + steps[:-1]) / 2, steps[-1] + size]
    for subsidy in between:
        advantage = passive_advantage(arm, discount, subsidy)
        clear = (np.abs(found.index - subsidy) > 1e-7 * size) & (np.abs(advantage) > 1e-7 * size)
        if ((advantage > 0) != (found.index < subsidy))[clear].any():
            return False
    return True
