"""Sources and engines made to break indices and bounds, against 40 digits and other solvers."""

from __future__ import annotations

from itertools import product
from math import factorial

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import poisson

from analysis.ephemeral import Sources, relaxed_bound
from analysis.joint import (
    Engine,
    JointSystem,
    RobotSystem,
    batch_value,
    best_window,
    crawl_reward,
    delay_bound,
    dual_value,
    frozen_index,
    frozen_reward,
    phase_bound,
    priced_index,
    priced_problem,
    queued_index,
    queued_sources,
    simulate_engine,
)
from analysis.joint.simulation import event_times
from analysis.mdp import relative_value_iteration

SOURCES = {
    "one source": Sources([2.0], [3.0], [0.4], period=0.5),
    "content that lasts": Sources([3.0, 1.0], [1.0, 2.0], [1e-6, 1e-4]),
    "content gone within an epoch": Sources([9.0, 4.0], [1.0, 2.0], [30.0, 8.0]),
    "costs of four decades": Sources([1.0, 2, 3], [1.0, 2, 0.5], [0.3, 0.7, 1], [0.01, 1, 100]),
    "values of 20 decades": Sources([1.0, 1.0], [1e-10, 1e10], [0.5, 0.2]),
    "a source without items": Sources([0.0, 2.0], [1.0, 1.0], [0.5, 0.5]),
    "a source without value": Sources([2.0, 2.0], [0.0, 1.0], [0.5, 0.5]),
    "equal sources": Sources([1.0] * 3, [1.0] * 3, [0.5] * 3),
}  # fmt: skip
AGES = (1, 2, 5, 40)
#: Prices as shares of the worth of a new page.
SHARES = (0.0, 1e-9, 0.3, 0.97, 1.0, 5.0)


def exact_reward(sources, i, k, price, fresh):
    """What a crawl is worth less its pages, in 40 digits; k whole or not."""
    names = ("arrival_rate", "mean_utility", "decay_rate")
    rate, worth, mu = (mpmath.mpf(float(getattr(sources, name)[i])) for name in names)
    time = mpmath.mpf(float(k)) * mpmath.mpf(sources.period)
    if fresh:
        time = min(time, exact_window(sources, i, price))
    return rate * (worth / mu * -mpmath.expm1(-mu * time) - mpmath.mpf(price) * time)


def exact_window(sources, i, price):
    worth = mpmath.mpf(float(sources.mean_utility[i]))
    if price == 0:
        return mpmath.inf if worth > 0 else mpmath.mpf(0)
    if worth <= price:
        return mpmath.mpf(0)
    return mpmath.log(worth / mpmath.mpf(price)) / mpmath.mpf(float(sources.decay_rate[i]))


def points(sources):
    """Prices and, for each, how near to 1 its share is: the window has lost as many digits."""
    for share in SHARES:
        yield share * float(sources.mean_utility.max()), 1e-13 / min(abs(1 - share) + 1e-12, 1)


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_best_window(sources):
    for price, _ in points(sources):
        with mpmath.workdps(40):
            exact = [float(exact_window(sources, i, price)) for i in range(len(sources))]
        scale = 1e-15 / sources.decay_rate.min()
        np.testing.assert_allclose(best_window(sources, price), exact, rtol=1e-13, atol=8 * scale)


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_crawl_reward(sources):
    for (price, room), fresh, k in product(points(sources), (False, True), AGES):
        with mpmath.workdps(40):
            exact = [float(exact_reward(sources, i, k, price, fresh)) for i in range(len(sources))]
        unit = sources.state_at_age(k) + price * sources.arrival_rate * sources.period * k
        found = crawl_reward(sources, [k] * len(sources), price, fresh)
        assert (np.abs(found - exact) <= room * (np.abs(exact) if fresh else unit)).all()


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_priced_index(sources):
    """R(k) - k [R(k+1) - R(k)] up to the age at which R is largest, and from there that R."""
    for (price, room), fresh, k in product(points(sources), (False, True), AGES):
        found = priced_index(sources, [k] * len(sources), price, fresh)
        for i in range(len(sources)):
            with mpmath.workdps(40):
                worth = [exact_reward(sources, i, j, price, fresh) for j in range(1, k + 2)]
                exact = worth[k - 1] - k * (worth[k] - worth[k - 1])
                if worth[k] < worth[k - 1]:
                    exact = max(worth)
                exact = float(exact) / sources.cost[i]
            unit = abs(exact) + (0 if fresh else price * sources.arrival_rate[i] * sources.period)
            assert abs(found[i] - exact) <= 10 * room * unit, (price, fresh, k, i)


