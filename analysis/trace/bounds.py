"""The clairvoyant bound: an upper bound on the reward of every policy on a trace.

A clairvoyant knows every publication beforehand. It visits a source only at the first epoch after
an arrival, since waiting only loses value. Let c_j be the content at that epoch, t_j, if the source
had never been visited; a visit at t_j whose predecessor was at t_k finds

    c_j - exp(-mu (t_j - t_k)) c_k.

With a subsidy lambda for each visit not made, the problem separates into a longest-path problem
over the arrivals of each source, and for any lambda >= 0

    bound = lambda M T + sum_i max over sets of visits (what they find - lambda a visit)

is at least what any policy collects in T epochs of M visits; the best lambda is the smallest at
which the visits do not exceed the budget.
"""

from __future__ import annotations

import numpy as np

from analysis.arrays import Floats, Ints
from analysis.checks import check_whole
from analysis.trace import kernels
from analysis.trace.replay import Clock
from analysis.trace.trace import HOUR, Trace


def clairvoyant_bound(
    trace: Trace,
    budget: int,
    clock: Clock,
    decay_rate: Floats,
    value: Floats,
    *,
    warm_up: int = 0,
) -> tuple[float, float]:
    """Return a bound on the reward per epoch of every policy on a trace, and its subsidy.

    Arguments are those of `analysis.trace.replay.score`; `budget` is in visits per epoch. Items
    published in the warm-up may be found after it; visits in the warm-up do not count against the
    budget.
    """
    budget = check_whole("budget", budget, 1, len(trace))
    decay = decay_rate * clock.period / HOUR
    arms = [
        (decay[i], *_arrivals(trace.times_of(i), clock, decay[i], value[i], warm_up))
        for i in range(len(trace))
    ]
    arms = [arm for arm in arms if arm[1].size]
    allowed = budget * (clock.horizon - warm_up)

    def dual(subsidy: float) -> tuple[float, int]:
        total, visits = subsidy * allowed, 0
        for rate, epoch, content in arms:
            best = np.empty(epoch.size + 1)
            visits += kernels.best_visits(content, epoch, rate, subsidy, best)
            total += best[-1]
        return total, visits

    low, high = 0.0, max((float(c.max()) for _, _, c in arms), default=0.0)
    bound, visits = dual(0.0)
    if visits > allowed:
        for _ in range(30):
            middle = 0.5 * (low + high)
            value_there, visits = dual(middle)
            low, high = (middle, high) if visits > allowed else (low, middle)
            bound = min(bound, value_there)
    return bound / (clock.horizon - warm_up), low


def _arrivals(
    time: Ints, clock: Clock, decay: float, value: float, warm_up: int
) -> tuple[Ints, Floats]:
    """Return the first epochs after arrivals, and the content there of a source never visited."""
    inside = time[(time >= clock.begin) & (time < clock.end)] - clock.begin
    at = -(-inside // clock.period)
    kept = at < clock.horizon
    fade = value * np.exp(-decay * (at - inside / clock.period))[kept]
    # Items of the warm-up can be found at its end at the earliest.
    early = np.maximum(warm_up - at[kept], 0)
    epoch, group = np.unique(np.maximum(at[kept], warm_up), return_inverse=True)
    fresh = np.bincount(group, fade * np.exp(-decay * early), minlength=epoch.size)
    content = np.empty(epoch.size)
    held = 0.0
    for j in range(epoch.size):
        held = fresh[j] + (held * np.exp(-decay * (epoch[j] - epoch[j - 1])) if j else 0.0)
        content[j] = held
    return epoch, content
