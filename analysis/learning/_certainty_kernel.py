"""Compiled estimates of the certainty-equivalent learner, their indices, and what to crawl next.

See `analysis.learning.certainty_equivalence` for the equations.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.ephemeral.kernels import h, relative_index_at_age
from analysis.learning.environment import compiled
from analysis.learning.loop import largest

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
    """Rules of `CertaintyEquivalenceOptions`."""

    FORCED = 0
    UCB = 1
    THOMPSON = 2
    GAIN = 3
    ESTIMATE = 4


class Model(NamedTuple):
    """Constants: the grid, and on it g, log g and the index at u* = 1, each of shape (A, points).

    Row k - 1 is that of age k.
    """

    log_mu: NDArray[np.float64]
    g: NDArray[np.float64]
    log_g: NDArray[np.float64]
    unit_index: NDArray[np.float64]
    mu: NDArray[np.float64]
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

    pairs: NDArray[np.int64]
    weight: NDArray[np.float64]
    total: NDArray[np.float64]
    weighted: NDArray[np.float64]
    exposure: NDArray[np.float64]
    squares: NDArray[np.float64]
    profile: NDArray[np.float64]
    top: NDArray[np.int64]
    log_mu: NDArray[np.float64]
    u_star: NDArray[np.float64]
    width: NDArray[np.float64]
    chi_square: NDArray[np.float64]
    young: NDArray[np.float64]
    older: NDArray[np.float64]
    hoped_log_mu: NDArray[np.float64]
    hoped_u_star: NDArray[np.float64]
    looked: NDArray[np.int64]
    price: NDArray[np.float64]
    epoch: NDArray[np.int64]


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
    g, log_g = np.empty(model.log_mu.size), np.empty(model.log_mu.size)
    for point in range(g.size):
        g[point] = -np.expm1(-np.exp(model.log_mu[point]) * age)
        log_g[point] = np.log(g[point])
    return g, log_g


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
    weighted = state.weighted[i]
    for g in range(exposure.size):
        profile[g] = weighted[g] - total * np.log(exposure[g])
    top = 0
    for g in range(1, profile.size):
        if profile[g] > profile[top]:
            top = g
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
        keep, content, items = (
            np.exp(-since / model.memory),
            content_found[m],
            not np.isnan(aged[m]),
        )
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
    estimated, best, slack = np.empty(budget), np.empty(budget), np.empty(values.size)
    for m in range(budget):
        estimated[m] = -np.inf
        best[m] = -np.inf
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
