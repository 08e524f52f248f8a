"""Subscriptions: what is verified, signed, renewed and given up, on the clock of the test."""

import hashlib
import hmac
import json
import math

import pytest

from analysis.crawl.signals.websub import (
    AGAIN,
    LEASE,
    LONGEST,
    MOST_CHALLENGE,
    RENEWED,
    SHORTEST,
    VERIFY,
    State,
    Subscription,
    Subscriptions,
)

HUB, OTHER, FEED = "https://hub.example/", "https://other.example/", "https://a.example/feed"
LISTED = {FEED: 0}


def asked(hubs=(HUB,), now=0.0):
    """Subscriptions of which the first hub has been asked and has accepted."""
    some = Subscriptions("https://me.example/feeds/", b"key")
    some.announce(FEED, hubs, FEED, now)
    (one,) = some.asking(now, LISTED)
    some.answered(one, 202, "", now)
    return some, one


def verification(one, **changes):
    query = {"hub.mode": "subscribe", "hub.topic": one.topic, "hub.challenge": "c" * 20}
    query |= {"hub.lease_seconds": "1000"}
    return query | {f"hub.{name}": value for name, value in changes.items()}


def test_hub_verifies_what_was_asked():
    some, one = asked()
    form = some.form(one)
    assert form["hub.callback"] == f"https://me.example/feeds/{some.token(one)}"
    assert len(form["hub.secret"]) < 200
    assert some.verify(some.token(one), verification(one), 5.0) == "c" * 20
    assert (one.state, one.ends, one.due) == (State.ACTIVE, 1005.0, 5.0 + RENEWED * 1000)


@pytest.mark.parametrize(
    "changes",
    [
        {"topic": "https://a.example/other"}, {"topic": ""}, {"mode": "publish"}, {"mode": ""},
        {"challenge": ""}, {"challenge": "c" * (MOST_CHALLENGE + 1)}, {"challenge": "c" * 10**6},
        {"mode": "unsubscribe"},
    ],
)  # fmt: skip
def test_nothing_else_is_verified(changes):
    some, one = asked()
    assert some.verify(some.token(one), verification(one, **changes), 5.0) is None
    assert one.state is State.ASKED


def test_unknown_address_verifies_nothing():
    some, one = asked()
    assert some.verify("0" * 32, verification(one), 5.0) is None
    fresh = Subscriptions("https://me.example", b"another key")
    fresh.announce(FEED, [HUB], FEED, 0.0)
    assert fresh.verify(some.token(one), verification(one), 5.0) is None
    unasked = fresh.by_source[FEED]
    assert fresh.verify(fresh.token(unasked), verification(unasked), 5.0) is None


@pytest.mark.parametrize(
    ("stated", "lease"),
    [("600", 600), ("0", SHORTEST), ("9" * 11, LONGEST), ("-5", LEASE), ("x", LEASE), ("", LEASE),
     ("9" * 400, LEASE), ("1e3", LEASE), ("٣", LEASE)],
)  # fmt: skip
def test_lease_is_bounded(stated, lease):
    some, one = asked()
    some.verify(some.token(one), verification(one, lease_seconds=stated), 0.0)
    assert one.ends == lease


def test_lease_is_renewed_before_it_ends():
    some, one = asked()
    some.verify(some.token(one), verification(one), 0.0)
    assert some.asking(RENEWED * 1000 - 1, LISTED) == []
    assert some.asking(RENEWED * 1000, LISTED) == [one]
    some.answered(one, 503, "", 700.0)  # the lease goes on, and the hub is asked again
    assert one.state is State.ACTIVE
    assert one.due == 700.0 + AGAIN
    assert some.asking(1400.0, LISTED) == [one]
    assert one.state is State.ENDED
    some.answered(one, 202, "", 1400.0)
    assert some.verify(some.token(one), verification(one), 1401.0)
    assert one.state is State.ACTIVE


def test_failing_hub_gives_way_to_next():
    some, one = asked((HUB, OTHER))
    some.verify(some.token(one), {"hub.mode": "denied", "hub.topic": FEED}, 0.0)
    assert (one.state, one.hub) == (State.REFUSED, OTHER)
    (again,) = some.asking(1.0, LISTED)
    some.answered(again, 0, "no answer", 1.0)
    assert (one.state, one.hub, one.due) == (State.UNREACHED, HUB, 1.0 + AGAIN)


