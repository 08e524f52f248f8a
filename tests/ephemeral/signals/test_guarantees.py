"""What pings can cost: bounds against the best liar, other integrals, and attacks."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad

from analysis.ephemeral import Sources, relaxed_bound, stochastic_bound
from analysis.ephemeral.signals.guarantees import (
    Account,
    block_loss,
    calendar_cost,
    even_crawls_reward,
    lie_bound,
    silence_until_death,
)
from analysis.ephemeral.signals.index import signal_index
from analysis.ephemeral.signals.model import Signals
from analysis.ephemeral.signals.simulation import FALSE, Events, Trust, draw_events, play_signals
from analysis.kernel_cache import njit


@njit
def _best_liar(content, threshold, charge, credit, weight, epochs, most):
    """Return the least of net reward for each number of false pings sent, by dynamic programming.

    Pings sent before they are needed fade, so that the best liar sends them when they cause a
    crawl, and no more than it takes.
    """
    ages = content.size
    worst = np.full((ages, most + 1), np.inf)
    worst[1, 0] = 0.0
    ended = np.full(most + 1, np.inf)
    for _ in range(epochs):
        following = np.full((ages, most + 1), np.inf)
        for age in range(1, ages):
            for sent in range(most + 1):
                total = worst[age, sent]
                if total == np.inf:
                    continue
                here = content[age]
                need = 0
                if here < threshold:
                    need = int(np.ceil((threshold - here) * (weight + sent) / credit - 1e-12))
                    later = min(age + 1, ages - 1)
                    following[later, sent] = min(following[later, sent], total)
                if sent + need <= most:
                    crawled = total + here - charge
                    following[1, sent + need] = min(following[1, sent + need], crawled)
        worst = following
    for sent in range(most + 1):
        for age in range(1, ages):
            ended[sent] = min(ended[sent], worst[age, sent])
    return ended


def drawn_liar(rng):
    decay, u_star = 10 ** rng.uniform(-1.5, 0), 1.0
    content = u_star * -np.expm1(-decay * np.arange(400))
    charge = u_star * rng.uniform(0.02, 0.6)
    gaps = np.arange(1, 400)
    gain = ((content[1:] - charge) / gaps).max()
    threshold = u_star - gain / -np.expm1(-decay)
    ages = min(int(np.argmax(content >= threshold)) + 2, 399)
    credit, weight = 10 ** rng.uniform(-0.5, 1.5), 10 ** rng.uniform(-0.3, 1.3)
    return content[:ages], threshold, charge, gain, credit, weight


def test_best_liar_meets_bound():
    rng = np.random.default_rng(1)
    ratios, epochs, most = [], 60, 150
    for _ in range(1000):
        content, threshold, charge, gain, credit, weight = drawn_liar(rng)
        if threshold <= 0 or gain <= 0:
            continue
        ended = _best_liar(content, threshold, charge, credit, weight, epochs, most)
        possible = np.isfinite(ended)
        loss = epochs * gain - ended[possible]
        bound = lie_bound(threshold, credit, weight, np.flatnonzero(possible)) + 1.0
        assert (loss <= bound + 1e-9).all()
        ratios.append((loss / bound).max())
    assert len(ratios) > 900
    assert max(ratios) > 0.5  # half the bound would be false


def test_early_truth_breaks_bound():
    """Both parts of A + Z count an announced item, so that honest pings alone cost without end."""
    rate, decay, charge, epochs = 20.0, 0.1, 6.0, 20_000
    sources = Sources([rate], [1.0], [decay])
    u_star, alpha = sources.u_star[0], sources.alpha[0]
    charge *= u_star / 10.0
    gaps = np.arange(1, 200)
    gain = ((u_star * (1 - alpha**gaps) - charge) / gaps).max()
    threshold = u_star - gain / (1 - alpha)
    rng = np.random.default_rng(2)
    arrived = Signals(sources, 1.0, 1.0).sample(epochs, rng)[0]
    age, waiting, net = 0, 0.0, 0.0
    for u in arrived:  # every ping is true and taken for true: Z is what is there
        age, waiting = age + 1, alpha * waiting + u
        if u_star * (1 - alpha**age) + waiting >= threshold:
            net += waiting - charge
            age, waiting = 0, 0.0
    assert epochs * gain - net > 5 * u_star  # the bound with F = 0 is u*


def false_alarm_rate(rate, death):
    """How often a living hub is taken for dead: a silence that long ends with so many pings."""
    return rate * np.exp(-rate * silence_until_death(rate, death))


def test_odds_of_death_are_an_integral():
    rng, above = np.random.default_rng(3), 0
    for _ in range(1000):
        rate, death = 10 ** rng.uniform(-3, 2), 10 ** rng.uniform(-4, 1)
        silence = silence_until_death(rate, death)
        died = quad(lambda x, a=rate, b=death: b * np.exp(-(a + b) * x), 0, silence)[0]
        assert died / np.exp(-(rate + death) * silence) == pytest.approx(1, rel=1e-6)
        assert false_alarm_rate(rate, death) <= 1.0541 * death
        above += false_alarm_rate(rate, death) > death
    assert above > 100  # "never more often than it dies" would be false
    assert silence_until_death(0.045, 1 / (90 * 24)) == pytest.approx(101, abs=0.5)
    most = max(false_alarm_rate(x, 1.0) for x in np.linspace(10, 30, 200))
    assert most == pytest.approx(1.054, abs=1e-3)


def test_false_alarms_of_living_hub():
    rng = np.random.default_rng(4)
    for rate, death in [(1.0, 1.0), (5.0, 1.0), (2.0, 0.3)]:
        gaps = rng.standard_exponential(2_000_000) / rate
        alarms = (gaps > silence_until_death(rate, death)).sum() / gaps.sum()
        assert alarms == pytest.approx(false_alarm_rate(rate, death), rel=0.03)


def test_identical_sources_earn_cycle():
    """A source is crawled at its next ping or at age d, whichever comes first."""
    rng, false_pings_cost = np.random.default_rng(5), 0
    for _ in range(1000):
        recall, precision = rng.random(), 10 ** rng.uniform(-1.5, 0)
        mu, rate = 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-2, 1)
        psi = rate * recall / precision
        n = psi * (1 + 10 ** rng.uniform(-2, 1.5))
        d = -np.log1p(-psi / n) / psi

        def found(age, mu=mu, recall=recall, rate=rate):
            return (1 - recall) * rate / mu * -np.expm1(-mu * age)

        edges = np.unique(np.minimum(np.append(0.0, 10 ** np.arange(-3.0, 4) / (mu + psi)), d))
        early = sum(
            quad(lambda t, psi=psi: psi * np.exp(-psi * t) * found(t), low, high)[0]
            for low, high in pairwise(np.append(edges, d))
        )
        cycle = -np.expm1(-psi * d) / psi
        by_pings = -np.expm1(-psi * d) * precision  # each announced item is taken at once
        reward = (early + np.exp(-psi * d) * found(d) + by_pings) / cycle / rate
        assert even_crawls_reward(recall, psi, mu, n) == pytest.approx(reward, rel=1e-5)
        honest = even_crawls_reward(recall, rate * recall, mu, n)
        false_pings_cost += honest > reward * (1 + 1e-4)
    assert false_pings_cost > 300
    assert even_crawls_reward(0.0, 0.0, 1.0, 2.0) == pytest.approx(2 * -np.expm1(-0.5))


def test_epochs_earn_at_most_continuous():
    rng = np.random.default_rng(6)
    for _ in range(12):
        recall, decay = rng.uniform(0.3, 0.95), 10 ** rng.uniform(-2, -1)
        rate = decay * rng.uniform(0.5, 1.0)
        signals = Signals(Sources([rate], [1.0], [decay]), recall, 0.9)
        budget = float(min(0.9, 3 * signals.ping_rate[0]))
        curve = signal_index(signals, 0, tolerance=0.02)
        bound, _ = stochastic_bound(signals.sources, [curve], budget)
        most = rate * even_crawls_reward(recall, float(signals.ping_rate[0]), decay, budget)
        assert 0.93 * most < bound <= most * 1.002


def rewards_of_crawls(items, decay, crawled):
    """Worth that crawls at given times take: each item at the first crawl after it."""
    crawled = np.sort(crawled)
    place = np.searchsorted(crawled, items)
    kept = place < crawled.size
    return np.exp(-decay * (crawled[place[kept]] - items[kept])).sum()


def test_more_crawls_never_earn_less():
    rng, falls = np.random.default_rng(7), 0
    for _ in range(1000):
        items, crawled = np.sort(rng.random(20)), rng.random(rng.integers(1, 10))
        more = np.append(crawled, rng.random(rng.integers(1, 5)))
        decay = 10 ** rng.uniform(-1, 2)
        less, reward = (rewards_of_crawls(items, decay, times) for times in (crawled, more))
        assert reward >= less - 1e-12
        # For worths that rise while they wait it would be false.
        rising, more_rising = (rewards_of_crawls(items, -decay, times) for times in (crawled, more))
        falls += more_rising < rising
    assert falls > 300


def test_floor_fails_in_step():
    """An item at each even slot, taken there by a schedule 0, 1, 0, 1; stretched, it is late."""
    items, decay, slots = 2.0 * np.arange(3000), 3.0, 6000
    blind = rewards_of_crawls(items, decay, items)
    kept = np.array([t for t in range(slots) if t % 3 != 2])
    stretched = kept[::2]
    assert rewards_of_crawls(items, decay, stretched) < 0.6 * (1 - 1 / 3) * blind


def attacked(sources, rng, horizon, block, style):
    """Items at constant rates and false pings of a style; credit is built by true pings first."""
    build = style == "build and burn"
    events = draw_events(Signals(sources, 0.9 * build, 1.0), horizon, rng)
    time = horizon * rng.random(10 * horizon)
    arm = rng.integers(0, 1 if style == "one source" else len(sources), time.size)
    burnt = {"half the time": time // 300 % 2 == 0, "build and burn": time // (3 * block) % 2 == 1}
    told = burnt.get(style, np.full(time.size, True))
    truth = events.epoch - events.age, events.source, events.kind, events.worth
    lies = time[told], arm[told], np.full(told.sum(), FALSE), np.zeros(told.sum())
    return Events.at(*map(np.append, truth, lies))


@pytest.mark.sampled
@pytest.mark.parametrize("style", ["always", "one source", "half the time", "build and burn"])
def test_floor_and_account_hold_under_attack(style):
    """250 attacks of a style: both promises hold within the noise of a run, and not without them.

    Blocks are nearly independent, so that their spread gives the standard error of a run.
    """
    rng, horizon, broken = np.random.default_rng(8), 4000, 0
    for _ in range(250):
        size, block = int(rng.integers(2, 5)), int(rng.choice([50, 100, 200]))
        decay = 10 ** rng.uniform(-2, -0.5, size)
        sources = Sources(rng.uniform(0.1, 1, size), np.ones(size), decay)
        events = attacked(sources, rng, horizon, block, style)

        def play(trust, sources=sources, events=events, block=block):
            reward = play_signals(sources, events, trust, 1, horizon).reward
            error = reward.reshape(-1, block).sum(axis=1).std() * np.sqrt(horizon / block)
            return reward.sum(), error

        blind, _ = play(Trust("blind"))
        kept, error = play(Trust("believed", 0.9, shares=(0.25, 0.25), block=4))
        assert kept > 0.75 * blind - 4 * error
        shares = (0.125, 1.0)
        costs = tuple(block * calendar_cost(sources, 1, share) for share in shares)
        account, error = play(Trust("believed", 0.9, shares=shares, costs=costs, block=block))
        loss = max(block_loss(sources, 1, share, block) for share in (0.0, shares[0]))
        value, blocks = relaxed_bound(sources, 1)[0], horizon // block
        promised = horizon * value - blocks * (costs[0] + loss) - costs[1]
        assert account > promised - 4 * error
        broken += play(Trust("believed", 0.9))[0] < promised
    # Without floor and account whoever pings for one source breaks the promise.
    assert (broken > 200) == (style == "one source")


def test_account_follows_balance():
    account = Account((0.1, 0.9), (2.0, 10.0))
    shares = []
    for gain in (0.0, 11.0, 3.0, 0.0):
        account.add(gain)
        shares.append(account.open_block())
    assert shares == [0.9, 0.9, 0.1, 0.1]
    assert account.balance == pytest.approx(14 - 10 - 10 - 2 - 2)


def test_share_costs_are_concave():
    sources = Sources([1.0, 0.5, 0.2], [1.0, 2.0, 1.0], [0.3, 0.1, 0.05])
    cost = [calendar_cost(sources, 1, share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert cost[0] == 0
    assert cost[-1] == pytest.approx(relaxed_bound(sources, 1)[0])
    assert (np.diff(cost, 2) >= -1e-9).all()  # V is concave, so that the cost is convex
    assert block_loss(sources, 1, 0.0, 50) < 5 * sources.u_star.sum() / 2


def test_wrong_arguments_are_named():
    for name, call in {
        "threshold": lambda: lie_bound(0.0, 1, 1, [1]),
        "false_pings": lambda: lie_bound(1.0, 1, 1, [np.nan]),
        "death_rate": lambda: silence_until_death(1.0, 0.0),
        "share": lambda: calendar_cost(Sources([1], [1], [1]), 1, 1.5),
        "shares": lambda: Account((0.5, 0.1), (0, 1)),
        "crawls": lambda: even_crawls_reward(0.5, 2.0, 1.0, 1.0),
    }.items():
        with pytest.raises(ValueError, match=name):
            call()


def test_shares_get_their_epochs():
    """Pings at each epoch, of a source that the calendar has no reason to crawl."""
    sources, pinged = Sources([1e-3, 1.0], [1.0, 1.0], [0.1, 0.1]), 0
    for share, block in product((0.125, 0.25, 1 / 3, 0.5, 0.9, 1.0), (4, 8, 168)):
        true = np.ones(block)
        events = Events.at(np.arange(block) + 0.5, np.full(block, pinged), true.astype(int), true)
        trust = Trust("known", 1.0, 1.0, shares=(share, share), block=block)
        crawls = play_signals(sources, events, trust, 1, block).crawls
        assert crawls[pinged] == int(share * block + 1e-9)
