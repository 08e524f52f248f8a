"""Robots that visit sources: all policies, the robot study as a limit, bounds, a simulation."""

from functools import cached_property
from itertools import product
from math import factorial

import numpy as np
import pytest

from analysis.ephemeral import Sources
from analysis.joint import Engine, RobotSystem, delay_bound
from analysis.joint.robots import Landings
from analysis.mdp import relative_value_iteration
from analysis.results import Estimate
from analysis.robots import RobotControl
from tests.joint.test_index import SOURCES, exact_batch


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


class OnePage(RobotSystem):
    """Robots that bring one page, worth nothing, whatever the age: the robot study's own."""

    @cached_property
    def landings(self):
        size, places = len(self.sources), self.engine.places
        moves = np.zeros((size, 1, places + 1, places + 1))
        queue = np.arange(places + 1)
        moves[:, :, queue, np.minimum(queue + 1, places)] = 1.0
        lost = np.zeros((size, 1, places + 1))
        lost[..., places] = 1.0
        return Landings(moves, np.zeros_like(lost), lost)


def drawn(seed):
    """One or two sources, one or two robots, any of the three costs."""
    rng = np.random.default_rng(seed)
    size = 1 + seed % 2
    sources = Sources(
        10.0 ** rng.uniform(-0.7, 0.7, size),
        10.0 ** rng.uniform(-0.7, 0.7, size),
        10.0 ** rng.uniform(-1, 0.5, size),
        period=10.0 ** rng.uniform(-0.3, 0.3),
    )
    engine = Engine(10.0 ** rng.uniform(-0.5, 1), int(rng.integers(2, 6)))
    costs = rng.integers(0, 2, 3) * 10.0 ** rng.uniform([-1, -2, -2], [0.5, 0, 0])
    robots, rate = int(rng.integers(1, size + 1)), 10.0 ** rng.uniform(-0.7, 0.7)
    return RobotSystem(sources, robots, rate, engine, 3, *costs)


@pytest.mark.parametrize(
    ("robots", "rate", "service", "places", "gamma"),
    [(1, 0.8, 1.0, 3, 1.0), (2, 0.3, 1.0, 4, 1.2), (3, 0.6, 1.0, 3, 2.0), (4, 0.2, 1.3, 5, 0.7)],
)
def test_single_pages_match_controlled_queue(robots, rate, service, places, gamma):
    ones = np.ones(robots)
    system = OnePage(
        Sources(ones, ones, ones), robots, rate, Engine(service, places), 1, gamma, 1.0
    )
    study = RobotControl(robots, rate, service, places, gamma).solve()
    assert system.solve().gain == pytest.approx(-study.gain, rel=1e-11)
    operation = system.operation(system.solve().policy)
    assert operation.idle == pytest.approx(study.starvation, rel=1e-9)
    assert operation.lost == pytest.approx(study.loss_rate, rel=1e-9)


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(100), marks=pytest.mark.slow)])
def test_bound_optimum_policies_ordered(seeds):
    for seed in seeds:
        system = drawn(seed)
        sources, engine = system.sources, system.engine
        crawls = min(system.robots * system.return_rate * sources.period, len(sources))
        bound = delay_bound(sources, crawls, engine).bound / sources.period
        optimum = system.solve()
        assert bound >= optimum.gain - optimum.residual
        room = optimum.residual + 1e-9 * bound
        tuned = system.tuned_rule()
        assert tuned.gain == system.operation(tuned.policy).gain <= optimum.gain + room
        assert tuned.gain >= system.operation(system.rule()).gain - room
        for robots in range(system.robots + 1):
            for stop in (None, 1):
                policy = system.blind_policy(robots, stop)
                assert system.operation(policy).gain <= optimum.gain + room


@pytest.mark.parametrize("seed", range(4))
def test_two_solvers_agree(seed):
    system = drawn(seed)
    exact = system.solve()
    iterated = relative_value_iteration(*system.problem, tolerance=1e-9)
    assert abs(exact.gain - iterated.gain) <= exact.residual + iterated.residual
    found = system.operation(exact.policy)
    paid = system.starvation * found.idle + system.loss * found.lost + system.running * found.robots
    assert found.worth - paid == pytest.approx(found.gain, abs=1e-11 * (1 + paid))
    assert found.gain == pytest.approx(exact.gain, abs=exact.residual + 1e-11 * (1 + paid))


