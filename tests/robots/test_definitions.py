"""The robots' models on adversarial families, against high precision and other kinds of solvers.

The static queue is held to its sums in 120 digits, the M/G/1/K queue to the law of its embedded
chain in 700 digits, the controlled queue to policy iteration in ball arithmetic and to the general
solvers of `analysis.mdp`, the fleet to the controlled queue and to brute force.
"""

from functools import cache, partial
from itertools import product
from math import inf

import mpmath
import numpy as np
import pytest

from analysis import robots
from analysis.results import NotConverged
from analysis.robots import FleetControl, GeneralQueue, RobotControl, RobotKind
from analysis.robots import static_theory as theory
from analysis.robots.general import laws
from analysis.robots.printed import every_reference, state_space
from tests.robots.high_precision import relative_excess

CONTEXT = mpmath.mp.clone()
CONTEXT.dps = 120
exact = CONTEXT.mpf

FAR = [10.0**k for k in range(-5, 6)]
BESIDE_ONE = [1 - 1e-14, 1 - 1e-9, 1.0, 1 + 1e-9, 1 + 1e-14]
CAPACITIES = [1, 2, 7, 60]
WEIGHTS = [1e-12, 1e-3, 1.0, 1e3, 1e12]


def static_law(rho, capacity):
    """P(X = 0) and P(X = K) as the definition has them."""
    total = CONTEXT.fsum(exact(rho) ** i for i in range(capacity + 1))
    return 1 / total, exact(rho) ** capacity / total


def close(found, true, rel=1e-12):
    assert found == pytest.approx(float(true), rel=rel, abs=0), (found, true)


@pytest.mark.parametrize("loads", [FAR, BESIDE_ONE], ids=["far", "beside one"])
def test_static_probabilities(loads):
    for rho, capacity in product(loads, CAPACITIES):
        empty, full = static_law(rho, capacity)
        close(robots.starvation_probability(rho, capacity), empty)
        close(robots.full_probability(rho, capacity), full)


@pytest.mark.parametrize("loads", [FAR, BESIDE_ONE], ids=["far", "beside one"])
def test_static_cost(loads):
    for rho, capacity, mu in product(loads, CAPACITIES, [1e-5, 3.0]):
        empty, full = static_law(rho, capacity)
        close(robots.loss_rate(rho, capacity, mu), exact(rho) * exact(mu) * full)
        for gamma in WEIGHTS:
            cost = exact(gamma) * empty + exact(rho) * exact(mu) * full
            close(robots.static_cost(rho, gamma, capacity, mu), cost)


def test_optimal_load():
    """The load of least cost is where the slope of the cost changes its sign."""
    for gamma, capacity in product([*WEIGHTS, 1e-200, 1e200], CAPACITIES):
        rho = robots.optimal_load(gamma, capacity)
        signs = []
        for factor in (1 - exact("1e-11"), 1 + exact("1e-11")):
            x = exact(rho) * factor
            first = CONTEXT.fsum((capacity + 1 - i) * x**i for i in range(capacity + 1))
            second = CONTEXT.fsum((i + 1) * x**i for i in range(capacity))
            signs.append(CONTEXT.sign(x**capacity * first / second - exact(gamma)))
        assert signs == [-1, 1], (gamma, capacity, rho)


def test_optimal_load_near_one():
    for capacity in CAPACITIES:
        critical = robots.critical_gamma(capacity)
        for gap in (-1e-6, -1e-12, 0.0, 1e-12, 1e-6):
            rho = robots.optimal_load(critical * (1 + gap), capacity)
            assert np.sign(rho - 1) == np.sign(gap)
            assert abs(rho - 1) <= abs(gap) + 1e-15


def refused(call, *names):
    with pytest.raises(ValueError, match="must") as caught:
        call()
    assert all(name in str(caught.value) for name in names), caught.value


