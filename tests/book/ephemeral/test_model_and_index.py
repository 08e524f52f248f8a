"""The model and its index: each verdict turns when what it rests on is falsified.

Functions of the model and of the theory are replaced by wrong ones where the measurements use them,
and the page's claims are built again from what then comes out.
"""

from dataclasses import fields, replace

import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources, long_run_cycle
from analysis.ephemeral.optimum.costs import exact_sets
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.theory import equations, formula, model
from analysis.ephemeral.theory.formula import run_from_above
from book.ephemeral import model_and_index as page
from book.ephemeral.model_and_index_figures import describe_lost_digits, find_thresholds
from scorecard.verdicts import add_words
from tests.support import assert_all_turn, verdicts

DECAYS, PRICES, DISCOUNTS = (0.2, 0.7), (0.1, 0.4, 0.7), (0.3, 0.9)
FOUR = four_sources()
ONE = FOUR.subset(slice(0, 1))
TWO_OF_FOUR = replace(FOUR, arrival_rate=FOUR.arrival_rate * np.array([1, 1, 1e-14, 1e-14]))
BUDGETS = (1, 2, 3)


def falsified_sources(sources, **changes):
    """Return sources of which some derived quantities are functions of the right ones."""

    def derived(function):
        return property(lambda self: function(Sources(**vars_of(self))))

    def vars_of(some):
        return {field.name: getattr(some, field.name) for field in fields(Sources)}

    wrong = type("Wrong", (Sources,), {name: derived(f) for name, f in changes.items()})
    return wrong(**vars_of(sources))


def modelled(**changes):
    periods = {t: replace(FOUR, period=t) for t in (0.5, 1.0, 2.0)}
    return model.model_checks({t: falsified_sources(s, **changes) for t, s in periods.items()})


def relaxed(policy="whittle", sources=FOUR):
    return model.relaxation_checks(sources, policy, 3, np.random.default_rng(1))


def transients():
    return model.transient_checks(60, 20, np.random.default_rng(2))


def residuals():
    return equations.equation_residuals(DECAYS, PRICES, DISCOUNTS)


def checks():
    return equations.lemma_checks(DECAYS, PRICES, DISCOUNTS, 30)


def finite():
    return equations.finite_horizon_checks((0.7,), (0.1, 1.2), (0.3, 0.9))


def solved():
    return equations.constant_policies(DECAYS, PRICES)


def indices(sources=FOUR):
    return formula.index_checks(sources, DECAYS, 30, np.random.default_rng(3))


def late(rules=("definition", "printed")):
    """Late rewards of runs from u* of source 1, each by a rule for the index from u* on."""
    excess = np.where(np.arange(4) == 0, 0.0, -FOUR.alpha * FOUR.u_star)
    runs = (run_from_above(FOUR, 1, excess, 400, above=rule)[0] for rule in rules)
    return dict(zip(("definition", "printed"), (float(r[200:].mean()) for r in runs), strict=True))


def fall(value=equations.average_value):
    prices, place = np.linspace(0.01, 0.9, 30), 0.9
    return float((np.diff([value(0.7, c, place)[0] for c in prices]) / np.diff(prices)).min())


@pytest.fixture(scope="module")
def true():
    cases = page.sample_cases(20, np.random.default_rng(4))
    index = formula.whittle_index(cases.sources, cases.state)
    difference = index / formula.index_by_definition(cases.sources, cases.state) - 1
    return page.Results(
        sources=FOUR,
        model=modelled(),
        transients=transients(),
        late=late(),
        cycles={m: long_run_cycle(FOUR, "whittle", m) for m in BUDGETS},
        bounds={m: relaxed_problem(FOUR, m).bound for m in BUDGETS},
        relaxed=relaxed(),
        runs=model.runs_to_read(FOUR),
        discounted=model.discounted_run(),
        equations=residuals(),
        checks=checks(),
        finite=finite(),
        solved=solved(),
        fall=fall(),
        index=indices(),
        definition=float(np.abs(difference).max()),
        flips=0.4,
        short_worst=90.0,
    )


@pytest.fixture
def falsified(true, monkeypatch):
    """Return the results with one function replaced where a measurement uses it."""

    def build(field, module, name, wrong, measure):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, wrong)
            return replace(true, **{field: measure()})

    return build


def negative(function):
    """Values of the wrong sign."""

    def wrong(*arguments):
        found = function(*arguments)
        return (-found[0], *found[1:]) if isinstance(found, tuple) else -found

    return wrong


