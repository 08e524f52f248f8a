"""The choices of `LspeOptions` as integers, for compiled code.

Reference: the 2019 paper, sections III and IV, whose equation (8) is grad log p.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class Selection(IntEnum):
    """How arms are drawn."""

    INDEPENDENT = 0
    ONE_OF_N = 1


class Reward(IntEnum):
    """Whose contents the reward R sums: those of all arms, or of the crawled ones."""

    ALL = 0
    CRAWLED = 1


class Signal(IntEnum):
    """Factor of the gradient: the value of the next state, or the advantage."""

    NEXT_VALUE = 0
    ADVANTAGE = 1


class Gradient(IntEnum):
    """Arms whose terms of (8), in the 2019 paper, a component of the gradient sums."""

    EVERY_ARM = 0
    OWN_ARM = 1


class Threshold(IntEnum):
    """Form of the threshold function T_i."""

    CONSTANT = 0
    SHARED = 1
    QUADRATIC = 2


class Features(IntEnum):
    """Form of the features phi."""

    LINEAR = 0
    QUADRATIC = 1


class Regulariser(IntEnum):
    """How the matrix B is regularised or inverted."""

    NONE = 0
    RIDGE = 1
    TIKHONOV = 2
    SHERMAN_MORRISON = 3


class Averaging(IntEnum):
    """Step size b(n)."""

    MEAN = 0
    STEP = 1


CHOICES: Mapping[str, Mapping[str, IntEnum]] = {
    "selection": {
        "independent": Selection.INDEPENDENT,
        "one-of-n": Selection.ONE_OF_N,
    },
    "reward": {"all": Reward.ALL, "crawled": Reward.CRAWLED},
    "signal": {
        "next value": Signal.NEXT_VALUE,
        "advantage": Signal.ADVANTAGE,
    },
    "gradient": {"every arm": Gradient.EVERY_ARM, "own arm": Gradient.OWN_ARM},
    "threshold": {
        "constant": Threshold.CONSTANT,
        "shared": Threshold.SHARED,
        "quadratic": Threshold.QUADRATIC,
    },
    "features": {"linear": Features.LINEAR, "quadratic": Features.QUADRATIC},
    "regulariser": {
        "none": Regulariser.NONE,
        "ridge": Regulariser.RIDGE,
        "tikhonov": Regulariser.TIKHONOV,
        "sherman-morrison": Regulariser.SHERMAN_MORRISON,
    },
    "averaging": {"mean": Averaging.MEAN, "step": Averaging.STEP},
}
"""Names of the choices of each option, with their values in the compiled steps."""