def test_numbers_beyond_floats_are_refused():
    refused(lambda: robots.critical_gamma(3, 1.5e308), "service_rate")
    refused(lambda: robots.loss_rate(1e300, 3, 1e300), "rho", "service_rate")
    refused(lambda: robots.static_cost([1.0, 1e300], 1.0, 3, 1e300), "rho")
    refused(lambda: robots.optimal_load(1e308, 1, 1e-308 / 4), "gamma", "service_rate")
    refused(lambda: robots.optimal_load(2.0, 10**18), "capacity")
    refused(lambda: robots.optimal_robots(1e-308, 1.0, 3, 1e308), "arrival_rate")
    refused(lambda: robots.optimal_robots(1e308, 1.0, 3, 1e-308), "arrival_rate")
    refused(lambda: robots.large_capacity_robots(1e-308, 1.0, 1e308), "arrival_rate")
    refused(lambda: robots.limiting_cost(1e308, 1.0, 1e10), "x")
    refused(lambda: robots.infinite_capacity_cost(1e300, 1.0, 1e300), "rho")
    refused(lambda: robots.turning_capacity(1 + 1e-9), "gamma")
    refused(lambda: RobotKind(0.5, 10**400), "available")
    refused(lambda: RobotControl(2, 0.5, 1.0, 10**400, 1.0), "capacity")
    refused(lambda: RobotControl(10**6, 0.5, 1.0, 10**6, 1.0), "capacity")
    refused(lambda: GeneralQueue(0.5, 10**6, laws.exponential()), "capacity")
    refused(lambda: GeneralQueue(1e4, 3, laws.deterministic()), "arrival_rate")
    refused(lambda: FleetControl([RobotKind(0.5, 10**6)], 1.0, 10**6, 1.0), "kinds")
    refused(lambda: robots.optimal_fleet([RobotKind(0.5, 10**9)], 1.0, 3), "kinds")
    few = laws.exponential()
    refused(lambda: robots.optimal_general_robots(1e-9, 1.0, 3, few), "arrival_rate")
    refused(lambda: robots.optimal_general_load(1e-9, 3, few), "gamma")


def test_critical_gamma():
    for capacity, mu in product([1, 2, 10, 10**9], [1e-300, 1.0, 1e300]):
        close(robots.critical_gamma(capacity, mu), exact(mu) * (capacity + 2) / capacity, 1e-15)


def test_optimal_robots():
    """No number of robots costs less, of all up to where losses alone cost more."""
    for rate, gamma, capacity in product([0.03, 0.5, 7.0], [1e-3, 0.7, 1.5, 50.0], [1, 2, 9]):
        best = robots.optimal_robots(rate, gamma, capacity)
        cost = partial(robots.static_cost, gamma=gamma, capacity=capacity)
        most = int(np.ceil((cost(best * rate) + 1) / rate)) + 1
        numbers = np.arange(1, max(most, 2))
        assert cost(best * rate) <= cost(numbers * rate).min() * (1 + 1e-13)


def test_turning_capacity():
    """K_0 by the weights at which the best load stops rising, from the exponential sums."""
    for ratio in (1.2, 1.5, 2.0, 3.0, 10.0, 1e6):
        least = next(k for k in range(2, 400) if theory.turning_gamma(k) <= ratio)
        assert robots.turning_capacity(ratio) == least
        assert robots.turning_capacity(ratio * 1e-5, 1e-5) == least


def test_limiting_drift():
    for gamma in (1e-300, 1e-6, 1 - 1e-13, 1.0, 1 + 1e-13, 3.0, 1e6, 1e300):
        x = exact(robots.limiting_drift(gamma))
        ratio = []
        for step in (-exact("1e-12"), exact("1e-12")):
            at = x + step * (abs(x) or 1)
            value = (CONTEXT.expm1(at) - at) / (CONTEXT.expm1(-at) + at) if at else exact(1)
            ratio.append(CONTEXT.sign(value - exact(gamma)))
        assert ratio == [-1, 1], gamma


def test_limiting_cost():
    for x, gamma, mu in product(
        [-700.0, -3.0, -1e-9, 0.0, 1e-300, 1e-9, 3.0, 700.0, 1e5], WEIGHTS, [1e-3, 10.0]
    ):
        at, cost = exact(x), exact(gamma) + exact(mu)
        if x:
            cost = at * (exact(gamma) + exact(mu) * CONTEXT.exp(at)) / CONTEXT.expm1(at)
        close(robots.limiting_cost(x, gamma, mu), cost)


