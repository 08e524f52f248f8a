"""The page `orders`: announced work is done, unless the model is another."""

import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources
from analysis.joint import Engine, phase_bound
from book.joint import orders as page
from tests.support import verdicts

PLAN = page.Plan(horizon=30, warm_up=10, replications=2, seed=3)


@pytest.fixture(scope="module")
def frame():
    engine = Engine(350.0, 700)
    return page.simulate_rewards(
        four_sources(), 1, engine, page.POLICIES, list(page.ORDERS), 0.33, PLAN
    )


@pytest.fixture(scope="module")
def true(frame):
    best = page.estimate_means(frame, ["policy", "order"])["reward"].max()
    bound = phase_bound(four_sources(), 1, Engine(350.0, 1)).bound
    return page.claims(page.check_small_system(best, bound, 3000, 1))


def test_announced_work_is_done(true):
    assert verdicts(true) == {"A-r-intro-engine": "done", "A-r-fut-engine": "done"}


@pytest.mark.parametrize("fault", ["indexed at once", "fading more slowly", "no first come"])
def test_other_model_leaves_it_open(true, monkeypatch, fault):
    right = page.simulate_engine

    def wrong(sources, engine, *given, **options):
        if fault == "indexed at once":
            engine = Engine(100.0 * engine.index_rate, engine.places)
        elif fault == "fading more slowly":
            slow = 0.8 * sources.decay_rate
            sources = Sources(sources.arrival_rate, sources.mean_utility, slow)
        else:
            options |= {"order": "worth", "preempt": True}
        return right(sources, engine, *given, **options)

    monkeypatch.setattr(page, "simulate_engine", wrong)
    falsified = verdicts(page.claims(page.check_small_system(0.0, 1.0, 3000, 1)))
    assert falsified == {"A-r-intro-engine": "open", "A-r-fut-engine": "open"}


def test_beaten_bound_leaves_it_open():
    falsified = verdicts(page.claims(page.check_small_system(180.0, 170.0, 3000, 1)))
    assert falsified == {"A-r-intro-engine": "open", "A-r-fut-engine": "open"}


def test_worth_and_awareness_earn_more(frame):
    order = page.estimate_gain(frame, ("blind", "worth"), ("blind", "first come"))
    aware = page.estimate_gain(frame, ("queue, half price", "first come"), ("blind", "first come"))
    assert order.low > 0
    assert aware.value > 0
    means = page.estimate_means(frame, ["policy", "order"])
    assert (means["low"] <= means["reward"]).all()
    assert np.isfinite(means[["lost", "queue", "idle"]]).all(axis=None)
