"""One arm of a restless bandit: a Markov chain with two actions, passive (0) and active (1).

In state s action a earns `rewards[a, s]` and moves to t with probability `transitions[a, s, t]`.
A restart arm is the special case in which all rows of the active kernel are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_array, check_kind, set_fields
from analysis.display import brief
from analysis.mdp.chains import recurrent_classes
from analysis.restarts.arm import RestartArm, probability_rows

ACTIONS = ("passive", "active")


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Arm:
    """An arm with two actions, validated once.

    Parameters
    ----------
    transitions : array_like, shape (2, states, states)
        Kernels of a passive and of an active epoch; rows sum to one to within 1e-9, rows of float32
        to within 1e-6.
    rewards : array_like, shape (2, states)
        Reward of a passive and of an active epoch.

    Raises
    ------
    ValueError
        If an array has the wrong shape, a row is not a distribution or a reward is not finite.

    Examples
    --------
    >>> stay, move = [[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]
    >>> Arm([stay, move], [[0.0, 0.0], [1.0, 2.0]]).states
    2
    """

    transitions: Floats
    rewards: Floats

    def __post_init__(self) -> None:
        kernels = check_array("transitions", self.transitions)
        if kernels.ndim != 3 or kernels.shape[0] != 2 or kernels.shape[1] != kernels.shape[2]:
            raise ValueError(
                f"transitions must have shape (2, states, states), got {kernels.shape}"
            )
        # Indexed as they were given: their precision sets the tolerance of a row's sum.
        given = np.asarray(self.transitions)
        rows = [probability_rows(f"transitions[{a}]", given[a]) for a in (0, 1)]
        rewards = check_array("rewards", self.rewards)
        if rewards.shape != kernels.shape[:2]:
            raise ValueError(f"rewards must have shape {kernels.shape[:2]}, got {rewards.shape}")
        set_fields(self, transitions=np.stack(rows), rewards=rewards)

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.rewards.shape[1])

    @classmethod
    def of(cls, arm: RestartArm) -> Arm:
        """Return a restart arm as an arm of two kernels, with costs as negative rewards."""
        check_kind("arm", arm, RestartArm)
        active = np.broadcast_to(arm.reset, arm.passive.shape)
        return cls(np.stack([arm.passive, active]), -np.stack([arm.passive_cost, arm.active_cost]))


def check_arms(arms: Sequence[Arm]) -> None:
    """Raise ValueError unless `arms` is a sequence of at least one `Arm`."""
    if not isinstance(arms, Sequence) or not len(arms):
        raise ValueError(f"arms must be a sequence of at least one Arm, got {arms!r}")
    for n, arm in enumerate(arms):
        if not isinstance(arm, Arm):
            raise ValueError(f"arms[{n}] must be an Arm, got {arm!r}")


def closed_classes(kernel: Floats) -> int:
    """Return the number of closed classes of a chain."""
    return len(recurrent_classes(sparse.csr_array(kernel)))
