"""Shared by pages of this part: axes of the slides, columns that name a system, two machines."""

from __future__ import annotations

import numpy as np

from analysis.arrays import Floats
from analysis.restarts.arm import RestartArm
from analysis.restarts.bandit import RestartBandit
from analysis.restarts.instances import SLIDE_DISCOUNT
from scorecard.prints import printed_rows

BIN = 0.5
"""Width of the bins of the histograms, in %; the slides print none."""
SYSTEM = {
    "kernel": "generator of the kernels",
    "instance": "number of the system among those of its generator",
    "arms": "arms of the system, n",
    "budget": "arms active at each epoch, m",
}


def printed_ticks(row: str) -> Floats:
    """Return the ticks of an axis as the slides print them."""
    return np.array(printed_rows()[row].printed.split(), dtype=np.float64)


def make_two_machines() -> RestartBandit:
    """Return two machines of two states, of which the index policy repairs the wrong one."""
    wear, new = np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.0])
    first = RestartArm(wear, new, np.array([0.0, 1.2]), np.array([1.0, 1.0]))
    second = RestartArm(wear, new, np.array([0.0, 1.0]), np.array([0.0, 4.0]))
    return RestartBandit((first, second), 1, SLIDE_DISCOUNT)
