"""The page `learning-scheme`: the equations of the 2019 paper, as printed.

Three groups of results: `Content` (section II, up to the index), `Index` (the index and its
thresholds) and `Rule` (sections III and IV: the soft policy, its gradient and the recursions).
`claims` derives the verdicts from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from analysis.arrays import Floats, Ints
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.policies import Observation, Policy
from analysis.ephemeral.simulation import Cycle, long_run, simulate
from analysis.ephemeral.sources import Sources
from analysis.learning.scheme.chains import GradientCheck, gradient_check
from analysis.learning.scheme.equations import (
    CAP,
    Poisson,
    Recursion,
    ThresholdFit,
    Transitions,
    content_misses,
    index_as_printed,
)
from analysis.learning.scheme.lspe import LspeOptions
from analysis.learning.scheme.thresholds import (
    hard_threshold_value,
    soft_threshold_value,
    whittle_threshold,
)
from book.learning.shared import error_bound, format_error, save_gradient_errors
from scorecard import Claim, claim, save_table
from scorecard.prints import printed_rows

AS_PRINTED = "as printed, for the content of all"
OWN = "(8) with its own source only, for the content of all"
HARVEST = "(8) with its own source only, for the harvest"
CORRECTED = "corrected, for the harvest"
ONE_DRAW = "corrected, exactly one source an epoch"
#: M_i, and charges for a crawl, of the check of indexability with content that is dropped.
LIFETIMES = (1, 2, 5, 9)
CHARGES = np.linspace(-50.0, 550.0, 601)


@dataclass(frozen=True)
class Content:
    """Results that decide the rows on content and objective."""

    # The instance, N_0, and M_i of the check with content that is dropped.
    sources: Sources
    budget: int
    lifetime: int
    thinning: float  # as `thinning_error` returns it
    remaining: Floats  # share of interest that an epoch leaves, by `integrate_interest`; shape (N,)
    draws: Floats  # Z of source 1; shape (T,)
    misses: pd.DataFrame  # as `measure_content_misses` returns it
    orbit: Floats  # content at ages 1, 2, ; shape (A, N)
    cycle: Cycle  # of the index policy
    contents: Floats  # before a crawl under the index policy, in the long run; shape (N, T)
    # Law of the number of sources crawled at an epoch in the learning run, with the thresholds at
    # their upper bounds; shape (N + 1,).
    engaged: Floats
    engaged_raw: Floats  # the same where states are not divided


@dataclass(frozen=True)
class Index:
    """Results that decide the rows on the index and its thresholds."""

    # The instance and N_0.
    sources: Sources
    budget: int
    # (4) with the two readings of (5)'s bracket, and the closed form, at ages 1, 2, ; shape (A,
    # N).
    exceeding: Floats
    ceil: Floats
    closed: Floats
    defined: float  # largest difference of the closed form to the index by its definition
    outside: Floats  # (4) above u*; shape (N,)
    passive_ages: Floats  # as `find_best_ages` returns it, at rising charges
    beyond: Floats  # as `share_beyond` returns it
    same_crawls: bool  # as `ranks_like_index` returns it
    # Long-run reward of the index policy, and the relaxed bound.
    reward: float
    ceiling: float
    agreement: dict[int, float]  # as `measure_threshold_agreement` returns it, by N_0
    least_change: float  # as `find_least_change` returns it
    fit: ThresholdFit  # forms of section V fitted to the thresholds
    repeats: dict[int, tuple[int, float]]  # as `measure_repetition` returns it, by N_0


@dataclass(frozen=True)
class Rule:
    """Results that decide the verdicts on the learning rule; see `scheme.equations`."""

    # The instance and the steepness.
    sources: Sources
    kappa: float
    logit: pd.DataFrame  # as `compare_logit_with_step` returns it
    # On the chain of two sources.
    transitions: Transitions
    poisson: Poisson
    recursion: Recursion
    gradients: pd.DataFrame  # as `tabulate_gradient_errors` returns it, at `points` points
    points: int  # number of points
    ranks: tuple[int, int]  # of B without and with its step at n = 0, after the steps to n = 1
    length: int  # number of features
    # As `inverse_errors` returns them.
    by_print: Floats
    by_formula: Floats
    steps: Mapping[str, Floats]  # as `example_steps` returns them
    # What the program computes with, in the order of the print.
    threshold_form: tuple[int, ...]
    feature_form: tuple[int, ...]
    step_numbers: tuple[float, ...]


def integrate_interest(sources: Sources) -> Floats:
    """Integrate w' = -c w over an epoch from w = 1, by Runge and Kutta's method; shape (N,)."""
    solution = solve_ivp(
        lambda _, w: -sources.decay * w, (0.0, 1.0), np.ones(len(sources)), rtol=1e-11, atol=1e-13
    )
    return np.asarray(solution.y[:, -1], dtype=np.float64)


def measure_content_misses(
    arrivals: Floats, decay: float, lifetimes: Iterable[int], crawls: Iterable[int]
) -> pd.DataFrame:
    """Return the most by which (1) misses the content by its definition, without and with crawls.

    A lifetime of T epochs or more is infinite; at the end of a crawl's epoch all content is taken.
    """
    ways = {"never crawled": (), "crawled": tuple(crawls)}
    rows = {
        str(life) if life < arrivals.size else "infinity": {
            name: np.abs(content_misses(arrivals, decay, life, epochs)).max()
            for name, epochs in ways.items()
        }
        for life in lifetimes
    }
    return pd.DataFrame(rows).T.rename_axis("M")


@dataclass(frozen=True)
class Ranked:
    """Crawl the sources of largest index by (4) and (5), as printed."""

    sources: Sources  # N sources

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Ints:
        """Return the `budget` sources of largest index; ties go to the smaller number."""
        values = index_as_printed(self.sources, self.sources.state_at_age(observation.age))
        return np.sort(np.argsort(-values, kind="stable")[:budget])


def ranks_like_index(sources: Sources, horizon: int) -> bool:
    """Whether (4), as printed, crawls as the index policy does, at every budget below N."""
    return all(
        np.array_equal(
            _simulate_crawls(sources, Ranked(sources), budget, horizon),
            _simulate_crawls(sources, "whittle", budget, horizon),
        )
        for budget in range(1, len(sources))
    )


def _simulate_crawls(
    sources: Sources, policy: Policy | str, budget: int, horizon: int
) -> NDArray[np.bool_]:
    return simulate(sources, policy, budget, horizon, initial_state="fresh").crawled


def find_best_ages(sources: Sources, charges: Floats = CHARGES) -> Floats:
    """Return the best age to crawl a source, at each charge for a crawl.

    The state is the age k, content after k epochs is u*(1 - alpha^min(k, M)), and an age of
    infinity is never to crawl. Shape (lifetimes, N, charges).
    """
    age = np.arange(1, 500)
    best = np.empty((len(LIFETIMES), len(sources), charges.size))
    for row, life in enumerate(LIFETIMES):
        content = sources.state_at_age(np.minimum(age, life)[:, None])
        for arm in range(len(sources)):
            gain = (content[:, arm, None] - charges) / age[:, None]
            best[row, arm] = np.where(gain.max(axis=0) > 0, age[gain.argmax(axis=0)], np.inf)
    return best


def share_beyond(sources: Sources, states: Floats) -> Floats:
    """Return the share of states at which another source's index is u*/C or more, shape (N,)."""
    index = whittle_index(sources, states)
    rivals = [np.delete(index, arm, axis=1).max(axis=1) for arm in range(len(sources))]
    return np.mean(sources.u_star / sources.cost <= np.array(rivals).T, axis=0)