def programme(sources, budget, pages, ages=120, windows=1):
    """The relaxed problem as one linear programme over sources, ages and windows up to the age."""
    age = np.repeat(np.arange(1.0, ages + 1), windows)
    window = age * np.tile(np.arange(1, windows + 1) / windows, ages)
    content = np.array([sources.state_at_age(m) for m in window]).T.ravel()
    cost = np.repeat(sources.cost, age.size)
    taken = np.outer(sources.arrival_rate * sources.period, window).ravel()
    unit = content.max()
    found = linprog(
        -content / unit,
        A_ub=np.vstack([cost / budget, taken / pages, np.kron(np.eye(len(sources)), age)]),
        b_ub=np.ones(2 + len(sources)),
        method="highs",
    )
    assert found.status == 0
    return -found.fun * unit


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_priced_problem(sources):
    """Against the linear programme; windows add to it."""
    everything = float((sources.arrival_rate * sources.period).sum())
    for part, share in ((0.9, 0.2), (0.3, 1.1), (0.5, 0.5)):
        budget, pages = part * float(sources.cost.sum()), share * everything
        found = priced_problem(sources, budget, pages)
        assert found.bound == pytest.approx(programme(sources, budget, pages), rel=1e-7)
        assert found.primal <= found.bound <= found.primal + 1e-8 * sources.u.sum()
        assert found.frequency @ sources.cost <= budget * (1 + 1e-9)
        assert found.pages.sum() <= pages * (1 + 1e-9)
        fresh = priced_problem(sources, budget, pages, fresh=True)
        assert fresh.bound >= found.bound * (1 - 1e-9)
        assert fresh.pages.sum() <= pages * (1 + 1e-9)


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_dual_value(sources):
    """The best age by trying all ages up to 4,000, and windows as `crawl_reward` has them."""
    age = np.arange(1, 4001)[:, None] * np.ones(len(sources))
    for subsidy, price in product((0.0, 0.2, 3.0), (0.0, 0.05, 0.6)):
        subsidy, price = subsidy * float(sources.u.mean()), price * sources.mean_utility.max()
        for fresh in (False, True):
            surplus = crawl_reward(sources, age, price, fresh) - subsidy * sources.cost
            best = np.maximum((surplus / age).max(axis=0), 0).sum()
            found = dual_value(sources, 1e-3, 2.0, subsidy=subsidy, price=price, fresh=fresh)
            assert found == pytest.approx(best + subsidy * 1e-3 + 2 * price, rel=1e-11)


ENGINES = {
    "one place": (Engine(1.0, 1), 0),
    "no room": (Engine(1.0, 3), 3),
    "a slow engine": (Engine(1e-3, 6), 2),
    "a fast engine": (Engine(1e9, 6), 2),
    "many places": (Engine(3.0, 60), 10),
}


NODES, WEIGHTS = np.polynomial.legendre.leggauss(80)


def integral(function, upper, scale):
    """Integrate over [0, upper] what varies within multiples of `scale`."""
    ends = np.unique(np.append(upper * np.linspace(0, 1, 5), scale * np.array([0.25, 1, 4, 16])))
    ends = ends[ends <= upper]
    half = np.diff(ends)[:, None] / 2
    points = ends[:-1, None] + half * (1 + NODES)
    return float((half * WEIGHTS * function(points.ravel()).reshape(points.shape)).sum())


