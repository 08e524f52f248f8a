"""Compiled steps of the certainty-equivalent learner.

See `analysis.learning.certainty_equivalence` for the equations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.ephemeral.kernels import h, pass_epoch, relative_index_at_age
from analysis.learning.environment import collect, compiled, fresh, largest

#: "forced" crawls an arm again once so much of the time watched has passed since its last crawl.
OVERDUE = 0.75


class Model(NamedTuple):
    """Constants: the grid, and on it g, log g and the index at u* = 1, each of shape (A, points).

    Row k - 1 is that of age k.
    """

    log_mu: NDArray[np.float64]
    g: NDArray[np.float64]
    log_g: NDArray[np.float64]
    unit_index: NDArray[np.float64]
    exploration: int
    forced: int
    confidence: float
    memory: float


class State(NamedTuple):
    """Running sums of each arm, on the grid (N, points) or not (N,), and the estimates from them.

    `pairs` counts all crawls at a positive age, `weight` those that are remembered. `profile` is
    p(mu) and `top` the place of its maximum; `width` is the standard deviation of log mu when phi
    is 1, ``inf`` where the profile has no curvature there.
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
    epoch: NDArray[np.int64]


@compiled
def _index(log_mu, u_star, age):  # type: ignore[no-untyped-def]
    decay = np.exp(log_mu)
    return u_star * relative_index_at_age(decay, h(decay), float(age))


@compiled
def index_table(log_mu, oldest):  # type: ignore[no-untyped-def]
    """Index at u* = 1 at ages 1 to `oldest`, shape (oldest, points)."""
    table = np.empty((oldest, log_mu.size))
    for age in range(1, oldest + 1):
        for point in range(log_mu.size):
            table[age - 1, point] = _index(log_mu[point], 1.0, age)
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
def _exposure(model, exposure, log_mu):  # type: ignore[no-untyped-def]
    """S at any mu: its logarithm is interpolated linearly between points of the grid."""
    spacing = model.log_mu[1] - model.log_mu[0]
    place = (log_mu - model.log_mu[0]) / spacing
    below = min(max(int(place), 0), exposure.size - 2)
    weight = place - below
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
    left, middle, right = profile[inner - 1], profile[inner], profile[inner + 1]
    spacing = model.log_mu[1] - model.log_mu[0]
    bend = 2.0 * middle - left - right
    log_mu, width = model.log_mu[top], np.inf
    if bend > 1e-12 * total:
        width = spacing / np.sqrt(bend)
        if inner == top:
            log_mu += 0.5 * spacing * (right - left) / bend
    state.top[i] = top
    state.log_mu[i] = log_mu
    state.width[i] = width
    state.u_star[i] = total / _exposure(model, exposure, log_mu)
    surplus = 0.0
    if total > 0.0:
        surplus = state.squares[i, top] * exposure[top] / total - total
    state.chi_square[i] = max(surplus, 0.0)


@compiled
def learn(model, state, arms, age, found):  # type: ignore[no-untyped-def]
    """Add (age, content) pairs to the running sums and estimate anew.

    A crawl at age 0 must find nothing and says nothing. The sums of an arm fade by the epochs since
    its last crawl, which is its age.
    """
    state.epoch[0] += 1
    for m in range(arms.size):
        i = arms[m]
        if age[m] < 1:
            continue
        keep, content = np.exp(-age[m] / model.memory), found[m]
        state.pairs[i] += 1
        state.weight[i] = keep * state.weight[i] + 1.0
        state.total[i] = keep * state.total[i] + content
        g, log_g = _reach(model, age[m])
        weighted, exposure, squares = state.weighted[i], state.exposure[i], state.squares[i]
        for point in range(g.size):
            weighted[point] = keep * weighted[point] + content * log_g[point]
            exposure[point] = keep * exposure[point] + g[point]
            squares[point] = keep * squares[point] + content * content / g[point]
        _estimate(model, state, i)


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
def _at_estimate(state, i, age, slack):  # type: ignore[no-untyped-def]
    """Index of arm i at the estimated mu and the largest u* whose likelihood is within `slack`."""
    total = state.total[i]
    if age < 1 or total <= 0.0:
        return 0.0
    return _index(state.log_mu[i], upper(total, slack) / total * state.u_star[i], age)


