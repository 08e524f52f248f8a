"""The slides' experiments, on few instances."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.restarts.studies.experiments import fullest_bin, myopic_gaps, optimality_ratios


def test_optimality_ratios_are_ordered_and_do_not_depend_on_instances_or_processes():
    few = optimality_ratios(["lazy-wearing"], seed=0, instances=2, jobs=2)
    more = optimality_ratios(["lazy-wearing"], seed=0, instances=4, jobs=1)
    assert few.equals(more.iloc[:4])
    assert list(more.budget) == [1, 2] * 4
    slack = more.residual + 1e-9
    assert (more.bound <= more.optimal + slack).all()
    assert (more.optimal <= more["index"] + slack).all()
    assert (more.index_worst < more.lowest).all()
    assert (more.alpha_least <= more.alpha + 1e-6).all()
    assert (more.alpha_worst <= more.alpha + 1e-5).all()
    assert (more.alpha <= more.alpha_best + 1e-5).all()
    # The arms are all new and tie at the start, so that ties make a difference.
    assert (more.alpha_worst < more.alpha_best - 0.01).all()


def test_the_fullest_bin_counts_wherever_bins_begin():
    assert fullest_bin([0.0, 0.9, 1.0, 1.1, 1.8, 5.0], 1.0) == 4
    assert fullest_bin([], 1.0) == 0
    with pytest.raises(ValueError, match=r"width must be a number in \(0, inf\), got 0"):
        fullest_bin([1.0], 0)


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