def exact_batch(sources, i, engine, window, queue, order):
    """Worth and number of the pages that find room, by what each page finds.

    Freshest first: a page of age t joins behind the Poisson number of younger ones.
    """
    names = ("arrival_rate", "mean_utility", "decay_rate")
    rate, worth, mu = (float(getattr(sources, name)[i]) for name in names)
    delta, number = engine.index_rate / (engine.index_rate + mu), np.arange(engine.places - queue)
    if order == "random":
        found = poisson.sf(number, rate * window)
        each = worth * -np.expm1(-mu * window) / (mu * window)
        return float(each * found @ delta ** (queue + 1.0 + number)), float(found.sum())

    def worth_at(age):
        younger = poisson.pmf(number, rate * age[:, None])
        return rate * worth * np.exp(-mu * age) * (younger @ delta ** (queue + 1.0 + number))

    def room_at(age):
        return rate * poisson.pmf(number, rate * age[:, None]).sum(axis=1)

    return integral(worth_at, window, 1 / mu), integral(room_at, window, 1 / mu)


@pytest.mark.parametrize("name", ENGINES)
def test_batch_value(name):
    engine, queue = ENGINES[name]
    sources = Sources([2.0, 9.0, 0.3], [3.0, 1.0, 1.0], [0.4, 1e-4, 30.0])
    for window, order in product((0.5, 7.0), ("freshest", "random")):
        value, pages = batch_value(sources, engine, [window] * 3, queue, order)
        for i in range(3):
            exact = exact_batch(sources, i, engine, window, queue, order)
            assert (value[i], pages[i]) == pytest.approx(exact, rel=1e-11, abs=1e-15), (i, order)


@pytest.mark.parametrize("name", ENGINES)
def test_frozen_reward(name):
    """The best window is no worse than any other; without one, all pages count."""
    engine, queue = ENGINES[name]
    sources = Sources([2.0, 9.0, 0.3], [3.0, 1.0, 1.0], [0.4, 1e-4, 30.0])
    for price in (0.0, 0.02, 0.4):
        for k in (1, 6):
            grid = np.append(np.geomspace(1e-4 * k, k, 2000), 0.0)[:, None] * np.ones(3)
            value, pages = batch_value(sources, engine, grid, queue)
            best = (value - price * pages).max(axis=0)
            found = frozen_reward(sources, engine, [k] * 3, queue, price=price, fresh=True)
            assert (found >= best - 1e-13).all()
            np.testing.assert_allclose(found, best, rtol=1e-4, atol=1e-12)
            whole = frozen_reward(sources, engine, [k] * 3, queue, price=price)
            np.testing.assert_allclose(whole, (value - price * pages)[-2], rtol=1e-12)


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_queued_sources(sources):
    """What a crawl is worth when it is indexed, page by page, and what is alike in both."""
    for rate, queue, k in ((0.3, 0, 1), (2.0, 7, 3), (1e6, 100, 2)):
        seen = queued_sources(sources, rate, queue)
        worth = seen.state_at_age(np.full(len(sources), k))
        for i in range(len(sources)):
            window, engine = k * sources.period, Engine(rate, queue + 200)
            exact = exact_batch(sources, i, engine, window, queue, "freshest")[0]
            assert worth[i] == pytest.approx(exact, rel=1e-10, abs=1e-300), (rate, queue, i)
        np.testing.assert_array_equal(seen.arrival_rate, sources.arrival_rate)
        np.testing.assert_array_equal(seen.cost, sources.cost)


