"""Arms under a budget: priority policies, and a bound that no policy beats.

A `RestartBandit` activates `budget` of its n arms in each epoch. Every policy the slides compare
is a table of scores: each arm has a score for each of its states, and the highest are activated.
Scores are the Whittle index w(x), or the myopic saving c(x, 0) - c(x, 1) of this epoch alone. Equal
scores go to the arm with the lower number. They are not rare: with the costs and the restart of
slide 18 every arm has the same index in its first state, c(1, 0) - c(1, 1), whatever its kernel.
Reversing a table gives the rule "activate the lowest", which is what slides 7 and 17 print.

The Lagrangian bound lies below the cost of every policy, for any number of arms. Let `budget` arms
be active per epoch on (normalised, discounted) average only, and price activity at lambda. Arms
then part, and by weak duality, for every lambda,

    J(g) >= sum_i min_k {D_i(k) + lambda N_i(k)} - m lambda      for every policy g,

with D_i, N_i of the nested policies of arm i, started from its initial state. The right side is
concave and piecewise linear in lambda; its maximum is where the activity of the arms crosses m.

What a policy costs beyond the bound is what its actions lose against the arms' own optima at that
price, epoch by epoch (`epoch_losses`). Simulations that add up losses instead of costs have the
same mean and a smaller variance.

Source: the restart slides (2019), slides 4, 5, 7, 8 (the decomposition), 17 and 20; the bound is
the book's addition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from math import prod

import numpy as np

from analysis.arrays import Floats, Ints
from analysis.checks import check_integer, check_kind, check_number, check_whole, set_fields
from analysis.display import brief
from analysis.restarts.arm import RestartArm, check_arms, check_discount, check_states, stack_arms
from analysis.restarts.elimination import eliminate_all
from analysis.restarts.whittle import whittle_index, whittle_indices

#: One array of scores for each arm, by state; arms may differ in their number of states.
Scores = list[Floats]
#: Scores that differ by less than this share of the largest are equal but for rounding.
TIE = 1e-11


@brief
@dataclass(frozen=True, eq=False)
class RestartBandit:
    """Arms of which exactly `budget` are activated in each epoch.

    Parameters
    ----------
    arms : sequence of RestartArm
        The n arms.
    budget : int or whole float
        Arms activated per epoch (m on the slides), at least 1 and less than n.
    discount : float
        In (0, 1).

    Raises
    ------
    ValueError
        If the budget or the discount is not in its range.

    Examples
    --------
    >>> from analysis.restarts.instances import one_step, slide_arm
    >>> arms = tuple(slide_arm(one_step(4, stay)) for stay in (0.2, 0.5, 0.8))
    >>> len(RestartBandit(arms, budget=1, discount=0.9).arms)
    3
    """

    arms: tuple[RestartArm, ...]
    budget: int
    discount: float

    def __post_init__(self) -> None:
        check_arms(self.arms)
        if len(self.arms) < 2:
            raise ValueError(f"arms must hold at least 2 arms, got {len(self.arms)}")
        set_fields(
            self,
            arms=tuple(self.arms),
            budget=check_whole("budget", self.budget, 1, len(self.arms) - 1),
            discount=check_discount(self.discount, average=False),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of states of each arm."""
        return tuple(arm.states for arm in self.arms)

    @property
    def joint_states(self) -> int:
        """Number of joint states, K^n for equal arms (slide 6)."""
        return prod(self.shape)


def level_ties(scores: Scores) -> Scores:
    """Set scores that are equal but for rounding to the least of them, so that they tie exactly.

    Each run of neighbouring values closer than `TIE` times the largest is levelled. Otherwise
    rounding would decide between arms that tie, and differently on another machine.
    """
    flat_scores = np.concatenate(scores)
    order = np.argsort(flat_scores, kind="stable")
    ranked = flat_scores[order]
    starts_level = np.diff(ranked, prepend=-np.inf) > TIE * np.abs(flat_scores).max()
    level = np.empty_like(flat_scores)
    level[order] = ranked[np.flatnonzero(starts_level)[np.cumsum(starts_level) - 1]]
    return np.split(level, np.cumsum([len(table) for table in scores])[:-1])


