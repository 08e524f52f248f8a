"""Proposition 4 as the draft ran it, against the exact optimum and its printed counts."""

import numpy as np
import pytest

from analysis.results import NotConverged
from analysis.robots import RobotControl, proposition_4
from analysis.robots.printed.relative import every_reference


def figure(gamma: float) -> RobotControl:
    return RobotControl(16, 0.1, 1.0, 5, gamma)


@pytest.mark.parametrize(("gamma", "printed"), [(1.0, 254), (1.4, 255), (2.0, 256)])
def test_updates_are_the_printed_iterations(gamma, printed):
    assert proposition_4(figure(gamma)).updates == printed


@pytest.mark.parametrize("reference", [(2, 1, 2), (3, 0, 0), (5, 16, 1)])
def test_the_reference_state_changes_the_values_only(reference):
    run = proposition_4(figure(1.4), reference=reference, tolerance=1e-11)
    assert run.cost == pytest.approx(figure(1.4).solve().gain, abs=1e-11)
    assert run.values[reference[2], reference[0], reference[1]] == 0.0


def test_the_policy_is_the_exact_one():
    run, exact = proposition_4(figure(1.4)), figure(1.4).solve().policy
    assert (run.policy[0, 1:] == exact[:-1]).all()
    assert (run.policy[1, :-1, 1:] == exact[1:, :-1]).all()


def test_closer_to_one_is_faster():
    updates = [proposition_4(figure(1.4), step=t).updates for t in (0.5, 0.8, 0.9, 0.99, 0.99999)]
    assert updates == sorted(updates, reverse=True)
    assert len(set(updates)) == len(updates)


def test_bad_calls_are_refused():
    with pytest.raises(ValueError, match="reference must be a state"):
        proposition_4(figure(1.0), reference=(0, 0, 2))
    with pytest.raises(ValueError, match="reference must be a state"):
        proposition_4(figure(1.0), reference=(0, 3, 0))
    with pytest.raises(ValueError, match=r"step must be a number in \(0, 1\)"):
        proposition_4(figure(1.0), step=1.0)
    with pytest.raises(ValueError, match=r"tolerance must be a number in \(0, inf\)"):
        proposition_4(figure(1.0), tolerance=0.0)
    with pytest.raises(NotConverged, match="did not hold in 10 updates"):
        proposition_4(figure(1.0), max_updates=10)


def test_what_rounding_hides_is_refused_with_the_load_that_hides_it():
    """Sixteen robots outrun the server 81 times: states with no robot left are worth the same."""
    overloaded = RobotControl(16, 6.27, 1.24, 7, 1.0)
    said = r"tolerance of 1e-05 and robots \* arrival_rate / service_rate = 80.9.*capacity below 7"
    with pytest.raises(NotConverged, match=said):
        proposition_4(overloaded)
    assert proposition_4(RobotControl(16, 6.27, 1.24, 3, 1.0)).updates > 0
    with pytest.raises(NotConverged, match=r"for the reference \(1, 1, 1\): a larger tolerance"):
        every_reference(overloaded).at((1, 1, 1))


def test_one_run_holds_those_of_all_reference_states():
    model = RobotControl(4, 0.3, 1.0, 3, 1.2)
    all_runs = every_reference(model)
    for reference in [(1, 1, 1), (2, 1, 2), (3, 0, 0), (0, 3, 1), (3, 4, 2), (1, 0, 0)]:
        run = proposition_4(model, reference=reference)
        updates, cost = all_runs.at(reference)
        assert updates == run.updates
        assert cost == pytest.approx(run.cost, rel=1e-12)
    outside = [(0, 0, 2), (0, 2, 0), (2, 0, 1)]
    assert [all_runs.updates[s, q, r] for q, r, s in outside] == [-1, -1, -1]
    for state in [*outside, (4, 1, 1), (1, 5, 2), (-1, 1, 1), (1, 1, 3), (1, 1)]:
        with pytest.raises(ValueError, match="reference must be a state"):
            all_runs.at(state)
    assert (all_runs.updates >= 0).sum() == 3 * 4 * 5 - 1 - 5 - 4


def test_three_of_282_reference_states_give_the_printed_counts():
    runs = [every_reference(figure(gamma)).updates for gamma in (1.0, 1.4, 2.0)]
    assert [(table >= 0).sum() for table in runs] == [282, 282, 282]
    hits = (runs[0] == 254) & (runs[1] == 255) & (runs[2] == 256)
    assert {(q, r, s) for s, q, r in np.argwhere(hits)} == {(1, 1, 1), (2, 1, 2), (3, 0, 0)}


def test_any_first_function_leads_to_the_same_limit():
    model = figure(1.4)
    first = np.random.default_rng(1).normal(0.0, 100.0, (3, *model.shape))
    first[1, 1, 1] = 0.0
    run = proposition_4(model, initial=first, tolerance=1e-11)
    assert run.cost == pytest.approx(model.solve().gain, abs=1e-9)
    with pytest.raises(ValueError, match="initial must have shape"):
        proposition_4(model, initial=np.ones((3, *model.shape)))
    with pytest.raises(NotConverged, match="282 reference states"):
        every_reference(model, max_updates=10)
