"""The draft's process against the reduced one, its own algorithm, and its misprints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from analysis.mdp import policy_iteration, recurrent_classes, relative_value_iteration
from analysis.results import NotConverged
from analysis.robots import RobotControl, proposition_4
from analysis.robots.printed import every_reference, full_chain, state_space


@pytest.mark.parametrize(
    "model",
    [RobotControl(16, 0.1, 1.0, 5, 1.4), RobotControl(3, 0.7, 1.3, 4, 0.4),
     RobotControl(1, 0.5, 1.0, 2, 1.0)],
)  # fmt: skip
def test_process_has_reduced_optimum(model):
    chain = full_chain(model)
    full = policy_iteration(chain.transitions, -chain.costs)
    assert -full.gain == pytest.approx(model.solve().gain, rel=1e-9)


def test_process_iteration_matches_kernel():
    model = RobotControl(4, 0.3, 1.0, 3, 1.2)
    chain = full_chain(model)
    run = proposition_4(model, tolerance=1e-11, step=0.9)
    other = relative_value_iteration(
        chain.transitions, -chain.costs, step=0.9, reference=chain.states.index((1, 1, 1)),
        tolerance=1e-11,
    )  # fmt: skip
    kernel = np.array([run.values[s, q, r] for q, r, s in chain.states])
    np.testing.assert_allclose(kernel, -other.bias, atol=1e-8)


def test_static_policy_has_closed_form():
    model = RobotControl(5, 0.3, 1.0, 4, 1.2)
    chain = full_chain(model)
    costs = chain.costs.copy()
    passive = np.array([s < 2 for _, _, s in chain.states])
    costs[0, passive] = np.inf
    solution = policy_iteration(chain.transitions, -costs)
    assert -solution.gain == pytest.approx(model.evaluate(model.static_policy()).gain, rel=1e-10)


@pytest.mark.parametrize(("robots", "capacity"), [(1, 2), (2, 3), (5, 4)])
def test_process_is_weakly_communicating(robots, capacity):
    chain = full_chain(RobotControl(robots, 0.4, 1.0, capacity, 1.0))
    inside, outside = chain.classes()
    assert len(inside) == 1
    assert set(outside) == {(q, robots, 2) for q in range(1, capacity + 1)}
    # No event of any policy enters those states.
    assert set(outside).isdisjoint(chain.reachable((0, robots, 2)))
    assert set(outside).isdisjoint(chain.reachable((1, robots, 2)))


def test_example_has_two_classes():
    model = RobotControl(2, 0.4, 1.0, 3, 1.0)
    chain = full_chain(model)
    rows = [
        chain.transitions[int(s == 1 or (q, r, s) == (1, 0, 0))][[n]]
        for n, (q, r, s) in enumerate(chain.states)
    ]
    matrix = sparse.csr_array(sparse.vstack(rows))
    classes = [[chain.states[n] for n in members] for members in recurrent_classes(matrix)]
    levels = [{r for _, r, _ in states} for states in classes]
    assert levels == [{1}, {2}]
    assert {x for x in state_space(model) if x[1] == 2} - set(classes[1]) == {
        (q, 2, 2) for q in (1, 2, 3)
    }


def test_printed_lines_are_no_process():
    model = RobotControl(3, 0.4, 1.0, 5, 1.0)
    with pytest.raises(ValueError, match="must leave probabilities"):
        full_chain(model, misprints=("19.3",))
    with pytest.raises(ValueError, match="must leave probabilities"):
        full_chain(model, misprints=("19.2", "19.3"))
    with pytest.raises(ValueError, match="out of the state space, got"):
        full_chain(RobotControl(6, 0.4, 1.0, 3, 1.0), misprints=("20.3",))


def test_printed_line_changes_cost():
    model = RobotControl(16, 0.1, 1.0, 5, 1.4)
    chain = full_chain(model, misprints=("19.2",))
    printed = -policy_iteration(chain.transitions, -chain.costs).gain
    assert abs(printed - model.solve().gain) > 1e-4


def figure(gamma: float) -> RobotControl:
    return RobotControl(16, 0.1, 1.0, 5, gamma)


@pytest.mark.parametrize(("gamma", "printed"), [(1.0, 254), (1.4, 255), (2.0, 256)])
def test_updates_match_printed_iterations(gamma, printed):
    assert proposition_4(figure(gamma)).updates == printed


@pytest.mark.parametrize("reference", [(2, 1, 2), (3, 0, 0), (5, 16, 1)])
def test_reference_changes_values_only(reference):
    run = proposition_4(figure(1.4), reference=reference, tolerance=1e-11)
    assert run.cost == pytest.approx(figure(1.4).solve().gain, abs=1e-11)
    assert run.values[reference[2], reference[0], reference[1]] == 0.0


def test_policy_is_optimal():
    run, exact = proposition_4(figure(1.4)), figure(1.4).solve().policy
    assert (run.policy[0, 1:] == exact[:-1]).all()
    assert (run.policy[1, :-1, 1:] == exact[1:, :-1]).all()


def test_wrong_call_is_refused():
    with pytest.raises(ValueError, match="reference"):
        proposition_4(figure(1.0), reference=(0, 0, 2))
    with pytest.raises(ValueError, match="reference"):
        proposition_4(figure(1.0), reference=(0, 3, 0))
    with pytest.raises(ValueError, match="step"):
        proposition_4(figure(1.0), step=1.0)
    with pytest.raises(NotConverged, match="did not hold in 10 updates"):
        proposition_4(figure(1.0), max_updates=10)


def test_rounding_is_refused_by_load():
    """Sixteen robots outrun the server 81 times: states with no robot left are worth the same."""
    overloaded = RobotControl(16, 6.27, 1.24, 7, 1.0)
    said = r"tolerance of 1e-05 and robots \* arrival_rate / service_rate = 80.9.*capacity below 7"
    with pytest.raises(NotConverged, match=said):
        proposition_4(overloaded)
    assert proposition_4(RobotControl(16, 6.27, 1.24, 3, 1.0)).updates > 0
    with pytest.raises(NotConverged, match=r"for the reference \(1, 1, 1\): a larger tolerance"):
        every_reference(overloaded).at((1, 1, 1))


def test_what_is_no_state_is_refused():
    all_runs = every_reference(RobotControl(4, 0.3, 1.0, 3, 1.2))
    outside = [(0, 0, 2), (0, 2, 0), (2, 0, 1)]
    assert [all_runs.updates[s, q, r] for q, r, s in outside] == [-1, -1, -1]
    for state in [*outside, (4, 1, 1), (1, 5, 2), (-1, 1, 1), (1, 1, 3), (1, 1)]:
        with pytest.raises(ValueError, match="reference"):
            all_runs.at(state)
    assert (all_runs.updates >= 0).sum() == 3 * 4 * 5 - 1 - 5 - 4


def test_three_references_match_prints():
    runs = [every_reference(figure(gamma)).updates for gamma in (1.0, 1.4, 2.0)]
    assert [(table >= 0).sum() for table in runs] == [282, 282, 282]
    hits = (runs[0] == 254) & (runs[1] == 255) & (runs[2] == 256)
    assert {(q, r, s) for s, q, r in np.argwhere(hits)} == {(1, 1, 1), (2, 1, 2), (3, 0, 0)}


def test_limit_ignores_initial_values():
    model = figure(1.4)
    first = np.random.default_rng(1).normal(0.0, 100.0, (3, *model.shape))
    first[1, 1, 1] = 0.0
    run = proposition_4(model, initial=first, tolerance=1e-11)
    assert run.cost == pytest.approx(model.solve().gain, abs=1e-9)
    with pytest.raises(ValueError, match="initial"):
        proposition_4(model, initial=np.ones((3, *model.shape)))
    with pytest.raises(NotConverged, match="282 reference states"):
        every_reference(model, max_updates=10)


@pytest.mark.parametrize(("count", "seed"), [(12, 0), pytest.param(150, 1, marks=pytest.mark.slow)])
def test_all_references_in_one_run(count, seed):
    """One run of all reference states and one for each: the same updates, or both refuse."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        model = RobotControl(
            int(rng.integers(1, 4)),
            rng.uniform(0.1, 1),
            1.0,
            int(rng.integers(1, 5)),
            10 ** rng.uniform(-1, 1),
        )
        states = state_space(model)
        try:
            runs = every_reference(model, max_updates=2000)
        except NotConverged:
            continue
        for state in states:
            q, r, s = state
            if runs.updates[s, q, r] < 0:
                with pytest.raises(NotConverged, match="rounding hides"):
                    proposition_4(model, reference=state, max_updates=2000)
                continue
            run = proposition_4(model, reference=state, max_updates=2000)
            updates, cost = runs.at(state)
            assert updates == run.updates, (model, state)
            assert cost == pytest.approx(run.cost, rel=1e-9)


def test_proposition_4_ends_at_optimum():
    """Its iteration, run on, ends at the optimum."""
    for parameters in ((1, 0.5, 1.0, 1, 1.0), (3, 0.4, 1.0, 2, 1.2), (2, 0.6, 1.0, 4, 0.3)):
        model = RobotControl(*parameters)
        run = proposition_4(model, tolerance=1e-11)
        assert run.cost == pytest.approx(model.solve().gain, rel=1e-8)
    with pytest.raises(NotConverged, match="rounding hides"):
        proposition_4(RobotControl(3, 0.4, 1.0, 2, 1.2), tolerance=1e-16)
