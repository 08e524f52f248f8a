"""Dates as feeds write them, against dates that were read by hand."""

from datetime import UTC, datetime

import pytest

from analysis.crawl.feeds import dates
from analysis.crawl.feeds.dates import MOST_FAILURES, unix_times

NOON = "2026-06-15T10:00:00"  # of which all dates below are
DATES = [
    "Mon, 15 Jun 2026 10:00:00 +0000",
    "Mon, 15 Jun 2026 10:00:00 GMT",
    "15 Jun 26 10:00 UT",
    "Mon, 15 Jun 2026 10:00:00",
    "Mon, 15 Jun 2026, 10:00:00 Z",
    "Mon, 15 Jun 2026 05:00:00 EST",
    "Mon, 15 Jun 2026 12:00:00 CEST",
    "Mon, 15 Jun 2026 11:00:00 CET",
    "Mon, 15 Jun 2026 11:00:00 BST",
    "Mon, 15 Jun 2026 15:30:00 IST",
    "Mon, 15 Jun 2026 19:00:00 JST",
    "Mon, 15 Jun 2026 20:00:00 AEST",
    "Mon, 15 Jun 2026 13:00:00 MSK",
    "Mon, 15 Jun 2026 12:00:00 UTC+2",
    "Mon, 15 Jun 2026 12:00:00 GMT+0200",
    "Mon, 15 Jun 2026 12:00:00 Europe/Paris",
    "Mon, 15 Jun 2026 06:00:00 America/New_York",
    "Mon Jun 15 2026 12:00:00 GMT+0200 (Central European Summer Time)",
    "Mon Jun 15 10:00:00 2026",
    "Monday, June 15, 2026 - 10:00am",
    "Thurs, 15 Jun 2026 10:00:00 +0000",
    "2026-06-15T10:00:00Z",
    "2026-06-15T10:00:00.000Z",
    "2026-06-15 12:00:00 +0200",
    "2026-06-15T12:00:00+02:00",
    "2026-06-15T12:00:00+02:00Z",
    "20260615T100000Z",
    "1781517600",
    "1781517600000",
    "lun., 15 juin 2026 12:00:00 +0200",
    "Mo., 15. Juni 2026 12:00:00 +0200",
    "lun, 15 giu 2026 12:00:00 +0200",
    "seg, 15 junho 2026 07:00:00 -0300",
    "pon, 15 cze 2026 12:00:00 +0200",
    "Пн, 15 июн 2026 13:00:00 +0300",
    "Δευ, 15 Ιούν 2026 13:00:00 EEST",
    "2026年6月15日 10:00",
]


@pytest.mark.parametrize("text", DATES)
def test_date_is_read(text):
    (seconds,) = unix_times([f" {text}\n"])
    assert datetime.fromtimestamp(seconds, UTC).isoformat() == f"{NOON}+00:00"


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "3 hours ago", "June 2026", "2026", "12", "10:00", "Monday", "0000-00-00",
     "2026-02-30", "Mon, 15 Xyz 2026 10:00:00 GMT", "1" * 500, "Mon, 15 Jun 2026 No/Where"],
)  # fmt: skip
def test_incomplete_date_is_none(text):
    assert unix_times([text]) == [None]


def test_texts_that_are_none_cost_little(monkeypatch):
    """A listing of them is given up after some; dates of common forms are read all the same."""
    asked = []
    monkeypatch.setattr(dates, "_other", asked.append)
    texts = [f"{day} of Floréal 2026" for day in range(300)]
    assert unix_times([*texts, "2026-06-15"])[-1] is not None
    assert len(asked) == MOST_FAILURES
