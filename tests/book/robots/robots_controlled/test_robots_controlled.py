"""Figures 6 to 8 and Proposition 4: verdicts turn on falsified models."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.robots.controlled.control import RobotControl
from book.robots import exercises
from book.robots import robots_controlled as page
from tests.support import assert_all_turn, assert_turns, verdicts


@pytest.fixture(scope="module")
def found():
    return page.solve_figures([RobotControl(16, 0.1, 1.0, 5, g) for g in (1.0, 1.4, 2.0)])


def test_verdicts_of_the_document(found):
    said = verdicts(page.claims(found))
    numbers = [f"D-fig{k}-{what}" for k in (6, 7, 8) for what in ("cost", "it")]
    assert {said[id] for id in numbers} == {"matches under"}
    assert said["D-f-gK"] == "matches"
    assert said["D-fig6"] == "not determined"
    assert said["D-prop4-theta"] == said["D-tn"] == "does not hold"
    assert "differs" not in said.values()
    assert page.count_printed_updates(found, [254, 255, 256]) == [3, 3, 4]


def test_verdicts_turn_on_falsified_models(found, monkeypatch):
    other = page.solve_figures([RobotControl(12, 0.1, 1.0, 4, g) for g in (1.1, 1.5, 2.1)])
    middle = found.models[1]
    kept = {step: page.proposition_4(middle, step=1.05 - step).updates for step in found.updates}
    # Two pairs of robots of which the second brings next to nothing.
    paired = RobotControl(
        6, 1.0, 1.0, 2, 443.53, speedup=(0, 9.74, 11.208, 11.312, 17.022, 18.393, 18.493)
    )
    monkeypatch.setattr(page, "HALF", 0.9999)
    whole = page.claims(replace(found, half_step=page.run_to_tight_stop(middle, step=0.9999)))
    monkeypatch.undo()

    def said(results):
        return whole if results is None else page.claims(results)

    assert_all_turn(
        said,
        (found,),
        {
            "tau for the share that is kept": (replace(found, updates=kept),),
            "robots in pairs that share a line": (replace(found, optima=[paired.solve()] * 3),),
            "a step that is nearly whole": (None,),
            "two robots, which never stop at an empty queue": (
                replace(found, optima=[RobotControl(2, 0.1, 1.0, 5, 5.0).solve()] * 3),
            ),
            "static costs of another load": (replace(found, static=other.static),),
        },
        {
            "t_1 after a gap": (replace(found, gaps=10),),
            "no robot is started": (
                replace(found, optima=[replace(o, policy=0 * o.policy) for o in found.optima]),
            ),
        },
    )
    numbers = [f"D-fig{k}-{what}" for k in (6, 7, 8) for what in ("cost", "it", "gamma")]
    inputs = ["D-f-N", "D-f-K", "D-f-gK"]
    assert_turns(page.claims, (found,), (other,), numbers + inputs)


def test_curve_sentence_follows_curves(found):
    assert page.describe_curves(found.optima).startswith("The more")
    assert "share one curve" in page.describe_curves([found.optima[0], found.optima[0]])
    assert "does not rise" in page.describe_curves(found.optima[::-1])
    assert page.describe_curves(found.optima[:1]) == ""
    mixed = replace(found.optima[1], policy=np.roll(found.optima[0].policy, 1, axis=0))
    assert "Not every" in page.describe_curves([found.optima[0], mixed])


def test_census_counts_all_models():
    counted = page.count_curves(12, np.random.default_rng(1))
    assert counted.instances == counted.curves == 12
    assert 0 <= counted.tiny < 12


def test_solutions_match_tables():
    declined = exercises.count_declined_states()["states with q < K that decline"]
    assert declined.is_monotonic_decreasing
    fast = exercises.solve_four_fast_robots()
    assert set(fast["f(0), ..., f(3)"][:4]) == {"4 3 2 1"}
    assert "4 3 2 1" not in set(fast["f(0), ..., f(3)"][4:])
    assert set(fast["loss rate"][:4]) == {"0.0000"}


def test_hidden_stop_leaves_run_out(found):
    """Of queues that are hardly ever short of pages relative values are too large for that stop."""
    assert page.run_to_tight_stop(RobotControl(16, 0.1, 0.01, 4, 2.05), step=0.5) is None
    assert len(found.limits) == page.STARTS
    fewer = replace(found, limits=found.limits[1:], half_step=None)
    said = verdicts(page.claims(fewer))
    assert said["D-prop4"] != verdicts(page.claims(found))["D-prop4"]