def test_refusing_hub_is_asked_ever_less():
    some, one = asked()
    now, gaps = 0.0, []
    some.answered(one, 410, "", now)
    for _ in range(12):
        gaps.append(one.due - now)
        now = one.due
        assert some.asking(now, LISTED) == [one]
        some.answered(one, 410, "", now)
    assert gaps[:3] == [AGAIN, 2 * AGAIN, 4 * AGAIN]
    assert gaps[-1] == 86_400.0


def test_hub_that_never_verifies_is_noted():
    some, one = asked()
    assert some.asking(VERIFY, LISTED) == []
    assert one.state is State.SILENT
    assert some.verify(some.token(one), verification(one), VERIFY + 1)  # late, but asked for


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
def test_signature_is_checked(method):
    some, one = asked()
    right = hmac.new(some.secret(one).encode(), b"body", method).hexdigest()
    assert some.is_signed(one, f"{method}={right}", b"body")
    assert some.is_signed(one, f"{method}={right.upper()}", b"body")
    assert not some.is_signed(one, f"{method}={right}", b"body ")
    assert not some.is_signed(one, f"{method}={right[:-1]}", b"body")
    foreign = hmac.new(b"secret", b"body", method).hexdigest()
    assert not some.is_signed(one, f"{method}={foreign}", b"body")


@pytest.mark.parametrize("signature", ["", "sha256=", "md5=" + hashlib.md5(b"").hexdigest(),
                                       "sha256", "=", "sha256=é", "shake_128=00"])  # fmt: skip
def test_other_signatures_are_refused(signature):
    some, one = asked()
    assert not some.is_signed(one, signature, b"")


def test_secrets_differ_and_are_not_kept():
    some = Subscriptions("https://me.example", b"key")
    for i in range(20):
        some.announce(f"{FEED}{i}", [HUB], FEED, 0.0)
    subscriptions = list(some.by_source.values())
    values = [derived(one) for derived in (some.token, some.secret) for one in subscriptions]
    assert len(set(values)) == 40
    text = "".join(one.text() for one in subscriptions)
    assert not any(value in text for value in values)


def test_subscriptions_are_kept():
    some, one = asked()
    some.verify(some.token(one), verification(one), 0.0)
    again = Subscriptions("https://me.example/feeds", b"key")
    again.restore({FEED: one.text()})
    kept = again.by_source[FEED]
    assert (kept.state, kept.ends, again.token(kept)) == (State.ACTIVE, 1000.0, some.token(one))
    assert again.secret(kept) == some.secret(one)
    assert not again.changed


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"source": 1, "state": "no such"}'])
def test_damaged_subscription_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        Subscription.read(text)
    good = json.loads(Subscription(FEED, FEED, [HUB]).text())
    with pytest.raises(ValueError, match="hubs"):
        Subscription.read(json.dumps(good | {"hubs": [1]}))


def test_feed_without_hub_ends_subscription():
    some, one = asked()
    some.announce(FEED, [], FEED, 1.0)
    assert one.state is State.ENDED
    assert one.due == math.inf
    some.announce(FEED, [HUB], FEED, 2.0)
    assert some.asking(2.0, LISTED)


def test_other_hub_gets_a_new_address():
    some, one = asked()
    before = some.token(one)
    some.announce(FEED, [OTHER], FEED, 1.0)
    assert some.of_token(before) is None
    some.answered(one, 202, "", 2.0)  # the old hub's answer changes nothing
    assert some.by_source[FEED].state is State.NEW


def test_few_hubs_are_asked_at_a_time():
    some = Subscriptions("https://me.example", b"key")
    names = {f"{FEED}{i}": i for i in range(100)}
    for name in names:
        some.announce(name, [HUB], name, 0.0)
    assert 1 <= len(some.asking(0.0, names)) <= 10
    assert some.asking(0.0, names) == []


def test_removed_feed_is_not_asked_for():
    some, one = asked()
    one.due = 0.0
    assert some.asking(1e6, {}) == []
    assert one.due == math.inf


def test_end_is_verified_once_it_is_asked_for():
    some, one = asked()
    some.verify(some.token(one), verification(one), 0.0)
    assert some.end_all() == [one]
    assert some.form(one, "unsubscribe")["hub.mode"] == "unsubscribe"
    assert some.leaving == {FEED}
    assert some.verify(some.token(one), verification(one, mode="unsubscribe"), 1.0)
    assert not some.leaving