def index_scores(bandit: RestartBandit) -> Scores:
    """Return the Whittle index of every arm, ties levelled.

    Examples
    --------
    >>> from analysis.restarts import RestartBandit
    >>> from analysis.restarts.instances import one_step, slide_arm
    >>> arms = tuple(slide_arm(one_step(4, stay)) for stay in (0.2, 0.8))
    >>> [score.round(2).tolist() for score in index_scores(RestartBandit(arms, 1, 0.9))]
    [[-4.5, -2.4, 6.78, 26.32], [-4.5, -0.29, 18.56, 56.6]]
    """
    check_kind("bandit", bandit, RestartBandit)
    if len(set(bandit.shape)) == 1:
        return level_ties(list(whittle_indices(bandit.arms, bandit.discount)))
    return level_ties([whittle_index(arm, bandit.discount).index for arm in bandit.arms])


def myopic_scores(bandit: RestartBandit) -> Scores:
    """Return what activating saves in this epoch alone, c(x, 0) - c(x, 1).

    Examples
    --------
    >>> from analysis.restarts import RestartBandit
    >>> from analysis.restarts.instances import one_step, slide_arm
    >>> arms = tuple(slide_arm(one_step(4, stay)) for stay in (0.2, 0.8))
    >>> [score.round(2).tolist() for score in myopic_scores(RestartBandit(arms, 1, 0.9))]
    [[-4.5, -3.5, -0.5, 4.5], [-4.5, -3.5, -0.5, 4.5]]
    """
    check_kind("bandit", bandit, RestartBandit)
    return [arm.passive_cost - arm.active_cost for arm in bandit.arms]


def lookahead_scores(bandit: RestartBandit) -> Scores:
    """Return what activating saves over this epoch and the next, if the next is passive."""
    return level_ties(
        [
            arm.passive_cost
            - arm.active_cost
            + bandit.discount * (arm.passive @ arm.passive_cost - arm.reset @ arm.passive_cost)
            for arm in bandit.arms
        ]
    )


def lowest_first(scores: Scores) -> Scores:
    """Return scores that activate the arms which `scores` ranks lowest."""
    return [-table for table in scores]


def check_scores(bandit: RestartBandit, scores: Sequence[Floats]) -> Scores:
    """Return the scores as arrays, or raise unless each state of each arm has a finite one."""
    check_kind("scores", scores, Sized)
    if len(scores) != len(bandit.arms):
        raise ValueError(
            f"scores must hold one array for each of {len(bandit.arms)} arms, got {len(scores)}"
        )
    return [
        check_states(f"scores[{n}]", table, states)
        for n, (table, states) in enumerate(zip(scores, bandit.shape, strict=True))
    ]


def initial_states(bandit: RestartBandit, initial_state: Sequence[int] | None) -> Ints:
    """Return the initial state of each arm, the first state of all if none is given.

    Raises ValueError if there is not one state in its arm's range for each arm.
    """
    if initial_state is None:
        return np.zeros(len(bandit.arms), dtype=np.int64)
    check_kind("initial_state", initial_state, Sized)
    if len(initial_state) != len(bandit.arms):
        raise ValueError(
            f"initial_state must hold one state for each of {len(bandit.arms)} arms, "
            f"got {len(initial_state)}"
        )
    states = [
        check_integer(f"initial_state[{n}]", state, 0, limit - 1)
        for n, (state, limit) in enumerate(zip(initial_state, bandit.shape, strict=True))
    ]
    return np.array(states, dtype=np.int64)


# The relaxed problem


def from_states(
    arms: Sequence[RestartArm], discount: float, states: Ints
) -> tuple[Floats, Floats, Floats]:
    """Return D(k) and N(k) of nested policies of arms started in given states, and crossings.

    Arms have one number of states and a discount in (0, 1). D and N have shape (arms, states + 1);
    the crossings, shape (arms, states), are the subsidies at which policies k and k + 1 cost the
    same.
    """
    one_minus_discount = 1 - discount
    eliminations = eliminate_all(arms, discount)
    rate = eliminations.cost / eliminations.length
    activity = eliminations.activity
    if any(arm.reset[state] != 1 for arm, state in zip(arms, states, strict=True)):
        placed = [
            RestartArm(arm.passive, np.eye(arm.states)[state], arm.passive_cost, arm.active_cost)
            for arm, state in zip(arms, states, strict=True)
        ]
        first = eliminate_all(placed, discount)
        # What remains, discounted, when the first cycle is over and the next starts from Q.
        remaining = discount * first.activity * first.length
        rate = one_minus_discount * first.cost + remaining * rate
        activity = remaining * (one_minus_discount / discount + activity)
    return rate, activity, eliminations.crossings