@compiled
def _optimistic(model, state, i, age, slack, highest, needed):  # type: ignore[no-untyped-def]
    """Largest index of arm i over all (mu, u*) whose likelihood is within `slack` of the best.

    It is at least `highest`, of `_at_estimate`, and anything below `needed` may be returned for it
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
        left, unit = profile[g] - lowest, row[g] * growth
        left = left if left > 0.0 else 0.0
        unit = unit if unit < 1.0 else 1.0
        most = total + np.sqrt(2.0 * left * total) + left  # above `upper`
        hopeful += (left > 0.0) & (most * unit >= aim * exposure[g])
    if hopeful == 0:
        return highest
    for direction in (-1, 1):
        g = top if direction < 0 else top + 1
        while 0 <= g < profile.size:
            left = profile[g] - lowest
            if left <= 0.0:
                break
            most = total + np.sqrt(2.0 * left * total) + left
            if most * min(row[g] * growth, 1.0) >= aim * exposure[g]:
                unit = row[g] if growth == 1.0 else _index(model.log_mu[g], 1.0, age)
                highest = max(highest, upper(total, left) * unit / exposure[g])
                aim = max(highest, needed)
            g += direction
    return highest


@compiled
def _drawn(model, state, i, age, phi, rng):  # type: ignore[no-untyped-def]
    """Index of arm i at a draw of mu and, given mu, of u*.

    log mu is normal, or, where that would cover the grid, a point of it drawn by its likelihood.
    Given mu, R/phi is nearly Poisson, so that Jeffreys' posterior of u* S/phi is gamma of shape
    R/phi + 1/2.
    """
    lowest, span = model.log_mu[0], model.log_mu[-1] - model.log_mu[0]
    deviation = np.sqrt(phi) * state.width[i]
    if deviation < 0.5 * span:
        log_mu = state.log_mu[i] + deviation * rng.standard_normal()
        log_mu = min(max(log_mu, lowest), lowest + span)
    else:
        log_mu, profile = state.log_mu[i], state.profile[i]
        for _ in range(64):  # rejection: seldom more than a few, since the profile is flat
            g = int(rng.random() * profile.size)
            if rng.random() < np.exp((profile[g] - profile[state.top[i]]) / phi):
                log_mu = model.log_mu[g]
                break
    drawn = phi * rng.standard_gamma(state.total[i] / phi + 0.5)
    return _index(log_mu, drawn / _exposure(model, state.exposure[i], log_mu), age)


@compiled
def _pool(state):  # type: ignore[no-untyped-def]
    """Dispersion over all arms, and for an arm that found nothing: what a crawl finds, if more."""
    surplus, freedom, found, crawls = 0.0, 0.0, 0.0, 0.0
    for i in range(state.pairs.size):
        surplus += state.chi_square[i]
        freedom += max(state.weight[i] - 2.0, 0.0)
        found += state.total[i]
        crawls += state.weight[i]
    pooled = surplus / max(freedom, 1.0)
    unseen = max(pooled, found / max(crawls, 1.0))
    return pooled, unseen if unseen > 0.0 else 1.0


@compiled
def _enter(best, value):  # type: ignore[no-untyped-def]
    """Keep the largest values so far in decreasing order."""
    place = best.size - 1
    if value <= best[place]:
        return
    while place > 0 and best[place - 1] < value:
        best[place] = best[place - 1]
        place -= 1
    best[place] = value


@compiled
def _dispersion(model, state, i, age, pooled, unseen):  # type: ignore[no-untyped-def]
    """Return phi of arm i, larger the longer ago it was crawled if there is a memory."""
    phi = unseen
    if state.total[i] > 0.0:  # weight - 2 degrees of freedom and 2
        phi = (state.chi_square[i] + 2.0 * pooled) / state.weight[i]
        phi = max(phi, 1e-12 * state.total[i])
    return phi * np.exp(min(age / model.memory, 60.0))  # what is known has faded since


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
    confidence = model.confidence * np.log1p(watched)
    for i in range(values.size):
        count = state.pairs[i]
        if count < model.forced:
            again = model.forced if count % 2 == 1 else 0
            values[i] = 1e200 * (2 * model.forced + again - count)
        elif model.exploration == 0:
            overdue = age[i] > OVERDUE * watched
            values[i] = 1e190 if overdue else _index(state.log_mu[i], state.u_star[i], age[i])
        else:
            phi = _dispersion(model, state, i, age[i], pooled, unseen)
            if model.exploration == 1:
                slack[i] = phi * confidence
                values[i] = _at_estimate(state, i, age[i], slack[i])
            else:
                values[i] = _drawn(model, state, i, age[i], phi, rng)
        _enter(estimated, values[i])
    if model.exploration != 1:
        return
    for i in range(values.size):
        if state.pairs[i] >= model.forced:
            needed = max(estimated[-1], best[-1])
            values[i] = _optimistic(model, state, i, age[i], slack[i], values[i], needed)
        _enter(best, values[i])


@compiled
def play(model, state, alpha, decay, u_star, content, budget, rng):  # type: ignore[no-untyped-def]
    horizon, size = content.shape
    held, age = np.empty(size), np.empty(size, dtype=np.int64)
    arms, ages = np.empty(budget, dtype=np.int64), np.empty(budget, dtype=np.int64)
    found, values = np.empty(budget), np.empty(size)
    reward, expected = np.zeros(horizon), np.zeros(horizon)
    crawls = np.zeros(size, dtype=np.int64)
    fresh(decay, u_star, held, age)
    for epoch in range(horizon):
        priorities(model, state, age, rng, values, budget)
        largest(values, arms)
        for m in range(budget):
            ages[m] = age[arms[m]]
        reward[epoch], expected[epoch] = collect(
            decay, u_star, held, age, arms, budget, found, crawls
        )
        learn(model, state, arms, ages, found)
        pass_epoch(alpha, content[epoch], held, age)
    return reward, expected, crawls