@pytest.mark.parametrize("name", ENGINES)
def test_frozen_index(name):
    """Where two neighbouring ages tie, and the best reward where R falls."""
    engine, queue = ENGINES[name]
    sources = Sources([2.0, 9.0, 0.3], [3.0, 1.0, 1.0], [0.4, 0.1, 30.0], [1.0, 2.0, 0.5])
    ages = np.arange(1, 30)[:, None] * np.ones(3)
    for options in (
        {},
        {"order": "random"},
        {"price": 0.1, "fresh": True},
        {"price": 0.1},
        {"price": 0.1, "order": "random"},
    ):
        worth = frozen_reward(sources, engine, ages, queue, **options)
        now, later, k = worth[:-1], worth[1:], ages[:-1]
        tie = (k + 1) * now - k * later
        expected = np.where(later < now, np.maximum.accumulate(now), tie) / sources.cost
        found = frozen_index(sources, engine, k, queue, **options)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13)


def page_by_page(system, ages, queue, crawls):
    """Reward and law of the next queue, from what is on the page: joins and indexing in turn."""
    sources, engine, law, reward = system.sources, system.engine, {queue: 1.0}, 0.0
    for i, width in crawls:
        window = min(ages[i], system.windows[width]) * sources.period
        joined = {}
        for q, chance in law.items():
            reward += chance * exact_batch(sources, i, engine, window, q, system.order)[0]
            rest, mean = 1.0, float(sources.arrival_rate[i] * window)
            for n in range(engine.places - q):
                share = np.exp(-mean) * mean**n / factorial(n)
                joined[q + n] = joined.get(q + n, 0.0) + chance * share
                rest -= share
            joined[engine.places] = joined.get(engine.places, 0.0) + chance * rest
        law = joined
    after, mean = {}, engine.index_rate * sources.period
    for q, chance in law.items():
        rest = 1.0
        for n in range(q):
            share = np.exp(-mean) * mean**n / factorial(n)
            after[q - n] = after.get(q - n, 0.0) + chance * share
            rest -= share
        after[0] = after.get(0, 0.0) + chance * rest
    return reward, after


def optima(system):
    """The best of all policies of a tiny system, one by one."""
    shape = [range(1, system.ages + 1)] * len(system.sources)
    states = [(ages, q) for ages in product(*shape) for q in range(system.engine.places + 1)]
    place = {state: n for n, state in enumerate(states)}
    actions, size = system.actions, len(states)
    moves, rewards = np.zeros((len(actions), size, size)), np.zeros((len(actions), size))
    for (a, crawls), (n, (ages, q)) in product(enumerate(actions), enumerate(states)):
        crawled = [i for i, _ in crawls]
        older = [1 if i in crawled else min(k + 1, system.ages) for i, k in enumerate(ages)]
        rewards[a, n], law = page_by_page(system, ages, q, crawls)
        for target, chance in law.items():
            moves[a, n, place[tuple(older), target]] += chance
    best = -np.inf
    for policy in product(range(len(actions)), repeat=size):
        rows, earned = moves[policy, range(size)], rewards[policy, range(size)]
        average = np.linalg.matrix_power(0.5 * (rows + np.eye(size)), 2**12)[-1]
        best = max(best, float(average @ earned))
    found = system.solve()
    assert found.gain == pytest.approx(best, rel=1e-7)
    assert relative_value_iteration(*system.problem).gain == pytest.approx(best, rel=1e-7)
    assert system.gain(found.policy) == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("order", ["freshest", "random"])
def test_optimum_of_tiny_system(order):
    one = Sources([1.5], [1.0], [0.5])
    optima(JointSystem(one, 1, Engine(0.7, 1), 3, order=order))
    optima(JointSystem(one, 1, Engine(0.7, 1), 2, windows=(0.4, np.inf), order=order))


@pytest.mark.parametrize("order", ["freshest", "random"])
def test_optimum_of_two_sources(order):
    two = Sources([1.5, 0.7], [1.0, 3.0], [0.5, 2.0])
    optima(JointSystem(two, 2, Engine(0.7, 1), 1, order=order))


