"""Verdicts of the page `learning-scheme` on rows of the 2019 paper."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from analysis.arrays import Floats
from analysis.ephemeral.sources import Sources
from analysis.learning.studies.learning_scheme.experiment import (
    AS_PRINTED,
    CHARGES,
    CORRECTED,
    HARVEST,
    LIFETIMES,
    OWN,
    Content,
    Index,
    Rule,
)
from analysis.learning.studies.numbers import error_bound
from analysis.published import printed_rows
from analysis.report import Claim, claim

#: Cut-offs of our own: what passes for a rough approximation, and for the same reward.
ROUGH, SAME = 0.98, 0.01


def claims(content: Content, index: Index, rule: Rule, years: Iterable[str]) -> list[Claim]:
    """Return the page's claims on each of its rows.

    `content`, `index`, `rule`: what was computed; `years`: years that the paper gives to the
    article on the index, from `years_of_the_source`.
    """
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


def years_of_the_source() -> set[str]:
    """Return the years in the two prints of the reference to the article on the index."""
    return set(re.findall(r"\b20\d\d\b", printed_rows()["B-ref-year"].printed))


def _prose(years: list[str]) -> Iterable[Claim]:
    yield claim("B-meta")
    yield claim("B-refs")
    yield claim("B-ref-year", len(years) == 1, numbers={"years": years})
    yield claim("B-abs-scheme")
    yield claim("B-V-approx")


def _unmarked(sources: Sources) -> Floats:
    """Return the printed mean of Z_i: what an epoch brings if every item is worth 1 at first."""
    mean: Floats = sources.arrival_rate * sources.period * -np.expm1(-sources.decay) / sources.decay
    return mean


def _content(found: Content) -> Iterable[Claim]:
    arms, life, draws = found.sources, found.lifetime, found.draws
    error = draws.std() / np.sqrt(draws.size)
    yield claim("B-poisson-k", found.thinning < 1e-12, numbers={"error": _bound(found.thinning)})
    gap = np.abs(found.left - arms.alpha).max()
    yield claim("B-def-alpha", bool(gap < 1e-8), numbers={"error": _bound(gap)})
    yield claim("B-def-Z")
    yield claim("B-def-xi")
    free = found.misses["never crawled"].max()
    yield claim("B-def-X", bool(free < 1e-9), numbers={"error": _bound(free)})
    lag, limit = float(np.corrcoef(draws[:-1], draws[1:])[0, 1]), 4 / np.sqrt(draws.size)
    halves = draws[: draws.size // 2].mean() - draws[draws.size // 2 :].mean()
    yield claim(
        "B-Z-iid",
        bool(abs(lag) < limit and abs(halves) < 8 * error),
        numbers={"epochs": draws.size, "correlation": lag, "limit": limit},
    )
    age, kept = np.arange(1, 1 + len(found.orbit)), arms.alpha[0] ** life
    dropped = (1 - arms.alpha[0] ** np.minimum(age, life)) * arms.u_star[0]
    by_mean = (1 - arms.alpha[0] ** age) * (1 - kept) * arms.u_star[0]
    xi, given = (draws[life:] - kept * draws[:-life]).mean(), _unmarked(arms)[0] * (1 - kept)
    yield claim(
        "B-u-i",
        bool(abs(xi - given) < 8 * error),
        numbers={"epochs": draws.size, "mean": xi, "printed": given, "lifetime": life},
    )
    some, ever = found.misses["crawled"]
    yield claim(
        "B-eq1",
        bool(max(free, ever) < 1e-9),
        condition=bool(some > 1e-9),
        numbers={"error": _bound(max(free, ever)), "with_crawls": some, "lifetime": life},
    )
    ahead = arms.alpha * found.orbit[:-1] + arms.u
    differ = bool(np.abs(dropped - by_mean).max() > 1e-9)
    yield claim(
        "B-eq2",
        bool(np.allclose(found.orbit[1:], ahead)),
        condition=differ,
        numbers={"lifetime": life},
    )
    yield claim(
        "B-eq3",
        bool(np.allclose(found.orbit[0], arms.u)),
        condition=differ,
        numbers={"lifetime": life, "dropped": dropped[0], "printed": by_mean[0]},
    )


def _objective(found: Content) -> Iterable[Claim]:
    reward = found.cycle.average_reward
    literal = min(found.contents[list(crawl)].mean(axis=1).sum() for crawl in found.cycle.crawls)
    yield claim(
        "B-objective",
        bool(np.isclose(literal, reward)),
        numbers={"literal": literal, "reward": reward},
    )
    content, never = found.contents.sum(axis=0).mean(), found.sources.u_star.sum()
    yield claim(
        "B-J", bool(np.isclose(content, reward)), numbers={"content": content, "reward": reward}
    )
    yield claim(
        "B-eq6", bool(np.isclose(content, reward)), numbers={"never": never, "content": content}
    )
    laws = (found.engaged, found.engaged_raw)
    more, more_raw = (float(law[found.budget + 1 :].sum()) for law in laws)
    kept = max(more, more_raw) < 1e-12
    yield claim("B-budget")
    yield claim(
        "B-operative",
        kept,
        numbers={"budget": found.budget, "more": more, "more_raw": more_raw},
    )
    yield claim(
        "B-prob-violates",
        min(more, more_raw) > 1e-12,
        numbers={"probabilities": list(found.engaged), "raw": list(found.engaged_raw)},
    )


def _index(found: Index) -> Iterable[Claim]:
    ages = len(found.closed)
    yield claim(
        "B-indexable",
        bool(
            (np.diff(found.closed, axis=0) > 0).all()
            and found.defined < 1e-8
            and (found.passive_ages[..., 1:] >= found.passive_ages[..., :-1]).all()
        ),
        proof="prop-scheme-dropped",
        numbers={"ages": ages, "lifetimes": list(LIFETIMES), "charges": CHARGES.size},
    )
    yield claim(
        "B-eq4",
        bool(np.allclose(found.exceeding, found.closed, atol=1e-8) and found.defined < 1e-8),
        numbers={"ages": ages, "error": _bound(found.defined)},
    )
    yield claim(
        "B-eq5",
        bool(
            np.allclose(found.exceeding, found.ceil, atol=1e-8)
            and np.allclose(found.exceeding, found.closed, atol=1e-8)
            and np.isnan(found.outside).all()
        ),
        numbers={"ages": ages},
    )
    yield claim(
        "B-policy",
        found.same_crawls and abs(found.ceiling - found.reward) < 1e-6,
        numbers={"budget": found.budget},
    )
    periods = [period for period, _ in found.repeats.values()]
    gap = max(gap for _, gap in found.repeats.values())
    yield claim(
        "B-periodic",
        gap < 1e-6,
        numbers={"periods": periods, "greatest_budget": len(found.repeats), "error": _bound(gap)},
    )


def _thresholds(found: Index) -> Iterable[Claim]:
    yield claim(
        "B-T-threshold",
        found.agreement[1] == 1.0 and found.agreement[2] < 1.0,
        numbers={
            "share": found.agreement[2],
            "beyond": {str(i + 1): share for i, share in enumerate(found.beyond)},
        },
    )
    yield claim("B-T-monotone", found.least_change > -1e-6)
    fit = found.fit
    yield claim(
        "B-T-approx",
        min(fit.rewards["quadratic"], fit.rewards["shared"]) > ROUGH * found.reward,
        numbers={
            "cut": ROUGH,
            "variance": fit.squares["quadratic"],
            "earned": fit.rewards["quadratic"],
            "reward": found.reward,
            "shared_variance": fit.squares["shared"],
            "shared_earned": fit.rewards["shared"],
        },
    )


def _policy(found: Rule) -> Iterable[Claim]:
    (draw, step, _), (scaled, _, half) = found.logit.to_numpy()
    yield claim("B-f-i", numbers={"by_step": step, "drawn": draw, "scaled": scaled, "half": half})
    law = found.transitions
    yield claim(
        "B-p-i", max(law.law, law.state) < 1e-12, numbers={"error": _bound(max(law.law, law.state))}
    )
    yield claim(
        "B-p-product",
        law.product < 1e-12 and law.single > 0.01,
        numbers={"error": _bound(law.product), "off": law.single},
    )


def _gradient(found: Rule) -> Iterable[Claim]:
    solved = found.poisson
    yield claim(
        "B-poisson-well",
        bool(
            solved.residual < 1e-9
            and solved.rank == solved.states - 1
            and np.isclose(solved.beta, solved.mean_content)
        ),
        numbers={"states": solved.states, "residual": _bound(solved.residual), "rank": solved.rank},
    )
    printed, own, harvest, right = (
        found.gradients.loc[name].to_dict() for name in (AS_PRINTED, OWN, HARVEST, CORRECTED)
    )
    yield claim(
        "B-eq7",
        bool(own["largest relative error"] < 1e-5),
        numbers={
            "points": found.points,
            "error": error_bound(own["largest relative error"]),
            "cosine": harvest["median cosine"],
        },
    )
    yield claim(
        "B-eq8-first",
        bool(own["largest relative error"] < 1e-5),
        numbers={"points": found.points, "error": error_bound(own["largest relative error"])},
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


def _recursions(found: Rule) -> Iterable[Claim]:
    rule, unit = found.recursion, found.sources.u_star.max()
    yield claim(
        "B-alg-r", rule.radius < 1 - 1e-9 and rule.end < 1e-9, numbers={"radius": rule.radius}
    )
    beta, harvest = found.poisson.beta, found.poisson.harvest
    for row in ("B-alg-eta", "B-alg-b"):
        yield claim(
            row,
            bool(np.isclose(beta, harvest)),
            numbers={"content": unit * beta, "earned": unit * harvest},
        )
    yield claim(
        "B-alg-B",
        found.ranks[0] == found.ranks[1],
        numbers={
            "rank_from_zero": found.ranks[0],
            "features": found.length,
            "rank_from_one": found.ranks[1],
        },
    )
    size = found.length
    yield claim(
        "B-alg-A",
        rule.printed_end < 1e-6,
        basis="judged",
        numbers={"features": size, "violated": rule.printed_end, "error": _bound(rule.end)},
    )
    yield claim(
        "B-alg-Binv",
        bool(found.by_print[0] < 1e-6),
        basis="judged",
        numbers={"off": found.by_print[0], "error": _bound(found.by_formula.max())},
    )
    yield claim("B-alg-B0")


def _steps(found: Rule) -> Iterable[Claim]:
    a, b = found.steps["a"], found.steps["b"]
    tail = partial(_over_doublings, a.size)
    yield claim(
        "B-steps-a",
        bool((a > 0).all() and tail(a)[-1] > 0.9 * tail(a)[0] and _dies_out(tail(a**2))),
        numbers={
            "doubling": tail(a)[-1],
            "share": np.sum(a**2) / (500 * np.pi**2 / 6),
            "steps": a.size,
        },
    )
    ratio = (a / b)[[10**power - 1 for power in range(3, 1 + int(np.log10(a.size)))]]
    yield claim(
        "B-steps-b",
        bool((np.diff(ratio) < 0).all() and _dies_out(tail(b**2)) and (tail(b)[-1] > tail(b)[0])),
        numbers={"ratio": ratio[-1], "steps": a.size},
    )
    yield claim("B-steps-example", found.step_numbers)
    _, linear, square, _ = found.threshold_form
    yield claim("B-T-form", linear == square, basis="judged")
    yield claim("B-phi-form", found.feature_form, numbers={"features": found.length})


def _bound(error: Any) -> float:
    """Return the least power of ten from 1e-9 on that an error does not exceed."""
    return error_bound(error, 1e-9)


def _over_doublings(epochs: int, terms: Floats) -> Floats:
    """Sum the terms over each of the last five doublings of n."""
    ends = epochs // 2 ** np.arange(5, -1, -1)
    return np.diff(np.cumsum(terms)[ends - 1])


def _dies_out(sums: Floats) -> bool:
    """Say whether sums over doublings fall by a fixed share at least, so that the series ends."""
    return bool((sums[1:] < 0.95 * sums[:-1]).all())
