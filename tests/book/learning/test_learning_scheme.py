"""The learning scheme: verdicts turn on falsified models."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import nbinom

from analysis.ephemeral import (
    four_sources,
    long_run_cycle,
    relaxed_bound,
    simulate,
    whittle_index_at_age,
)
from analysis.ephemeral.sources import Sources
from analysis.learning.scheme import equations
from analysis.learning.scheme.equations import features
from analysis.learning.scheme.lspe import LspeOptions
from analysis.learning.scheme.thresholds import soft_threshold_value, whittle_threshold
from book.learning import learning_scheme as page
from tests.support import assert_all_turn, verdicts

FOUR = four_sources()
TWO = Sources(FOUR.arrival_rate[:2], FOUR.mean_utility[:2], FOUR.decay_rate[:2])
FASTER = replace(FOUR, decay_rate=1.1 * FOUR.decay_rate)
AGES = np.arange(1, 21)[:, None]
AT = np.random.default_rng(1).normal(0, 0.2, (2, 2, 3))
OWN = page.list_readings(2.0)[page.OWN][0]
PRINTED = page.list_readings(2.0)[page.AS_PRINTED][0]


@cache
def content():
    rng = np.random.default_rng(1)
    draws = equations.shot_noise(250.0, 0.7, 20_000, rng)
    bound = soft_threshold_value(FOUR, FOUR.u_star, 2.0)
    return page.Content(
        sources=FOUR,
        budget=1,
        lifetime=5,
        thinning=equations.thinning_error(25.0, 0.3, 10),
        remaining=page.integrate_interest(FOUR),
        draws=draws,
        misses=page.measure_content_misses(draws[:100], 0.7, (5, 100), range(3, 100, 7)),
        orbit=FOUR.state_at_age(AGES[:12]),
        cycle=long_run_cycle(FOUR, "whittle", 1),
        contents=simulate(FOUR, "whittle", 1, 200, initial_state="fresh").state[:, 100:],
        engaged=equations.engaged_law(bound.rate),
        engaged_raw=equations.engaged_law(
            soft_threshold_value(FOUR, FOUR.u_star, 2.0, scale=1.0).rate
        ),
    )


@cache
def index():
    visited = FOUR.state_at_age(np.random.default_rng(2).integers(1, 12, (12, 4)))
    levels = page.compute_thresholds(FOUR, visited)
    by_age = {way: equations.indices_as_printed(FOUR, AGES, way) for way in equations.ROUNDINGS}
    return page.Index(
        sources=FOUR,
        budget=1,
        exceeding=by_age["exceeding"],
        ceil=by_age["ceil"],
        closed=whittle_index_at_age(FOUR, np.broadcast_to(AGES, (20, 4))),
        defined=1e-12,
        outside=equations.index_as_printed(FOUR, 1.1 * FOUR.u_star),
        passive_ages=page.find_best_ages(FOUR),
        beyond=page.share_beyond(FOUR, visited),
        same_crawls=page.ranks_like_index(FOUR, 20),
        reward=long_run_cycle(FOUR, "whittle", 1).average_reward,
        ceiling=relaxed_bound(FOUR, 1)[0],
        agreement=page.measure_threshold_agreement(FOUR, visited, levels, (1, 2)),
        least_change=page.find_least_change(
            FOUR, visited[:3], levels[:3], np.random.default_rng(0)
        ),
        fit=equations.fitted_thresholds(FOUR, 1),
        repeats={m: page.measure_repetition(FOUR, m) for m in (1, 2, 3)},
    )


def features_met():
    ages = np.random.default_rng(3).integers(1, 12, (40, 4))
    return features(FOUR.state_at_age(ages) / FOUR.u_star.max())


@cache
def learning():
    phi = features_met()
    by_print, by_formula = equations.inverse_errors(phi)
    return page.Rule(
        sources=FOUR,
        kappa=2.0,
        logit=page.compare_logit_with_step(FOUR, 2.0),
        transitions=equations.check_transitions(TWO, AT[0], PRINTED),
        poisson=equations.check_poisson(TWO, AT[0], OWN),
        recursion=equations.check_recursion(TWO, AT[0], OWN),
        gradients=page.tabulate_gradient_errors(page.check_gradients(TWO, AT[:1], 2.0)),
        points=1,
        ranks=equations.ranks_after_two_steps(phi),
        length=phi.shape[1],
        by_print=by_print,
        by_formula=by_formula,
        steps=equations.example_steps(10**5),
        threshold_form=equations.threshold_form(FOUR, LspeOptions.as_printed()),
        feature_form=equations.feature_form(FOUR, LspeOptions.as_printed()),
        step_numbers=equations.step_numbers(),
    )


YEARS = {"2016", "2018"}


class InHeaps:
    """Items that come in heaps: a negative binomial law in the place of Poisson's."""

    @staticmethod
    def logpmf(count, mean):
        return nbinom.logpmf(count, 2, 2 / (2 + mean))


