"""Exact value functions of one source, and checks of the report's lemmas over grids.

For a source with u* = 1 and C = 1 (a choice of units), after tau epochs of waiting the content x
has become x_tau = 1 - (1 - x) alpha^tau. Waiting tau epochs and then crawling gives

    V_d(x) = sup over 0 <= tau <= inf of  lambda (1 - d^tau) / (1 - d) + d^tau (x_tau + d V_d(u)),

with discount d; at x = u this is one equation for V_d(u), solved by the best cycle. For the average
reward, with V(u) = 0 and beta the gain, (10) of the report becomes

    V(x) = max over tau of  (lambda - beta) tau + x_tau - beta.

`lemma_checks` measures the margin of each lemma's statement over wide grids.

Reference: report 8702, sections 4 and 5: (8), (10), Lemmas 1 to 5, Corollary 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.arrays import Floats
from analysis.checks import check_array, check_number


def discounted_value(decay: float, subsidy: float, discount: float, state: ArrayLike) -> Floats:
    """Return the value function (8) of one source with u* = C = 1, in states from 0 to 1.

    `decay` is mu T. ValueError names the argument, its value and the allowed range.
    """
    return _discounted(decay, subsidy, discount, state)[0]


def average_value(decay: float, subsidy: float, state: ArrayLike) -> tuple[Floats, float]:
    """Return the values V of (10), with V(u) = 0, and the gain beta of one source with u* = C = 1.

    `decay` is mu T; the states are from 0 to 1; the subsidy is below u* = 1, where never crawling
    takes over. ValueError names the argument, its value and the allowed range.
    """
    subsidy = check_number("subsidy", subsidy, high=1, low_open=True, high_open=True)
    content, wait = waits(decay, state)
    fresh = -np.expm1(-decay * (wait + 1.0))
    gain = float(((fresh + subsidy * wait) / (wait + 1.0)).max())
    value = ((subsidy - gain) * wait + content).max(axis=-1) - gain
    return value, gain


def crawl_advantage(decay: float, subsidy: float, state: ArrayLike) -> Floats:
    """Return x - V(alpha x + u) - lambda, the advantage of crawling now over waiting one epoch.

    The source is passive where this is negative. Arguments are those of `average_value`.
    """
    x = check_array("state", state, 0, 1)
    following = 1.0 - (1.0 - x) * np.exp(-decay)
    return x - average_value(decay, subsidy, following)[0] - subsidy


def lemma_checks(
    decays: Sequence[float],
    subsidies: Sequence[float],
    discounts: Sequence[float],
    points: int = 60,
) -> pd.DataFrame:
    """Measure the report's Lemmas 1 to 5 and Corollary 1, one row for each mu T and subsidy.

    Decays are at least 1e-3, subsidies in units of u*/C, in (0, 1) and increasing; `points` is the
    number of contents between u and u*. Every column is a margin that is not negative (up to
    rounding) where its statement holds:

    ``lipschitz``            Lemma 1 (2): 1 - steepest slope of V_d, over all discounts
    ``printed_constant``     (1 - alpha d)^tau / (1 - alpha), as printed, less the true slope
                             (alpha d)^tau: negative, so that the printed constant is no bound
    ``printed_control``      (alpha d)^tau for a control optimal from x, less the slope of the
                             chord of V_d from x to u*: negative, so that this control gives no
                             bound from above
    ``discounted_monotone``  Lemma 1 (3): least slope of V_d
    ``discounted_convex``    Lemma 1 (3): least second difference of V_d
    ``vanishing_discount``   1e-3 - |V_d - V_d(u) - V|, at 1 - d = 1e-7
    ``monotone``, ``convex`` Lemma 2 (1): the same of V
    ``slope``                Corollary 1: least slope of x - V(alpha x + u), less 1 - alpha
    ``threshold``            Lemma 5: minus the number of changes from active to passive
    ``nested``               Lemma 4: how much the advantage of crawling falls when lambda
                             rises to the next subsidy, at least (``nan`` in the last row)
    ``gain``                 beta - max(lambda, u), positive strictly between the two indices
    """
    rows = []
    for decay in decays:
        alpha, fresh = float(np.exp(-decay)), float(-np.expm1(-decay))
        x = np.linspace(fresh, 1.0, points)
        gap = x[1] - x[0]
        advantages = [crawl_advantage(decay, subsidy, x) for subsidy in subsidies]
        for number, subsidy in enumerate(subsidies):
            value, gain = average_value(decay, subsidy, x)
            advantage = advantages[number]
            slopes, bends, printed, control = [], [], [], []
            for discount in discounts:
                discounted, tau = _discounted(decay, subsidy, discount, x)
                slopes.append(np.diff(discounted) / gap)
                bends.append(np.diff(discounted, 2))
                power = alpha * discount
                printed.append((1 - power) ** tau / (1 - alpha) - power**tau)
                chords = (discounted[-1] - discounted[:-1]) / (x[-1] - x[:-1])
                control.append(power ** tau[:-1] - chords)
            near = discounted_value(decay, subsidy, 1 - 1e-7, np.append(fresh, x))
            active = advantage >= -1e-12
            last = number + 1 == len(subsidies)
            rows.append(
                {
                    "decay": decay,
                    "subsidy": subsidy,
                    "lipschitz": 1.0 - float(np.max(slopes)),
                    "printed_constant": float(np.min(printed)),
                    "printed_control": float(np.min(control)),
                    "discounted_monotone": float(np.min(slopes)),
                    "discounted_convex": float(np.min(bends)),
                    "vanishing_discount": 1e-3 - float(np.abs(near[1:] - near[0] - value).max()),
                    "monotone": float(np.diff(value).min() / gap),
                    "convex": float(np.diff(value, 2).min()),
                    "slope": float(np.diff(advantage).min() / gap) - fresh,
                    "threshold": -float((active[:-1] & ~active[1:]).sum()),
                    "nested": np.nan if last else float((advantage - advantages[number + 1]).min()),
                    "gain": gain - max(subsidy, fresh),
                }
            )
    return pd.DataFrame(rows)


def _discounted(
    decay: float, subsidy: float, discount: float, state: ArrayLike
) -> tuple[Floats, Floats]:
    """Return the value function (8), and the wait before the first crawl (``inf`` for never)."""
    discount = check_number("discount", discount, 0, 1, low_open=True, high_open=True)
    content, wait = waits(decay, state)
    fresh = -np.expm1(-decay * (wait + 1.0))
    lost = -np.expm1(wait * np.log(discount))  # 1 - d^tau
    subsidies = subsidy * lost / (1.0 - discount)
    never = subsidy / (1.0 - discount)
    cycles = (subsidies + (1.0 - lost) * fresh) / -np.expm1((wait + 1.0) * np.log(discount))
    after_crawl = max(float(cycles.max()), never)
    values = subsidies + (1.0 - lost) * (content + discount * after_crawl)
    value = values.max(axis=-1)
    return np.maximum(value, never), np.where(value > never, values.argmax(axis=-1), np.inf)


def waits(decay: float, state: ArrayLike) -> tuple[Floats, Floats]:
    """Return the content after waits of 0, 1, ... epochs up to its limit, and these waits."""
    decay = check_number("decay", decay, 1e-3, high_open=True)
    x = check_array("state", state, 0, 1)
    wait = np.arange(np.ceil(40.0 / decay) + 2)
    return 1.0 - (1.0 - x[..., None]) * np.exp(-decay * wait), wait