@pytest.mark.parametrize(
    ("name", "i", "costs"),
    [
        ("one source", 0, (0.0, 0.0, 0.0)),
        ("content gone within an epoch", 1, (0.3, 0.05, 0.1)),
        ("content that lasts", 0, (0.0, 0.7, 0.2)),
    ],
)
def test_optimum_of_one_robot(name, i, costs):
    """One source and one robot: the best of all policies, from rates written down one by one."""
    one, engine, rate, most = SOURCES[name].subset([i]), Engine(0.9, 2), 0.7, 2
    system = RobotSystem(one, 1, rate, engine, most, *costs)
    starvation, loss, running = costs
    states = list(product(range(most + 1), (0, 1), range(engine.places + 1)))
    place = {state: n for n, state in enumerate(states)}

    def row(age, out, q):
        """Rates out of a state after the decision, and what is earned per unit of time."""
        flows, earned = np.zeros(len(states)), -starvation * (q == 0) - running * out
        if q:
            flows[place[age, out, q - 1]] += engine.index_rate
        if age < most:
            flows[place[age + 1, out, q]] += 1 / one.period
        if out:
            window = age * one.period
            earned += rate * exact_batch(one, 0, engine, window, q, "freshest")[0]
            mean, rest = float(one.arrival_rate[0] * window), 1.0
            lost, room = mean - (engine.places - q), engine.places - q
            for n in range(room):
                chance = np.exp(-mean) * mean**n / factorial(n)
                flows[place[0, 0, q + n]] += rate * chance
                lost += (room - n) * chance
                rest -= chance
            flows[place[0, 0, engine.places]] += rate * rest
            earned -= rate * loss * lost
        return flows, earned

    home = [n for n, (_, out, _) in enumerate(states) if not out]
    rows = {(n, a): row(states[n][0], states[n][1] or a, states[n][2]) for n in range(len(states))
            for a in (0, 1)}  # fmt: skip
    best = -np.inf
    for sends in product((0, 1), repeat=len(home)):
        acts = dict(zip(home, sends, strict=True))
        if not acts[place[most, 0, 0]]:
            continue  # nothing would ever happen again
        flows, earned = zip(*(rows[n, acts.get(n, 0)] for n in range(len(states))), strict=True)
        chain = np.array(flows)
        chain = chain - np.diag(chain.sum(axis=1))
        average = np.linalg.matrix_power(np.eye(len(states)) + chain / 20, 2**14)[0]
        best = max(best, float(average @ earned))
    assert system.solve().gain == pytest.approx(best, abs=1e-7 * (1 + abs(best)))


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_delay_bound(sources):
    """Any engine is at most as good as a fast one, and that one as good as none at all."""
    budget = 0.4 * float(sources.cost.sum())
    pages = float((sources.arrival_rate * sources.period).sum()) + 1
    fast = delay_bound(sources, budget, Engine(1e15, 5)).bound
    free = priced_problem(sources, budget, pages).bound
    assert fast == pytest.approx(free, rel=1e-8)
    slower = [delay_bound(sources, budget, Engine(s, 5)).bound for s in (0.3, 3.0, 30.0)]
    assert (np.diff([*slower, fast]) >= -1e-9 * free).all()


@pytest.mark.parametrize("name", ENGINES)
def test_queued_index(name):
    """At the lengths of the queue in the table, the index with a frozen queue at each age."""
    engine, _ = ENGINES[name]
    sources = Sources([2.0, 9.0, 0.3], [3.0, 1.0, 1.0], [0.4, 0.1, 30.0])
    for fresh in (False, True):
        table = queued_index(sources, engine, price=0.1, fresh=fresh, ages=4)
        age = np.arange(1, 5)[:, None] * np.ones(3)
        for row, q in enumerate(table.queues):
            exact = frozen_index(sources, engine, age, int(q), price=0.1, fresh=fresh)
            np.testing.assert_allclose(table.index[row], exact, rtol=1e-12, atol=1e-15)
            value, pages = batch_value(sources, engine, np.minimum(age, table.window[row]), int(q))
            expected = frozen_reward(sources, engine, age, int(q), price=0.1, fresh=fresh)
            np.testing.assert_allclose(value - 0.1 * pages, expected, rtol=1e-9, atol=1e-12)


