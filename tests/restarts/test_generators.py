"""Named kernels are what they are called, and instances are repeatable."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.restarts import whittle_index
from analysis.restarts.instances import (
    STRUCTURED_KERNELS,
    kernel_names,
    random_kernel,
    slide_arm,
    slide_arms,
)
from tests.support import read_notebooks


@pytest.mark.parametrize("name", kernel_names())
@pytest.mark.parametrize("states", [2, 5, 25])
def test_kernels_are_monotone(name, states):
    for seed in range(5):
        arm = slide_arm(random_kernel(name, states, np.random.default_rng(seed)))
        assert arm.stochastically_monotone
        assert whittle_index(arm, 0.9).method == "closed form"


@pytest.mark.parametrize("name", kernel_names())
def test_wearing_kernels_only_wear(name):
    kernel = random_kernel(name, 6, np.random.default_rng(0))
    wears = name not in {"sorted-simplex", "lazy-simplex", "raised-tails", "sorted-quantiles",
                         "random-walk"}  # fmt: skip
    assert (not np.tril(kernel, -1).any()) == wears


def test_slide_arm_costs():
    arm = slide_arm(np.eye(5))
    assert arm.passive_cost.tolist() == [0, 1, 4, 9, 16]
    assert arm.active_cost.tolist() == [8] * 5
    assert arm.reset.tolist() == [1, 0, 0, 0, 0]


def test_instances_repeat():
    first, again = (slide_arms("lazy-simplex", 3, 4, np.random.default_rng(5)) for _ in range(2))
    assert all(np.array_equal(a.passive, b.passive) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0].passive, first[1].passive)
    same = slide_arms("lazy-simplex", 3, 4, np.random.default_rng(5), identical=True)
    assert same[0] is same[2]


@pytest.mark.parametrize("name", STRUCTURED_KERNELS)
def test_structured_kernels_stay_probability(name):
    assert np.allclose(np.diag(STRUCTURED_KERNELS[name](6, 0.4))[1:-1], 0.4)


def test_wrong_names_are_refused():
    with pytest.raises(ValueError, match="kernel"):
        random_kernel("wild", 5, np.random.default_rng(0))
    with pytest.raises(ValueError, match="states"):
        random_kernel("shock", 1, np.random.default_rng(0))
    for kernel in STRUCTURED_KERNELS.values():
        for stay in (-0.1, 1.5, float("nan")):
            with pytest.raises(ValueError, match="stay"):
                kernel(4, stay)
    with pytest.raises(ValueError, match="count"):
        slide_arms("shock", 0, 5, np.random.default_rng(0))


def test_pages_name_known_kernels():
    """What a page declares as its choices is what `random_kernel` knows."""
    declared = {
        (notebook.name, name): parameter.allowed
        for notebook in read_notebooks().values()
        for name, parameter in notebook.parameters.items()
        if name in {"kernel", "kernels", "named"}
    }
    assert len(declared) == 5
    assert set(declared.values()) == {f"{{{', '.join(kernel_names())}}}"}
