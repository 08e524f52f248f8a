import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma, lognorm, pareto, poisson

from analysis.ephemeral import Sources, four_sources, whittle_index
from analysis.ephemeral.arrivals import LAWS, Arrivals, Utility
from analysis.ephemeral.relaxed import relaxed_bound
from analysis.ephemeral.stochastic import index as module
from analysis.ephemeral.stochastic.index import (
    content_law,
    index_table,
    lattice_chain,
    lattice_index,
    stochastic_bound,
    stochastic_index,
    stop_loss,
)
from analysis.ephemeral.stochastic.simulation import compare
from analysis.ephemeral.stochastic.values import index_from_passages
from analysis.mdp import policy_iteration
from analysis.results import NotConverged

EVERY_LAW = [
    Utility("deterministic"),
    Utility("exponential"),
    Utility("uniform"),
    Utility("gamma", variation=4.0),
    Utility("lognormal", variation=2.0),
    Utility("pareto", tail_index=3.0),
]


def few_items():
    return Sources([0.5, 2.0], [1.0, 0.4], [0.7, 0.3])


@pytest.mark.parametrize("law", EVERY_LAW, ids=LAWS)
@pytest.mark.parametrize("level", [0.0, 0.3, 0.9, 1.7, 4.0])
def test_stop_loss_is_tail_integral(law, level):
    tails = {
        "deterministic": lambda z: float(z < 1),
        "exponential": lambda z: np.exp(-z),
        "uniform": lambda z: max(0.0, 1 - z / 2),
        "gamma": gamma(0.25, scale=4.0).sf,
        "lognormal": lognorm(np.sqrt(np.log(3)), scale=3**-0.5).sf,
        "pareto": pareto(3.0, scale=2 / 3).sf,
    }
    expected = sum(
        quad(tails[law.law], a, b, limit=200)[0]
        for a, b in [(level, max(level, 1)), (max(level, 1), max(level, 2))]
    )
    expected += quad(tails[law.law], max(level, 2), np.inf, limit=200)[0]
    assert stop_loss(law, np.array([level]))[0] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("law", EVERY_LAW, ids=LAWS)
def test_content_law_has_mean_and_variance(law):
    sources = few_items()
    step, size = 0.01, 4000
    p = content_law(0.5, 0.7, law, step, size)
    grid = step * np.arange(size)
    assert p.sum() == pytest.approx(1, abs=1e-4)
    assert (p * grid).sum() == pytest.approx(sources.u[0], rel=2e-3)
    variance = (p * grid**2).sum() - (p * grid).sum() ** 2
    exact = Arrivals(sources, law).variance[0]
    heavy = {"lognormal": 0.02, "pareto": 0.2}  # what lies above the lattice's end counts
    assert variance == pytest.approx(exact, rel=heavy.get(law.law, 1e-3))


def test_undecayed_content_is_poisson():
    p = content_law(3.0, 1e-12, Utility("deterministic"), 0.25, 100)
    np.testing.assert_allclose(p[::4], poisson.pmf(np.arange(25), 3.0), atol=1e-12)
    assert np.abs(p.reshape(-1, 4)[:, 1:]).max() < 1e-11


@pytest.mark.parametrize("law", ["exponential", "gamma", "lognormal"])
@pytest.mark.parametrize("variation", [0.05, 90.0])
def test_few_nodes_suffice(monkeypatch, law, variation):
    utility = Utility(law, variation=None if law == "exponential" else variation)
    few = content_law(3.0, 1.5, utility, 0.1, 300)
    monkeypatch.setattr(module, "_FEW", np.polynomial.legendre.leggauss(150))
    module._fine_law.cache_clear()
    many = content_law(3.0, 1.5, utility, 0.1, 300)
    module._fine_law.cache_clear()
    np.testing.assert_allclose(few, many, rtol=0, atol=1e-12)


