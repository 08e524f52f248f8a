"""Policies on random instances, on few of them."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.restarts.systems import exact_costs, fullest_bin, myopic_gaps


def test_exact_costs_repeat_and_order():
    few = exact_costs(["lazy-wearing"], seed=0, instances=2, jobs=2)
    more = exact_costs(["lazy-wearing"], seed=0, instances=4, jobs=1)
    assert few.equals(more.iloc[:4])
    assert list(more.budget) == [1, 2] * 4
    slack = more.residual + 1e-9
    assert (more.bound <= more.optimal + slack).all()
    assert (more.optimal <= more.index_best + slack).all()
    assert (more.index_best <= more["index"] + slack).all()
    assert (more["index"] <= more.index_worst + slack).all()
    assert (more.index_worst < more.lowest).all()
    assert (more.index_least <= more.optimal / more["index"] + 1e-8).all()
    # The arms are all new and tie at the start, so that ties make a difference.
    assert (more.index_worst > 1.0001 * more.index_best).all()


def test_only_requested_policies_valued():
    found = exact_costs(["shock"], ["index_best"], seed=0, instances=1, arms=2, jobs=1, budgets=[1])
    every = exact_costs(["shock"], seed=0, instances=1, arms=2, jobs=1, budgets=[1])
    assert not {"index", "myopic", "lowest"} & set(found)
    assert found.index_best.equals(every.index_best)
    with pytest.raises(ValueError, match="policies"):
        exact_costs(["shock"], ["best"], seed=0, instances=1)


def test_fullest_bin_by_brute_force():
    assert fullest_bin([0.0, 0.9, 1.0, 1.1, 1.8, 5.0], 1.0) == 4
    assert fullest_bin([], 1.0) == 0
    with pytest.raises(ValueError, match="width"):
        fullest_bin([1.0], 0)


def test_identical_arms_tie_index_and_myopic():
    kernels = ["sorted-simplex", "one-step"]
    exact = exact_costs(kernels, ["index", "myopic"], seed=1, instances=2, identical=True, jobs=1)
    assert np.allclose(exact["index"], exact.myopic, rtol=1e-8)
    found = myopic_gaps(
        kernels, seed=1, instances=2, arms=[10], paths=50, epochs=60, identical=True, jobs=1
    )
    assert (found.eps == 0).all()


def test_myopic_gaps_match_exact_values():
    exact = exact_costs(["one-step"], seed=4, instances=2, budgets=(1,), jobs=1)
    eps = 100 * (1 - exact["index"] / exact.myopic)
    setting = {"seed": 4, "instances": 2, "arms": [3, 5], "states": 5, "budgets": [1], "jobs": 1}
    found = myopic_gaps(["one-step"], paths=10_000, **setting)
    assert list(found.arms) == [3, 5, 3, 5]
    found = found[found.arms == 5].reset_index(drop=True)
    assert np.allclose(found["index"], exact["index"], rtol=0.03)
    wide = 3 * (found.high - found.low)
    assert (abs(found.eps - eps) < wide).all()
    assert np.allclose(found.bound, exact.bound)
