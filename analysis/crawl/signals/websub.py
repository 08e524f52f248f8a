"""Subscriptions to hubs (WebSub, W3C Recommendation of 23 January 2018).

A feed names its hubs and its address with them. The crawler asks the first hub to send what is new
to an address of its own that nobody can guess, the hub verifies that by a request with a challenge,
and from then on sends each new item, signed with a secret of the subscription, until the lease
ends. A hub that refuses, does not answer or never verifies gives way to the feed's next one, and is
asked again later, after twice as long each time.

Addresses and secrets are made from the crawl's key, so that the state holds none.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from analysis.checks import check_choice, check_number
from analysis.crawl.frontier.state import DAY

LEASE = 10 * DAY
"""Seconds that a subscription is asked to last."""
SHORTEST, LONGEST = 60.0, 90 * DAY
"""Least and longest lease that is believed of a hub, in seconds."""
RENEWED = 0.7
"""Share of a lease after which it is renewed."""
VERIFY = 900.0
"""Seconds within which a hub that has accepted a subscription is to verify it."""
AGAIN = 600.0
"""Seconds after which a hub that refused is asked again; doubled each time, at most a day."""
MOST_CHALLENGE = 2048
"""Characters of a challenge that are sent back."""
MOST_ASKED = 8
"""Requests to hubs that are under way at a time."""
SIGNATURES = ("sha1", "sha256", "sha384", "sha512")
"""Methods of signatures, as WebSub has them."""


class State(StrEnum):
    """What is known of a subscription."""

    NEW = "not asked yet"
    ASKED = "asked"
    ACTIVE = "active"
    REFUSED = "refused"
    SILENT = "never verified"
    UNREACHED = "no answer"
    ENDED = "ended"


@dataclass
class Subscription:
    """The subscription to one source: its hubs, of which one is asked, and what came of it."""

    source: str
    topic: str
    hubs: list[str]
    nonce: str = field(default_factory=lambda: secrets.token_hex(8))
    place: int = 0  # of the hub that is asked
    state: State = State.NEW
    reason: str = ""
    due: float = 0.0  # time at which the hub is asked next
    ends: float = 0.0  # time at which the lease ends
    failures: int = 0  # in a row
    under_way: bool = False  # whether a request to the hub has no answer yet

    @property
    def hub(self) -> str:
        """The hub that is asked."""
        return self.hubs[self.place % len(self.hubs)]

    def text(self) -> str:
        """Return the subscription as text, for `read`."""
        return json.dumps(asdict(self) | {"under_way": False})

    @classmethod
    def read(cls, text: str) -> Subscription:
        """Return what `text` was made from; ValueError if it is none."""
        try:
            facts = json.loads(text)
            facts["state"] = State(facts["state"])
            self = cls(**facts)
            check_number("ends", self.ends), check_number("due", self.due)
            if not self.hubs or not all(isinstance(hub, str) for hub in self.hubs):
                raise ValueError("hubs must be addresses")
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not a subscription: {error}") from None
        return self


class Subscriptions:
    """The subscriptions of a crawl.

    Parameters
    ----------
    callback : str
        Address at which hubs reach this crawl.
    key : bytes
        Secret of the crawl.
    """

    def __init__(self, callback: str, key: bytes) -> None:
        self.callback, self._key = callback.rstrip("/"), key
        self.by_source: dict[str, Subscription] = {}
        self._by_token: dict[str, str] = {}
        self.leaving: set[str] = set()  # sources of which a hub has not verified the end
        self.changed: set[str] = set()  # sources whose subscription is to be saved

    def token(self, subscription: Subscription) -> str:
        """Return the last part of the address to which the hub of a subscription sends."""
        return self._derived("address", subscription)[:32]

    def secret(self, subscription: Subscription) -> str:
        """Return the secret with which the hub signs."""
        return self._derived("secret", subscription)

    def restore(self, texts: Mapping[str, str]) -> None:
        """Take the subscriptions of an earlier run, as their `Subscription.text` by source."""
        for source, text in texts.items():
            self._put(source, Subscription.read(text))
        self.changed.clear()

    def announce(self, source: str, hubs: Sequence[str], topic: str, now: float) -> None:
        """Take what a feed says of its hubs and of its address with them."""
        subscription = self.by_source.get(source)
        if not hubs:
            if subscription is not None and subscription.state is not State.ENDED:
                self._end(subscription, "the feed names no hub any more")
            return
        if subscription is None or (subscription.topic, subscription.hubs) != (topic, list(hubs)):
            self._put(source, Subscription(source, topic, list(hubs), due=now))
        elif subscription.state is State.ENDED:
            subscription.state, subscription.due, subscription.reason = State.NEW, now, ""
            self.changed.add(source)

    def asking(self, now: float, listed: Mapping[str, Any]) -> list[Subscription]:
        """Return the subscriptions whose hubs are to be asked now, and count them as asked.

        `listed` has the sources of the crawl.
        """
        under_way = sum(subscription.under_way for subscription in self.by_source.values())
        due = [
            subscription
            for subscription in self.by_source.values()
            if subscription.due <= now and not subscription.under_way
        ]
        chosen: list[Subscription] = []
        for subscription in sorted(due, key=lambda subscription: subscription.due):
            if subscription.source not in listed:
                subscription.due = math.inf
                continue
            if subscription.state is State.ACTIVE and now >= subscription.ends:
                subscription.state, subscription.reason = (
                    State.ENDED,
                    "the lease ended, and was not renewed",
                )
            elif subscription.state is State.ASKED:  # the hub has not verified it in time
                self._failed(
                    subscription, State.SILENT, "the hub accepted, and never verified", now
                )
                continue
            if len(chosen) + under_way < MOST_ASKED:
                subscription.under_way = True
                chosen.append(subscription)
        return chosen

    def form(self, subscription: Subscription, mode: str = "subscribe") -> dict[str, str]:
        """Return the fields of a request to a hub."""
        check_choice("mode", mode, ("subscribe", "unsubscribe"))
        form = {
            "hub.mode": mode,
            "hub.topic": subscription.topic,
            "hub.callback": f"{self.callback}/{self.token(subscription)}",
        }
        if mode == "subscribe":
            form |= {"hub.lease_seconds": f"{LEASE:.0f}", "hub.secret": self.secret(subscription)}
        return form

    def answered(self, subscription: Subscription, status: int, reason: str, now: float) -> None:
        """Take the answer of a hub to a subscription; status 0 if there is none."""
        subscription.under_way = False
        if self.by_source.get(subscription.source) is not subscription:
            return  # the feed names another hub by now
        if 200 <= status < 300:
            if subscription.due <= now:  # else the hub has verified it already
                if subscription.state is not State.ACTIVE:
                    subscription.state, subscription.reason = State.ASKED, ""
                subscription.due = now + VERIFY
            self.changed.add(subscription.source)
        elif status:
            self._failed(subscription, State.REFUSED, f"HTTP status {status}", now)
        else:
            self._failed(subscription, State.UNREACHED, reason, now)

    def verify(self, token: str, query: Mapping[str, str], now: float) -> str | None:
        """Return the challenge of a hub that verifies what was asked; None if that was not asked.

        `query` has the fields of its request.
        """
        subscription = self.of_token(token)
        if subscription is None or query.get("hub.topic") != subscription.topic:
            return None
        mode, challenge = query.get("hub.mode"), query.get("hub.challenge", "")
        if mode == "denied":
            self._failed(subscription, State.REFUSED, query.get("hub.reason", "denied")[:200], now)
            return ""
        if not 0 < len(challenge) <= MOST_CHALLENGE:
            return None
        asked = subscription.under_way or subscription.state in (
            State.ASKED,
            State.ACTIVE,
            State.SILENT,
        )
        if mode == "subscribe" and asked:
            lease = _lease(query.get("hub.lease_seconds"))
            subscription.state, subscription.reason, subscription.failures = State.ACTIVE, "", 0
            subscription.ends, subscription.due = now + lease, now + RENEWED * lease
        elif mode == "unsubscribe" and subscription.state is State.ENDED:
            self.leaving.discard(subscription.source)
        else:
            return None
        self.changed.add(subscription.source)
        return challenge

    def is_signed(self, subscription: Subscription, signature: str, body: bytes) -> bool:
        """Return whether a body has the signature of a subscription (``X-Hub-Signature``)."""
        method, _, sent = signature.strip().partition("=")
        if method not in SIGNATURES:
            return False
        right = hmac.new(self.secret(subscription).encode(), body, method).hexdigest()
        return hmac.compare_digest(right.encode(), sent.strip().lower().encode())

    def of_token(self, token: str) -> Subscription | None:
        """Return the subscription to which an address belongs."""
        source = self._by_token.get(token)
        return self.by_source[source] if source is not None else None

    def end_all(self) -> list[Subscription]:
        """Return the subscriptions to be given up as the crawl ends, and count them as ended."""
        active = [
            subscription
            for subscription in self.by_source.values()
            if subscription.state is State.ACTIVE
        ]
        for subscription in active:
            self._end(subscription, "the crawl has ended")
        self.leaving = {subscription.source for subscription in active}
        return active

    def _failed(self, subscription: Subscription, state: State, reason: str, now: float) -> None:
        """Note a failure: the next hub is asked, or the first one again after a while."""
        if not (
            subscription.state is State.ACTIVE and now < subscription.ends
        ):  # else renewing it has failed
            subscription.state, subscription.place = state, subscription.place + 1
        subscription.reason = reason
        subscription.failures += 1
        rounds = (subscription.failures - 1) // len(subscription.hubs)
        is_last = subscription.failures % len(subscription.hubs) == 0
        subscription.due = now + (min(AGAIN * 2.0 ** min(rounds, 20), DAY) if is_last else 1.0)
        self.changed.add(subscription.source)

    def _end(self, subscription: Subscription, reason: str) -> None:
        subscription.state, subscription.reason, subscription.due, subscription.ends = (
            State.ENDED,
            reason,
            math.inf,
            0.0,
        )
        self.changed.add(subscription.source)

    def _put(self, source: str, subscription: Subscription) -> None:
        if source in self.by_source:
            self._by_token.pop(self.token(self.by_source[source]), None)
        self.by_source[source] = subscription
        self._by_token[self.token(subscription)] = source
        self.changed.add(source)

    def _derived(self, purpose: str, subscription: Subscription) -> str:
        text = "\0".join([purpose, subscription.source, subscription.topic, subscription.nonce])
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()


def _lease(text: str | None) -> float:
    """Return the lease that a hub grants, in seconds."""
    text = (text or "").strip()
    seconds = float(text) if text.isascii() and text.isdigit() and len(text) < 12 else LEASE
    return min(max(seconds, SHORTEST), LONGEST)
