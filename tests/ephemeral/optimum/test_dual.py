import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources, relaxed_problem, whittle_index_at_age
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.optimum.dual import dual_descent
from analysis.ephemeral.stochastic.index import stochastic_bound, stochastic_index
from tests.ephemeral.sets import SETS, budgets


def priced_sources():
    return Sources(
        [250.0] * 4, [1.0, 0.7, 0.2, 0.08], [0.7, 0.35, 0.7, 0.21], cost=[2.0, 1.0, 0.5, 1.5]
    )


@pytest.mark.parametrize("sources", [four_sources(), priced_sources()], ids=["ones", "costs"])
@pytest.mark.parametrize("budget", [1.0, 2.0, 2.7])
def test_subsidy_tends_to_the_multiplier(sources, budget):
    run = dual_descent(sources, budget, 60_000)
    exact = relaxed_problem(sources, budget)
    late = slice(30_000, None)
    low = exact.smallest_subsidy - 0.02 * exact.subsidy
    assert low <= run.subsidy[late].mean() <= 1.02 * exact.subsidy
    assert run.spent[late].mean() == pytest.approx(budget, rel=2e-3)
    assert run.reward[late].mean() == pytest.approx(exact.bound, rel=2e-3)


@pytest.mark.parametrize("name", SETS)
def test_descent_follows_recursion(name):
    sources = SETS[name]
    scale = float((sources.u_star / sources.cost).max())
    budget, step, power = budgets(sources)[0], 0.1 * scale, 0.7
    run = dual_descent(sources, budget, 50, step=step, power=power, initial_subsidy=0.4 * scale)
    age, price = np.ones(len(sources)), 0.4 * scale
    for t in range(50):
        crawl = whittle_index_at_age(sources, age) >= price
        np.testing.assert_allclose(run.subsidy[t], price, rtol=1e-9, atol=1e-12 * scale)
        spent = sources.cost[crawl].sum()
        assert run.spent[t] == pytest.approx(spent, abs=1e-12)
        assert run.reward[t] == pytest.approx(sources.state_at_age(age)[crawl].sum(), rel=1e-12)
        price = max(0.0, run.subsidy[t] + step / (t + 1) ** power * (spent - budget))
        age = np.where(crawl, 0, age) + 1


def test_random_content_is_priced_as_well():
    """The closed form stands in for the stochastic index; few items make the difference small."""
    sources = four_sources()
    content = Arrivals(sources, Utility("uniform")).sample(20_000, np.random.default_rng(1))
    run = dual_descent(sources, 1, 20_000, content=content)
    late = slice(10_000, None)
    assert run.spent[late].mean() == pytest.approx(1, rel=5e-3)
    curves = [stochastic_index(sources, i, Utility("uniform"), tolerance=0.02) for i in range(4)]
    bound, _ = stochastic_bound(sources, curves, 1)
    assert run.reward[late].mean() == pytest.approx(bound, rel=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 5}, "budget"),
        ({"horizon": 0}, "horizon"),
        ({"step": 0}, "step"),
        ({"power": 2}, "power"),
        ({"initial_subsidy": -1}, "initial_subsidy"),
        ({"content": np.ones((4, 3))}, "content"),
    ],
)
def test_wrong_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        dual_descent(four_sources(), **{"budget": 1, "horizon": 10, **change})