def followed(sources, engine, policy, budget, epochs, rng):
    """First come first served, page by page, from the random numbers that a run draws."""
    length = sources.period * (epochs + 1)
    streams = rng.spawn(len(sources) + 1)
    rates = [*sources.arrival_rate, engine.index_rate]
    *births, done = (event_times(*each, length) for each in zip(streams, rates, strict=True))
    last, waiting, earned = np.zeros(len(sources)), [], 0.0
    done = done[done >= sources.period]
    for epoch in range(epochs):
        now = (epoch + 1) * sources.period
        ages = np.round((now - last) / sources.period).astype(int)
        queue = len(waiting)
        row = int(np.flatnonzero(policy.queues == queue)[0])
        worst = np.minimum(ages, policy.index.shape[1]) - 1
        index = policy.index[row, worst, np.arange(len(sources))]
        for i in np.argsort(-index, kind="stable")[:budget]:
            if index[i] <= 0 or queue > policy.stop:
                continue
            since = max(last[i], now - policy.window[row, i])
            batch = [b for b in births[i] if since <= b < now][::-1]
            waiting += [(i, b) for b in batch][: engine.places - len(waiting)]
            last[i] = now
        for time in done[(done >= now) & (done < now + sources.period)]:
            if waiting:
                i, birth = waiting.pop(0)
                fade = np.exp(-sources.decay_rate[i] * (time - birth))
                earned += sources.mean_utility[i] * fade
    return earned / epochs


@pytest.mark.parametrize("name", ENGINES)
def test_simulated_engine(name):
    engine, _ = ENGINES[name]
    if engine.index_rate > 1e6:
        engine = Engine(200.0, engine.places)
    sources = Sources([2.0, 9.0, 0.3], [3.0, 1.0, 1.0], [0.4, 0.1, 3.0])
    every = np.arange(engine.places + 1)
    for options in ({"index": "blind"}, {"price": 0.1, "fresh": True}, {"price": 0.3}):
        policy = queued_index(sources, engine, ages=6, queues=every, **options)
        found = simulate_engine(sources, engine, policy, 2, 60, rng=np.random.default_rng(3))
        exact = followed(sources, engine, policy, 2, 60, np.random.default_rng(3))
        assert found.average_reward == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_phase_bound(sources):
    """Above the price of each phase what is left is at most the best of a fine search."""
    budget = 0.4 * float(sources.cost.sum())
    engine = Engine(0.4 * float(sources.arrival_rate.sum()), 5)
    found = phase_bound(sources, budget, engine, ages=4, parts=3, cells=4)
    tau = np.linspace(0, sources.period, 801)
    price = np.interp(tau, found.phase, found.price)
    surplus = 0.0
    for i in range(len(sources)):
        old = np.linspace(0, 200, 20_001) * sources.period
        fade = np.exp(-sources.decay_rate[i] * old)[:, None]
        each = sources.mean_utility[i] * fade * np.exp(-sources.decay_rate[i] * tau[::40])
        best = np.maximum((each - price[::40]).max(axis=1), 0)
        pieces = 0.5 * (best[1:] + best[:-1]) * np.diff(old)
        reward = sources.arrival_rate[i] * np.cumsum(pieces)[99::100]
        quotient = (reward - found.subsidy * sources.cost[i]) / np.arange(1, 201)
        surplus += max(0.0, float(quotient.max()))
    capacity = engine.index_rate * sources.period * float(price.mean())
    least = found.subsidy * budget + capacity + surplus
    assert least * (1 - 2e-3) <= found.bound <= least * 1.1
    assert found.bound <= relaxed_bound(sources, budget)[0] * 1.5
