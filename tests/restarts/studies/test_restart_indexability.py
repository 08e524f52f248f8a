"""Slide 11 read to the letter, against an exactly solved arm."""

from __future__ import annotations

import numpy as np

from analysis.restarts import RestartArm
from analysis.restarts.generators import unstructured_arm
from analysis.restarts.indexability import critical_values
from analysis.restarts.studies.restart_indexability import fixed_time_values, passive_set_readings
from tests.restarts.support import draw_arm


def test_only_both_corrections_together_give_every_passive_set():
    arms = [unstructured_arm(5, np.random.default_rng(seed)) for seed in range(20)]
    found = passive_set_readings(arms, 0.9).set_index(["ratio", "level"])
    assert (found.checked == 20 * 6).all()
    assert found.wrong["stopping times", "corrected"] == 0
    assert found.wrong["stopping times", "printed"] > 0
    assert found.wrong["fixed times", "corrected"] > 0


def test_stopping_times_do_no_worse_than_fixed_times():
    for seed in range(30):
        arm = draw_arm(seed, 6)
        assert (fixed_time_values(arm, 0.9) >= critical_values(arm, 0.9) - 1e-9).all()


def test_fixed_times_suffice_where_wear_is_certain():
    # A deterministic walk to the worst state: a stopping time is a fixed time.
    kernel = np.eye(4, k=1)
    kernel[-1, -1] = 1
    arm = RestartArm(kernel, np.eye(4)[0], np.array([3.0, 0.0, 2.0, 5.0]), np.ones(4))
    assert np.allclose(fixed_time_values(arm, 0.9), critical_values(arm, 0.9))