def test_starvation_is_page_price():
    """Idle time is 1 less the pages that find room over s, under any policy."""
    system = drawn(3)
    for policy in (system.rule(), system.blind_policy(system.robots), system.solve().policy):
        found = system.operation(policy)
        age, flying, queue = system.states
        sent = flying.copy()
        rows = np.flatnonzero(policy > 0)
        sent[rows, policy[rows] - 1] = True
        brought = system.landings.moves @ np.arange(system.engine.places + 1)
        room = brought - np.arange(system.engine.places + 1)
        chain = system.problem[0]
        law = long_run(np.stack([chain[a].toarray()[s] for s, a in enumerate(policy)]))
        at = (np.arange(len(system.sources)), age, queue[:, None])
        admitted = system.return_rate * (law[:, None] * sent * room[at]).sum()
        assert found.idle == pytest.approx(1 - admitted / system.engine.index_rate, abs=1e-10)


def long_run(chain):
    """Stationary law by solving its equations."""
    size = len(chain)
    system = chain.T - np.eye(size)
    system[0] = 1.0
    return np.linalg.solve(system, np.eye(size)[0])


def simulated(system, policy, time, rng):
    """Gain per unit of time, event by event and page by page."""
    sources, engine, size = system.sources, system.engine, len(system.sources)
    place = {
        (*map(int, age), *map(int, out), int(q)): n
        for n, (age, out, q) in enumerate(zip(*system.states, strict=True))
    }
    age, out, waiting = np.zeros(size, int), np.zeros(size, bool), 0
    now = earned = free = 0.0  # `free`: when the engine has indexed all that waits
    finish = []
    while now < time:
        act = policy[place[(*age.tolist(), *out.astype(int).tolist(), waiting)]]
        if act:
            out[act - 1] = True
        rates = [system.return_rate * out.sum(), (age < system.ages).any() / sources.period]
        wait = rng.exponential(1 / sum(rates)) if sum(rates) else np.inf
        done = finish[0] - now if finish else np.inf
        step = min(wait, done)
        earned -= step * (system.starvation * (waiting == 0) + system.running * out.sum())
        now += step
        if done <= wait:
            finish.pop(0)
            waiting -= 1
        elif rng.random() < rates[1] / sum(rates):
            age = np.minimum(age + 1, system.ages)
        else:
            i = rng.choice(np.flatnonzero(out))
            window = age[i] * sources.period
            for old in np.sort(
                rng.uniform(0, window, rng.poisson(sources.arrival_rate[i] * window))
            ):
                if waiting == engine.places:
                    earned -= system.loss
                    continue
                free = max(free, now) + rng.exponential(1 / engine.index_rate)
                finish.append(free)
                waiting += 1
                fade = sources.decay_rate[i] * (old + free - now)
                earned += sources.mean_utility[i] * np.exp(-fade)
            age[i], out[i] = 0, False
    return earned / now


@pytest.mark.parametrize("seed", [1, 3])
def test_simulation_matches_gain(seed):
    system, rng = drawn(seed), np.random.default_rng(seed)
    policy = system.tuned_rule().policy
    estimate = Estimate.of([simulated(system, policy, 1500.0, rng) for _ in range(12)], 0.9999)
    exact = system.operation(policy)
    start = 0.003 * (exact.worth + system.starvation)
    assert estimate.low - start <= exact.gain <= estimate.high + start
    assert estimate.half_width < 0.1 * (exact.worth + system.starvation)


def test_wrong_system_is_refused():
    sources = Sources([1.0, 2.0], [1.0, 0.5], [0.5, 0.7])
    with pytest.raises(ValueError, match="transitions"):
        RobotSystem(sources, 2, 1.0, Engine(1.0, 200), 50)
    with pytest.raises(ValueError, match="costs of 1"):
        RobotSystem(Sources([1.0], [1.0], [1.0], cost=2.0), 1, 1.0, Engine(1.0, 2), 2)
    with pytest.raises(ValueError, match="robots"):
        RobotSystem(sources, 3, 1.0, Engine(1.0, 2), 2)
    system = RobotSystem(sources, 1, 1.0, Engine(1.0, 2), 1)
    states = system.states[2].size
    for wrong in ([0, 1], np.full(states, 3), np.full(states, 1)):
        with pytest.raises(ValueError, match="policy"):
            system.operation(wrong)
    with pytest.raises(ValueError, match="stop"):
        system.rule(stop=9)
    with pytest.raises(ValueError, match="robots"):
        system.blind_policy(2)
