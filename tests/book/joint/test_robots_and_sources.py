"""The page `robots-and-sources`: switching curves and running costs."""

from dataclasses import replace

import numpy as np

from book.joint import robots_and_sources as page


def test_curves_give_sending_states():
    system = page.example_system(1.0, 2.0, 3, 0.5, 0.1)
    age, _, queue = system.states
    policy = np.where((queue <= age[:, 0] - 1) & np.isfinite(system.problem[1][1]), 1, 0)
    found = page.find_switching_curves(system, policy)
    assert found["alone"].tolist() == found["second"].tolist() == [-1, 0, 1, 2, 3]
    assert page.is_switching(system, policy)
    assert not page.is_switching(system, np.where(queue == 2, 1, 0))


def test_dearer_robots_fly_less():
    system = replace(page.example_system(1.0, 2.0, 3, 0.0, 0.0), ages=2)
    scan = page.scan_running_costs(system, 2.0, 3)
    assert (np.diff(scan["robots"]) <= 1e-9).all()
    assert scan["robots"].iloc[0] > 0
    for name in ("rule", "stopped", "fixed"):
        assert (scan[name] <= scan["optimum"] + 1e-9).all()
    lost = page.compute_losses(2, seed=1)
    assert (lost[["rule", "stopped", "fixed"]].to_numpy() >= 0).all()
    assert (lost["stopped"] <= lost["fixed"] + 1e-12).all()