def compute_thresholds(sources: Sources, states: Floats) -> Floats:
    """Return the thresholds of section III at each of several states, shape (S, N)."""
    return np.array([whittle_threshold(sources, x) for x in states])


def measure_threshold_agreement(
    sources: Sources, states: Floats, levels: Floats, budgets: Iterable[int]
) -> dict[int, float]:
    """Return in which share of states "x_i >= T_i" crawls as the index policy does, by budget."""
    ranks = np.argsort(-whittle_index(sources, states), axis=1, kind="stable")
    above = states >= levels - 1e-9 * sources.u_star.max()
    return {
        budget: float(
            np.mean(
                [
                    set(np.flatnonzero(crawled)) == set(rank[:budget])
                    for crawled, rank in zip(above, ranks, strict=True)
                ]
            )
        )
        for budget in budgets
    }


def find_least_change(
    sources: Sources, states: Floats, levels: Floats, rng: np.random.Generator
) -> float:
    """Raise one state half the way to u*; return the least change of the other thresholds."""
    rows = np.arange(len(states))
    raised, which = states.copy(), rng.integers(0, len(sources), len(states))
    raised[rows, which] += 0.5 * (sources.u_star[which] - raised[rows, which])
    change = compute_thresholds(sources, raised) - levels
    change[rows, which] = np.inf
    return float(change.min())


