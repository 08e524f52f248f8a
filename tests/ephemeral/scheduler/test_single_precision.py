"""Rates in single precision, and sources that come from a file a part at a time."""

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import Sources, whittle_index_at_age
from analysis.ephemeral.scheduler.admission import spread_ages
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.scheduler.loading import scheduler_from_parquet

COUNT, BUDGET, EPOCHS = 20_000, 200, 40


def drawn(count, seed=0):
    rng = np.random.default_rng(seed)
    return Sources(rng.lognormal(0, 1, count), np.ones(count), rng.lognormal(-3, 1, count))


def rounded(sources):
    """Sources whose u*/C and mu T are those that single precision stores."""
    limit = (sources.u_star / sources.cost).astype(np.float32).astype(float)
    decay = sources.decay.astype(np.float32).astype(float)
    return Sources(limit * decay, np.ones(limit.size), decay)


def test_crawls_equal_rounded_rates():
    sources = drawn(COUNT)
    stored = rounded(sources)
    age = spread_ages(sources, BUDGET, np.random.default_rng(1))
    scheduler = Scheduler(sources, BUDGET, age, precision="single")
    for _ in range(EPOCHS):
        numbers, rewards = scheduler.crawl()
        index = whittle_index_at_age(stored, age)
        np.testing.assert_array_equal(np.sort(numbers), np.sort(np.argsort(-index)[:BUDGET]))
        np.testing.assert_allclose(rewards, stored.state_at_age(age)[numbers], rtol=1e-13)
        exact = whittle_index_at_age(sources, age)
        cut = np.sort(exact)[-BUDGET]
        assert exact[numbers].min() > cut * (1 - 1e-6)
        age += 1
        age[numbers] = 1


@pytest.mark.parametrize(("precision", "size"), [("single", 20), ("double", 28)])
def test_bytes_a_source(precision, size):
    few, many = (Scheduler(drawn(n), BUDGET, precision=precision) for n in (COUNT, 3 * COUNT))
    assert (many.nbytes - few.nbytes) / (2 * COUNT) == pytest.approx(size, abs=0.1)


def test_a_saved_state_keeps_its_precision(tmp_path):
    least = np.arange(300) % 5
    scheduler = Scheduler(drawn(300), 7, precision="single", min_age=least)
    for _ in range(30):
        scheduler.crawl()
    scheduler.save(tmp_path / "state.npz")
    again = Scheduler.load(tmp_path / "state.npz")
    for _ in range(30):
        for one, other in zip(scheduler.crawl(), again.crawl(), strict=True):
            np.testing.assert_array_equal(np.sort(one), np.sort(other))
    assert again.nbytes < Scheduler(drawn(300), 7, min_age=least).nbytes


@pytest.mark.parametrize(
    ("rate", "decay", "what"),
    [(1e39, 1.0, "u"), (1e-39, 1.0, "u"), (1e-40, 1e-40, "mu T")],
)
def test_unrepresentable_rates_are_refused(rate, decay, what):
    sources = Sources([1.0, rate], [1.0, 1.0], [1.0, decay])
    with pytest.raises(ValueError, match=f"sources must have {what}.* range of float32"):
        Scheduler(sources, 1, precision="single")
    assert len(Scheduler(sources, 1)) == 2


def test_a_wrong_precision_is_named():
    with pytest.raises(ValueError, match="precision"):
        Scheduler(drawn(3), 1, precision="half")


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_file_equals_table(tmp_path, rows):
    rng, count = np.random.default_rng(2), 60
    table = pd.DataFrame(
        {
            "name": [f"source {n}" for n in range(count)],
            "arrival_rate": rng.lognormal(0, 1, count),
            "mean_utility": rng.lognormal(0, 1, count),
            "decay_rate": rng.lognormal(-3, 1, count),
            "cost": rng.choice([1.0, 2.0], count),
            "age": rng.integers(1, 30, count),
            "min_age": rng.integers(0, 4, count),
            "max_age": rng.integers(100, 200, count),
        }
    )
    path = tmp_path / "sources.parquet"
    table.to_parquet(path)
    limits = {"min_age": table.min_age, "max_age": table.max_age, "precision": "double"}
    whole = Scheduler(Sources.from_frame(table), 5, table.age, **limits)
    parts = scheduler_from_parquet(path, 5, precision="double", rows=rows)
    for _ in range(40):
        for one, other in zip(whole.crawl(), parts.crawl(), strict=True):
            np.testing.assert_array_equal(np.sort(one), np.sort(other))


def test_file_errors_name_rows(tmp_path):
    path = tmp_path / "sources.parquet"
    rates = {"arrival_rate": [1.0] * 5, "mean_utility": [1.0] * 5}
    pd.DataFrame(rates).to_parquet(path)
    with pytest.raises(ValueError, match=r"sources\.parquet"):
        scheduler_from_parquet(path, 1)
    pd.DataFrame(rates | {"decay_rate": [1.0, 1.0, 1.0, -2.0, 1.0]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"sources.parquet, rows 2 to 3: decay_rate\[1\] must be"):
        scheduler_from_parquet(path, 1, rows=2)
    pd.DataFrame(rates | {"decay_rate": [1.0] * 5}).head(0).to_parquet(path)
    with pytest.raises(ValueError, match="must hold at least one source"):
        scheduler_from_parquet(path, 1)
    path.write_text("news, blog")
    with pytest.raises(ValueError, match=r"sources\.parquet: "):
        scheduler_from_parquet(path, 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget": 0}, r"^budget must"),
        ({"budget": 1, "period": -1.0}, r"^period must"),
        ({"budget": 1, "precision": "half"}, "precision"),
        ({"budget": 1, "rows": 0}, r"^rows must"),
    ],
)
def test_argument_errors_name_argument(tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        scheduler_from_parquet(tmp_path / "none.parquet", **wrong)