def test_verdicts_turn_on_falsified_models(true, falsified):
    value, advantage = equations.average_value, equations.crawl_advantage
    discounted, horizons = equations.discounted_value, equations.finite_horizon_value
    steep = equations._discounted
    orbit_problem, index = equations.orbit_problem, formula.whittle_index
    eta, printed, at_age = formula.printed_eta, formula.printed_index, formula.whittle_index_at_age

    def paid_always(decay, subsidy):
        content, successors, rewards = orbit_problem(decay, subsidy)
        return content, successors, np.add(rewards, [[0.0], [subsidy]])

    def crawl_for_u(decay, subsidy):
        content, successors, rewards = orbit_problem(decay, subsidy)
        return content, successors, np.array([rewards[0], np.full(content.size, content[0])])

    def crawl_at_once(decay, subsidy, discount, state):
        return steep(decay, subsidy, discount, state)[0], np.zeros(np.shape(state))

    def two_levels(sources, state, form="theorem"):
        return printed(sources, state, form) * np.where(state > sources.u, 1.0, 0.9)

    fixed_price = (lambda decay, subsidy, state: value(decay, 0.5, state),)
    falsified_models = {
        "u as the middle of (1) has it": replace(true, model=modelled(u=lambda s: s.u / s.period)),
        "u too large": replace(true, model=modelled(u=lambda s: 1.1 * s.u)),
        "interest that fades twice as fast": replace(
            true, model=modelled(alpha=lambda s: s.alpha**2)
        ),
        "u* for u": replace(true, model=modelled(u_star=lambda s: s.u)),
        "a crawl that takes nothing": falsified(
            "transients", model, "step", lambda x, crawl: 0.7 * x + 0.3 + 0.1 * crawl, transients
        ),
        "content that grows beyond u*": falsified(
            "transients", model, "step", lambda x, crawl: np.where(crawl, 0, x) + 0.3, transients
        ),
        "the printed index above u*": replace(true, late=late(("printed", "printed"))),
        "one source, crawled at every epoch": replace(
            true,
            runs=model.runs_to_read(ONE, (1, 1)),
            cycles={m: long_run_cycle(ONE, "whittle", 1) for m in BUDGETS},
        ),
        "contents that fade more slowly than the sources": replace(
            true, index=indices(falsified_sources(FOUR, alpha=lambda s: s.alpha**0.9))
        ),
        "a constant cost of one": falsified(
            "relaxed", model, "replace", lambda s, cost: replace(s, cost=np.ones(4)), relaxed
        ),
        "a control that waits for ever": falsified(
            "checks",
            equations,
            "_discounted",
            lambda *a: (0.5 * steep(*a)[0], np.zeros(np.shape(a[-1]))),
            checks,
        ),
        "another multiplier": falsified(
            "relaxed",
            model,
            "relaxed_problem",
            lambda s, m: replace(
                relaxed_problem(s, m), subsidy=1.3 * relaxed_problem(s, m).subsidy
            ),
            relaxed,
        ),
        "another budget": falsified(
            "relaxed",
            model,
            "relaxed_problem",
            lambda s, m: relaxed_problem(s, 0.9 * m),
            relaxed,
        ),
        "a gain that is 1% too high": falsified(
            "relaxed",
            model,
            "gain_by_solver",
            lambda decay, subsidy: 1.01 * equations.gain_by_solver(decay, subsidy),
            relaxed,
        ),
        "round robin": replace(true, relaxed=relaxed("round-robin")),
        "costs of two": replace(true, relaxed=relaxed(sources=replace(FOUR, cost=np.full(4, 2.0)))),
        "round robin in the long run": replace(
            true, cycles={m: long_run_cycle(FOUR, "round-robin", m) for m in BUDGETS}
        ),
        "interest that is gone after an epoch": replace(
            true, sources=replace(FOUR, decay_rate=np.full(4, 9.0))
        ),
        "values of the wrong sign in the equations": falsified(
            "equations", equations, "average_value", negative(value), residuals
        ),
        "the discounted value doubled in the equation": falsified(
            "equations",
            equations,
            "discounted_value",
            lambda *a: discounted(*a) + a[-1] * 0.5,
            residuals,
        ),
        "another gain by the solver": falsified(
            "equations",
            equations,
            "gain_by_solver",
            lambda decay, subsidy: 1.01 * value(decay, subsidy, 0.5)[1],
            residuals,
        ),
        "thresholds too low": falsified(
            "equations", equations, "crawl_advantage", lambda *a: advantage(*a) + 0.2, residuals
        ),
        "values of the wrong sign on the grid": falsified(
            "checks", equations, "average_value", negative(value), checks
        ),
        "discounted values that bend down": falsified(
            "checks",
            equations,
            "_discounted",
            lambda *a: (2 * np.sqrt(steep(*a)[0]), steep(*a)[1]),
            checks,
        ),
        "discounted values of the wrong sign": falsified(
            "checks", equations, "_discounted", lambda *a: (-steep(*a)[0], steep(*a)[1]), checks
        ),
        "discounted values of slope two": falsified(
            "checks", equations, "_discounted", lambda *a: (2 * steep(*a)[0], steep(*a)[1]), checks
        ),
        "a crawl at once": falsified("checks", equations, "_discounted", crawl_at_once, checks),
        "the sign of the subsidy": falsified(
            "checks", equations, "crawl_advantage", lambda *a: advantage(*a) + 2 * a[1], checks
        ),
        "an advantage that falls with the content": falsified(
            "checks", equations, "crawl_advantage", negative(advantage), checks
        ),
        "a value that no subsidy moves": replace(true, fall=fall(*fixed_price)),
        "horizons that add up": falsified(
            "finite",
            equations,
            "finite_horizon_value",
            lambda d, c, r, n, x, **k: horizons(d, c, r, n, x, **k) + 0.1 * n,
            finite,
        ),
        "a recursion that begins with x": falsified(
            "finite",
            equations,
            "finite_horizon_value",
            lambda d, c, r, n, x, **k: horizons(d, c, r, n, x, **k) if n else x,
            finite,
        ),
        "horizons that bend down": falsified(
            "finite",
            equations,
            "finite_horizon_value",
            lambda d, c, r, n, x, **k: -horizons(d, c, r, n, x, **k),
            finite,
        ),
        "a subsidy that is paid always": falsified(
            "solved", equations, "orbit_problem", paid_always, solved
        ),
        "a crawl that brings u at every age": falsified(
            "solved", equations, "orbit_problem", crawl_for_u, solved
        ),
        "content that is lost after an epoch": replace(
            true, model=modelled(alpha=lambda s: 1e-12 * s.alpha)
        ),
        "values of one subsidy at all of them": falsified(
            "solved", equations, "orbit_problem", lambda d, c: orbit_problem(d, 0.5), solved
        ),
        "as many crawls as sources in (6)": falsified(
            "equations", equations, "SHARE", 1.0, residuals
        ),
        "a cost of one in (11)": falsified("equations", equations, "COST", 1.0, residuals),
        "values with V(u) = 0 at every gain": falsified(
            "equations",
            equations,
            "value_at_gain",
            lambda decay, subsidy, gain, state: value(decay, subsidy, state)[0],
            residuals,
        ),
        "crawls that can be halved": falsified(
            "relaxed",
            model,
            "exact_sets",
            lambda s, budget: exact_sets(replace(s, cost=s.cost / 2), budget),
            relaxed,
        ),
        "a budget for all that is worth a crawl, of price 0": falsified(
            "relaxed",
            model,
            "relaxed_problem",
            lambda s, m: replace(relaxed_problem(s, m), subsidy=0.0),
            lambda: relaxed(sources=TWO_OF_FOUR),
        ),
        "x/C in Theorem 1 from u* on": falsified(
            "index",
            formula,
            "printed_index",
            lambda s, x, form="theorem": np.where(x < s.u_star, printed(s, x, form), x / s.cost),
            indices,
        ),
        "the index for the short form": falsified(
            "index",
            formula,
            "printed_index",
            lambda s, x, form="theorem": index(s, x) if form == "remark" else printed(s, x, form),
            indices,
        ),
        "an index that is a power too high": falsified(
            "index", formula, "whittle_index", lambda s, x: index(s, x) ** 1.01, indices
        ),
        "an index that falls": falsified(
            "index", formula, "whittle_index", lambda s, x: s.u_star**2 / index(s, x), indices
        ),
        "one epoch more in the clock": falsified(
            "index", formula, "printed_eta", lambda s, x: eta(s, x) + 1, indices
        ),
        "one epoch less in the clock": falsified(
            "index", formula, "printed_eta", lambda s, x: eta(s, x) - 1, indices
        ),
        "Theorem 1 on two levels": falsified(
            "index", formula, "printed_index", two_levels, indices
        ),
        "the stable form as the Remark": falsified(
            "index", formula, "whittle_index_at_age", lambda s, k: at_age(s, k + 1), indices
        ),
        "half of the content left by a crawl": falsified(
            "index",
            formula,
            "orbit",
            lambda s, n: s.state_at_age(np.arange(1, n + 1)[:, None] + 0.5),
            indices,
        ),
        "a cost that does not count": falsified(
            "index",
            formula,
            "index_by_definition",
            lambda s, x: index(replace(s, cost=np.ones(len(s))), x),
            indices,
        ),
        "ties at the index of another content": falsified(
            "index", equations, "whittle_index", lambda s, x: index(s, np.multiply(x, 0.9)), indices
        ),
        "a crawl that leaves half": falsified(
            "index",
            formula,
            "next_content",
            lambda s, x, crawled: s.alpha[0] * (x / 2 if crawled else x) + s.u[0],
            indices,
        ),
    }
    overwritten = {
        "the signs of the Lagrangians exchanged": replace(
            true, relaxed=replace(true.relaxed, plus=true.relaxed.minus, minus=true.relaxed.plus)
        ),
        "the ends by their right names": replace(
            true, solved=true.solved.rename(columns={"low": "high", "high": "low"})
        ),
    }
    assert_all_turn(page.claims, true, falsified_models, overwritten)