def test_infinite_capacity_cost():
    for rho, gamma in product([0.0, *FAR, *BESIDE_ONE], WEIGHTS):
        cost = exact(gamma) * max(0, 1 - exact(rho)) + 3 * max(0, exact(rho) - 1)
        close(robots.infinite_capacity_cost(rho, gamma, 3.0), cost)


def test_large_capacity_robots():
    """The approximation is what (16) says, by brute force over the numbers beside mu/lambda."""
    for rate, gamma in product([0.3, 0.07, 0.5, 1.0, 3.0, 1e9], [1e-3, 1.0, 1e3]):
        balanced = 1 / rate
        costs = {
            n: robots.infinite_capacity_cost(n / balanced, gamma)
            for n in (int(np.floor(balanced)), int(np.ceil(balanced)))
        }
        least = min(costs.values())
        assert robots.large_capacity_robots(rate, gamma) == max(
            1, max(n for n, cost in costs.items() if cost == least)
        )


# The M/G/1/K queue.


@cache
def gamma_measures(variation, load, capacity):
    """Starvation and loss with gamma indexing times of mean 1 (constant ones: variation 0).

    Arrivals in one time are negative binomial (Poisson); 700 digits are lost by no subtraction.
    """
    mp = mpmath.mp.clone()
    mp.dps = 700
    rate = mp.mpf(load)
    if variation == 0:
        chance = [mp.exp(-rate)]
        for k in range(1, capacity):
            chance.append(chance[-1] * rate / k)
    else:
        shape, spread = 1 / mp.mpf(variation), mp.mpf(variation) * rate
        chance = [(1 + spread) ** -shape]
        for k in range(1, capacity):
            chance.append(chance[-1] * (shape + k - 1) / k * spread / (1 + spread))
    first, lost = departures(chance, mp.mpf(1), rate)
    empty = first / (first + rate)
    return empty, (1 - empty) * lost


def departures(chance, tail, beyond):
    """Chance of an empty queue after a departure, and losses in the time before one.

    From the law of arrivals in that time (as many chances as the capacity), its sum and its mean.
    """
    above, overflow = [], []
    for share in chance:
        overflow.append(beyond)
        tail -= share
        above.append(tail)
        beyond -= tail
    law = [chance[0] / chance[0]]
    for j in range(len(chance) - 1):
        inflow = law[0] * above[j] + sum(law[i] * above[j - i + 1] for i in range(1, j + 1))
        law.append(inflow / chance[0])
    total = sum(law)
    lost = law[0] * overflow[-1] + sum(x * y for x, y in zip(law[1:], overflow[:0:-1], strict=True))
    return law[0] / total, lost / total


def general_queues(cases):
    for variation, load, capacity in cases:
        law = laws.gamma_law(variation) if variation else laws.deterministic()
        starvation, loss = GeneralQueue(load, capacity, law).measures()
        for found, true in zip(
            (starvation, loss), gamma_measures(variation, load, capacity), strict=True
        ):
            assert found == pytest.approx(float(true), rel=1e-8, abs=1e-290)


LIGHT = [
    (v, 10.0**k, c) for v in (0.0, 0.04, 1.0, 20.0) for k, c in ((-8, 30), (-6, 5), (-4, 40))
] + [(0.04, 0.0108, 30)]
HEAVY = [(v, load, c) for v in (0.0, 0.04, 1.0, 20.0) for load, c in ((1.0, 1), (3.0, 20), (80, 7))]


@pytest.mark.parametrize("cases", [LIGHT, HEAVY], ids=["losses down to 1e-240", "heavy load"])
def test_general_queue(cases):
    general_queues(cases)


@pytest.mark.slow
def test_random_general_queues():
    rng = np.random.default_rng(5)
    general_queues(
        (
            10 ** rng.uniform(-4, 2) if rng.random() < 0.8 else 0.0,
            10 ** rng.uniform(-8, 2.4),
            int(rng.integers(1, 45)),
        )
        for _ in range(400)
    )


