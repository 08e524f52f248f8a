"""Dates for crawlers that keep a date a source."""

import json

import numpy as np
import pandas as pd
import pytest

from analysis.crawl import due_dates, export, write_dates
from analysis.ephemeral import Sources, relaxed_problem, whittle_index_at_age
from tests.crawl.support import SETS, some_sources

NOW = pd.Timestamp("2026-03-01 12:00:00", tz="Europe/Paris")


def dates(sources, ages=1, **options):
    urls = [f"http://127.0.0.1/{i}?a=1,2" for i in range(len(sources))]
    given = {"seconds": 3600.0, "budget": 2.0} | options
    return due_dates(sources, urls, np.broadcast_to(ages, len(sources)), NOW, **given)


def test_due_age_reaches_threshold():
    sources = some_sources(9)
    found = dates(sources)
    theta = relaxed_problem(sources, 2.0).subsidy
    ages = np.arange(1, 200)[:, None] * np.ones(9)
    reached = whittle_index_at_age(sources, ages) >= theta
    ever = reached.any(axis=0)
    assert ever.any()
    first = np.where(ever, reached.argmax(axis=0) + 1, np.inf)
    assert found["due_age"].tolist() == first.tolist()


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("name", [name for name in SETS if name != "slow decay"])
def test_due_dates_ask_for_frequencies(name, share):
    """The intervals ask for the frequencies of the relaxed problem, and in all for the budget."""
    sources = SETS[name]
    size = len(sources)
    budget = share * size
    found = dates(sources, 0, seconds=1e6, budget=budget, longest=1e10)
    relaxed = relaxed_problem(sources, budget)
    often = found["interval"].to_numpy() < 1e10  # the others come as seldom as may be
    asked = (1e6 / found["interval"])[often].to_numpy()
    assert asked == pytest.approx(relaxed.frequency[often], rel=1e-6)
    assert (relaxed.frequency[~often] <= 1.001e-4).all()
    assert (relaxed.frequency[often] <= 1 / relaxed.age[often] * (1 + 1e-9)).all()


def test_due_date_adds_interval():
    found = dates(some_sources(9), ages=[0, 1, 2, 3, 4, 5, 6, 7, 800])
    last = NOW.tz_convert("UTC") - pd.to_timedelta(3600.0 * np.r_[0:8, 800], unit="s")
    assert (found["next_fetch"] == last + pd.to_timedelta(found["interval"], unit="s")).all()
    assert (found["overdue"] == (found["next_fetch"] < NOW)).all()
    assert found["overdue"].any()
    assert not found["overdue"].all()


def test_never_due_gets_longest_interval():
    sources = Sources([1.0, 0.0], [1.0, 1.0], [0.5, 0.5])
    found = dates(sources, budget=None, threshold=0.5, longest=7200.0)
    assert np.isinf(found["due_age"][1])
    assert found["interval"].tolist()[1] == 7200


@pytest.mark.parametrize("seconds", [1.0, 2.5, 60.0, 3600.0])
def test_intervals_are_the_nearest_whole_seconds(seconds):
    sources = some_sources(50)
    found = dates(sources, budget=5.3, seconds=seconds, longest=1e9)
    with np.errstate(divide="ignore"):
        exact = np.minimum(seconds / relaxed_problem(sources, 5.3).frequency, 1e9)
    assert (np.abs(found["interval"] - exact) <= 0.5).all()
    assert (found["interval"] >= 1).all()
    low, high = (5.3 / (1 + sign * 0.5 / seconds) for sign in (1, -1))
    assert low <= (seconds / found["interval"])[exact < 1e9].sum() <= high


def test_intervals_last_a_second():
    found = dates(some_sources(3), seconds=0.3, budget=2.9)
    assert found["interval"].min() == 1


def test_dates_are_whole_seconds():
    present = NOW + pd.Timedelta("0.7s")
    found = due_dates(some_sources(3), ["a", "b", "c"], [0, 1, 2], present, seconds=9.0, budget=1.0)
    left = found["interval"] - 9 * np.arange(3)
    assert (found["next_fetch"] == NOW + pd.to_timedelta(left, unit="s")).all()
    assert dates(some_sources(3), seconds=0.5, longest=2.0)["interval"].max() <= 2


def test_one_age_per_source():
    for urls, ages in ((["a"], [1, 1]), (["a", "b"], [1]), (["a"], [1]), (["a"] * 3, [1, 1])):
        with pytest.raises(ValueError, match="ages and urls must have 2 entries"):
            due_dates(some_sources(2), urls, ages, NOW, seconds=1.0, budget=1.0)


def test_unfetched_source_is_overdue():
    found = dates(some_sources(3), ages=[10**12, 1, 1])
    assert found["overdue"].tolist()[0]
    assert found["next_fetch"][0] < NOW


def test_csv_equals_json_lines(tmp_path):
    found = dates(some_sources(5))
    fields = {
        "nutch": ["url", "fetchTime", "fetchInterval"],
        "stormcrawler": ["url", "status", "nextFetchDate"],
    }
    for kind, wanted in fields.items():
        for suffix in ("csv", "jsonl"):
            write_dates(found, kind, tmp_path / f"{kind}.{suffix}")
        table = pd.read_csv(tmp_path / f"{kind}.csv")
        lines = (tmp_path / f"{kind}.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        assert list(table.columns) == wanted
        assert table.to_dict("records") == rows == export(found, kind).to_dict("records")
        column = {"nutch": "fetchTime", "stormcrawler": "nextFetchDate"}[kind]
        assert (pd.to_datetime(table[column]) == found["next_fetch"]).all()
    assert set(pd.read_csv(tmp_path / "stormcrawler.csv")["status"]) == {"FETCHED"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": None}, "budget or threshold"),
        ({"threshold": 1.0}, "budget or threshold"),
        ({"seconds": 0.0}, "seconds"),
        ({"longest": 1.0}, "longest"),
        ({"longest": 1e18}, "longest"),
        ({"ages": [1, 2, -1]}, "ages"),
    ],
)
def test_what_is_wrong_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        dates(some_sources(3), **options)


def test_unknown_dates_are_refused(tmp_path):
    with pytest.raises(ValueError, match="time zone"):
        due_dates(some_sources(1), ["u"], [1], NOW.tz_localize(None), seconds=1.0, budget=1.0)
    found = dates(some_sources(3))
    with pytest.raises(ValueError, match="kind"):
        export(found, "heritrix")
    with pytest.raises(ValueError, match=r"\.csv or \.jsonl"):
        write_dates(found, "nutch", tmp_path / "dates.xml")