def test_verdicts_of_the_document(true):
    found = verdicts(page.claims(true))
    assert "refused" not in found.values()
    wrong = {id for id, verdict in found.items() if verdict == "does not hold"}
    assert wrong == {
        "A-r-eq5", "A-s-eq6", "A-r-eq6", "A-r-discounted", "A-r-sec3-objective",
        "A-r-lem1-2const", "A-r-lem4-proof", "A-r-lem1-2former", "A-r-lem1-2sum", "A-s-eq7-index",
        "A-r-X0u", "A-r-finite-dp",
    }  # fmt: skip
    definitions = ("A-r-alpha", "A-s-alpha", "A-r-B-lambda", "A-s-B-lambda", "A-r-def-index")
    definitions += ("A-s-def-index", "A-r-def-indexable", "A-s-def-indexable")
    assert {found[id] for id in definitions} == {"context"}
    holds = ("A-r-case1", "A-r-state-space", "A-r-gain-least", "A-r-vbar-dp", "A-r-T-one")
    holds += ("A-r-V-explicit", "A-r-lem5", "A-s-thm-indexable")
    assert {found[id] for id in holds} == {"holds"}
    under = {
        "A-r-eq13", "A-r-eq14", "A-s-eq7-cost", "A-r-eq7-of-eq6", "A-r-unit-costs",
        "A-r-interval", "A-r-lem5-proof", "A-s-curse", "A-s-proof-threshold", "A-r-reward",
        "A-s-reward", "A-s-eq8-of-eq7", "A-r-remark-form", "A-s-thm", "A-r-eq9",
        "A-s-eq7", "A-s-eq9-10", "A-r-abs-curse", "A-r-abs-simple",
    }  # fmt: skip
    assert {found[id] for id in under} == {"holds under"}