def test_lognormal_losses():
    """Losses decided by tails beyond 1e-56, by the trapezoidal rule in 150 digits."""
    mp = mpmath.mp.clone()
    mp.dps = 150
    for variation, load, capacity in ((0.5, 1e-4, 30), (1.7, 1e-3, 20)):
        deviation, step = mp.sqrt(mp.log1p(mp.mpf(variation))), mp.mpf(1) / 8
        nodes = [step * i for i in range(-60, 500)]
        weights = [mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi) * step for z in nodes]
        means = [mp.mpf(load) * mp.exp(deviation * z - deviation**2 / 2) for z in nodes]
        terms = [w * mp.exp(-x) for w, x in zip(weights, means, strict=True)]
        chance = []
        for k in range(capacity):
            chance.append(sum(terms))
            terms = [term * x / (k + 1) for term, x in zip(terms, means, strict=True)]
        mean = sum(w * x for w, x in zip(weights, means, strict=True))
        first, lost = departures(chance, sum(weights), mean)
        busy = mp.mpf(load) / (first + mp.mpf(load))
        loss = GeneralQueue(load, capacity, laws.lognormal(variation)).measures()[1]
        assert loss == pytest.approx(float(busy * lost), rel=1e-8, abs=0)


def test_exponential_times():
    for rho, capacity in product([1e-3, 0.5, *BESIDE_ONE, 30.0], [1, 2, 30, 120]):
        empty, full = static_law(rho, capacity)
        starvation, loss = GeneralQueue(3 * rho, capacity, laws.exponential(1 / 3)).measures()
        close(starvation, empty, 1e-9)
        assert loss == pytest.approx(float(3 * exact(rho) * full), rel=1e-9, abs=1e-290)
        cost = float(1.3 * empty + 3 * exact(rho) * full)
        close(robots.general_cost(3 * rho, 1.3, capacity, laws.exponential(1 / 3)), cost, 1e-9)


def test_rough_law_is_refused():
    """A law whose points say little of what is asked is refused, not believed."""
    law = laws.gamma_law(0.5)
    keep = slice(None, None, 61)
    rough = [part[keep] / part[keep].sum() for part in (law.weights, law.coarse)]
    coarse = laws.ServiceLaw("rough", 1.0, 0.5, law.points[keep], *rough)
    with pytest.raises(NotConverged, match=r"loss rate|starvation probability"):
        GeneralQueue(0.01, 10, coarse).measures()
    refused(lambda: laws.ServiceLaw("half", 1.0, 0.0, [1.0], [0.5]), "weights")
    refused(lambda: laws.ServiceLaw("back", 1.0, 0.0, [-1.0], [1.0]), "points")


def test_general_optimum_of_exponential_times():
    """With exponential times the best numbers and loads are those of the static queue."""
    for gamma, capacity in product([0.4, 1.7, 30.0], [1, 2, 12]):
        law = laws.exponential(2.0)
        best = robots.optimal_general_robots(0.11, gamma, capacity, law)
        assert best == robots.optimal_robots(0.11, gamma, capacity, 0.5)
        load = robots.optimal_general_load(gamma, capacity, law)
        assert load == pytest.approx(robots.optimal_load(gamma, capacity, 0.5), rel=1e-6)


# The controlled queue.


def control(n, rate, capacity, gamma, mu=1.0):
    return RobotControl(n, rate, mu, capacity, gamma)


CONTROLS = {
    "one place": [control(3, rate, 1, 1.2) for rate in (1e-5, 0.3, 1e5)],
    "one robot": [control(1, rate, 4, 1.2) for rate in (1e-5, 1.0, 1e5)],
    "loads over ten decades": [control(2, 10.0**k, 3, 1.2) for k in range(-5, 6, 2)],
    "tiny and huge weights": [control(3, 0.3, 4, 10.0**k) for k in (-12, -4, 4, 12)],
    "load beside one": [control(2, 0.5 * rho, 4, 1.2) for rho in BESIDE_ONE],
    "rates tiny and huge": [control(2, 0.3 * s, 3, 1.2 * s, s) for s in (1e-9, 1e9)],
}


@pytest.mark.parametrize("models", CONTROLS.values(), ids=CONTROLS)
def test_controlled_queue(models):
    """The gain, and no action better by more than rounding, in a hundred digits."""
    for model in models:
        solution = model.solve()
        policy, gain = relative_excess(model, solution)
        assert abs(policy) < 1e-11
        assert abs(gain) < 1e-9
        assert solution.gain == pytest.approx(
            model.gamma * solution.starvation + solution.loss_rate, rel=1e-10
        )


