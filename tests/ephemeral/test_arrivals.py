import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma, kstest

from analysis.ephemeral import Sources, four_sources
from analysis.ephemeral.arrivals import LAWS, Arrivals, Utility

EVERY_LAW = [
    Utility("deterministic"),
    Utility("exponential"),
    Utility("uniform"),
    Utility("gamma", variation=4.0),
    Utility("lognormal", variation=2.0),
    Utility("pareto", tail_index=6.0),
]


def few_items():
    return Sources([5.0, 0.5], [2.0, 3.0], [0.4, 1.5], period=2.0)


@pytest.mark.parametrize("law", EVERY_LAW, ids=LAWS)
def test_content_has_formula_moments(law):
    """The last sources fade hardly, and at once; one has no items."""
    rate, decay = [5.0, 0.5, 2.0, 2.0, 2.0, 0.0], [0.4, 1.5, 5e-15, 15.0, 500.0, 2.5]
    arrivals = Arrivals(Sources(rate, [2.0] * 6, decay, period=2.0), law)
    content = arrivals.sample(50_000, np.random.default_rng(1))
    error = np.sqrt(arrivals.variance / content.shape[1])
    assert (np.abs(content.mean(axis=1) - arrivals.mean) <= 5 * error).all()
    np.testing.assert_allclose(content.var(axis=1)[:3], arrivals.variance[:3], rtol=0.15)


@pytest.mark.parametrize("variation", [0.25, 1.0, 2.5, 60.0])
@pytest.mark.parametrize(("items", "decay"), [(3.0, 0.4), (6.0, 2.7), (4.0, 1e-12)])
def test_gamma_content_laplace_transform(variation, items, decay):
    laws = [Utility("gamma", variation=variation)] + [Utility()] * (variation == 1)
    sources = Sources([items] * len(laws), [1.0] * len(laws), [decay] * len(laws))
    content = Arrivals(sources, laws).sample(40_000, np.random.default_rng(8))
    for theta in (0.02, 0.3, 4.0):
        item, _ = quad(
            lambda s, z=theta: (1 + variation * z * np.exp(-decay * s)) ** (-1 / variation), 0, 1
        )
        drawn = np.exp(-theta * content)
        error = drawn.std(axis=1) / np.sqrt(content.shape[1])
        assert (np.abs(drawn.mean(axis=1) - np.exp(items * (item - 1))) < 4.5 * error).all()


def test_forgetful_source_has_gamma_content():
    content = Arrivals(Sources([90.0], [1.0], [60.0])).sample(20_000, np.random.default_rng(10))[0]
    assert kstest(content, gamma(1.5).cdf).pvalue > 1e-3


def test_no_items_bring_no_content():
    share = (Arrivals(few_items()).sample(50_000, np.random.default_rng(2))[1] == 0).mean()
    assert share == pytest.approx(np.exp(-1), abs=5 * np.sqrt(0.25 / 50_000))


def test_sources_have_own_laws():
    sources = Sources([3.0] * 6, [1.0] * 6, [0.5] * 6)
    arrivals = Arrivals(sources, EVERY_LAW)
    assert arrivals.laws == tuple(EVERY_LAW)
    seconds = arrivals.variance / (3.0 * (1 - np.exp(-1)))
    np.testing.assert_allclose(seconds, [1, 2, 4 / 3, 5, 3, 25 / 24])
    assert np.isinf(Utility("pareto", tail_index=2.0).second_moment)
    for tail in (2.01, 3.0, 50.0):
        low = (tail - 1) / tail
        moment = low**2 + 2 * low**tail * quad(np.power, low, np.inf, args=(1 - tail,))[0]
        assert Utility("pareto", tail_index=tail).second_moment == pytest.approx(moment, rel=1e-6)


def test_same_seed_same_content():
    one, other = (Arrivals(few_items()).sample(50, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"law": "pareto", "tail_index": 1.0}, "tail_index"),
        ({"law": "pareto"}, "tail_index"),
        ({"law": "gamma", "variation": 0.0}, "variation"),
        ({"law": "exponential", "variation": 1.0}, "variation"),
        ({"law": "gamma", "variation": 1.0, "tail_index": 3.0}, "tail_index"),
    ],
)
def test_wrong_utility_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Utility(**arguments)


def test_wrong_arrivals_are_named():
    with pytest.raises(ValueError, match="utility"):
        Arrivals(four_sources(), [Utility(), Utility()])
    for law in (Utility(), Utility("uniform")):
        with pytest.raises(ValueError, match="arrival_rate"):
            Arrivals(Sources([1e12], [1.0], [1.0]), law).sample(2, 0)
