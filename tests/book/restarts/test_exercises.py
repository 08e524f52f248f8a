"""Solutions of the exercises on their instances, by another method."""

import pytest

from analysis.restarts import evaluate_scores, index_scores, solve_joint, whittle_index
from analysis.restarts.instances import SLIDE_DISCOUNT, one_step, slide_arm
from book.restarts import exercises


def test_index_repairs_wrong_machine():
    """By hand: the optimum leaves the first machine worn, at a cost of 1.2 from epoch 1 on."""
    two = exercises.make_two_machines()
    assert solve_joint(two).values[0, 0] == pytest.approx(1.2 * SLIDE_DISCOUNT)
    assert evaluate_scores(two, index_scores(two)).values[0, 0] > 2
    first, second = index_scores(two)
    assert second[0] > first[0]
    assert first[1] > second[0]


def test_trap_arms_not_monotone():
    """By hand: 2 for the repair of one of the two that fail, in turns, and 1 for the middle."""
    bandit = exercises.make_trap()
    scores = index_scores(bandit)
    assert not bandit.arms[0].stochastically_monotone
    assert (scores[0][:-1] < scores[0][1:]).all()
    assert solve_joint(bandit).values[0, 0, 1] == pytest.approx(3)
    assert evaluate_scores(bandit, scores).values[0, 0, 1] > 5


def test_shock_ties_keep_likely_failure():
    ratios = exercises.compute_shock_ratios(4)
    assert ratios.rule.to_numpy() == pytest.approx(ratios.best.to_numpy(), abs=1e-4)
    assert (ratios.lower < 99.9).any()


def test_wear_sentence_turns_with_medians():
    medians = dict(zip(exercises.QUOTED, (1.0, 2.0, 2.0, 1.0), strict=True))
    assert exercises.saves_like_wear(medians)
    for cell in exercises.QUOTED[1], exercises.QUOTED[3]:
        assert not exercises.saves_like_wear(medians | {cell: 3.0 - medians[cell]})
    assert not exercises.saves_like_wear({exercises.QUOTED[0]: 1.0})


def test_warning_alone_not_urgent():
    warned, sudden = (
        whittle_index(arm, 0.95, method="definition") for arm in exercises.make_sensor_machines()
    )
    new, at_risk, failed = warned.index
    assert at_risk == pytest.approx(new)
    assert failed > sudden.index[1]


@pytest.mark.parametrize("discount", [0.3, 0.9, 0.99])
def test_sure_wear_has_closed_form(discount):
    arm = slide_arm(one_step(6, 0.0))
    assert exercises.index_of_sure_wear(arm, discount) == pytest.approx(
        whittle_index(arm, discount).index
    )
