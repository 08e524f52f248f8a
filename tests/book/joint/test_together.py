"""The page `together`: its plan agrees with the simulation."""

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import Sources
from analysis.joint import Engine
from book.joint import together as page

TRIAL = page.Trial(horizon=100, runs=3, seed=4)


@pytest.fixture(scope="module")
def sources():
    return Sources([20.0, 40.0, 30.0], [1.0, 0.5, 0.1], [0.7, 0.4, 0.2])


def test_many_robots_approach_bound(sources):
    """With an engine that indexes all at once, what is earned is the content of part I."""
    frame = page.scan_robots(sources, Engine(1e4, 200), 3, TRIAL)
    whole = float((sources.u_star * -np.expm1(-sources.decay)).sum())
    last = frame.iloc[-1]
    assert last["aware"] == pytest.approx(whole, rel=0.05)
    assert (frame["aware"] <= frame["bound"] * 1.05).all()
    assert frame["crawls"].is_monotonic_increasing


def test_seen_queue_earns_more(sources):
    frame = page.scan_robots(sources, Engine(25.0, 60), 2, TRIAL)
    assert (frame["aware low"] > frame["blind high"]).all()
    assert (frame["aware low"] < frame["bound"]).all()


def test_best_number_pays_for_crawls():
    frame = pd.DataFrame({"robots": [1, 2], "aware": [10.0, 12.0], "crawls": [1.0, 2.0]})
    assert page.choose_robots(frame, 1.0) == 2
    assert page.choose_robots(frame, 3.0) == 1


def test_orders_and_plan_match_simulation(sources):
    engine = Engine(25.0, 60)
    orders = page.compare_orders(sources, engine, 2, TRIAL)
    assert orders["order"].tolist() == ["first", "last", "worth", "loss"]
    assert (orders["low"] <= orders["reward"]).all()
    found = page.plan_crawls(sources, engine, 2, "worth", TRIAL)
    assert found["crawls per epoch"].sum() <= 2 + 1e-12
    assert (found["pages per epoch"] <= sources.arrival_rate + 1e-9).all()
