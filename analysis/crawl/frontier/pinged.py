"""The order of fetches with pings: which of them change it, and how many fetches they may take.

The expected worth of a source with pings is

    Y = u* (1 - exp(-mu a)) + xibar E,

a its age and E the items that its pings lead to expect (`Trust.expected`); its index is that of
expected content at Y. Silence counts for nothing, so that a hub that dies delays no fetch, and as a
ping raises Y, none does.

A fetch is a ping's if the policy would not have made it. What pings gain is what these fetches
find, less what is left of it when the policy itself fetches the source the next time; what they
cost is the reward of the share of fetches that they took, `calendar_cost`. Both stand in an
`Account`. Where its balance is negative at the beginning of a block, pings get an eighth of the
fetches of that block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.checks import check_number, check_positive
from analysis.crawl.frontier.state import DAY, Outcome
from analysis.crawl.frontier.trust import Trust
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.policies import Observation, Policy
from analysis.ephemeral.signals.guarantees import Account, calendar_cost
from analysis.ephemeral.sources import Sources

Arms = NDArray[np.int64]
SHARES = (0.125, 1.0)
"""Share of the fetches that pings get at most, if their account is negative and if it is not."""
BLOCK = DAY
"""Seconds after which the account is looked at."""


class PingedOrder:
    """Puts the sources in order with pings, and keeps the account of what they gain and cost.

    Parameters
    ----------
    trust : Trust
        The pings.
    clock : callable
        Returns the Unix time.
    block : float
        Seconds of a block.

    Attributes
    ----------
    account : Account
        Of the pings, in units of what items are worth.
    share : float
        Share of the fetches that pings get at most in this block.
    taken : set of int
        Sources of the present epoch that are fetched because of a ping.
    """

    def __init__(self, trust: Trust, clock: Callable[[], float], block: float = BLOCK) -> None:
        self.trust, self._clock = trust, clock
        self.block = check_positive("block", block)
        self.account = Account(SHARES, (0.0, 0.0))
        self.share = SHARES[1]
        self.taken: set[int] = set()
        self._ends = math.inf  # time of the end of the block
        self._epochs = self._fetches = self._pinged = 0  # of the block
        self._room = 0.0  # fetches that pings have not used yet
        self._owed: dict[str, tuple[float, float]] = {}  # worth that pings took, and when
        self._indices: tuple[Floats, Floats] | None = None  # without pings, and with them

    def add_pings(
        self,
        policy: Policy,
        number: Mapping[str, int],
        age: Arms,
        budget: int,
        seconds: float,
    ) -> Policy:
        """Return a policy that takes pings into account, or the policy itself if there are none.

        Parameters
        ----------
        policy : Policy
            One with ``index`` and ``estimates``, the sources as it believes them to be; the order
            of others stays as it is. If its index is not Whittle's, ``index_of_content`` is needed.
        number : mapping of str to int
            Number of each source, by name.
        age : ndarray of int, shape (N,)
            Epochs since the last fetches.
        budget : int
            Fetches of the epoch.
        seconds : float
            Length of an epoch.
        """
        self._indices = None
        if not hasattr(policy, "estimates") or not hasattr(policy, "index"):
            return policy
        blind = np.asarray(policy.index(age), dtype=float)
        sources = policy.estimates
        items = self.trust.expected(number, sources.decay / seconds, self._clock())
        if not items:
            return policy
        arms = np.array(sorted(items), dtype=np.int64)
        content = -sources.u_star * np.expm1(-sources.decay * age)
        content[arms] += sources.mean_utility[arms] * np.array([items[i] for i in arms.tolist()])
        index, by_content = blind.copy(), partial(whittle_index, sources)
        pinged = getattr(policy, "index_of_content", by_content)(content)
        index[arms] = np.maximum(pinged[arms], blind[arms])
        own = np.zeros(age.size, dtype=bool)  # what the policy fetches without pings
        own[np.argsort(-blind, kind="stable")[:budget]] = True
        chosen = np.argsort(-index, kind="stable")[:budget]
        chosen = chosen[~own[chosen]]
        effective = np.where(own, index, blind)
        allowed = chosen[: self._places(budget)]
        effective[allowed] = index[allowed]
        self._indices = blind, effective
        return _ByIndex(effective)

    def record(self, arms: Arms, budget: int, policy: Policy, seconds: float) -> None:
        """Note which sources are fetched in an epoch; look at the account at the end of a block."""
        self.taken, now = set(), self._clock()
        if self._indices is not None:
            blind, effective = self._indices
            own = set(np.argsort(-blind, kind="stable")[: arms.size].tolist())
            self.taken = {i for i in arms.tolist() if effective[i] > blind[i] and i not in own}
            self._indices = None
        if not math.isfinite(self._ends):
            self._ends = now + self.block
        if now >= self._ends and hasattr(policy, "estimates"):
            self._look_at_account(policy.estimates, budget, now, seconds)
        self._epochs += 1
        self._fetches += budget
        self._pinged += len(self.taken)
        self._room = min(self._room + self.share * budget, float(budget)) - len(self.taken)

    def observe(
        self,
        outcomes: Sequence[Outcome],
        names: Sequence[str],
        policy: Policy,
        seconds: float,
    ) -> None:
        """Add to the account what successful fetches found; `names` are those of all sources."""
        if not hasattr(policy, "estimates") or not (self.taken or self._owed):
            return
        decay, now = policy.estimates.decay / seconds, self._clock()
        for outcome in outcomes:
            name = names[outcome.source]
            remaining = self._remaining_worth(name, float(decay[outcome.source]), now)
            if outcome.source in self.taken:
                self.account.add(outcome.reward)
                self._owed[name] = remaining + outcome.reward, now
            elif name in self._owed:
                self.account.add(-remaining)
                del self._owed[name]

    def state(self) -> dict[str, Any]:
        """Return the account and the pings between two epochs, for `restore`."""
        return {
            "balance": self.account.balance,
            "share": self.share,
            "ends": self._ends if math.isfinite(self._ends) else None,
            "block": [self._epochs, self._fetches, self._pinged, self._room],
            "owed": self._owed,
            "trust": self.trust.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self.account.balance = check_number("balance", state["balance"], high_open=True)
        self.share = check_number("share", state["share"], *SHARES)
        self._ends = math.inf if state["ends"] is None else check_number("ends", state["ends"])
        self._epochs, self._fetches, self._pinged, self._room = state["block"]
        self._owed = {n: (float(worth), float(when)) for n, (worth, when) in state["owed"].items()}
        self.trust.restore(state["trust"])

    def _places(self, budget: int) -> int:
        """Return how many fetches of an epoch may be a ping's."""
        if self.share >= 1.0:
            return budget
        return int(min(self._room + self.share * budget, budget) + 1e-9)

    def _look_at_account(self, sources: Sources, budget: int, now: float, seconds: float) -> None:
        """Charge the block that ends for the fetches that pings took, and open the next one."""
        share = self._pinged / max(self._fetches, 1)
        if share > 0:
            self.account.add(-self._epochs * calendar_cost(sources, budget, min(share, 1.0)))
        # What is left of what pings took is the most that the policy would still get for it.
        decay = float(sources.decay.min()) / seconds
        remaining = {name: self._remaining_worth(name, decay, now) for name in self._owed}
        self._owed = {name: self._owed[name] for name, worth in remaining.items() if worth > 1e-9}
        owed = sum(remaining.values())
        self.account.add(-owed)
        self.share = self.account.open_block()
        self.account.add(owed)
        self._ends = now + self.block
        self._epochs = self._fetches = self._pinged = 0
        self._room = 0.0

    def _remaining_worth(self, name: str, decay: float, now: float) -> float:
        """Return what would be left at a source of all that pings took there."""
        worth, when = self._owed.get(name, (0.0, now))
        return worth * math.exp(-decay * max(now - when, 0.0))


class _ByIndex:
    """A policy that takes the sources of largest index."""

    def __init__(self, index: Floats) -> None:
        self._order = np.argsort(-index, kind="stable")

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the `budget` sources of largest index."""
        return np.sort(self._order[:budget])
