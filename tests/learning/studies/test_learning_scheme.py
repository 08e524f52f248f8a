"""The learning scheme: verdicts turn on falsified models."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from analysis.ephemeral import (
    four_sources,
    long_run_cycle,
    relaxed_bound,
    simulate,
    whittle_index_at_age,
)
from analysis.ephemeral.sources import Sources
from analysis.learning.scheme import equations
from analysis.learning.scheme.lspe import LspeOptions
from analysis.learning.scheme.thresholds import soft_threshold_value
from analysis.learning.studies import learning_scheme as study
from analysis.learning.studies.learning_scheme import claims as says
from analysis.learning.studies.learning_scheme import rule as rule
from tests.support import assert_all_turn, verdicts

FOUR = four_sources()
TWO = Sources(FOUR.arrival_rate[:2], FOUR.mean_utility[:2], FOUR.decay_rate[:2])
FASTER = replace(FOUR, decay_rate=1.1 * FOUR.decay_rate)
AGES = np.arange(1, 21)[:, None]
AT = np.random.default_rng(1).normal(0, 0.2, (2, 2, 3))
OWN = rule.readings(2.0)[rule.OWN][0]
PRINTED = rule.readings(2.0)[rule.AS_PRINTED][0]


@cache
def content():
    rng = np.random.default_rng(1)
    draws = equations.shot_noise(250.0, 0.7, 20_000, rng)
    bound = soft_threshold_value(FOUR, FOUR.u_star, 2.0)
    return study.Content(
        sources=FOUR,
        budget=1,
        lifetime=5,
        thinning=equations.thinning_error(25.0, 0.3, 10),
        left=study.interest_left(FOUR),
        draws=draws,
        misses=study.content_misses(draws[:100], 0.7, (5, 100), range(3, 100, 7)),
        orbit=FOUR.state_at_age(AGES[:12]),
        cycle=long_run_cycle(FOUR, "whittle", 1),
        met=simulate(FOUR, "whittle", 1, 200, initial_state="fresh").state[:, 100:],
        engaged=equations.engaged_law(bound.rate),
    )


@cache
def index():
    visited = FOUR.state_at_age(np.random.default_rng(2).integers(1, 12, (12, 4)))
    levels = study.thresholds_at(FOUR, visited)
    by_age = {way: equations.indices_as_printed(FOUR, AGES, way) for way in equations.ROUNDINGS}
    return study.Index(
        sources=FOUR,
        budget=1,
        exceeding=by_age["exceeding"],
        ceil=by_age["ceil"],
        closed=whittle_index_at_age(FOUR, np.broadcast_to(AGES, (20, 4))),
        defined=1e-12,
        outside=equations.index_as_printed(FOUR, 1.1 * FOUR.u_star),
        same_crawls=study.ranks_as_the_index(FOUR, 20),
        reward=long_run_cycle(FOUR, "whittle", 1).average_reward,
        ceiling=relaxed_bound(FOUR, 1)[0],
        agreement=study.threshold_agreement(FOUR, visited, levels, (1, 2)),
        least_change=study.least_change(FOUR, visited[:3], levels[:3], np.random.default_rng(0)),
        fit=equations.fitted_thresholds(FOUR, 1),
        repeats={m: study.repetition(FOUR, m) for m in (1, 2, 3)},
    )


@cache
def learning():
    phi = equations.features(
        FOUR.state_at_age(np.random.default_rng(3).integers(1, 12, (40, 4))) / FOUR.u_star.max()
    )
    by_print, by_formula = equations.inverse_errors(phi)
    return rule.Rule(
        sources=FOUR,
        kappa=2.0,
        logit=study.nearness_of_the_logit(FOUR, 2.0),
        transitions=rule.check_transitions(TWO, AT[0], PRINTED),
        poisson=rule.check_poisson(TWO, AT[0], OWN),
        recursion=rule.check_recursion(TWO, AT[0], OWN),
        gradients=rule.gradient_table(rule.check_gradients(TWO, AT[:1], 2.0)),
        points=1,
        ranks=rule.ranks_after_two_steps(phi),
        length=phi.shape[1],
        by_print=by_print,
        by_formula=by_formula,
        steps=rule.example_steps(10**5),
        threshold_form=rule.threshold_form(FOUR, LspeOptions.as_printed()),
        feature_form=rule.feature_form(FOUR, LspeOptions.as_printed()),
        step_numbers=rule.step_numbers(),
    )


YEARS = {"2016", "2018"}


def falsified():
    held, ranked, learned = content(), index(), learning()
    rng = np.random.default_rng(5)

    def of_content(**changes):
        return replace(held, **changes), ranked, learned, YEARS

    def of_index(**changes):
        return held, replace(ranked, **changes), learned, YEARS

    def of_rule(**changes):
        return held, ranked, replace(learned, **changes), YEARS

    one_draw = LspeOptions.corrected(kappa=2.0)
    table = learned.gradients
    swapped = table.copy()
    swapped.loc[[rule.AS_PRINTED, rule.HARVEST]] = table.loc[[rule.OWN, rule.CORRECTED]].to_numpy()
    swapped.loc[rule.OWN] = table.loc[rule.AS_PRINTED].to_numpy()
    harvest = replace(learned.poisson, beta=learned.poisson.harvest)
    right = replace(learned.recursion, printed_end=learned.recursion.end)
    everything = {
        "budget": 4,
        "cycle": long_run_cycle(FOUR, "whittle", 4),
        "met": np.repeat(FOUR.u[:, None], 100, axis=1),
    }
    visited = FOUR.state_at_age(rng.integers(1, 12, (12, 4)))
    lower = 0.5 * study.thresholds_at(FOUR, visited)
    return {
        "arrivals not given uniform": of_content(thinning=equations.thinning_error(25, 0.3, 5) + 1),
        "alpha is the decay rate": of_content(left=FOUR.decay),
        "items fade twice as fast": of_content(draws=equations.shot_noise(250.0, 1.4, 20_000, rng)),
        "neighbouring epochs share items": of_content(
            draws=0.5 * (held.draws + np.roll(held.draws, 1))
        ),
        "crawls take part": of_content(misses=held.misses.assign(**{"never crawled": 1.0})),
        "content never dropped": of_content(misses=0.0 * held.misses),
        "contents of other decay rates": of_content(orbit=FASTER.state_at_age(AGES[:12])),
        "a crawl comes an epoch late": of_content(orbit=FOUR.state_at_age(AGES[:12] + 1)),
        "everything is crawled": of_content(**everything),
        "exactly one is drawn": of_content(engaged=np.array([0.0, 1.0, 0.0, 0.0, 0.0])),
        "one year": (held, ranked, learned, {"2018"}),
        "largest content first": of_index(
            exceeding=FOUR.state_at_age(AGES) / FOUR.cost,
            same_crawls=ranked_by_content(),
        ),
        "ages counted from the end": of_index(
            closed=whittle_index_at_age(FOUR, np.broadcast_to(AGES[::-1], (20, 4)))
        ),
        "the bracket one lower": of_index(ceil=np.roll(ranked.ceil, 1, axis=0)),
        "thresholds half as high": of_index(
            agreement=study.threshold_agreement(FOUR, visited, lower, (1, 2)),
            least_change=study.least_change(FOUR, visited[:2], 3 * lower[:2], rng),
        ),
        "a poor fit": of_index(
            fit=replace(ranked.fit, rewards={"quadratic": 100.0, "shared": 90.0})
        ),
        "a run that does not repeat": of_index(
            repeats={m: study.repetition(FOUR, m, Slower()) for m in (1, 2, 3)}
        ),
        "no constant in the logit": of_rule(
            transitions=rule.check_transitions(TWO, AT[0], replace(PRINTED, offset=0.0))
        ),
        "one draw for both": of_rule(transitions=rule.check_transitions(TWO, AT[0], one_draw)),
        "beta is the harvest": of_rule(poisson=harvest),
        "readings exchanged": of_rule(gradients=swapped),
        "the recursion grows": of_rule(recursion=replace(learned.recursion, radius=1.2)),
        "A set right": of_rule(recursion=right),
        "no step at n = 0": of_rule(ranks=(learned.ranks[1], learned.ranks[1])),
        "the inverse set right": of_rule(by_print=learned.by_formula),
        "steps fall too slowly": of_rule(steps=rule.example_steps(10**5, falls=0.4, averages=0.4)),
        "averages fall too fast": of_rule(steps=rule.example_steps(10**5, averages=1.2)),
        "other forms": of_rule(
            threshold_form=rule.threshold_form(FOUR, LspeOptions.corrected()),
            feature_form=rule.feature_form(TWO, LspeOptions.corrected()),
            step_numbers=(1000, 500, 2, 3, 0, 1),
        ),
    }


def ranked_by_content():
    """Return whether the largest content first crawls as the index policy does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "index_as_printed", lambda _, states: states)
        return study.ranks_as_the_index(FOUR, 20)