def falsified(patch):
    """Return the arguments of the claims for falsified models, by what is wrong with them."""
    held, ranked, learned = content(), index(), learning()
    rng = np.random.default_rng(5)

    def of_content(**changes):
        return replace(held, **changes), ranked, learned, YEARS

    def of_index(**changes):
        return held, replace(ranked, **changes), learned, YEARS

    def of_rule(**changes):
        return held, ranked, replace(learned, **changes), YEARS

    def patched(home, name, wrong, measure):
        with patch.context() as only:
            only.setattr(home, name, wrong)
            return measure()

    one_draw = LspeOptions.corrected(kappa=2.0)
    ways = page.list_readings(2.0)
    exchanged = ways | {
        page.AS_PRINTED: ways[page.OWN],
        page.HARVEST: ways[page.CORRECTED],
        page.OWN: ways[page.AS_PRINTED],
    }
    solve, misses = equations.ThresholdChain.solve, page.content_misses
    everything = {
        "budget": 4,
        "cycle": long_run_cycle(FOUR, "whittle", 4),
        "contents": np.repeat(FOUR.u[:, None], 100, axis=1),
    }
    visited = FOUR.state_at_age(rng.integers(1, 12, (12, 4)))
    lower = 0.5 * page.compute_thresholds(FOUR, visited)
    phi = features_met()
    crawled = range(3, 100, 7)
    return {
        "arrivals in heaps": of_content(
            thinning=patched(
                equations, "poisson", InHeaps, lambda: equations.thinning_error(25.0, 0.3, 10)
            )
        ),
        "alpha is the decay rate": of_content(remaining=FOUR.decay),
        "items fade twice as fast": of_content(draws=equations.shot_noise(250.0, 1.4, 20_000, rng)),
        "neighbouring epochs share items": of_content(
            draws=0.5 * (held.draws + np.roll(held.draws, 1))
        ),
        "crawls that are not told": of_content(
            misses=patched(
                page,
                "content_misses",
                lambda drawn, decay, life, _: misses(drawn, decay, life, crawled),
                lambda: page.measure_content_misses(held.draws[:100], 0.7, (5, 100), crawled),
            )
        ),
        "content dropped when nothing is left of it": of_content(
            lifetime=99,
            misses=page.measure_content_misses(held.draws[:100], 0.7, (99, 100), crawled),
        ),
        "contents of other decay rates": of_content(orbit=FASTER.state_at_age(AGES[:12])),
        "a crawl comes an epoch late": of_content(orbit=FOUR.state_at_age(AGES[:12] + 1)),
        "everything is crawled": of_content(**everything),
        "one source is always drawn": of_content(
            engaged=equations.engaged_law([1, 0, 0, 0]),
            engaged_raw=equations.engaged_law([1, 0, 0, 0]),
        ),
        "one year": (held, ranked, learned, {"2018"}),
        "largest content first": of_index(
            exceeding=FOUR.state_at_age(AGES) / FOUR.cost,
            same_crawls=ranked_by_content(),
        ),
        "ages counted from the end": of_index(
            closed=whittle_index_at_age(FOUR, np.broadcast_to(AGES[::-1], (20, 4)))
        ),
        "charges that are paid out": of_index(
            passive_ages=page.find_best_ages(FOUR, -page.CHARGES)
        ),
        "the bracket an epoch on": of_index(
            ceil=equations.indices_as_printed(FOUR, AGES + 1, "ceil")
        ),
        "thresholds half as high": of_index(
            agreement=page.measure_threshold_agreement(FOUR, visited, lower, (1, 2)),
            least_change=page.find_least_change(FOUR, visited[:2], 3 * lower[:2], rng),
        ),
        "a fit to thresholds of wrong sign": of_index(
            fit=patched(
                equations,
                "whittle_threshold",
                lambda sources, state: -whittle_threshold(sources, state),
                lambda: equations.fitted_thresholds(FOUR, 1),
            )
        ),
        "a run that does not repeat": of_index(
            repeats={m: page.measure_repetition(FOUR, m, Slower()) for m in (1, 2, 3)}
        ),
        "no constant in the logit": of_rule(
            transitions=equations.check_transitions(TWO, AT[0], replace(PRINTED, offset=0.0))
        ),
        "one draw for both": of_rule(transitions=equations.check_transitions(TWO, AT[0], one_draw)),
        "all content is what is crawled": of_rule(
            poisson=patched(
                equations.ThresholdChain,
                "solve",
                lambda chain, _: solve(chain, "crawled"),
                lambda: equations.check_poisson(TWO, AT[0], OWN),
            )
        ),
        "readings exchanged": of_rule(
            gradients=patched(
                page,
                "list_readings",
                lambda _: exchanged,
                lambda: page.tabulate_gradient_errors(page.check_gradients(TWO, AT[:1], 2.0)),
            )
        ),
        "a feature that is constant": of_rule(
            recursion=patched(
                equations,
                "features",
                lambda x: np.column_stack([np.ones(len(x)), features(x)[:, :2]]),
                lambda: equations.check_recursion(TWO, AT[0], OWN),
            )
        ),
        "the first step at n = 1": of_rule(
            ranks=patched(
                equations, "PRINTED_FIRST", 1, lambda: equations.ranks_after_two_steps(phi)
            )
        ),
        "steps fall too slowly": of_rule(
            steps=equations.example_steps(10**5, falls=0.4, averages=0.4)
        ),
        "averages fall too fast": of_rule(steps=equations.example_steps(10**5, averages=1.2)),
        "other forms": of_rule(
            threshold_form=equations.threshold_form(FOUR, LspeOptions.corrected()),
            feature_form=equations.feature_form(TWO, LspeOptions.corrected()),
            step_numbers=(1000, 500, 2, 3, 0, 1),
        ),
    }


