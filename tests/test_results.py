import dataclasses

import numpy as np
import pytest

from analysis.mdp import Solution


def test_a_solution_cannot_be_changed_after_the_fact():
    solution = Solution(1.0, np.zeros(2), np.zeros(2, dtype=int), 3, 1e-12, True)
    with pytest.raises(dataclasses.FrozenInstanceError):
        solution.gain = 2.0