def measure_repetition(
    sources: Sources, budget: int, policy: Policy | str = "whittle", epochs: int = 400
) -> tuple[int, float]:
    """Return the index policy's period, and by how much contents of a run differ one period on.

    The period is found on integer ages; the run is another computation, of contents, and may be
    that of another policy. Where no ages come twice there is no such difference: it is nan.
    """
    cycle = long_run(sources, "whittle", budget)
    period, epochs = cycle.period, max(epochs, 4 * cycle.period)
    if not cycle.repeats:
        return period, np.nan
    run = simulate(sources, policy, budget, epochs, initial_state="fresh")
    contents = run.state[:, epochs // 2 :]
    return period, float(np.abs(contents[:, period:] - contents[:, :-period]).max())


def compare_logit_with_step(sources: Sources, kappa: float) -> pd.DataFrame:
    """Compare the soft policy with the step that it approximates, by the divisor of states.

    Each threshold lies halfway between the contents at ages 2 and 3, so that the step has no ties.
    """
    levels = 0.5 * (sources.state_at_age(2) + sources.state_at_age(3))
    step = hard_threshold_value(sources, levels)
    rows = {}
    for name, scale in (("nothing", 1.0), ("the largest u*", float(sources.u_star.max()))):
        soft = soft_threshold_value(sources, levels, kappa, scale=scale)
        rows[name] = {
            "reward of the draw": soft.average_reward,
            "reward of the step": step.average_reward,
            "0.5 in value units": 0.5 * scale,
        }
    return pd.DataFrame(rows).T.rename_axis("states divided by")


def list_readings(kappa: float) -> dict[str, tuple[LspeOptions, str]]:
    """Return readings of (7) to (9), each with the average reward whose gradient it should be."""
    as_printed = {"projected": False, "kappa": kappa, "threshold": "quadratic"}
    own = as_printed | {"gradient": "own arm"}
    right = own | {"reward": "crawled", "signal": "advantage"}
    return {
        AS_PRINTED: (LspeOptions.as_printed(**as_printed), "all"),
        OWN: (LspeOptions.as_printed(**own), "all"),
        HARVEST: (LspeOptions.as_printed(**own), "crawled"),
        CORRECTED: (LspeOptions.as_printed(**right), "crawled"),
        ONE_DRAW: (LspeOptions.corrected(kappa=kappa), "crawled"),
    }


def check_gradients(
    sources: Sources, points: Iterable[Floats], kappa: float
) -> dict[str, list[GradientCheck]]:
    """Compare each reading with central differences of the exact average reward."""
    at = list(points)
    return {
        name: [gradient_check(sources, q, options, cap=CAP, objective=goal) for q in at]
        for name, (options, goal) in list_readings(kappa).items()
    }


def tabulate_gradient_errors(checks: Mapping[str, list[GradientCheck]]) -> pd.DataFrame:
    """Return median and largest cosine and the largest relative error of each reading."""
    rows = {
        name: {
            "median cosine": np.median([c.cosine for c in errors]),
            "largest cosine": max(c.cosine for c in errors),
            "largest relative error": max(c.relative_error for c in errors),
        }
        for name, errors in checks.items()
    }
    return pd.DataFrame(rows).T.rename_axis("formula, and the average reward that it is for")


def measure_baseline_noise(sources: Sources, points: Iterable[Floats], kappa: float) -> float:
    """Return the factor of a step's second moment if 1 is added to V, without baseline."""
    options, goal = list_readings(kappa)[OWN]
    at = list(points)
    moment = [
        np.mean(
            [
                gradient_check(
                    sources, q, options, cap=CAP, objective=goal, value_shift=shift
                ).second_moment
                for q in at
            ]
        )
        for shift in (0.0, 1.0)
    ]
    return float(moment[1] / moment[0])


# Values and tables


def save_misses(misses: pd.DataFrame) -> None:
    """Save the table of `measure_content_misses`; rounding errors are marked."""
    save_table(
        "learning-scheme-misses",
        misses.map(format_error),
        "The most by which the paper's (1) misses the content by its definition, for content that "
        "is dropped after $M$ epochs or never: without crawls, and crawled every 7 epochs.",
    )


def save_logit(logit: pd.DataFrame) -> None:
    """Save the table of `compare_logit_with_step`."""
    save_table(
        "learning-scheme-logit",
        logit,
        "Long-run reward per epoch of the draw and of the step that it stands for, and what the "
        "printed $\\delta = 0.5$ is in value units, by what states are divided by.",
        formats=".2f",
    )


def save_engaged(law: Floats, kappa: float) -> None:
    """Save the law of the number of sources crawled with thresholds at their upper bounds."""
    save_table(
        "learning-scheme-engaged",
        pd.DataFrame({"sources crawled": np.arange(law.size), "probability": law}),
        "How many sources are crawled at an epoch where each draws alone: thresholds at $u^*_i$, "
        f"states divided by the largest $u^*$, $\\kappa = {kappa:g}$.",
        formats=".3f",
    )


def save_gradients(gradients: pd.DataFrame) -> None:
    """Save the error of each formula against the true gradient, with the paper's numbers."""
    note = " Equation numbers are the paper's."
    save_gradient_errors("learning-scheme-gradients", gradients, note)


def save_checks(checks: Mapping[str, float]) -> None:
    """Save the checks of the recursions."""
    save_table(
        "learning-scheme-checks",
        pd.Series(checks, name="value").map(format_error).rename_axis("check").to_frame(),
        "The recursions, run or solved as printed and as corrected.",
    )


# Claims


#: Cut-offs of our own: what passes for a rough approximation, and for the same reward.
ROUGH, SAME = 0.98, 0.01


def claims(content: Content, index: Index, rule: Rule, years: Iterable[str]) -> list[Claim]:
    """Return the page's claims on each of its rows."""
    return [
        *_prose(sorted(years)),
        *_content(content),
        *_objective(content),
        *_index(index),
        *_thresholds(index),
        *_policy(rule),
        *_gradient(rule),
        *_recursions(rule),
        *_steps(rule),
    ]


def read_source_years() -> set[str]:
    """Return the years in the two prints of the reference to the article on the index."""
    return set(re.findall(r"\b20\d\d\b", printed_rows()["B-ref-year"].printed))


def _prose(years: list[str]) -> Iterable[Claim]:
    yield claim("B-meta")
    yield claim("B-refs")
    yield claim("B-ref-year", len(years) == 1, numbers={"years": years})
    yield claim("B-abs-scheme")
    yield claim("B-V-approx")


def _printed_mean(sources: Sources) -> Floats:
    """Return the printed mean of Z_i: what an epoch brings if every item is worth 1 at first."""
    mean: Floats = sources.arrival_rate * sources.period * -np.expm1(-sources.decay) / sources.decay
    return mean


def _content(results: Content) -> Iterable[Claim]:
    arms, life, draws = results.sources, results.lifetime, results.draws
    error = draws.std() / np.sqrt(draws.size)
    yield claim(
        "B-poisson-k", results.thinning < 1e-12, numbers={"error": _error_bound(results.thinning)}
    )
    gap = np.abs(results.remaining - arms.alpha).max()
    yield claim("B-def-alpha", bool(gap < 1e-8), numbers={"error": _error_bound(gap)})
    yield claim("B-def-Z")
    yield claim("B-def-xi")
    free = results.misses["never crawled"].max()
    yield claim("B-def-X", bool(free < 1e-9), numbers={"error": _error_bound(free)})
    lag, limit = float(np.corrcoef(draws[:-1], draws[1:])[0, 1]), 4 / np.sqrt(draws.size)
    halves = draws[: draws.size // 2].mean() - draws[draws.size // 2 :].mean()
    yield claim(
        "B-Z-iid",
        bool(abs(lag) < limit and abs(halves) < 8 * error),
        numbers={"epochs": draws.size, "correlation": lag, "limit": limit},
    )
    age, lasting = np.arange(1, 1 + len(results.orbit)), arms.alpha[0] ** life
    dropped = (1 - arms.alpha[0] ** np.minimum(age, life)) * arms.u_star[0]
    by_mean = (1 - arms.alpha[0] ** age) * (1 - lasting) * arms.u_star[0]
    xi, by_formula = (
        (draws[life:] - lasting * draws[:-life]).mean(),
        _printed_mean(arms)[0] * (1 - lasting),
    )
    yield claim(
        "B-u-i",
        bool(abs(xi - by_formula) < 8 * error),
        numbers={"epochs": draws.size, "mean": xi, "printed": by_formula, "lifetime": life},
    )
    finite, infinite = results.misses["crawled"]
    yield claim(
        "B-eq1",
        bool(max(free, infinite) < 1e-9),
        condition=bool(finite > 1e-9),
        numbers={
            "error": _error_bound(max(free, infinite)),
            "with_crawls": finite,
            "lifetime": life,
        },
    )
    ahead = arms.alpha * results.orbit[:-1] + arms.u
    differ = bool(np.abs(dropped - by_mean).max() > 1e-9)
    yield claim(
        "B-eq2",
        bool(np.allclose(results.orbit[1:], ahead)),
        condition=differ,
        numbers={"lifetime": life},
    )
    yield claim(
        "B-eq3",
        bool(np.allclose(results.orbit[0], arms.u)),
        condition=differ,
        numbers={"lifetime": life, "dropped": dropped[0], "printed": by_mean[0]},
    )


def _objective(results: Content) -> Iterable[Claim]:
    reward = results.cycle.average_reward
    literal = min(
        results.contents[list(crawl)].mean(axis=1).sum() for crawl in results.cycle.crawls
    )
    yield claim(
        "B-objective",
        bool(np.isclose(literal, reward)),
        numbers={"literal": literal, "reward": reward},
    )
    content, never = results.contents.sum(axis=0).mean(), results.sources.u_star.sum()
    yield claim(
        "B-J", bool(np.isclose(content, reward)), numbers={"content": content, "reward": reward}
    )
    yield claim(
        "B-eq6", bool(np.isclose(content, reward)), numbers={"never": never, "content": content}
    )
    laws = (results.engaged, results.engaged_raw)
    excess, excess_raw = (float(law[results.budget + 1 :].sum()) for law in laws)
    within_budget = max(excess, excess_raw) < 1e-12
    yield claim("B-budget")
    yield claim(
        "B-operative",
        within_budget,
        numbers={"budget": results.budget, "more": excess, "more_raw": excess_raw},
    )
    yield claim(
        "B-prob-violates",
        min(excess, excess_raw) > 1e-12,
        numbers={"probabilities": list(results.engaged), "raw": list(results.engaged_raw)},
    )


def _index(results: Index) -> Iterable[Claim]:
    ages = len(results.closed)
    yield claim(
        "B-indexable",
        bool(
            (np.diff(results.closed, axis=0) > 0).all()
            and results.defined < 1e-8
            and (results.passive_ages[..., 1:] >= results.passive_ages[..., :-1]).all()
        ),
        proof="prop-scheme-dropped",
        numbers={"ages": ages, "lifetimes": list(LIFETIMES), "charges": CHARGES.size},
    )
    yield claim(
        "B-eq4",
        bool(np.allclose(results.exceeding, results.closed, atol=1e-8) and results.defined < 1e-8),
        numbers={"ages": ages, "error": _error_bound(results.defined)},
    )
    yield claim(
        "B-eq5",
        bool(
            np.allclose(results.exceeding, results.ceil, atol=1e-8)
            and np.allclose(results.exceeding, results.closed, atol=1e-8)
            and np.isnan(results.outside).all()
        ),
        numbers={"ages": ages},
    )
    yield claim(
        "B-policy",
        results.same_crawls and abs(results.ceiling - results.reward) < 1e-6,
        numbers={"budget": results.budget},
    )
    periods = [period for period, _ in results.repeats.values()]
    gap = max(gap for _, gap in results.repeats.values())
    yield claim(
        "B-periodic",
        gap < 1e-6,
        numbers={
            "periods": periods,
            "greatest_budget": len(results.repeats),
            "error": _error_bound(gap),
        },
    )


def _thresholds(results: Index) -> Iterable[Claim]:
    yield claim(
        "B-T-threshold",
        results.agreement[1] == 1.0 and results.agreement[2] < 1.0,
        numbers={
            "share": results.agreement[2],
            "beyond": {str(i + 1): share for i, share in enumerate(results.beyond)},
        },
    )
    yield claim("B-T-monotone", results.least_change > -1e-6)
    fit = results.fit
    yield claim(
        "B-T-approx",
        min(fit.rewards["quadratic"], fit.rewards["shared"]) > ROUGH * results.reward,
        numbers={
            "cut": ROUGH,
            "variance": fit.squares["quadratic"],
            "earned": fit.rewards["quadratic"],
            "reward": results.reward,
            "shared_variance": fit.squares["shared"],
            "shared_earned": fit.rewards["shared"],
        },
    )


def _policy(results: Rule) -> Iterable[Claim]:
    (draw, step, _), (scaled, _, half) = results.logit.to_numpy()
    yield claim("B-f-i", numbers={"by_step": step, "drawn": draw, "scaled": scaled, "half": half})
    law = results.transitions
    yield claim(
        "B-p-i",
        max(law.law, law.state) < 1e-12,
        numbers={"error": _error_bound(max(law.law, law.state))},
    )
    yield claim(
        "B-p-product",
        law.product < 1e-12 and law.single > 0.01,
        numbers={"error": _error_bound(law.product), "off": law.single},
    )


def _gradient(results: Rule) -> Iterable[Claim]:
    solved = results.poisson
    yield claim(
        "B-poisson-well",
        bool(
            solved.residual < 1e-9
            and solved.rank == solved.states - 1
            and np.isclose(solved.beta, solved.mean_content)
        ),
        numbers={
            "states": solved.states,
            "residual": _error_bound(solved.residual),
            "rank": solved.rank,
        },
    )
    printed, own, harvest, right = (
        results.gradients.loc[name].to_dict() for name in (AS_PRINTED, OWN, HARVEST, CORRECTED)
    )
    yield claim(
        "B-eq7",
        bool(own["largest relative error"] < 1e-5),
        numbers={
            "points": results.points,
            "error": error_bound(own["largest relative error"]),
            "cosine": harvest["median cosine"],
        },
    )
    yield claim(
        "B-eq8-first",
        bool(own["largest relative error"] < 1e-5),
        numbers={"points": results.points, "error": error_bound(own["largest relative error"])},
    )
    yield claim(
        "B-eq8",
        bool(printed["largest relative error"] < 1e-5),
        numbers={
            "printed_error": printed["largest relative error"],
            "error": error_bound(own["largest relative error"]),
        },
    )
    yield claim(
        "B-eq9",
        bool(own["largest relative error"] < 1e-5),
        numbers={
            "cosine": harvest["median cosine"],
            "best_cosine": harvest["largest cosine"],
            "error": error_bound(right["largest relative error"]),
        },
    )


def _recursions(results: Rule) -> Iterable[Claim]:
    rule, unit = results.recursion, results.sources.u_star.max()
    yield claim(
        "B-alg-r", rule.radius < 1 - 1e-9 and rule.end < 1e-9, numbers={"radius": rule.radius}
    )
    beta, harvest = results.poisson.beta, results.poisson.harvest
    for row in ("B-alg-eta", "B-alg-b"):
        yield claim(
            row,
            bool(np.isclose(beta, harvest)),
            numbers={"content": unit * beta, "earned": unit * harvest},
        )
    yield claim(
        "B-alg-B",
        results.ranks[0] == results.ranks[1],
        numbers={
            "rank_from_zero": results.ranks[0],
            "features": results.length,
            "rank_from_one": results.ranks[1],
        },
    )
    size = results.length
    yield claim(
        "B-alg-A",
        rule.printed_end < 1e-6,
        basis="judged",
        numbers={"features": size, "violated": rule.printed_end, "error": _error_bound(rule.end)},
    )
    yield claim(
        "B-alg-Binv",
        bool(results.by_print[0] < 1e-6),
        basis="judged",
        numbers={"off": results.by_print[0], "error": _error_bound(results.by_formula.max())},
    )
    yield claim("B-alg-B0")


def _steps(results: Rule) -> Iterable[Claim]:
    a, b = results.steps["a"], results.steps["b"]
    tail = partial(_sum_over_doublings, a.size)
    yield claim(
        "B-steps-a",
        bool((a > 0).all() and tail(a)[-1] > 0.9 * tail(a)[0] and _is_convergent(tail(a**2))),
        numbers={
            "doubling": tail(a)[-1],
            "share": np.sum(a**2) / (500 * np.pi**2 / 6),
            "steps": a.size,
        },
    )
    ratio = (a / b)[[10**power - 1 for power in range(3, 1 + int(np.log10(a.size)))]]
    yield claim(
        "B-steps-b",
        bool(
            (np.diff(ratio) < 0).all() and _is_convergent(tail(b**2)) and (tail(b)[-1] > tail(b)[0])
        ),
        numbers={"ratio": ratio[-1], "steps": a.size},
    )
    yield claim("B-steps-example", results.step_numbers)
    _, linear, square, _ = results.threshold_form
    yield claim("B-T-form", linear == square, basis="judged")
    yield claim("B-phi-form", results.feature_form, numbers={"features": results.length})


def _error_bound(error: Any) -> float:
    """Return the least power of ten from 1e-9 on that an error does not exceed."""
    return error_bound(error, 1e-9)


def _sum_over_doublings(epochs: int, terms: Floats) -> Floats:
    """Sum the terms over each of the last five doublings of n."""
    ends = epochs // 2 ** np.arange(5, -1, -1)
    return np.diff(np.cumsum(terms)[ends - 1])


def _is_convergent(sums: Floats) -> bool:
    """Whether sums over doublings fall by a fixed share at least, so that the series ends."""
    return bool((sums[1:] < 0.95 * sums[:-1]).all())
