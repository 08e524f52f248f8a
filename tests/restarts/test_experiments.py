"""The slides' experiments, on few instances."""

from __future__ import annotations

import numpy as np

from analysis.restarts.experiments import myopic_gaps, optimality_ratios


def test_optimality_ratios_are_ordered_and_do_not_depend_on_instances_or_processes():
    few = optimality_ratios(["lazy-wearing"], seed=0, instances=2, jobs=2)
    more = optimality_ratios(["lazy-wearing"], seed=0, instances=4, jobs=1)
    assert few.equals(more.iloc[:4])
    assert list(more.budget) == [1, 2] * 4
    slack = more.residual + 1e-9
    assert (more.bound <= more.optimal + slack).all()
    assert (more.optimal <= more["index"] + slack).all()
    assert (more["index"] < more.lowest).all()
    assert (more.alpha_least <= more.alpha + 1e-6).all()


def test_identical_arms_leave_index_and_myopic_policy_alike():
    kernels = ["sorted-simplex", "one-step"]
    exact = optimality_ratios(kernels, seed=1, instances=2, identical=True, jobs=1)
    assert np.allclose(exact.eps, 0, atol=1e-6)
    found = myopic_gaps(
        kernels, seed=1, instances=2, arms=10, paths=50, epochs=60, identical=True, jobs=1
    )
    assert (found.eps == 0).all()


def test_myopic_gaps_agree_with_exact_values_on_a_small_system():
    exact = optimality_ratios(["one-step"], seed=4, instances=2, budgets=(1,), jobs=1)
    found = myopic_gaps(
        ["one-step"], seed=4, instances=2, arms=5, states=5, budgets=(1,), paths=20_000, jobs=1
    )
    assert np.allclose(found["index"], exact["index"], rtol=0.03)
    wide = 3 * (found.high - found.low)
    assert (abs(found.eps - exact.eps) < wide).all()
    assert np.allclose(found.bound, exact.bound)
