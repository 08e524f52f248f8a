"""The draft's process against the reduced one, its own algorithm, and its misprints."""

import numpy as np
import pytest
from scipy import sparse

from analysis.mdp import policy_iteration, recurrent_classes, relative_value_iteration
from analysis.robots import RobotControl, proposition_4
from analysis.robots.printed.fullchain import full_chain, state_space


@pytest.mark.parametrize(
    "model",
    [RobotControl(16, 0.1, 1.0, 5, 1.4), RobotControl(3, 0.7, 1.3, 4, 0.4),
     RobotControl(1, 0.5, 1.0, 2, 1.0)],
)  # fmt: skip
def test_the_full_process_has_the_optimum_of_the_reduced_one(model):
    chain = full_chain(model)
    full = policy_iteration(chain.transitions, -chain.costs)
    assert -full.gain == pytest.approx(model.solve().gain, rel=1e-9)


def test_its_relative_value_iteration_is_that_of_the_kernel():
    model = RobotControl(4, 0.3, 1.0, 3, 1.2)
    chain = full_chain(model)
    run = proposition_4(model, tolerance=1e-11, step=0.9)
    other = relative_value_iteration(
        chain.transitions, -chain.costs, step=0.9, reference=chain.states.index((1, 1, 1)),
        tolerance=1e-11,
    )  # fmt: skip
    kernel = np.array([run.values[s, q, r] for q, r, s in chain.states])
    np.testing.assert_allclose(kernel, -other.bias, atol=1e-8)


def test_the_static_policy_costs_its_closed_form():
    model = RobotControl(5, 0.3, 1.0, 4, 1.2)
    chain = full_chain(model)
    costs = chain.costs.copy()
    passive = np.array([s < 2 for _, _, s in chain.states])
    costs[0, passive] = np.inf
    solution = policy_iteration(chain.transitions, -costs)
    assert -solution.gain == pytest.approx(model.evaluate(model.static_policy()).gain, rel=1e-10)


@pytest.mark.parametrize(("robots", "capacity"), [(1, 2), (2, 3), (5, 4)])
def test_it_is_weakly_communicating_and_not_communicating(robots, capacity):
    chain = full_chain(RobotControl(robots, 0.4, 1.0, capacity, 1.0))
    inside, outside = chain.classes()
    assert len(inside) == 1
    assert set(outside) == {(q, robots, 2) for q in range(1, capacity + 1)}
    # No event of any policy enters those states.
    assert set(outside).isdisjoint(chain.reachable((0, robots, 2)))
    assert set(outside).isdisjoint(chain.reachable((1, robots, 2)))


def test_the_example_has_two_recurrent_classes():
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


def test_the_printed_lines_do_not_make_a_process():
    model = RobotControl(3, 0.4, 1.0, 5, 1.0)
    with pytest.raises(ValueError, match="must leave probabilities"):
        full_chain(model, misprints=("19.3",))
    with pytest.raises(ValueError, match="must leave probabilities"):
        full_chain(model, misprints=("19.2", "19.3"))
    with pytest.raises(ValueError, match="out of the state space, got"):
        full_chain(RobotControl(6, 0.4, 1.0, 3, 1.0), misprints=("20.3",))


def test_the_second_line_as_printed_gives_another_cost():
    model = RobotControl(16, 0.1, 1.0, 5, 1.4)
    chain = full_chain(model, misprints=("19.2",))
    printed = -policy_iteration(chain.transitions, -chain.costs).gain
    assert abs(printed - model.solve().gain) > 1e-4