class Slower:
    """Stay with the same sources for longer and longer, so that nothing repeats."""

    def __init__(self):
        self.calls = 0

    def select(self, observation, budget, rng=None):
        self.calls += 1
        return (int(np.sqrt(self.calls)) + np.arange(budget)) % 4


def true():
    return content(), index(), learning(), YEARS


def test_every_computed_verdict_turns_on_a_falsified_model():
    assert_all_turn(says.claims, true(), falsified())


def test_numbers_that_the_program_uses_turn_too():
    right = verdicts(says.claims(*true()))
    wrong = verdicts(says.claims(*falsified()["other forms"]))
    rows = ("B-steps-example", "B-T-form", "B-phi-form")
    assert [right[row] for row in rows] == ["used"] * 3
    assert [wrong[row] for row in rows] == ["differs", "differs", "used"]


def test_verdicts_of_the_documents_own_model():
    found = verdicts(says.claims(*true()))
    slip = {found[row] for row in ("B-eq6", "B-J", "B-alg-eta", "B-alg-b")}
    assert slip == {"does not hold"}
    assert found["B-eq7"] == found["B-eq9"] == found["B-alg-r"] == "holds under"
    assert found["B-f-i"] == "not determined"
    assert found["B-periodic"] == "holds under"
    assert found["B-policy"] == found["B-eq4"] == "holds"
    assert "refused" not in found.values()


def test_the_years_are_read_off_the_print():
    assert says.years_of_the_source() == YEARS


def test_interest_left_is_the_exponential():
    np.testing.assert_allclose(study.interest_left(FOUR), np.exp(-FOUR.decay), rtol=1e-9)


def test_the_recursion_ends_at_the_projected_solution_only_if_a_is_set_right():
    found = rule.check_recursion(TWO, AT[0], OWN)
    assert found.radius < 1
    assert found.end < 1e-9 < 1e-3 < found.printed_end


def test_without_a_baseline_a_constant_adds_noise():
    assert rule.noise_of_a_constant(TWO, AT[:1], 2.0) > 10


@pytest.mark.parametrize("options", [LspeOptions.corrected(), LspeOptions.as_printed()])
def test_the_form_of_the_thresholds_is_read_off_the_program(options):
    form = rule.threshold_form(FOUR, options)
    assert form == ((0, 1, 2, 2) if options.threshold == "quadratic" else (0, 1, 1, 2))