def overwritten():
    """Return the arguments for results that no model gives: rows that they turn are judged."""
    learned = learning()
    right = replace(learned.recursion, printed_end=learned.recursion.end)
    return {
        name: (content(), index(), replace(learned, **changes), YEARS)
        for name, changes in {
            "A set right": {"recursion": right},
            "the inverse set right": {"by_print": learned.by_formula},
        }.items()
    }


def ranked_by_content():
    """Return whether the largest content first crawls as the index policy does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "index_as_printed", lambda _, states: states)
        return page.ranks_like_index(FOUR, 20)


class Slower:
    """Stay with the same sources for longer and longer, so that nothing repeats."""

    def __init__(self):
        self.calls = 0

    def select(self, observation, budget, rng=None):
        self.calls += 1
        return (int(np.sqrt(self.calls)) + np.arange(budget)) % 4


def true():
    return content(), index(), learning(), YEARS


def test_verdicts_turn_on_falsified_models(monkeypatch):
    # The conditions of the last stand in words alone: no predicate decides them.
    assert_all_turn(
        page.claims,
        true(),
        falsified(monkeypatch),
        overwritten(),
        stands={
            "B-T-threshold", "B-def-alpha", "B-eq4", "B-steps-b",
        },
    )  # fmt: skip


def test_program_numbers_turn_too(monkeypatch):
    right = verdicts(page.claims(*true()))
    wrong = verdicts(page.claims(*falsified(monkeypatch)["other forms"]))
    rows = ("B-steps-example", "B-T-form", "B-phi-form")
    assert [right[row] for row in rows] == ["used", "holds under", "used"]
    assert [wrong[row] for row in rows] == ["differs", "does not hold", "used"]


def test_verdicts_of_the_document():
    found = verdicts(page.claims(*true()))
    slip = {found[row] for row in ("B-eq6", "B-J", "B-alg-eta", "B-alg-b")}
    assert slip == {"does not hold"}
    assert found["B-eq7"] == found["B-eq9"] == found["B-eq5"] == found["B-u-i"] == "holds"
    assert found["B-alg-r"] == "holds under"
    assert found["B-f-i"] == "not determined"
    assert found["B-periodic"] == "holds under"
    assert found["B-policy"] == found["B-indexable"] == "holds"
    assert found["B-eq4"] == found["B-T-threshold"] == found["B-T-form"] == "holds under"
    assert "refused" not in found.values()


def test_years_read_from_print():
    assert page.read_source_years() == YEARS


def test_remaining_interest_is_exponential():
    np.testing.assert_allclose(page.integrate_interest(FOUR), np.exp(-FOUR.decay), rtol=1e-9)


def test_missing_baseline_adds_noise():
    assert page.measure_baseline_noise(TWO, AT[:1], 2.0) > 10


def test_uncrawled_sources_have_no_threshold():
    visited = FOUR.state_at_age(np.random.default_rng(2).integers(1, 12, (500, 4)))
    share = page.share_beyond(FOUR, visited)
    assert share[2] == 1
    assert share[3] > 0.9
    assert share[1] == 0


def test_dropped_content_is_indexable():
    ages = page.find_best_ages(FOUR)
    assert (ages[..., 1:] >= ages[..., :-1]).all()
    assert np.isinf(ages[..., -1]).all()
