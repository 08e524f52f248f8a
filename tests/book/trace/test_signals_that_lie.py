"""What the page on signals that lie computes."""

import numpy as np
import pytest

from analysis.ephemeral import Sources, stochastic_bound
from analysis.ephemeral.signals.index import signal_index
from analysis.ephemeral.signals.model import Signals
from book.trace import signals_that_lie as page


def test_optimum_of_pairs_is_not_exceeded():
    losses = page.compute_losses(8, 24, 1)
    assert (losses[["worth", "closed", "index"]] >= -1e-7).all().all()
    assert losses["index"].mean() < losses["worth"].mean()
    assert losses["index"].mean() < 0.01
    assert (losses["blind"] > losses["closed"]).mean() > 0.7


def test_pair_reward_below_relaxed_bound():
    rng = np.random.default_rng([1, 1])
    signals = page.draw_pair(rng)
    pair = [page._make_lattice(signals, arm, 60) for arm in (0, 1)]
    best = page._average_reward(pair, [step * np.arange(60) for step, *_ in pair], None)
    curves = [
        signal_index(signals, arm, tolerance=0.02, points=100, max_points=1600) for arm in (0, 1)
    ]
    bound, _ = stochastic_bound(signals.sources, curves, 1)
    assert 0.8 * bound < best < 1.005 * bound


def test_ping_gain_below_relaxed_bound():
    rng = np.random.default_rng(2)
    for _ in range(6):
        recall, precision = rng.uniform(0.3, 0.9), rng.uniform(0.3, 1.0)
        decay = 0.02
        items, crawls = decay * rng.uniform(0.5, 2), decay * rng.uniform(1, 4)
        signals = Signals(Sources([items], [1.0], [decay]), recall, precision)
        curve = signal_index(signals, 0, tolerance=0.02)
        bound, _ = stochastic_bound(signals.sources, [curve], crawls)
        blind = crawls / decay * -np.expm1(-decay / crawls)
        gain = page.compute_gain(recall, precision, items, decay, crawls)
        assert 1 <= gain <= bound / items / blind * 1.03


def test_factors_rise_with_recall():
    setting = page.make_experiment(page.load_trace("upload", ""), 8, 24.0, 1)
    table = page.compute_factors(setting, [0.2, 0.9], [1.0], 1440.0, 2, 0)
    assert table["learnt"].iloc[1] > table["learnt"].iloc[0] > 1
    assert (table["low"] <= table["learnt"]).all()
    assert (table["learnt"] <= table["high"]).all()
    assert setting.end - setting.split == 8 * 7 * 24 * 3600


def test_index_curves_lie_below_the_worth():
    curves = page.compute_index_curves(0.1, 0.1, 0.5, [0.3, 0.9], 0.02)
    assert (curves["index"] <= curves["worth"] + 0.02).all()
    closed = curves.dropna()
    assert closed["one ping"].to_numpy() == pytest.approx(closed["index"].to_numpy(), abs=0.03)


def test_rivals_play_the_same_items():
    setting = page.make_experiment(page.load_trace("commit", ""), 8, 24.0, 1)
    rivals = page.compute_rivals(setting, 0.9, [0.5], [1, 4], 2, 0)
    assert len(rivals) == 10
    index = rivals[rivals["policy"] == "index"]
    assert index["ratio"].tolist() == [1.0, 1.0]
    cell = rivals.set_index(["hours a visit", "policy"])
    assert (cell["low"] <= cell["ratio"]).all()
    for hours in (1, 4):
        fresh = cell["fresh"][hours]
        assert fresh["fresh"] > fresh["polite"]  # which has no pings
    known = page.compute_factors(setting, [0.9], [0.5], 1440.0, 2, 0)["known"].iloc[0]
    polite = rivals[rivals["policy"] == "polite"]["ratio"].iloc[0]
    assert polite < 1.2 / known


def test_own_files_are_checked(tmp_path):
    values = {
        "kind": "commit",
        "trace": "",
        "signals": "",
        "test": 8,
        "half_life": 24.0,
        "budget": 1,
    }
    page.check_files(None, values)
    path = tmp_path / "pings.csv"
    path.write_text("source,utc\nnobody,2026-01-01\n")
    with pytest.raises(ValueError, match=r"pings\.csv.*sources of the trace"):
        page.check_files(None, values | {"signals": str(path)})
    path.write_text(
        "source,utc\n"
        + "".join(f"{'ab'[n % 2]},2024-01-{n % 20 + 1:02}T{n:02}:00Z\n" for n in range(23))
    )
    with pytest.raises(ValueError, match="trace"):
        page.check_files(None, values | {"trace": str(path)})
