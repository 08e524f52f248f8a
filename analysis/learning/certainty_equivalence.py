"""Certainty equivalence: estimate rates and decay, and use the closed-form index of the estimates.

A crawl at age k finds content of mean m(k) = u* (1 - e^{-mu k}) and of variance phi times the mean,
nearly. The observations of one arm have the quasi-likelihood ::

    sums alone    l(u*, mu) = sum_j r_j log(u* g_j) - u* g_j,     g_j = 1 - e^{-mu k_j}
    items         l(u*, mu) = sum of v (log(u* mu) - mu s) over items of worth v and age s
                              - sum_j u* g_j

For given mu both are largest at u* = R / S(mu), R = sum r_j, S = sum g_j. The profile ::

    sums alone    p(mu) = sum_j r_j log g_j(mu) - R log S(mu)
    items         p(mu) = R log mu - mu A - R log S(mu),     A = sum of v s over items

is kept on a grid of mu as running sums, and refined by a parabola in log mu. Both kinds of crawls
may be mixed. phi is Pearson's chi-square over its degrees of freedom, partly pooled over the arms:
the mean of its own value with a weight of n, the number of crawls but two or of items R/phi if that
is less, and of the pooled one with a weight of two. For an arm without content it is the larger of
the pooled phi and the mean content of a crawl. The arms of largest index gamma(age; u*, mu) are
crawled, where (u*, mu) is ::

    estimate    the estimate
    gain        the pair whose gain max_k (m(k) - lambda)/k is largest within
                l >= max l - phi c log(1 + t), at the running price lambda of a crawl: a moving
                average of the least index among the arms crawled for it
    ucb         the pair of largest index within the same set: given mu, the largest u* with
                u* S - R - R log(u* S/R) <= phi c log(1 + t) - (max p - p(mu))
    thompson    a sample: log mu such that the signed root of its likelihood ratio is a standard
                normal number; given mu, u* S/phi gamma of shape R/phi + 1/2, the posterior under
                Jeffreys' prior of a Poisson mean. For each of the two phi is multiplied by
                v log^2(1 + t)/2, at least `spread` and at most 1, where v is the variance of its
                logarithm. A sample outside l >= max l - phi log(1 + t) is replaced by the
                estimate
    forced      the estimate; an arm is crawled again whenever three quarters of all epochs so far
                have passed since its last crawl

Crawls at a single age k identify m(k) alone. If the index of a wrong pair (u*, mu) selects that age
again, the pair is confirmed, and "estimate", "ucb" and "forced" may never correct it: on ordinary
sets of three sources they lose up to 3% of the index policy's reward for ever. All rules therefore
have a *floor* of f(t) = floor log^1.1(1 + t M/N) crawls of each arm at age 1 and as many above it,
where t M/N is the average number of crawls of an arm: an arm below it is due, and one that is
crawled at every epoch is held back until it is older. A crawl that shows items counts for both.
With the floor, decisions other than those of the true index, or forced ones, are almost surely
finite in number under "estimate", "thompson" and any rule within l >= max l - phi c log(1 + t).
"gain" learns at a constant price also without a floor: a pair of larger gain than the truth
predicts too much content at the gap that it selects, and is refuted there.

Draws of a share s of the posterior's variance everywhere would have a regret of about T^{1-s}: an
error of z standard deviations has probability e^{-z^2/2}, and about e^{z^2/(2 s)} epochs pass until
a draw corrects it. With v below 2/log^2(1 + t), however, the probability of an error of a given
size falls faster than every power of t, and narrower draws cost less. The factor of one half is
chosen. The likelihood of mu is not replaced by a normal law about the estimate: with few crawls at
one of two ages it falls slowly to one side, and the normal law would exclude the truth there.

An arm without content so far (R = 0) is crawled again under every rule: the bound of "ucb" tends to
u* <= slack/S, and its index, maximised over mu, grows with the age in proportion to the time
watched; Jeffreys' posterior is proper; "forced" and the floor crawl it at a logarithmic rate.

With a `memory` of H epochs all sums and counts of an arm fade as e^{-epochs/H} and t is at most H,
as in discounted UCB, so that the estimates follow sources that change.

References: Garivier and Cappe (2011), KL-UCB; Garivier and Moulines (2011), discounted UCB; Borkar
and Varaiya (1979), estimates that confirm themselves; Kumar and Becker (1982), optimism about the
gain. This is the "adaptive version" that the report announces in its conclusion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats, Ints
from analysis.checks import (
    check_choice,
    check_integer,
    check_kind,
    check_number,
    check_positive,
    set_fields,
)
from analysis.display import brief
from analysis.ephemeral.kernels import h, relative_index_at_age
from analysis.learning.environment import compiled
from analysis.learning.loop import CompiledLearner, largest

#: Ages at which g and the index stand in tables; at higher ages they are computed.
TABLED = 256
#: The largest gap between two crawls, in epochs, that is considered.
LONGEST = 1 << 16
#: Under the rule "forced" an arm is overdue once its age exceeds this share of the time watched.
OVERDUE = 0.75
#: The running price moves by this share of its distance from the index of the last arm crawled.
PRICE_STEP = 0.02
#: Epochs after which the pair of largest gain is searched anew.
STALE = 50
#: The floor grows like log t to this power, above 1 as the proof requires.
GROWTH = 1.1
#: Priorities from here on are those of arms to be crawled whatever their index.
FORCED = 1e180


class Exploration(IntEnum):
    """Rules of `CertaintyEquivalenceOptions`, as integers for compiled code."""

    FORCED = 0
    UCB = 1
    THOMPSON = 2
    GAIN = 3
    ESTIMATE = 4


EXPLORATIONS = {rule.name.lower(): rule for rule in Exploration}


@dataclass(frozen=True)
class CertaintyEquivalenceOptions:
    """Exploration rule of the learner, and the grid on which it estimates the decay.

    Parameters
    ----------
    exploration : {"thompson", "gain", "estimate", "ucb", "forced"}
        See the module: without a floor and items, "estimate", "ucb" and "forced" can keep a wrong
        estimate for ever. "forced" needs a larger `forced` than the others.
    forced : int
        Crawls of each arm before its estimate is used, in pairs of one at a high age and one right
        after it; at least 2. A crawl at age 0 does not count, one that shows items counts as two.
    confidence : float
        c of "gain" and "ucb"; positive.
    spread : float
        Least variance of the draws of "thompson", as a share of the posterior's, in (0, 1]; see the
        module. At 1 all draws follow the posterior.
    floor : float
        Each arm is crawled `floor` log^1.1(1 + t M/N) times at age 1 and as often at older ages by
        epoch t; at least 0; 0 turns the floor off.
    slowest, fastest : float
        Ends of the grid of mu, per epoch; 0 < slowest < fastest.
    points : int
        Points of the grid, equally spaced in log mu; at least 16.
    memory : float
        H, epochs after which a crawl counts e times less; positive, ``inf`` to forget nothing.
    """

    exploration: str = "thompson"
    forced: int = 2
    confidence: float = 0.25
    spread: float = 0.25
    floor: float = 0.4
    slowest: float = 1e-3
    fastest: float = 20.0
    points: int = 121
    memory: float = np.inf

    def __post_init__(self) -> None:
        check_choice("exploration", self.exploration, tuple(EXPLORATIONS))
        slowest = check_positive("slowest", self.slowest)
        fastest = check_positive("fastest", self.fastest)
        if slowest >= fastest:
            raise ValueError(f"slowest must be below fastest, got {slowest:g} and {fastest:g}")
        set_fields(
            self,
            forced=check_integer("forced", self.forced, 2),
            confidence=check_positive("confidence", self.confidence),
            spread=check_number("spread", self.spread, 0, 1, low_open=True),
            floor=check_number("floor", self.floor, 0, high_open=True),
            slowest=slowest,
            fastest=fastest,
            points=check_integer("points", self.points, 16),
            memory=check_number("memory", self.memory, 0, low_open=True),
        )


class Model(NamedTuple):
    """Constants: the grid, and on it g, log g and the index at u* = 1, each of shape (A, points).

    Row k - 1 is that of age k.
    """

    log_mu: Floats
    g: Floats
    log_g: Floats
    unit_index: Floats
    mu: Floats
    exploration: int
    forced: int
    confidence: float
    spread: float
    memory: float
    floor: float


class State(NamedTuple):
    """Running sums of each arm, on the grid (N, points) or not (N,), and the estimates from them.

    `pairs` counts all crawls at a positive age, one that shows items twice, and `weight` those that
    are remembered. `profile` is p(mu) and `top` the place of its maximum; `width` is the standard
    deviation of log mu when phi is 1, ``inf`` where the profile has no curvature there. `young` and
    `older` count the crawls remembered at age 1 and above it, both those that show items.
    `hoped_log_mu` and `hoped_u_star` are the pair of largest gain and `looked` the epoch of the
    search that found it, -1 before any; `price` is the running price of a crawl, ``nan`` before
    the first.
    """

    pairs: Ints
    weight: Floats
    total: Floats
    weighted: Floats
    exposure: Floats
    squares: Floats
    profile: Floats
    top: Ints
    log_mu: Floats
    u_star: Floats
    width: Floats
    chi_square: Floats
    young: Floats
    older: Floats
    hoped_log_mu: Floats
    hoped_u_star: Floats
    looked: Ints
    price: Floats
    epoch: Ints


@compiled
def index(log_mu, u_star, age):  # type: ignore[no-untyped-def]
    """Index at an age of an arm with these parameters."""
    decay = np.exp(log_mu)
    return u_star * relative_index_at_age(decay, h(decay), float(age))


@compiled
def index_table(log_mu, oldest):  # type: ignore[no-untyped-def]
    """Index at u* = 1 at ages 1 to `oldest`, shape (oldest, points)."""
    table = np.empty((oldest, log_mu.size))
    for age in range(1, oldest + 1):
        for point in range(log_mu.size):
            table[age - 1, point] = index(log_mu[point], 1.0, age)
    return table


@compiled
def _reach(model, age):  # type: ignore[no-untyped-def]
    """Return g = 1 - exp(-mu age) and log g on the grid."""
    if age <= model.g.shape[0]:
        return model.g[age - 1], model.log_g[age - 1]
    g = -np.expm1(-np.exp(model.log_mu) * age)
    return g, np.log(g)


@compiled
def exposed(model, exposure, log_mu):  # type: ignore[no-untyped-def]
    """S at any mu: its logarithm is interpolated linearly between points of the grid."""
    spacing = model.log_mu[1] - model.log_mu[0]
    position = (log_mu - model.log_mu[0]) / spacing
    below = min(max(int(position), 0), exposure.size - 2)
    weight = position - below
    return np.exp((1.0 - weight) * np.log(exposure[below]) + weight * np.log(exposure[below + 1]))


@compiled
def _estimate(model, state, i):  # type: ignore[no-untyped-def]
    """Maximise the profile of arm i on the grid and refine it by a parabola."""
    exposure, profile, total = state.exposure[i], state.profile[i], state.total[i]
    profile[:] = state.weighted[i] - total * np.log(exposure)
    top = profile.argmax()
    inner = min(max(top, 1), exposure.size - 2)
    before, middle, after = profile[inner - 1], profile[inner], profile[inner + 1]
    spacing = model.log_mu[1] - model.log_mu[0]
    bend = 2.0 * middle - before - after
    log_mu, width = model.log_mu[top], np.inf
    if bend > 1e-12 * total:
        width = spacing / np.sqrt(bend)
        if inner == top:
            log_mu += 0.5 * spacing * (after - before) / bend
    state.top[i] = top
    state.log_mu[i] = log_mu
    state.width[i] = width
    state.u_star[i] = total / exposed(model, exposure, log_mu)
    surplus = 0.0
    if total > 0.0:
        surplus = state.squares[i, top] * exposure[top] / total - total
    state.chi_square[i] = max(surplus, 0.0)


@compiled
def learn(model, state, arms, age, content_found, aged):  # type: ignore[no-untyped-def]
    """Add what crawls found to the running sums and estimate anew.

    `age` is of all arms. `aged` is the sum of worth times age of the items found, ``nan`` where
    only their sum of worths is seen. A crawl at age 0 must find nothing and is ignored. The sums
    of an arm fade by the epochs since its last crawl, which is its age.
    """
    state.epoch[0] += 1
    for m in range(arms.size):
        i, since = arms[m], age[arms[m]]
        if since < 1:
            continue
        keep, content = np.exp(-since / model.memory), content_found[m]
        items = not np.isnan(aged[m])
        state.pairs[i] += 2 if items else 1
        state.weight[i] = keep * state.weight[i] + 1.0
        state.young[i] = keep * state.young[i] + (1.0 if items or since == 1 else 0.0)
        state.older[i] = keep * state.older[i] + (1.0 if items or since > 1 else 0.0)
        state.total[i] = keep * state.total[i] + content
        g, log_g = _reach(model, since)
        weighted, exposure, squares = state.weighted[i], state.exposure[i], state.squares[i]
        # each loop without a branch, so that it runs on several points at once
        if items:
            for point in range(g.size):
                gained = content * model.log_mu[point] - model.mu[point] * aged[m]
                weighted[point] = keep * weighted[point] + gained
        else:
            for point in range(g.size):
                weighted[point] = keep * weighted[point] + content * log_g[point]
        for point in range(g.size):
            exposure[point] = keep * exposure[point] + g[point]
            squares[point] = keep * squares[point] + content * content / g[point]
        _estimate(model, state, i)
        state.looked[i] = -1
    return True


@compiled
def upper(total, slack):  # type: ignore[no-untyped-def]
    """Largest mean m >= total with m - total - total log(m/total) <= slack.

    With x = m/total and y = slack/total that is x - 1 - log x = y, a branch of Lambert's function:
    one Newton step from its lower bound 1 + sqrt(2y) + 2y/3. An upper bound is 1 + sqrt(2y) + y. A
    total of 0 leaves m = slack.
    """
    if total <= 0.0:
        return slack
    y = slack / total
    x = 1.0 + np.sqrt(2.0 * y) + y / 1.5
    if y > 1e-6:
        x -= (x - 1.0 - np.log(x) - y) / (1.0 - 1.0 / x)
    return total * x


@compiled
def at_estimate(state, i, age, slack):  # type: ignore[no-untyped-def]
    """Index of arm i at the estimated mu and the largest u* whose likelihood is within `slack`."""
    total = state.total[i]
    if age < 1 or total <= 0.0:
        return 0.0
    return index(state.log_mu[i], upper(total, slack) / total * state.u_star[i], age)


@compiled
def optimistic(model, state, i, age, slack, highest, needed):  # type: ignore[no-untyped-def]
    """Largest index of arm i over all (mu, u*) whose likelihood is within `slack` of the best.

    It is at least `highest`, of `at_estimate`, and anything below `needed` may be returned for it
    if it is below `needed`.

    Given mu, u* may be what `upper` makes of R with the slack that the profile leaves, over S. An
    arm that found nothing has a flat profile: its index is slack/S(mu) where that helps most, and
    grows with its age, so that it is tried again at ages that grow with the time watched.
    """
    if age < 1:
        return 0.0
    total, top = state.total[i], state.top[i]
    profile, exposure = state.profile[i], state.exposure[i]
    oldest = model.unit_index.shape[0]
    row, growth = model.unit_index[min(age, oldest) - 1], 1.0
    if age > oldest:  # the index over age (age + 1) falls with the age
        growth = age * (age + 1.0) / (oldest * (oldest + 1.0))
    aim, lowest, hopeful = max(highest, needed), profile[top] - slack, 0
    for g in range(profile.size):  # without branches, so that it runs on several points at once
        slack_left, unit = profile[g] - lowest, row[g] * growth
        slack_left = slack_left if slack_left > 0.0 else 0.0
        unit = unit if unit < 1.0 else 1.0
        most = total + np.sqrt(2.0 * slack_left * total) + slack_left  # above `upper`
        hopeful += (slack_left > 0.0) & (most * unit >= aim * exposure[g])
    if hopeful == 0:
        return highest
    for direction in (-1, 1):
        g = top if direction < 0 else top + 1
        while 0 <= g < profile.size:
            slack_left = profile[g] - lowest
            if slack_left <= 0.0:
                break
            most = total + np.sqrt(2.0 * slack_left * total) + slack_left
            if most * min(row[g] * growth, 1.0) >= aim * exposure[g]:
                unit = row[g] if growth == 1.0 else index(model.log_mu[g], 1.0, age)
                highest = max(highest, upper(total, slack_left) * unit / exposure[g])
                aim = max(highest, needed)
            g += direction
    return highest


@compiled
def at_root(model, state, i, root, phi):  # type: ignore[no-untyped-def]
    """Find log mu where the signed root of the likelihood ratio of arm i is `root`.

    There p has fallen by phi root^2/2 from its maximum. Returns log mu, at most at an end of the
    grid, and by how much p has fallen.
    """
    profile, top, log_mu = state.profile[i], state.top[i], state.log_mu[i]
    best = profile[top] + 0.5 * ((log_mu - model.log_mu[top]) / state.width[i]) ** 2
    limit, fallen, step = 0.5 * phi * root * root, 0.0, 1 if root > 0.0 else -1
    point = top if (model.log_mu[top] - log_mu) * step > 0.0 else top + step
    while 0 <= point < profile.size:
        fall = best - profile[point]
        if fall > limit:  # the root is nearly linear in log mu between two points, as in a parabola
            before, after = np.sqrt(fallen), np.sqrt(fall)
            share = (np.sqrt(limit) - before) / (after - before)
            return log_mu + share * (model.log_mu[point] - log_mu), limit
        log_mu, fallen = model.log_mu[point], max(fall, 0.0)
        point += step
    return log_mu, fallen


@compiled
def drawn_index(model, state, i, age, phi, doubt, rng):  # type: ignore[no-untyped-def]
    """Index of arm i at a draw of mu and, given mu, of u*; `doubt` is log(1 + t).

    The signed root of the likelihood ratio at mu is a standard normal number. Given mu, R/phi is
    nearly Poisson, so that Jeffreys' posterior of u* S/phi is gamma of shape R/phi + 1/2. Each is
    drawn with a share of phi that depends on the variance of its logarithm, phi width^2 or phi/R. A
    draw whose likelihood is not within phi log(1 + t) of the best gives way to the estimate, unless
    nothing was found.
    """
    total, doubtful = state.total[i], 0.5 * phi * doubt * doubt
    scale = phi * min(1.0, max(model.spread, doubtful * state.width[i] ** 2))
    log_mu, fallen = at_root(model, state, i, rng.standard_normal(), scale)
    scale = phi
    if total > 0.0:
        scale = phi * min(1.0, max(model.spread, doubtful / total))
    drawn = scale * rng.standard_gamma(total / scale + 0.5)
    if total > 0.0:
        fallen += drawn - total - total * np.log(drawn / total)
        if fallen > phi * doubt:
            return index(state.log_mu[i], state.u_star[i], age)
    return index(log_mu, drawn / exposed(model, state.exposure[i], log_mu), age)


@compiled
def best_gap(model, point, u_star, price):  # type: ignore[no-untyped-def]
    """Gap k of largest gain (m(k) - price)/k: the least one at which the index reaches the price.

    `point` is the place of mu on the grid. Gaps above `LONGEST` are not considered.
    """
    table, share = model.unit_index[:, point], price / u_star
    low, high = 0, table.size  # the index is below the price at `low`
    tabled = table[-1] >= share
    if not tabled:
        low, high = table.size, LONGEST
    while high - low > 1:
        middle = (low + high) // 2
        unit = table[middle - 1] if tabled else index(model.log_mu[point], 1.0, middle)
        if unit >= share:
            high = middle
        else:
            low = middle
    return high


@compiled
def _may_gain(u_star, mu, price, gain):  # type: ignore[no-untyped-def]
    """Whether some gap, taken for a real number k, has m(k) - price - gain k above 0.

    The largest value is at u* mu e^{-mu k} = gain; where it is not above 0 no gap gains more.
    """
    if gain <= 0.0:
        return True
    rise = u_star * mu / gain
    return rise > 1.0 and u_star * (1.0 + 1e-9) - price > gain / mu * (1.0 + np.log(rise))


@compiled
def search_gain(model, state, i, slack, price):  # type: ignore[no-untyped-def]
    """Find the pair of largest gain at a price among those whose likelihood is within `slack`.

    For given mu the gain grows with u*, so that `upper` gives it. The pair goes to `hoped_log_mu`
    and `hoped_u_star`; the estimate itself, with the largest u*, is among those compared.
    """
    total, profile, top = state.total[i], state.profile[i], state.top[i]
    most = np.zeros(profile.size)  # the largest u* at each point, 0 outside the set
    for point in range(profile.size):
        slack_left = profile[point] - profile[top] + slack
        if slack_left >= 0.0:
            most[point] = upper(total, slack_left) / state.exposure[i, point]
    if not most[top] > 0.0:
        state.looked[i] = state.epoch[0]
        return
    gap = best_gap(model, top, most[top], price)
    sure_gain = ((_reach(model, gap)[0] * most - price) / gap).max()  # gained with this gap
    best = -np.inf
    for point in range(profile.size):
        u_star = most[point]
        if not u_star > 0.0 or not _may_gain(u_star, model.mu[point], price, sure_gain):
            continue
        gap = best_gap(model, point, u_star, price)
        gain = (-np.expm1(-model.mu[point] * gap) * u_star - price) / gap
        if gain > best:
            best = gain
            state.hoped_log_mu[i], state.hoped_u_star[i] = model.log_mu[point], u_star
            if point == top and total > 0.0:
                state.hoped_log_mu[i] = state.log_mu[i]
                state.hoped_u_star[i] = upper(total, slack) / total * state.u_star[i]
    state.looked[i] = state.epoch[0]


@compiled
def _pool(state):  # type: ignore[no-untyped-def]
    """Dispersion over all arms, and for an arm that found nothing: what a crawl finds, if more."""
    surplus, freedom, content, crawls = 0.0, 0.0, 0.0, 0.0
    for i in range(state.pairs.size):
        surplus += state.chi_square[i]
        freedom += max(state.weight[i] - 2.0, 0.0)
        content += state.total[i]
        crawls += state.weight[i]
    pooled = surplus / max(freedom, 1.0)
    unseen = max(pooled, content / max(crawls, 1.0))
    return pooled, unseen if unseen > 0.0 else 1.0


@compiled
def _enter(best, value):  # type: ignore[no-untyped-def]
    """Keep the largest values so far in decreasing order."""
    rank = best.size - 1
    if value <= best[rank]:
        return
    while rank > 0 and best[rank - 1] < value:
        best[rank] = best[rank - 1]
        rank -= 1
    best[rank] = value


@compiled
def _dispersion(model, state, i, age, pooled, unseen):  # type: ignore[no-untyped-def]
    """Return phi of arm i, larger the longer ago it was crawled if there is a memory."""
    phi, total, chi_square = unseen, state.total[i], state.chi_square[i]
    if total > 0.0:  # weight - 2 degrees of freedom and 2
        phi = (chi_square + 2.0 * pooled) / state.weight[i]
        if chi_square > total:  # fewer items than that, so that these are the degrees of freedom
            phi = (total + 2.0 * pooled) / ((state.weight[i] - 2.0) * total / chi_square + 2.0)
        phi = max(phi, 1e-12 * total)
    return phi * np.exp(min(age / model.memory, 60.0))  # what is known has faded since


@compiled
def _by_floor(model, state, age, needed, budget, values):  # type: ignore[no-untyped-def]
    """Rank arms below the floor first, those of age 1 before others, and hold some back.

    An arm is due at age 1 with too few crawls there, and at older ages with too few of either kind.
    An arm of age 1 with enough crawls there and too few older ones is held, so that it grows older;
    no more are held than leaves the budget something to crawl. Counts fade until now.
    """
    spare = values.size - budget
    for i in range(values.size):
        if age[i] < 1 or state.pairs[i] < model.forced:
            continue
        keep = np.exp(-age[i] / model.memory)
        young, older = keep * state.young[i] >= needed, keep * state.older[i] >= needed
        if age[i] == 1 and not young:
            values[i] = 1e195
        elif age[i] > 1 and not (young and older):
            values[i] = 1e190
        elif age[i] == 1 and not older and spare > 0:
            values[i] = -1e190
            spare -= 1


@compiled
def _gain_index(model, state, i, age, slack):  # type: ignore[no-untyped-def]
    """Index of arm i at the pair of largest gain at the running price."""
    if age < 1:
        return 0.0
    if state.looked[i] < 0 or state.epoch[0] - state.looked[i] >= STALE:
        search_gain(model, state, i, slack, state.price[0])
    return index(state.hoped_log_mu[i], state.hoped_u_star[i], age)


@compiled
def _move_price(state, values, budget):  # type: ignore[no-untyped-def]
    """Move the running price towards the least index among the arms that are crawled for it."""
    best = np.full(budget, -np.inf)
    for i in range(values.size):
        _enter(best, values[i])
    for m in range(budget - 1, -1, -1):
        if 0.0 <= best[m] < FORCED:
            step = PRICE_STEP if state.price[0] > 0.0 else 1.0
            state.price[0] += step * (best[m] - state.price[0])
            return


@compiled
def priorities(model, state, age, rng, values, budget):  # type: ignore[no-untyped-def]
    """Write what each arm is worth crawling; arms that lack forced crawls come first.

    Values of arms that are not among the `budget` largest may be too small: an arm is searched only
    for what exceeds the `budget` largest values at the estimates, and those found before.
    """
    pooled, unseen = _pool(state)
    estimated, best = np.full(budget, -np.inf), np.full(budget, -np.inf)
    slack = np.empty(values.size)
    watched = min(float(state.epoch[0]), model.memory)
    doubt = np.log1p(watched)
    needed = model.floor * np.log1p(watched * budget / values.size) ** GROWTH
    for i in range(values.size):
        count = state.pairs[i]
        if count < model.forced:
            again = model.forced if count % 2 == 1 else 0
            values[i] = 1e200 * (2 * model.forced + again - count)
        elif model.exploration == Exploration.ESTIMATE or model.exploration == Exploration.FORCED:
            overdue = model.exploration == Exploration.FORCED and age[i] > OVERDUE * watched
            values[i] = 1e190 if overdue else index(state.log_mu[i], state.u_star[i], age[i])
        else:
            phi = _dispersion(model, state, i, age[i], pooled, unseen)
            slack[i] = phi * (model.confidence * doubt)
            if model.exploration == Exploration.UCB:
                values[i] = at_estimate(state, i, age[i], slack[i])
            elif model.exploration == Exploration.GAIN:
                values[i] = _gain_index(model, state, i, age[i], slack[i])
            else:
                values[i] = drawn_index(model, state, i, age[i], phi, doubt, rng)
        _enter(estimated, values[i])
    if model.exploration == Exploration.UCB:
        for i in range(values.size):
            if state.pairs[i] >= model.forced:
                aim = max(estimated[-1], best[-1])
                values[i] = optimistic(model, state, i, age[i], slack[i], values[i], aim)
            _enter(best, values[i])
    if model.floor > 0.0:
        _by_floor(model, state, age, needed, budget, values)
    if model.exploration == Exploration.GAIN:
        _move_price(state, values, budget)


@compiled
def choose(model, state, age, budget, rng, values, arms):  # type: ignore[no-untyped-def]
    """Return the arms of largest estimated, optimistic or drawn index."""
    priorities(model, state, age, rng, values, budget)
    return largest(values, arms[:budget])


@brief
class CertaintyEquivalence(CompiledLearner, choose=choose, learn=learn):
    """Estimate rates and decay, and crawl by the index of the estimates.

    Parameters
    ----------
    arms : int
        N; nothing else is known of them.
    options : CertaintyEquivalenceOptions, optional
        How it explores.

    Attributes
    ----------
    u_star, decay : ndarray, shape (N,)
        Present estimates, ``nan`` before the first crawl at a positive age.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import four_sources
    >>> from analysis.learning import mean_content, play
    >>> content = mean_content(four_sources(), 300)
    >>> run = play(four_sources(), CertaintyEquivalence(4), content, 1, np.random.default_rng(0))
    >>> bool(run.reward[200:].mean() > 250)
    True
    """

    sees_items = True

    def __init__(self, arms: int, options: CertaintyEquivalenceOptions | None = None) -> None:
        check_kind("options", options, CertaintyEquivalenceOptions, None)
        arms = check_integer("arms", arms, 1)
        self.options = options or CertaintyEquivalenceOptions()
        kinds = {"pairs": np.int64, "top": np.int64, "looked": np.int64, "epoch": np.int64}
        grids = ("weighted", "exposure", "squares", "profile")
        state = {}
        for name in State._fields:
            size = (arms, self.options.points) if name in grids else arms
            state[name] = np.zeros(
                1 if name in ("epoch", "price") else size, kinds.get(name, float)
            )
        for name in ("log_mu", "u_star", "width", "hoped_log_mu", "hoped_u_star"):
            state[name] += np.nan
        state["looked"] -= 1
        super().__init__(arms, _model(self.options), State(**state))

    @property
    def u_star(self) -> Floats:
        """Estimates of u*, shape (N,)."""
        return self._state.u_star.copy()

    @property
    def decay(self) -> Floats:
        """Estimates of mu T, shape (N,)."""
        return np.exp(self._state.log_mu)

    @property
    def age(self) -> Ints:
        """Ages of the arms: after `play` those at its end, else at the last choice; shape (N,)."""
        return self._age.copy()

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all that was learned, as arrays, for `restore`."""
        return {name: array.copy() for name, array in self._state._asdict().items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `state` returned, of as many arms and with the same options."""
        for name, array in self._state._asdict().items():
            array[...] = state[name]


@lru_cache(maxsize=16)
def _model(options: CertaintyEquivalenceOptions) -> Model:
    """Return the tables and constants of the compiled steps; learners share them."""
    log_mu = np.linspace(np.log(options.slowest), np.log(options.fastest), options.points)
    g = -np.expm1(-np.exp(log_mu) * np.arange(1, TABLED + 1)[:, None])
    return Model(
        log_mu,
        g,
        np.log(g),
        index_table(log_mu, TABLED),
        np.exp(log_mu),
        int(EXPLORATIONS[options.exploration]),
        options.forced,
        options.confidence,
        options.spread,
        options.memory,
        options.floor,
    )
