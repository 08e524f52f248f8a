import numpy as np
import pytest

from analysis.ephemeral import Observation, Sources, whittle_index_at_age
from analysis.learning import UcWhittle, UcWhittleOptions, mean_content
from analysis.learning.ucb import index_of_curve


def advantage(curve, subsidy, k):
    """What a crawl at age k is worth above waiting, in the arm that is paid for passive epochs.

    The best of all cycles is found by trying them, and the best wait by trying each.
    """
    oldest = 4 * curve.size
    ages = np.arange(1, oldest + 1)
    content = curve[np.minimum(ages, curve.size) - 1]
    gain = max(((content + (ages - 1) * subsidy) / ages).max(), subsidy)
    later = ages[ages > k]
    value = content[later - 1] + (later - 1) * subsidy - gain * later
    never = 0.0 if gain <= subsidy else -np.inf
    return content[k - 1] + (k - 1) * subsidy - gain * k - max(value.max(), never)


@pytest.mark.parametrize("seed", range(6))
def test_curve_index_ties_at_subsidy(seed):
    rng = np.random.default_rng(seed)
    curve = np.abs(rng.normal(size=6)).cumsum() if seed % 2 else rng.random(6)
    index = np.empty(6)
    index_of_curve(curve, index)
    for k in range(1, 7):
        assert advantage(curve, index[k - 1] - 1e-6, k) > 0
        assert advantage(curve, index[k - 1] + 1e-6, k) < 0


def test_fading_source_has_closed_form():
    sources = Sources([3.0], [2.0], [0.4])
    ages = np.arange(1, 60)
    curve, index = sources.state_at_age(ages[:, None])[:, 0], np.empty(59)
    index_of_curve(curve, index)
    truth = [whittle_index_at_age(sources, np.array([k]))[0] for k in ages[:40]]
    np.testing.assert_allclose(index[:40], truth, rtol=1e-6)


def test_unseen_age_gets_largest_content():
    learner = UcWhittle(2, UcWhittleOptions(oldest=3, episode=1))
    rng = np.random.default_rng(0)
    assert learner.select(Observation(0, np.array([1, 2]), np.zeros(2)), 1, rng).tolist() == [1]
    learner.update(np.array([1]), np.array([5.0]))
    learner.select(Observation(1, np.array([2, 1]), np.zeros(2)), 1, rng)
    assert (learner.index == 5.0).all()  # flat curves: nothing is gained by waiting


def test_indices_approach_truth():
    sources = Sources([3.0, 2.0], [1.0, 1.5], [0.5, 0.3])
    learner = UcWhittle(2, UcWhittleOptions(oldest=2, episode=50))
    before = learner.index
    learner.play(sources, mean_content(sources, 49), 1, np.random.default_rng(0))
    assert (learner.index != before).any()
    once = learner.index
    learner.update(np.array([0]), np.array([99.0]))
    learner.update(np.array([0]), np.array([99.0]))
    np.testing.assert_array_equal(learner.index, once)
    long = UcWhittle(2, UcWhittleOptions(confidence=1e-6))
    long.play(sources, mean_content(sources, 4000), 1, np.random.default_rng(0))
    assert np.isfinite(long.index).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"oldest": 1}, "oldest"),
        ({"confidence": 0}, "confidence"),
        ({"episode": 0}, "episode"),
    ],
)
def test_options_out_of_range_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        UcWhittleOptions(**options)