def _by_size(bandit: RestartBandit) -> Iterator[Ints]:
    """Yield the numbers of the arms of each size."""
    sizes = np.array(bandit.shape)
    for size in np.unique(sizes):
        yield np.flatnonzero(sizes == size)


def relaxed_bound(
    bandit: RestartBandit, initial_state: Sequence[int] | None = None
) -> tuple[float, float]:
    """Return the Lagrangian bound on the cost of every policy, and the subsidy that attains it.

    Parameters
    ----------
    bandit : RestartBandit
    initial_state : sequence of int, optional
        Initial state of each arm; the first of all if not given.

    Returns
    -------
    bound : float
        At most the cost J of every policy from `initial_state`.
    subsidy : float
        Price of one active epoch at which the bound is attained.

    Examples
    --------
    >>> from analysis.restarts.instances import one_step, slide_arm
    >>> arms = [slide_arm(one_step(4, stay)) for stay in (0.2, 0.5, 0.8)]
    >>> bandit = RestartBandit(tuple(arms), budget=1, discount=0.9)
    >>> bound, price = relaxed_bound(bandit)
    >>> round(bound, 4)
    4.5
    """
    check_kind("bandit", bandit, RestartBandit)
    states = initial_states(bandit, initial_state)
    rates, activities, crossings = [], [], []
    for numbers in _by_size(bandit):
        arms = [bandit.arms[n] for n in numbers]
        rate, activity, crossing = from_states(arms, bandit.discount, states[numbers])
        rates.append(rate)
        activities.append(activity)
        crossings.append(crossing.ravel())
    prices = np.concatenate(crossings)
    order = np.argsort(prices, kind="stable")
    drops = np.concatenate([-np.diff(activity, axis=1).ravel() for activity in activities])
    activity_after = sum(float(activity[:, 0].sum()) for activity in activities) - np.cumsum(
        drops[order]
    )
    subsidy = float(prices[order[np.argmax(activity_after <= bandit.budget)]])
    total = sum(
        float((d + subsidy * n).min(axis=1).sum()) for d, n in zip(rates, activities, strict=True)
    )
    return total - bandit.budget * subsidy, subsidy


def epoch_losses(
    bandit: RestartBandit, price: float, initial_state: Sequence[int] | None = None
) -> tuple[list[Floats], list[Floats], float]:
    """Return the losses of a passive and of an active epoch, a table an arm, and a constant.

    With V_i the values of arm i at the price of an active epoch and H_i those of its actions, every
    policy g costs

        J(g) = sum_i V_i(x_i) - m price + (1 - b) E sum_t b^t sum_i loss_i(X_t, A_t)

    from the states x, the first of each arm by default, where loss_i(x, a) = (H_i(x, a) - V_i(x)) /
    (1 - b) is never negative; at the price of the relaxed bound losses are smallest. The constant
    is the sum of the first two terms.
    """
    check_kind("bandit", bandit, RestartBandit)
    price = check_number("price", price, low_open=True, high_open=True)
    b = bandit.discount
    initial = initial_states(bandit, initial_state)
    scores = index_scores(bandit)
    losses = [np.empty((2, states)) for states in bandit.shape]
    constant = -bandit.budget * price
    for numbers in _by_size(bandit):
        kernels, resets, idle, repair = stack_arms([bandit.arms[n] for n in numbers])
        charged = repair + price
        is_active = np.stack([scores[n] for n in numbers]) > price
        kernel = np.where(is_active[:, :, None], resets[:, None, :], kernels)
        cost = np.where(is_active, charged, idle)[:, :, None]
        # Values per epoch of weight one: V / (1 - b).
        values = np.linalg.solve(np.eye(resets.shape[1]) - b * kernel, cost)
        passive = idle + (b * (kernels @ values) - values)[:, :, 0]
        active = charged + (b * (resets[:, None, :] @ values) - values)[:, :, 0]
        for n, *both in zip(numbers, passive, active, strict=True):
            losses[n][:] = both
        constant += (1 - b) * float(values[np.arange(numbers.size), initial[numbers], 0].sum())
    return [passive for passive, _ in losses], [active for _, active in losses], constant
