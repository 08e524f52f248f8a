"""Dates for crawlers that keep a date a source."""

import json

import numpy as np
import pandas as pd
import pytest

from analysis.crawl import due_dates, export, write_dates
from analysis.ephemeral import Sources, relaxed_problem, whittle_index_at_age
from tests.crawl.support import some_sources

NOW = pd.Timestamp("2026-03-01 12:00:00", tz="Europe/Paris")


def dates(sources, ages=1, **options):
    urls = [f"http://127.0.0.1/{i}" for i in range(len(sources))]
    given = {"seconds": 3600.0, "budget": 2.0} | options
    return due_dates(sources, urls, np.broadcast_to(ages, len(sources)), NOW, **given)


def test_a_source_is_due_at_the_first_age_whose_index_reaches_the_threshold():
    sources = some_sources(9)
    found = dates(sources)
    theta = relaxed_problem(sources, 2.0).subsidy
    ages = np.arange(1, 200)[:, None] * np.ones(9)
    reached = whittle_index_at_age(sources, ages) >= theta
    ever = reached.any(axis=0)
    assert ever.any()
    first = np.where(ever, reached.argmax(axis=0) + 1, np.inf)
    assert found["due_age"].tolist() == first.tolist()


def test_the_date_is_that_of_the_last_fetch_and_the_interval():
    found = dates(some_sources(9), ages=[0, 1, 2, 3, 4, 5, 6, 7, 800])
    last = NOW.tz_convert("UTC") - pd.to_timedelta(3600.0 * np.r_[0:8, 800], unit="s")
    assert (found["next_fetch"] == last + pd.to_timedelta(found["interval"], unit="s")).all()
    assert (found["overdue"] == (found["next_fetch"] < NOW)).all()
    assert found["overdue"].any()
    assert not found["overdue"].all()


def test_who_is_never_due_gets_the_longest_interval():
    sources = Sources([1.0, 0.0], [1.0, 1.0], [0.5, 0.5])
    found = dates(sources, budget=None, threshold=0.5, longest=7200.0)
    assert np.isinf(found["due_age"][1])
    assert found["interval"].tolist()[1] == 7200


def test_the_dates_ask_for_the_budget_on_average():
    sources = some_sources(200)
    found = dates(sources, budget=20.0)
    assert (3600.0 / found["interval"]).sum() == pytest.approx(20.0, abs=1.0)


def test_csv_and_json_lines_hold_the_same_and_parse(tmp_path):
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
        ({"ages": [1, 2, -1]}, "ages"),
    ],
)
def test_what_is_wrong_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        dates(some_sources(3), **options)


def test_a_date_without_zone_and_an_unknown_format_are_refused(tmp_path):
    with pytest.raises(ValueError, match="time zone"):
        due_dates(some_sources(1), ["u"], [1], NOW.tz_localize(None), seconds=1.0, budget=1.0)
    found = dates(some_sources(3))
    with pytest.raises(ValueError, match="kind"):
        export(found, "heritrix")
    with pytest.raises(ValueError, match=r"\.csv or \.jsonl"):
        write_dates(found, "nutch", tmp_path / "dates.xml")