# The draft's own chain.


@pytest.mark.parametrize(("count", "seed"), [(12, 0), pytest.param(150, 1, marks=pytest.mark.slow)])
def test_all_references_in_one_run(count, seed):
    """One run of all reference states and one for each: the same updates, or both refuse."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        model = RobotControl(
            int(rng.integers(1, 4)),
            rng.uniform(0.1, 1),
            1.0,
            int(rng.integers(1, 5)),
            10 ** rng.uniform(-1, 1),
        )
        states = state_space(model)
        try:
            runs = every_reference(model, max_updates=2000)
        except NotConverged:
            continue
        for state in states:
            q, r, s = state
            if runs.updates[s, q, r] < 0:
                with pytest.raises(NotConverged, match="rounding hides"):
                    robots.proposition_4(model, reference=state, max_updates=2000)
                continue
            run = robots.proposition_4(model, reference=state, max_updates=2000)
            updates, cost = runs.at(state)
            assert updates == run.updates, (model, state)
            assert cost == pytest.approx(run.cost, rel=1e-9)


def test_proposition_4_ends_at_optimum():
    """Its iteration, run on, ends at the optimum."""
    for model in (control(1, 0.5, 1, 1.0), control(3, 0.4, 2, 1.2), control(2, 0.6, 4, 0.3)):
        run = robots.proposition_4(model, tolerance=1e-11)
        assert run.cost == pytest.approx(model.solve().gain, rel=1e-8)
    with pytest.raises(NotConverged, match="rounding hides"):
        robots.proposition_4(control(3, 0.4, 2, 1.2), tolerance=1e-16)


# Robots that differ.


def test_optimal_fleet_by_brute_force():
    kinds = [RobotKind(0.1, 3), RobotKind(0.4, 2, running_cost=0.02), RobotKind(0.4, 1)]
    for gamma, capacity in product([1e-3, 1.2, 1e3], [1, 2, 8]):
        active, cost = robots.optimal_fleet(kinds, gamma, capacity, 0.7)
        every = [n for n in product(range(4), range(3), range(2)) if sum(n)]
        rates = [0.1 * n[0] + 0.4 * (n[1] + n[2]) for n in every]
        costs = [
            robots.static_cost(rate / 0.7, gamma, capacity, 0.7) + 0.02 * n[1]
            for rate, n in zip(rates, every, strict=True)
        ]
        assert cost == pytest.approx(min(costs), rel=1e-13)
        assert costs[every.index(active)] <= min(costs) * (1 + 1e-13)


def test_fleet_by_margins():
    """Never below the best fleet; the best one where areas are alike or rates decide alone."""
    for rate, change, gamma, capacity in product([1e-3, 0.3, 20.0], [1e-2, 1.0, inf], [1e-3, 5.0],
                                                 [1, 6]):  # fmt: skip
        alike = [RobotKind(rate, 3, 1e-3, change)] * 2
        unlike = [RobotKind(rate, 3, 1e-3, change), RobotKind(0.4, 2, 0.05, 0.7)]
        for kinds in (alike, unlike):
            active, cost = robots.fleet_by_margins(kinds, gamma, capacity)
            load = sum(float(kind.rate(n)) for kind, n in zip(kinds, active, strict=True))
            running = sum(kind.running_cost * n for kind, n in zip(kinds, active, strict=True))
            assert cost == pytest.approx(robots.static_cost(load, gamma, capacity) + running)
            assert cost >= robots.optimal_fleet(kinds, gamma, capacity)[1] * (1 - 1e-13)
        best = robots.optimal_fleet(alike, gamma, capacity)[1]
        assert robots.fleet_by_margins(alike, gamma, capacity)[1] == pytest.approx(best, rel=1e-12)
        # Of robots that bring as much, dear ones run only where all the cheap ones do.
        unequal = [RobotKind(rate, 3, 0.05, change), RobotKind(rate, 3, 0.01, change)]
        dear, cheap = robots.fleet_by_margins(unequal, gamma, capacity)[0]
        assert cheap > 0
        assert dear == 0 or cheap == 3


def test_equal_kinds_are_one_kind():
    """Robots of kinds that are alike are robots of one kind."""
    for rate, gamma, capacity in ((1e-3, 1.2, 2), (0.3, 1e-6, 4), (0.3, 1.2, 1), (50.0, 1e3, 3)):
        whole = RobotControl(3, rate, 1.0, capacity, gamma).solve()
        kinds = [RobotKind(rate, 2), RobotKind(rate, 1)]
        for substitution in (False, True):
            fleet = FleetControl(kinds, 1.0, capacity, gamma, substitution).solve()
            assert fleet.gain == pytest.approx(whole.gain, rel=1e-9)
            assert fleet.gain == pytest.approx(
                gamma * fleet.starvation + fleet.loss_rate, rel=1e-9, abs=1e-15
            )
            assert fleet.residual < 1e-9 * max(1, fleet.gain)
            again = FleetControl(kinds, 1.0, capacity, gamma, substitution).evaluate(fleet.policy)
            assert again.gain == pytest.approx(fleet.gain, rel=1e-9)


def fleet_excess(model, policy, digits=60):
    """The gain of a control, and by how much some decision is worse than the best, a share of it.

    Its relative values solve the equation of the module, written down state by state.
    """
    mp = mpmath.mp.clone()
    mp.dps = digits
    kinds, places = model.kinds, model.capacity
    states = [x for x in product(*(range(n) for n in model.shape)) if any(x)]
    place = {x: n for n, x in enumerate(states)}

    def choices(q, active, startable):
        found = {-1: (q, *active)} if q or any(active) else {}
        for i in startable:
            if active[i] < kinds[i].available:
                found[i] = (q, *(r + (j == i) for j, r in enumerate(active)))
        return found

    def events(q, *active):
        """Rates, decisions and the control's own decision."""
        every = range(len(kinds))
        if q:
            chosen = policy[(0, q - 1, *active)]
            yield mp.mpf(model.service_rate), choices(q - 1, active, every), int(chosen)
        for i in every:
            if active[i]:
                left = tuple(r - (j == i) for j, r in enumerate(active))
                above = min(q + 1, places)
                options = choices(above, left, every if model.substitution else (i,))
                chosen = policy[(1 + i, above, *left)]
                yield active[i] * mp.mpf(kinds[i].arrival_rate), options, int(chosen)

    size = len(states)
    system, right = mp.zeros(size + 1, size + 1), mp.zeros(size + 1, 1)
    for n, (q, *active) in enumerate(states):
        system[n, size] = 1
        for rate, options, chosen in events(q, *active):
            system[n, n] += rate
            system[n, place[options[chosen]]] -= rate
        for kind, count in zip(kinds, active, strict=True):
            lost = kind.arrival_rate if q == places else 0
            right[n] += count * (mp.mpf(kind.running_cost) + lost)
        right[n] += mp.mpf(model.gamma) * (q == 0)
    system[size, place[tuple(n - 1 for n in model.shape)]] = 1
    values = mp.lu_solve(system, right)
    worse = max(
        rate * (values[place[options[chosen]]] - min(values[place[x]] for x in options.values()))
        for q, *active in states
        for rate, options, chosen in events(q, *active)
    )
    return float(values[size]), float(worse / abs(values[size]))


@pytest.mark.parametrize("count", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_fleets_that_differ(count):
    """Kinds whose rates lie decades apart, or a hundredth; running costs small, large or none.

    Few are refused, where the rates are too far apart to tell.
    """
    refused = 0
    for number in range(count):
        rng = np.random.default_rng(number)
        apart = (4, 0.01)[number % 2]
        kinds = [
            RobotKind(
                10 ** rng.uniform(-apart, apart),
                int(rng.integers(1, 3)),
                float(rng.choice([0.0, 10 ** rng.uniform(-3, 1)])),
            )
            for _ in range(2)
        ]
        model = FleetControl(
            kinds, 10 ** rng.uniform(-1, 1), int(rng.integers(1, 4)), 10 ** rng.uniform(-4, 4),
            bool(rng.integers(2)),
        )  # fmt: skip
        try:
            solution = model.solve()
        except NotConverged:
            assert apart == 4, number
            refused += 1
            continue
        gain, worse = fleet_excess(model, solution.policy)
        assert worse <= 1e-8, number
        assert solution.gain == pytest.approx(gain, rel=1e-8), number
    assert refused <= count // 10
