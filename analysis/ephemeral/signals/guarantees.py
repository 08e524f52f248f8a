"""What pings can cost: the price of lies, a hub's death, the floor, and the account.

A liar. One source is crawled at a fixed charge, all its pings are false, and their times may
depend on the policy and on all that was crawled, but not on the items still waiting. The policy
crawls when A + Z reaches the threshold a of the blind source, A the blind content at the full u*
and Z the discounted pings times S0 xibar / (w + F), F the false pings counted so far, which it
never forgets. Then the expected reward net of charges after n epochs is at least n times that of
the blind source, less u* and less

    K ln(1 + F / w),   K = a / ln(1 + a / S),   S = S0 xibar.

A death. A hub alive at its last ping, whose pings of all kinds are Poisson of a known rate Psi and
stop at a death of rate nu, is dead with odds nu/(nu + Psi) (exp((nu + Psi) s) - 1) after a silence
s; they exceed 1 from ln(2 + Psi/nu) / (nu + Psi) on.

A floor. Items come at constant rates, and the blind schedule is fixed without looking at them. If
it is played on all epochs but each K-th, stretched, and anything whatever on the rest, then in the
long run and in expectation at least 1 - 1/K of the blind schedule's reward is collected.

An account. V(x) is the calendar's reward per epoch on a share x of the epochs, c(s) = V(1) -
V(1 - s). In blocks of L epochs pings get the share s_high if their account is not negative at the
block's start, and s_low if it is. Whatever their crawls depend on in the past and present, but not
on items to come, over n blocks the reward is at least

    n L V(1) - n L c(s_low) - L c(s_high) - n kappa,

kappa the most that a block of the calendar can lose by starting from empty sources.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats
from analysis.checks import check_array, check_integer, check_number, check_positive, check_whole
from analysis.ephemeral.kernels import h, mark_top, relative_index
from analysis.ephemeral.relaxed import relaxed_bound
from analysis.ephemeral.sources import Sources
from analysis.kernel_cache import njit


def lie_bound(threshold: float, credit: float, weight: float, false_pings: ArrayLike) -> Floats:
    """Return K ln(1 + F/w), the most that false pings cost one source at a fixed charge.

    Parameters
    ----------
    threshold : float
        Content a at which the blind source is crawled, positive.
    credit : float
        S = S0 xibar: prior true pings times the mean worth of an item, positive.
    weight : float
        w, prior pings, positive.
    false_pings : array_like
        F, false pings counted at crawls; not negative.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> lie_bound(1.0, 5.0, 10.0, [1000, 1e10]).round(0).tolist()
    [25.0, 114.0]
    """
    a, s, w = (
        check_positive(name, value)
        for name, value in (("threshold", threshold), ("credit", credit), ("weight", weight))
    )
    return a / np.log1p(a / s) * np.log1p(check_array("false_pings", false_pings, 0) / w)


def silence_until_death(ping_rate: float, death_rate: float) -> float:
    """Return the silence after which a hub is more likely dead than alive, in the rates' unit.

    >>> round(silence_until_death(0.3, 1 / (90 * 24)), 1)  # hours
    21.6
    """
    rate = check_number("ping_rate", ping_rate, 0, high_open=True)
    death = check_positive("death_rate", death_rate)
    return float(np.log(2.0 + rate / death) / (death + rate))


def calendar_cost(sources: Sources, budget: float, share: float) -> float:
    """Return c(s) = V(1) - V(1 - s), what a share of the epochs costs the blind calendar.

    V is taken from the relaxed bound at the budget that is left; per epoch.
    """
    share = check_number("share", share, 0, 1)
    full_bound = relaxed_bound(sources, budget)[0]
    return float(
        full_bound - (relaxed_bound(sources, budget * (1.0 - share))[0] if share < 1 else 0.0)
    )


def block_loss(sources: Sources, budget: int, share: float, block: int, blocks: int = 8) -> float:
    """Return kappa: the most that a block of the calendar loses by starting from empty sources.

    The calendar plays the index of ages on the epochs that pings leave, a share `share` of them is
    theirs. Its expected reward in a block, from sources that were all emptied at the block's start,
    is compared with its mean reward of a block; the largest difference over `blocks` blocks, after
    as many to settle.
    """
    budget = check_whole("budget", budget, 1, len(sources))
    share = check_number("share", share, 0, 1, high_open=True)
    block, blocks = check_integer("block", block, 1), check_integer("blocks", blocks, 1)
    settled, emptied = np.zeros(2 * blocks), np.zeros(2 * blocks)
    _blocks(sources.u_star, sources.decay, sources.cost, budget, share, block, settled, emptied)
    return float(max(settled[blocks:].mean() - emptied[blocks:].min(), 0.0))


@njit
def _blocks(
    u_star: Floats,
    decay: Floats,
    cost: Floats,
    budget: int,
    share: float,
    block: int,
    settled: Floats,
    emptied: Floats,
) -> None:
    """Write the expected reward of each block of the calendar, as it is and from empty sources."""
    size = u_star.size
    age, priority, work = np.zeros(size), np.empty(size), np.empty(size)
    chosen = np.empty(size, dtype=np.bool_)
    for number in range(settled.size):
        for step in range(block):
            age += 1.0
            if np.floor(share * (step + 1) + 1e-9) > np.floor(share * step + 1e-9):
                continue
            for i in range(size):
                ratio = -np.expm1(-decay[i] * age[i])
                relative = relative_index(decay[i], h(decay[i]), ratio)
                priority[i] = u_star[i] / cost[i] * relative
            mark_top(priority, budget, work, chosen)
            for i in range(size):
                if chosen[i]:
                    settled[number] -= u_star[i] * np.expm1(-decay[i] * age[i])
                    since = min(age[i], step + 1.0)
                    emptied[number] -= u_star[i] * np.expm1(-decay[i] * since)
                    age[i] = 0.0


def check_pair(name: str, pair: ArrayLike, high: float) -> Floats:
    """Return two numbers in [0, high] that do not fall, or raise ValueError naming them."""
    numbers = check_array(name, pair, 0, high)
    if numbers.shape != (2,) or numbers[0] > numbers[1]:
        raise ValueError(f"{name} must be two numbers that do not fall, got {numbers}")
    return numbers


class Account:
    """What pings gained and what their epochs cost, and the share of epochs that this earns them.

    Parameters
    ----------
    shares : (float, float)
        s_low and s_high.
    costs : (float, float)
        L c(s_low) and L c(s_high), what these shares cost the calendar in a block.

    Attributes
    ----------
    balance : float
        Gains so far less costs so far.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> account = Account((0.125, 1.0), (1.0, 9.0))
    >>> account.open_block(), account.balance
    (1.0, -9.0)
    >>> account.add(5.0)
    >>> account.open_block(), account.balance
    (0.125, -5.0)
    """

    def __init__(self, shares: tuple[float, float], costs: tuple[float, float]) -> None:
        self.shares = check_pair("shares", shares, 1)
        self.costs = check_pair("costs", costs, np.inf)
        self.balance = 0.0

    def open_block(self) -> float:
        """Charge the next block and return the share of its epochs that pings get."""
        high = int(self.balance >= 0.0)
        self.balance -= float(self.costs[high])
        return float(self.shares[high])

    def add(self, gain: float) -> None:
        """Add what crawls of pings took, less what the calendar would have got for those items."""
        self.balance += check_number("gain", gain, low_open=True, high_open=True)


def even_crawls_reward(recall: float, ping_rate: float, decay: float, crawls: float) -> float:
    """Return the relaxed optimum of identical sources in continuous time, per item and its worth.

    Parameters
    ----------
    recall : float
        r, in [0, 1].
    ping_rate, decay, crawls : float
        psi, mu and n, crawls of a source, per unit of time; n is at least psi and positive.

    Returns
    -------
    float
        r + (1 - r) n/(mu + psi) (1 - (1 - psi/n)^(1 + mu/psi)). It holds where a ping carries any
        source over its threshold: p xibar >= u* (1 - r) (1 - (1 - psi/n)^(mu/psi)), and bounds what
        crawls at the ends of epochs earn.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> round(even_crawls_reward(0.5, 1.0, 1.0, 1.0), 2)  # every ping is followed
    0.75
    """
    r = check_number("recall", recall, 0, 1)
    mu = check_positive("decay", decay)
    psi = check_number("ping_rate", ping_rate, 0, high_open=True)
    n = check_number("crawls", crawls, psi, np.inf, low_open=psi == 0, high_open=True)
    if psi == 0:
        return r + (1 - r) * -n / mu * float(np.expm1(-mu / n))
    longest = -np.log1p(-psi / n) / psi if psi < n else np.inf
    return r + (1 - r) * n / (mu + psi) * -float(np.expm1(-(mu + psi) * longest))
