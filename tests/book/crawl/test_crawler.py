"""The crawls of the page, at a small size."""

import numpy as np
import pytest

from analysis.crawl.local.site import random_site
from analysis.ephemeral import relaxed_bound, simulate
from analysis.ephemeral.optimum.static import RandomPolicy, random_reward
from book.crawl import crawler as page

SOURCES = page.sample_feeds(8, np.random.default_rng(0))


@pytest.fixture(scope="module")
def runs():
    return page.crawl_sites(SOURCES, 2, 12, replications=3, seed=1)


def test_same_seed_same_publications_despite_faults(runs):
    again = page.crawl_sites(SOURCES, 2, 12, replications=3, seed=1, policies=("index",), share=0.5)
    first = runs["index"][:, :, 0]
    failing = again["index"][:, 3, 0] == 0
    assert (again["index"][failing, :, 0] == first[failing]).all()
    assert again["index"][:, 3].sum() > 0
    assert runs["index"][:, 3].sum() == 0


def test_random_visits_tend_to_long_run():
    frequency = np.linspace(0.05, 0.9, 8)
    reward = page.mean_random_reward(SOURCES, frequency, 400)
    assert reward[0] == pytest.approx(frequency @ SOURCES.u)
    assert reward[-1] == pytest.approx(random_reward(SOURCES, frequency), rel=1e-9)
    drawn = [
        simulate(SOURCES, RandomPolicy(frequency), 8, 5, initial_state="fresh", rng=rng).reward
        for rng in np.random.default_rng(0).spawn(3000)
    ]
    error = np.std(drawn, axis=0) / np.sqrt(len(drawn))
    assert (np.abs(np.mean(drawn, axis=0) - reward[:5]) < 4 * error).all()


def test_no_expectation_exceeds_bound():
    expected = page.predict_values(SOURCES, 2, 400, 200)
    bound = relaxed_bound(SOURCES, 2)[0] / 2
    assert set(expected) == {
        "index", "fixed_frequencies", "round_robin", "lambda_crawl", "learned_index"
    }  # fmt: skip
    assert max(expected.values()) <= bound * (1 + 1e-9)
    assert expected["index"] > expected["round_robin"]


def test_round_robin_earns_expected_value():
    """Mean over sites within four standard errors."""
    found = page.crawl_sites(SOURCES, 4, 12, replications=30, seed=2, policies=("round_robin",))
    value = page.value_per_place(found["round_robin"], 2, 4)
    error = value.std(ddof=1) / np.sqrt(value.size)
    assert abs(value.mean() - page.predict_values(SOURCES, 4, 12, 2)["round_robin"]) < 4 * error
    assert page.value_per_fetch(found["round_robin"], 2) == pytest.approx(value)


def test_faults_cost_value(runs):
    table = page.crawl_with_faults(
        SOURCES, 2, untroubled=runs, shares=[0.5], outage=4, warm_up=2, seed=1
    ).set_index(["faults", "share", "patience"])
    assert 0.2 < table.loc[("single", 0.5, 64), "failed"] < 0.8
    assert table.loc[("single", 0.0, 64), "failed"] == 0
    assert table.loc["single"]["bound"].is_monotonic_decreasing
    hasty, patient = (table.loc[("outage", 0.5, k), "failed"] for k in (1, 64))
    assert patient < hasty


def test_sampled_feeds_within_ranges():
    sources = page.sample_feeds(500, np.random.default_rng(0))
    assert 0.05 <= sources.arrival_rate.min() < sources.arrival_rate.max() <= 1.0
    site = random_site(sources, 5, np.random.default_rng(0))
    assert max(times.size for times in site.published) <= 25  # no feed drops an item so soon


def test_no_fetches_no_shares(runs, values):
    """In a short crawl Nutch's schedule, which begins at 30 days, makes no fetch."""
    idle = {name: found.copy() for name, found in runs.items()}
    idle["nutch_adaptive"][:, :, 4:] = 0
    table = page.compare_policies(idle, SOURCES, 2, 4)
    assert values()["crawler-nutch-fetched"]["value"] is False
    shown = page.tabulate_policies(table).loc["Nutch adaptive"]
    assert (shown[["value per fetch made", "304 (%)"]] == "none").all()
    assert np.isnan(page.value_per_fetch(idle["nutch_adaptive"], 4)).all()
    assert "none" not in page.tabulate_policies(table).loc["index, rates known"].tolist()
