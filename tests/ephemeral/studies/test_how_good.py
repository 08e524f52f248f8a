import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources, whittle_index, whittle_index_at_age
from analysis.ephemeral.studies import how_good as studies
from analysis.ephemeral.studies.how_good import (
    joint_ages,
    optimality_row,
)
from analysis.ephemeral.theory.printed import orbit, printed_eta, printed_index
from analysis.results import NotConverged
from analysis.sweep import sweep


def test_theorem_as_printed_is_the_index_below_the_limit():
    sources = four_sources()
    x = np.linspace(0, 0.999, 500)[:, None] * sources.u_star
    np.testing.assert_allclose(
        printed_index(sources, x), whittle_index(sources, x), rtol=1e-9, atol=1e-9
    )


def test_theorem_as_printed_is_nothing_from_the_limit_on():
    sources = four_sources()
    for share in (1.0 + 1e-12, 1.5, 4.0):
        np.testing.assert_array_equal(printed_index(sources, share * sources.u_star), 0)


def test_remark_holds_on_the_orbit_in_exact_arithmetic_and_fails_off_it():
    sources = four_sources()
    ages = np.arange(1, 9)[:, None] * np.ones(4)
    states = sources.state_at_age(ages)
    short = ages * ((1 - sources.alpha) * states - sources.u) + states  # eta is the age
    np.testing.assert_allclose(short, whittle_index_at_age(sources, ages), rtol=1e-9)
    between = sources.state_at_age(ages + 0.5)
    off = np.abs(printed_index(sources, between, "remark") - whittle_index(sources, between))
    assert (off.max(axis=0) > 0.05 * sources.u_star).all()


def test_the_ceiling_flips_on_computed_orbits():
    sources = Sources(np.ones(400), np.ones(400), np.geomspace(0.01, 2, 400))
    eta = printed_eta(sources, orbit(sources, 6))
    flipped = eta != np.arange(1, 7)[:, None]
    assert flipped.mean() > 0.2
    assert (eta - np.arange(1, 7)[:, None])[flipped].max() == 1


def test_an_orbit_is_the_closed_form():
    sources = four_sources()
    ages = np.arange(1, 31)[:, None] * np.ones(4)
    np.testing.assert_allclose(orbit(sources, 30), sources.state_at_age(ages), rtol=1e-12)


def test_optimality_rows_respect_the_order_of_bounds():
    rows = sweep(optimality_row, [(3, 1), (4, 2)], seed=1, replications=6, jobs=1, progress=False)
    for row in (row for point in rows for row in point):
        for policy in ("whittle", "myopic", "round-robin", "spread", "periodic", "draws"):
            assert row[policy] <= 1 + 1e-7, policy
        assert 1 - 1e-9 <= row["bound"] <= row["fluid"] + 1e-9


def test_unknown_forms_are_named():
    with pytest.raises(ValueError, match="form must be one of theorem, remark"):
        printed_index(four_sources(), np.ones(4), "short")


def test_joint_ages_grow_with_the_sources():
    two, three = (joint_ages(size, 2, seed=1) for size in (2, 3))
    assert len(two) == len(three) == 2
    assert max(two) < max(three)
    assert joint_ages(2, 1, seed=1) == two[:1]
    with pytest.raises(ValueError, match="sets must be an integer of at least 1, got 0"):
        joint_ages(2, 0, seed=1)


def test_a_set_that_cannot_be_solved_is_drawn_again(monkeypatch):
    solved = studies.optimal_cycle
    calls = []

    def refuse_the_first(*arguments, **options):
        calls.append(1)
        if len(calls) == 1:
            raise NotConverged("too many joint ages")
        return solved(*arguments, **options)

    monkeypatch.setattr(studies, "optimal_cycle", refuse_the_first)
    rng = np.random.default_rng(8)
    rows = [optimality_row((3, 1), rng) for _ in range(6)]
    assert sum(row["redrawn"] for row in rows) == 1
    assert all(row["whittle"] <= 1 + 1e-7 for row in rows)