def test_grid_values_count_failures(true):
    said = page.collect_grid_values(true.checks)
    assert (said["low-decay"], said["high-decay"]) == (DECAYS[0], DECAYS[-1])
    assert said["grid"] == len(DECAYS) * len(PRICES)
    fails = [row["printed_constant"] < 0 for row in true.checks.to_dict("records")]
    assert said["constant-fails"] == pytest.approx(sum(fails) / len(fails))


def test_threshold_at_sign_change():
    content = np.array([1.0, 2.0, 3.0])
    advantages = {0.2: np.array([0.5, 1.0, 1.5]), 0.6: np.array([-1.0, 1.0, 3.0])}
    found = find_thresholds(content, advantages)
    assert np.isnan(found[0.2])
    assert found[0.6] == pytest.approx(1.5)


def test_lost_digits_described_at_ends():
    decay = np.array([1e-9, 1e-5, 1.0, 5.0])
    assert describe_lost_digits(decay, np.array([1.0, 0.1, 0.0, 0.0])) == "at decays up to 1e-09"
    both = describe_lost_digits(decay, np.array([1.0, 0.1, 0.0, 1.0]))
    assert both.startswith("at decays up to 1e-09 and from 5.0 on")
    assert describe_lost_digits(decay, np.zeros(4)) == "at none of these decays"
    assert describe_lost_digits(decay, np.ones(4)) == "at all of these decays"


def test_duality_gap_turns_words(true, falsified):
    def context(found):
        return {row.id: add_words(row).context for row in page.claims(found)}["A-r-lagrange"]

    dual = model.dual_value
    apart = falsified("relaxed", model, "dual_value", lambda *args: 1.01 * dual(*args), relaxed)
    assert "shows no duality gap" in context(true)
    assert "shows a duality gap" in context(apart)
