"""Compiled choices of the certainty-equivalent learner: which arms to crawl next.

See `analysis.learning.certainty_equivalence` for the rules.
"""

from __future__ import annotations

import numpy as np

from analysis.learning._certainty_kernel import (
    Exploration,
    at_estimate,
    drawn_index,
    index,
    optimistic,
    search_gain,
)
from analysis.learning.environment import compiled
from analysis.learning.loop import largest

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
