"""What the page on the learning scheme says to each row of the 2019 paper that it takes up."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from analysis.ephemeral.sources import Sources
from analysis.learning.environment import Floats
from analysis.learning.studies.learning_scheme import Content, Index
from analysis.learning.studies.learning_scheme.rule import (
    AS_PRINTED,
    CORRECTED,
    HARVEST,
    OWN,
    Rule,
)
from analysis.learning.studies.rounding import LEAST, bound
from analysis.published import printed_rows
from analysis.report import Claim

RAW = "states enter the logit as they are"
#: Cut-offs of our own: what passes for a rough approximation, and for the same reward.
ROUGH, SAME = 0.98, 0.01


def claims(content: Content, index: Index, rule: Rule, years: Iterable[str]) -> list[Claim]:
    """Return what the page says to each of its rows.

    Parameters
    ----------
    content, index, rule : Content, Index, Rule
        What was computed.
    years : iterable of str
        Years that the paper gives to the article on the index, from `years_of_the_source`.
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
    yield Claim("B-meta", context="bibliographic data")
    yield Claim("B-refs", context="the references are numbered [1] to [23]; nothing rests on it")
    yield Claim(
        "B-ref-year",
        len(years) == 1,
        evidence=f"the two prints give the years {' and '.join(years)} to one article; volume 5 "
        "appeared in 2018",
    )
    yield Claim(
        "B-abs-scheme",
        context="the scheme is described and run in this part; what it leverages is the threshold "
        "form of the index policy",
    )
    yield Claim(
        "B-V-approx", context="a choice of features; those of section V are run in the next chapter"
    )


def _unmarked(sources: Sources) -> Floats:
    """Return the printed mean of Z_i: what an epoch brings if every item is worth 1 at first."""
    mean: Floats = sources.arrival_rate * sources.period * -np.expm1(-sources.decay) / sources.decay
    return mean


