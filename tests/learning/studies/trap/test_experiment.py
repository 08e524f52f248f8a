import numpy as np
import pytest

from analysis.learning.studies.trap import experiment


def test_the_probability_of_the_trap_is_positive_and_the_runs_are_the_learners():
    """Simulated with an interval; the formulas of the two-age fit against a search."""
    found = experiment.trapped(4000, 200, 1.0, np.random.default_rng(1))
    assert 0.0 < found.low < found.share < found.high < 0.05
    assert found.share > 0.5 * found.early  # few leave late
    x, mean = 6.6, 9.9
    alpha = np.linspace(1e-4, 1 - 1e-4, 20001)
    scale = (x + 7 * mean) / (1 - alpha + 7 * (1 - alpha**2))
    contents = scale * (1 - alpha), scale * (1 - alpha**2)
    likelihood = x * np.log(contents[0]) + 7 * mean * np.log(contents[1]) - contents[0]
    best = alpha[np.argmax(likelihood - 7 * contents[1])]
    assert best == pytest.approx(mean / x - 1, abs=1e-3)


def test_without_noise_in_the_first_crawl_nothing_is_trapped():
    """Worths that hardly vary: the first crawl finds 9, and 9.9/9 - 1 is the true alpha."""
    assert experiment.trapped(300, 20, 1e-3, np.random.default_rng(1)).share == 0.0


def test_the_loss_at_a_price_keeps_to_its_bound_on_forty_streams():
    found = experiment.at_price(30.0, 0.2, 6.0, crawls=1000, streams=40, seed=1)
    assert (found.optimistic <= found.bound).all()
    assert (np.diff(found.optimistic, axis=1) >= -1e-9).all()
    growth = found.optimistic.mean(axis=0)
    late = growth[-1] - growth[-2], growth[3] - growth[2]
    crawls = found.crawls
    assert late[0] / (crawls[-1] - crawls[-2]) < late[1] / (crawls[3] - crawls[2])


def test_beliefs_along_the_curve_predict_what_they_find_exactly_where_they_alternate():
    table = experiment.along_the_curve(49)
    trapped = table[table.gap == 2]
    assert (trapped.error < 1e-12).all()
    assert trapped.loss.to_numpy() == pytest.approx(7 / 60, abs=1e-12)
    assert 59 / 139 < trapped.alpha.min() < 0.45
    assert 0.84 < trapped.alpha.max() < 0.8620
    others = table[(table.gap != 2) & ((table.alpha - 0.1).abs() > 1e-6)]
    assert (others.error > 1e-3).all()  # what another cycle finds contradicts its belief
