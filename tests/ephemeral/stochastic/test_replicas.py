import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources, long_run_cycle, relaxed_bound
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.stochastic.index import stochastic_bound, stochastic_index
from analysis.ephemeral.stochastic.replicas import simulate_random_replicas, simulate_replicas
from analysis.results import Estimate


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_one_copy_is_the_index_policy(budget):
    run = simulate_replicas(four_sources(), budget, 1)
    cycle = long_run_cycle(four_sources(), "whittle", budget)
    assert run.average_reward == pytest.approx(cycle.average_reward, rel=1e-12)
    assert run.period == cycle.period


@pytest.mark.parametrize("start", ["together", "random"])
def test_groups_equal_single_copies(start):
    sources, copies = four_sources(), 3
    many = Sources(
        np.repeat(sources.arrival_rate, copies),
        np.repeat(sources.mean_utility, copies),
        np.repeat(sources.decay_rate, copies),
    )
    run = simulate_replicas(
        sources, 2, copies, start=start, oldest_start=1, rng=np.random.default_rng(1)
    )
    one_by_one = long_run_cycle(many, "whittle", 2 * copies).average_reward / copies
    assert run.average_reward == pytest.approx(one_by_one, rel=1e-12)


def test_equal_starts_keep_gap():
    sources = four_sources()
    bound = relaxed_bound(sources, 2)[0]
    gaps = [1 - simulate_replicas(sources, 2, r).average_reward / bound for r in (1, 10, 1000)]
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-9)
    assert gaps[0] == pytest.approx(8.26e-4, rel=1e-2)


@pytest.mark.parametrize("start", ["together", "random"])
@pytest.mark.parametrize("budget", [1, 2, 3, 1.5])
def test_copies_earn_at_most_bound(start, budget):
    bound = relaxed_bound(four_sources(), budget)[0]
    for copies in (2, 50, 10_000):
        rng = np.random.default_rng(copies)
        run = simulate_replicas(four_sources(), budget, copies, start=start, rng=rng)
        assert run.average_reward <= bound * (1 + 1e-12)


def test_random_content_closes_the_gap():
    sources = four_sources()
    arrivals = Arrivals(sources, Utility("exponential"))
    curves = [stochastic_index(sources, i, Utility("exponential")) for i in range(4)]
    bound, _ = stochastic_bound(sources, curves, 2)
    gaps = []
    for copies, horizon in ((1, 2000), (300, 250)):
        runs = [
            simulate_random_replicas(
                arrivals, curves, 2, copies, horizon, np.random.default_rng(seed)
            ).average_reward
            for seed in range(6)
        ]
        gaps.append(Estimate.of(1 - np.array(runs) / bound))
    assert gaps[0].interval[0] > 1e-3
    assert abs(gaps[1].value) < 2.5 * gaps[1].half_width
    assert gaps[1].half_width < 5e-4


def test_relaxed_policy_earns_bound():
    sources, law = four_sources(), Utility("exponential")
    curves = [stochastic_index(sources, i, law) for i in range(4)]
    bound, subsidy = stochastic_bound(sources, curves, 2)
    runs = [
        simulate_random_replicas(
            Arrivals(sources, law), curves, 2, 10, 2000, np.random.default_rng(seed),
            subsidy=subsidy,
        )
        for seed in range(6)
    ]  # fmt: skip
    relaxed = Estimate.of([run.relaxed_reward / bound for run in runs])
    assert abs(relaxed.value - 1) < 2.5 * relaxed.half_width + 1e-5
    gap = Estimate.of([(run.relaxed_reward - run.average_reward) / bound for run in runs])
    assert gap.interval[0] > 0
    assert gap.interval[1] < 5e-4
    assert gap.half_width < 0.5 * relaxed.half_width
    alone = simulate_random_replicas(
        Arrivals(sources, law), curves, 2, 10, 2000, np.random.default_rng(0)
    )
    assert alone.average_reward == runs[0].average_reward
    assert np.isnan(alone.relaxed_reward)


def test_random_copies_equal_sources():
    """Round robin has no say here, so take a budget of N: every copy is crawled always."""
    sources = Sources([3.0, 5.0], [1.0, 2.0], [0.5, 1.0])
    curves = [stochastic_index(sources, i, Utility("exponential")) for i in range(2)]
    run = simulate_random_replicas(
        Arrivals(sources), curves, 2, 400, 300, np.random.default_rng(2), start="random"
    )
    assert run.average_reward == pytest.approx(sources.u.sum(), rel=5e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 5}, r"budget must be a number in \(0, 4\], got 5"),
        ({"budget": 1.5, "copies": 3}, "budget times copies must be a whole number, got 4.5"),
        ({"copies": 0}, "copies must be an integer of at least 1"),
        ({"start": "apart"}, "start must be one of together, random"),
        ({"start": "random"}, "rng must be"),
        ({"horizon": 1}, "horizon must be"),
    ],
)
def test_wrong_input_is_named(change, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        simulate_replicas(four_sources(), **{"budget": 1, "copies": 2, **change})


def test_costs_are_refused():
    with pytest.raises(ValueError, match="costs of 1"):
        simulate_replicas(Sources([1.0], [1.0], [1.0], cost=2.0), 1, 1)