def _content(found: Content) -> Iterable[Claim]:
    arms, life, draws = found.sources, found.lifetime, found.draws
    whole = "the sum of section II on a drawn stream of arrivals"
    error = draws.std() / np.sqrt(draws.size)
    yield Claim(
        "B-poisson-k",
        found.thinning < 1e-12,
        evidence="given their number k, items fall into a part of the interval binomially, for "
        f"every k up to 60, within {_bound(found.thinning)}",
    )
    gap = np.abs(found.left - arms.alpha).max()
    yield Claim(
        "B-def-alpha",
        bool(gap < 1e-8),
        condition="as the share of interest left after an epoch; the text after (5) calls it the "
        "decay rate, which is c_i",
        evidence=f"w' = -c w, integrated over an epoch, leaves it within {_bound(gap)}",
    )
    unmarked, marked = _unmarked(arms), ~np.isclose(arms.mean_utility, 1)
    yield Claim(
        "B-def-Z",
        bool(abs(draws.mean() - arms.u[0]) < 4 * error and (unmarked > arms.u)[marked].all()),
        condition="if every item is worth 1 at first",
        evidence=f"its mean over {draws.size} epochs is {draws.mean():.1f} at source 1, whose mean "
        f"utility is 1 and u_1 = {arms.u[0]:.1f}; the {marked.sum()} others need a factor",
    )
    free = found.misses["never crawled"].max()
    for row, condition in (("B-def-X", "M_i stands for M"), ("B-def-xi", "")):
        yield Claim(
            row,
            bool(free < 1e-9),
            condition=condition,
            evidence="with M_i for M, (1) follows from the two definitions: error below "
            f"{_bound(free)} by {whole}",
        )
    lag, limit = float(np.corrcoef(draws[:-1], draws[1:])[0, 1]), 4 / np.sqrt(draws.size)
    halves = draws[: draws.size // 2].mean() - draws[draws.size // 2 :].mean()
    yield Claim(
        "B-Z-iid",
        bool(abs(lag) < limit and abs(halves) < 8 * error),
        evidence=f"independent stationary increments of a Poisson process; in {draws.size} draws "
        f"the correlation of neighbours is {lag:.4f}, within {limit:.4f}",
    )
    age, kept = np.arange(1, 1 + len(found.orbit)), arms.alpha[0] ** life
    dropped = (1 - arms.alpha[0] ** np.minimum(age, life)) * arms.u_star[0]
    by_mean = (1 - arms.alpha[0] ** age) * (1 - kept) * arms.u_star[0]
    xi, given = (draws[life:] - kept * draws[:-life]).mean(), unmarked[0] * (1 - kept)
    yield Claim(
        "B-u-i",
        bool(abs(xi - given) < 8 * error and np.abs(dropped - by_mean).max() > 1),
        condition="with a factor for the mean utility, and M_i infinite or no crawls",
        evidence=f"mean of xi over {draws.size} epochs {xi:.1f} against {given:.1f}; but with M = "
        f"{life} and a crawl, (2) and (3) miss the content by up to "
        f"{np.abs(dropped - by_mean).max():.1f}",
    )
    some, ever = found.misses["crawled"]
    yield Claim(
        "B-eq1",
        bool(max(free, ever) < 1e-9 < some),
        condition="M_i infinite, or no crawls",
        evidence=f"error below {_bound(max(free, ever))} without crawls or for infinite M, "
        f"{some:.1f} for M = {life} with crawls, by {whole}",
    )
    ahead = arms.alpha * found.orbit[:-1] + arms.u
    yield Claim(
        "B-eq2",
        bool(np.allclose(found.orbit[1:], ahead)),
        condition="M_i infinite",
        evidence="the contents by age, u*(1 - alpha^k), follow it; with M = "
        f"{life} content no longer grows from that age on",
    )
    yield Claim(
        "B-eq3",
        bool(np.allclose(found.orbit[0], arms.u)),
        condition="M_i infinite",
        evidence=f"with M = {life}, one epoch after a crawl brings {dropped[0]:.1f} at source 1, "
        f"not {by_mean[0]:.1f}",
    )


def _objective(found: Content) -> Iterable[Claim]:
    reward = found.cycle.average_reward
    literal = min(found.met[list(crawl)].mean(axis=1).sum() for crawl in found.cycle.crawls)
    yield Claim(
        "B-objective",
        bool(np.isclose(literal, reward)),
        evidence=f"with nu_i(n) inside the sum the index policy is worth {literal:.2f}, not its "
        f"average reward {reward:.2f}",
    )
    content, never = found.met.sum(axis=0).mean(), found.sources.u_star.sum()
    yield Claim(
        "B-J",
        bool(np.isclose(content, reward)),
        evidence=f"all content is {content:.1f} on average under the index policy, its reward "
        f"{reward:.2f}",
    )
    yield Claim(
        "B-eq6",
        bool(np.isclose(content, reward)),
        evidence=f"its average is {never:.1f} if nothing is ever crawled and {content:.1f} under "
        "the index policy: it ranks them the wrong way round",
    )
    more = float(found.engaged[found.budget + 1 :].sum())
    kept, said = more < 1e-12, f"more than {found.budget} with probability {more:.3f}"
    yield Claim(
        "B-budget",
        context="a constraint of the problem; that the run of section V does not keep it is said "
        "of the operative policy",
    )
    yield Claim(
        "B-operative",
        kept,
        evidence="section V counts the sources that its run engages, one on average, and steers "
        "the number by kappa: that run draws each source by itself. With thresholds at their "
        f"bounds it crawls {said}",
    )
    yield Claim(
        "B-prob-violates",
        not kept,
        evidence="probabilities of 0, 1, ... sources: "
        + ", ".join(f"{p:.3f}" for p in found.engaged),
    )


def _index(found: Index) -> Iterable[Claim]:
    ages = len(found.closed)
    yield Claim(
        "B-indexable",
        bool((np.diff(found.closed, axis=0) > 0).all() and found.defined < 1e-8),
        proof="thm-mi-indexable",
        condition="M_i infinite: for a finite M_i the content alone is not the state",
        evidence=f"the index rises with the age up to {ages}, for each of the sources",
    )
    yield Claim(
        "B-eq4",
        bool(np.allclose(found.exceeding, found.closed, atol=1e-8) and found.defined < 1e-8),
        evidence=f"equal to the index in closed form at ages up to {ages}, and that to the dynamic "
        f"program's in decimal arithmetic within {_bound(found.defined)} in three states",
    )
    yield Claim(
        "B-eq5",
        bool(np.allclose(found.exceeding, found.ceil, atol=1e-8) and (found.outside == 0).all()),
        condition="below u*_i",
        evidence=f"both readings of the bracket give the same index at ages up to {ages}; above "
        "u*_i the print gives 0 where x/C_i is due",
    )
    yield Claim(
        "B-policy",
        found.same_crawls and abs(found.ceiling - found.reward) < 1e-6,
        evidence="ranked by (4) to the letter it crawls as the index policy does for every N_0; at "
        f"N_0 = {found.budget} it earns the relaxed bound, so it is optimal",
    )
    periods = ", ".join(str(period) for period, _ in found.repeats.values())
    gap = max(gap for _, gap in found.repeats.values())
    yield Claim(
        "B-periodic",
        gap < 1e-6,
        condition="in the long run, and up to the contents of sources that are never crawled, which"
        " tend to u* without reaching it",
        evidence=f"exact runs on integer ages repeat with periods {periods} for N_0 = 1 to "
        f"{len(found.repeats)}; in a run of contents these repeat within {_bound(gap)}",
    )


def _thresholds(found: Index) -> Iterable[Claim]:
    yield Claim(
        "B-T-threshold",
        found.agreement[1] == 1.0 and found.agreement[2] < 1.0,
        condition="N_0 = 1",
        evidence="decides as the index policy does in all of the random states tried at N_0 = 1, "
        f"and in {found.agreement[2]:.0%} of them at N_0 = 2",
    )
    yield Claim(
        "B-T-monotone",
        found.least_change > -1e-6,
        evidence="one other state raised, in random states; it follows from the index being "
        "increasing",
    )
    fit = found.fit
    yield Claim(
        "B-T-approx",
        fit.rewards["quadratic"] > ROUGH * found.reward,
        condition=f"rough is read as at least {ROUGH:.0%} of the reward; with a q_2 of its own "
        "on the square",
        evidence="fitted to the index policy's thresholds it explains "
        f"{fit.squares['quadratic']:.0%} of their variance for the worst source, and the fitted "
        f"policy earns {fit.rewards['quadratic']:.2f} of {found.reward:.2f}; with q_1 twice, "
        f"{fit.squares['shared']:.0%} and {fit.rewards['shared']:.2f}",
    )


def _policy(found: Rule) -> Iterable[Claim]:
    (draw, step, _), (scaled, _, half) = found.logit.to_numpy()
    yield Claim(
        "B-f-i",
        missing="the unit of states and thresholds, in which the constant 0.5 stands: thresholds "
        f"between two contents earn {step:.2f} by the step that the logit stands for, {draw:.2f} "
        f"drawn with raw states, and {scaled:.2f} where states are divided by the largest u*, when "
        f"0.5 is {half:.0f} value units",
    )
    law = found.transitions
    yield Claim(
        "B-p-i",
        max(law.law, law.state) < 1e-12,
        evidence="in the chain of two sources a crawl has the printed probability and leads to "
        "u_i, and waiting leads to alpha_i x_i + u_i at ages under the cap: error below "
        f"{_bound(max(law.law, law.state))}",
    )
    yield Claim(
        "B-p-product",
        law.product < 1e-12 and law.single > 0.01,
        condition="sources draw alone, that is without a budget",
        evidence=f"exact in the chain of two sources, error below {_bound(law.product)}; with "
        "exactly one crawl an epoch one draw decides the other, and the product is off by "
        f"{law.single:.2f}",
    )


def _gradient(found: Rule) -> Iterable[Claim]:
    solved = found.poisson
    yield Claim(
        "B-poisson-well",
        bool(
            solved.residual < 1e-9
            and solved.rank == solved.states - 1
            and np.isclose(solved.beta, solved.mean_content)
        ),
        evidence=f"in the chain of {solved.states} states a solution exists (residual below "
        f"{_bound(solved.residual)}), I - P has rank {solved.rank}, one less, and beta is the "
        "stationary mean of sum x_i",
    )
    printed, own, harvest, right = (
        found.gradients.loc[name] for name in (AS_PRINTED, OWN, HARVEST, CORRECTED)
    )
    yield Claim(
        "B-eq7",
        bool(own["largest relative error"] < 1e-5),
        condition="for the content of all sources, as (6) has it"
        if harvest["median cosine"] <= 0.99
        else "",
        evidence=f"exact at {found.points} points within "
        f"{_bound(own['largest relative error'], LEAST)}; for the harvest its median cosine with "
        f"the gradient is {harvest['median cosine']:.2f}",
    )
    yield Claim(
        "B-eq8-first",
        bool(own["largest relative error"] < 1e-5),
        evidence="summed over the sources, each with its own factor as these displays have it, "
        f"they give the gradient of the exact average reward at {found.points} points within "
        f"{_bound(own['largest relative error'], LEAST)}",
    )
    yield Claim(
        "B-eq8",
        bool(printed["largest relative error"] < 1e-5),
        evidence="with the sum in every component the relative error is up to "
        f"{printed['largest relative error']:.1f}, with the own term "
        f"{_bound(own['largest relative error'], LEAST)}",
    )
    yield Claim(
        "B-eq9",
        bool(own["largest relative error"] < 1e-5),
        condition="for the content of all sources, as (6) and (7) have it"
        if harvest["median cosine"] <= 0.99
        else "",
        evidence="the sample of (7), which is exact for that content. For the harvest the median "
        f"cosine with the gradient is {harvest['median cosine']:.2f}, at best "
        f"{harvest['largest cosine']:.2f}; with "
        f"R - eta + V(x') - V(x) the error is {_bound(right['largest relative error'], LEAST)}",
    )


def _recursions(found: Rule) -> Iterable[Claim]:
    rule, unit = found.recursion, found.sources.u_star.max()
    yield Claim(
        "B-alg-r",
        rule.radius < 1 - 1e-9 and rule.end < 1e-9,
        condition="B invertible, and no combination of the features constant on the recurrent "
        "states, as here",
        evidence="with exact averages of the chain it contracts, spectral radius "
        f"{rule.radius:.3f} at a step of 1, to the solution of A r + b = 0",
    )
    beta, harvest = found.poisson.beta, found.poisson.harvest
    for row, what in (("B-alg-eta", "tends to"), ("B-alg-b", "is centred at")):
        yield Claim(
            row,
            bool(np.isclose(beta, harvest)),
            evidence=f"in the chain of two sources it {what} {unit * beta:.1f}, the mean of all "
            f"content, while {unit * harvest:.1f} is earned",
        )
    yield Claim(
        "B-alg-B",
        found.ranks[0] == found.ranks[1],
        evidence="the step 1/(n+1) at n = 0 is 1: epsilon I is erased, after two steps the rank is "
        f"{found.ranks[0]} of {found.length}, and {found.ranks[1]} from n = 1 on",
    )
    size = found.length
    yield Claim(
        "B-alg-A",
        rule.printed_end < 1e-6,
        basis="judged",
        evidence=f"a {size} by {size} matrix minus a row; with the row taken from every row, r "
        f"ends where A r + b = 0 is violated by {rule.printed_end:.0%} of b, with "
        f"phi (phi' - phi)^T by {_bound(rule.end)}",
    )
    yield Claim(
        "B-alg-Binv",
        bool(found.by_print[0] < 1e-6),
        basis="judged",
        evidence="divides by zero at n = 1; from n = 2 with B^-1(n-1) on the right it is off by "
        f"{found.by_print[0]:.0%}, the corrected one by {_bound(found.by_formula.max())} at most",
    )
    yield Claim(
        "B-alg-B0",
        context="the start of the recursion; epsilon is not printed, 1 is used",
    )


def _steps(found: Rule) -> Iterable[Claim]:
    a, b = found.steps["a"], found.steps["b"]
    tail = partial(_over_doublings, a.size)
    yield Claim(
        "B-steps-a",
        bool((a > 0).all() and tail(a)[-1] > 0.9 * tail(a)[0] and _dies_out(tail(a**2))),
        evidence="with the example's a(n) the sum over each doubling of n stays at "
        f"{tail(a)[-1]:.0f} c, so that the sum has no bound; the squares sum to 500 c^2 pi^2/6, of "
        f"which {np.sum(a**2) / (500 * np.pi**2 / 6):.2%} lie within {a.size} steps",
    )
    ratio = (a / b)[[10**power - 1 for power in range(3, 1 + int(np.log10(a.size)))]]
    yield Claim(
        "B-steps-b",
        bool((np.diff(ratio) < 0).all() and _dies_out(tail(b**2)) and tail(b)[-1] > tail(b)[0]),
        condition="from n = 1 on, and in the recursion of bbar too, which is not named",
        evidence="with the example the sums of b over doublings of n grow, those of its squares "
        f"fall, and a/b falls as n^(-1/3), to {ratio[-1]:.2f} at n = {a.size}",
    )
    yield Claim(
        "B-steps-example",
        found.step_numbers,
        evidence="used from n = 1 on, since both divide by zero at n = 0; c is not printed, and "
        "0.1 is what the scheme as printed is run with",
    )
    yield Claim(
        "B-T-form",
        found.threshold_form,
        evidence="used for the scheme as printed; the corrected one has q_2 on the square",
    )
    yield Claim(
        "B-phi-form", found.feature_form, evidence=f"{found.length} features, used throughout"
    )


def _bound(error: Any, least: float = 1e-9) -> str:
    return f"{bound(error, least):.0e}"


def _over_doublings(epochs: int, terms: Floats) -> Floats:
    """Sum the terms over each of the last five doublings of n."""
    ends = epochs // 2 ** np.arange(5, -1, -1)
    return np.diff(np.cumsum(terms)[ends - 1])


def _dies_out(sums: Floats) -> bool:
    """Say whether sums over doublings fall by a fixed share at least, so that the series ends."""
    return bool((sums[1:] < 0.95 * sums[:-1]).all())