def test_factorisation_equals_generic_solver():
    """Content on 0..11 that stays below 48: no state is cut off, so both are exact."""
    rng = np.random.default_rng(1)
    alpha, size = 0.75, 49
    law = np.zeros(size)
    law[:12] = rng.dirichlet(np.ones(12))
    mean = float(law @ np.arange(size))
    index, waiting, frequency = lattice_index(alpha, mean, law, 1.0)
    assert (np.diff(index) > 0).all()
    chain = lattice_chain(alpha, law)
    np.testing.assert_allclose(chain.sum(axis=1), 1, atol=1e-12)
    transitions = np.array([chain, np.tile(law, (size, 1))])
    for j in (5, 12, 20, 31):
        for side in (-1e-6, 1e-6):
            subsidy = index[j] + side
            rewards = np.array([np.full(size, subsidy), np.arange(size, dtype=float)])
            solution = policy_iteration(transitions, rewards)
            assert solution.policy[j] == (side < 0)
        assert solution.gain == pytest.approx(index[j] - waiting[j], abs=1e-5)
        crawls = solution.policy.astype(float)
        kernel = np.where(solution.policy[:, None] == 1, law, chain)
        vector = np.ones(size) / size
        for _ in range(3000):
            vector = vector @ kernel
        # just above the index state j is passive: its threshold is the next state
        assert vector @ crawls == pytest.approx(frequency[j + 1], rel=1e-6)


@pytest.mark.parametrize("law", EVERY_LAW, ids=LAWS)
def test_index_agrees_with_simulation(law):
    sources = few_items()
    curve = stochastic_index(sources, 1, law)
    assert curve.indexable
    assert curve.error <= 5e-4 * sources.u_star[1]
    content = Arrivals(sources, law).sample(60_000, np.random.default_rng(2))[1]
    for share in (0.4, 1.0):
        state = float(share * sources.u_star[1])
        estimate = index_from_passages(content, float(sources.alpha[1]), state)
        computed = np.interp(state, curve.state, curve.index)
        assert abs(computed - estimate.value) < 2.5 * estimate.half_width + curve.error


def test_small_items_give_closed_form():
    """So many small items that the content hardly varies: index and bound are the fluid's."""
    sources = Sources([1e6, 1e6], [1e-3, 2e-3], [0.3, 1.0], cost=[1.0, 1.0001])
    curves = [stochastic_index(sources, i, Utility("deterministic"), points=500) for i in (0, 1)]
    for i, curve in enumerate(curves):
        inside = curve.state < 0.95 * sources.u_star[i]
        truth = whittle_index(sources, np.repeat(curve.state[inside][:, None], 2, axis=1))[:, i]
        np.testing.assert_allclose(curve.index[inside], truth, atol=5e-3 * sources.u_star[i])
        assert curve.indexable
    for budget in (1.0001, 2.0001):
        bound = stochastic_bound(sources, curves, budget)[0]
        assert bound == pytest.approx(relaxed_bound(sources, budget)[0], rel=5e-3)


@pytest.mark.parametrize(("rate", "decay"), [(1e-5, 0.3), (4.0, 1e-3), (4.0, 30.0)])
def test_extreme_source_is_right_or_refused(rate, decay):
    sources = Sources([rate], [1.0], [decay])
    try:
        curve = stochastic_index(sources, 0, Utility(), tolerance=5e-3, max_points=500)
    except NotConverged as error:
        assert "max_points" in str(error)  # noqa: PT017
        return
    assert np.isfinite(curve.index).all()
    assert curve.index[0] == pytest.approx(0, abs=2 * curve.error + 1e-9 * sources.u_star[0])
    bound = stochastic_bound(sources, [curve], 1)[0]
    slack = 5 * curve.error + 1e-2 * sources.u_star[0]
    assert bound == pytest.approx(sources.u[0], abs=slack)


def test_ties_leave_bound_to_no_order():
    sources = Sources([5.0] * 3, [1.0] * 3, [0.5] * 3)
    curves = [stochastic_index(sources, i, Utility(), tolerance=0.02) for i in range(3)]
    bounds = [stochastic_bound(sources.subset(np.array(order)), curves, budget)
              for budget in (1, 3) for order in ([0, 1, 2], [2, 0, 1])]  # fmt: skip
    for one, other in (bounds[:2], bounds[2:]):
        assert one == other
    assert bounds[2][0] == pytest.approx(sources.u.sum(), rel=0.02)
    single = stochastic_bound(sources.subset(slice(1)), curves[:1], 1 / 3)[0]
    assert bounds[0][0] == pytest.approx(3 * single, rel=1e-9)


def test_bound_exceeds_blind_bound():
    """Seeing the content can only help, so the bound lies above that of hidden content."""
    sources = few_items()
    law = Utility("gamma", variation=3.0)
    curves = [stochastic_index(sources, arm, law) for arm in range(2)]
    bound, subsidy = stochastic_bound(sources, curves, 1)
    assert bound > relaxed_bound(sources, 1)[0]
    assert 0 < subsidy < sources.u_star.max()
    result = compare(
        Arrivals(sources, law),
        {"true": index_table(curves), "closed": "whittle", "myopic": "myopic"},
        1,
        3000,
        20,
        np.random.default_rng(3),
        warm_up=50,
    )
    for policy in ("true", "closed", "myopic"):
        estimate = result.reward(policy)
        assert estimate.value < bound + 2.5 * estimate.half_width
    assert result.reward("true").value > 0.9 * bound


def test_errors_are_named():
    sources = four_sources()
    with pytest.raises(ValueError, match="arm"):
        stochastic_index(sources, 4, Utility())
    with pytest.raises(ValueError, match="tolerance"):
        stochastic_index(sources, 0, Utility(), tolerance=0)
    with pytest.raises(NotConverged, match="max_points = 200"):
        stochastic_index(sources, 3, Utility(), tolerance=1e-6, points=100, max_points=200)
    with pytest.raises(ValueError, match="source with content"):
        stochastic_index(Sources([0.0], [1.0], [1.0]), 0, Utility())
    with pytest.raises(ValueError, match="budget"):
        stochastic_bound(few_items(), [], 3)
    with pytest.raises(ValueError, match="indices"):
        stochastic_bound(few_items(), [], 1)
    with pytest.raises(ValueError, match="items"):
        content_law(-1.0, 1.0, Utility(), 0.1, 10)


@pytest.mark.parametrize("reach", [2.0, 6.0])
def test_lattice_end_in_deviations(reach):
    sources = few_items()
    curve = stochastic_index(sources, 1, Utility("exponential"), reach=reach, tolerance=0.5)
    # Poisson arrivals of exponential marks that fade: E[xi^2] = 2 xibar^2, halved in the integral.
    spread = np.sqrt(2.0 * 0.4**2 * 2 / (2 * 0.3))
    end = curve.state[-1] + curve.state[1]
    assert end == pytest.approx(sources.u_star[1] + reach * spread, rel=1e-9)


def test_error_bounds_finer_lattice():
    sources, law = few_items(), Utility("exponential")
    finest = stochastic_index(sources, 0, law, tolerance=1e-5, max_points=4000)
    for tolerance in (2e-2, 2e-3):
        curve = stochastic_index(sources, 0, law, tolerance=tolerance, points=20)
        there = np.interp(curve.state, finest.state, finest.index)
        miss = np.abs(curve.index - there).max()
        assert miss <= curve.error <= tolerance * sources.u_star[0]
        assert curve.error < 50 * miss  # and it is no idle bound


def test_table_reproduces_curves():
    sources = few_items()
    curves = [
        stochastic_index(sources, arm, Utility("exponential"), points=points)
        for arm, points in ((0, 250), (1, 500))
    ]
    table = index_table(curves)
    for row, curve in enumerate(curves):
        places = table.step[row] * np.arange(table.values.shape[1])
        assert places[-1] == pytest.approx(curve.state[-1])
        expected = np.interp(places, curve.state, curve.index)
        np.testing.assert_allclose(table.values[row], expected, rtol=1e-9)
