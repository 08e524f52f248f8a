"""The demonstration in real time: a few seconds of it, and its arithmetic."""

import json
import subprocess
import sys
import threading
import time
import urllib.request

import numpy as np
import pytest

from analysis.crawl.__main__ import main
from analysis.crawl.local import live
from analysis.crawl.local.live import Clock, Demonstration, batch_ratio, expected_value, report
from analysis.crawl.store import Store
from analysis.ephemeral import simulate


def test_ratio_interval_has_coverage():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        other = rng.gamma(2.0, 1.0, 200)
        one = 1.5 * rng.gamma(2.0, 1.0, 200)
        _, low, high = batch_ratio(one, other)
        covered += low <= 1.5 <= high
    assert abs(covered / 400 - 0.95) < 0.035


@pytest.mark.parametrize("place", [slice(0, 0), slice(39, 40), slice(0, 4), slice(0, 40)])
def test_no_ratio_without_data(place):
    """All reward of round robin in the last of 40 epochs, in none, or the same in all."""
    other = np.zeros(40)
    other[place] = 2.0
    assert batch_ratio(np.ones(40), other) is None
    state = {"rows": [], "ratio": None}
    assert report(state) == [
        "index : round robin: no ratio, too little was found in too few epochs"
    ]


def test_clock_starts_when_asked():
    clock = Clock(epoch=0.5)
    time.sleep(0.01)
    first = clock()
    time.sleep(0.05)
    assert first == live.START
    assert clock() - first >= 0.1 * live.SECONDS


def watched(given, pages, capsys):
    """Crawl while a thread collects what the page shows."""

    def watch():
        while not pages or not pages[-1]["over"]:
            time.sleep(0.05)
            found = capsys.readouterr().out.partition("page: ")[2].strip()
            address.extend([found] if found else [])
            if address:
                with urllib.request.urlopen(address[0] + "state.json", timeout=5) as answer:
                    pages.append(json.load(answer))

    address = []
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    state = live.live(given)
    watcher.join(10)
    return state


def test_unfinished_crawl_has_status(tmp_path):
    """As on a machine that is too busy to fetch anything in time."""
    Store(tmp_path).close()
    assert "none has ended yet" in live.status(tmp_path)["status"]


def test_folder_without_crawl_has_no_status(tmp_path):
    assert live.status(tmp_path) == {}


@pytest.mark.sampled
@pytest.mark.process
def test_short_crawl_updates_page(capsys):
    """Every policy crawls every epoch or counts it as fallen out; the page shows what is said."""
    for seconds in (4.0, 40.0, 400.0):  # a busy machine may not end an epoch in the first
        pages, given = [], Demonstration(sources=6, budget=2, epoch=0.2, seconds=seconds, port=0)
        state = watched(given, pages, capsys)
        if "status" in state and state["epoch"]:
            break
    assert state["over"]
    assert 0 < state["epoch"] <= state["epochs"] == given.epochs
    for row in state["rows"]:
        assert row["fetches"] >= 2 * (state["epoch"] - row["skipped"]) - 2  # robots.txt is read
        assert row["failed"] == 0
        # It ends where the slowest is, which on a busy machine has found nothing yet.
        assert 0 <= row["curve"][-1] <= row["value"] + 1e-3
        assert np.all(np.diff(row["curve"]) >= 0)
    assert sum(row["value"] for row in state["rows"]) > 0
    assert {page["over"] for page in pages} == {False, True}
    said = "\n".join(report(state))
    assert "found" in said
    assert "status of the crawl with index, rates known:" in said
    assert "Last epochs" in said


def test_missed_epochs_are_excluded():
    given = Demonstration()
    every = np.ones(60, dtype=bool)
    run = simulate(given.feeds(), "whittle", 4, 60, initial_state="fresh")
    assert expected_value(given, "whittle", every) == pytest.approx(run.reward.sum(), rel=1e-12)
    half = np.arange(60) % 2 == 0
    fewer = expected_value(given, "whittle", half)
    assert 0.5 * run.reward.sum() < fewer < run.reward.sum()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "40"], "budget must be an integer in [1, 39], got 40"),
        (["--sources", "3"], "sources must be an integer in [4, 200], got 3"),
        (["--epoch", "0"], "epoch must be a number in [0.1, 60], got 0.0"),
        (["--seconds", "1e9"], "seconds must be a number in [2, 600]"),
        (["--port", "70000"], "port must be an integer in [0, 65535]"),
    ],
)
def test_a_wrong_argument_is_one_sentence(capsys, arguments, message):
    assert main(["live", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_taken_port_is_reported(capsys):
    with live._Page(0) as page:
        port = page.address.rpartition(":")[2].strip("/")
        assert main(["live", "--port", port]) == 1
    assert f"error: port {port}: Address already in use" in capsys.readouterr().err


def test_the_page_loads_nothing_from_elsewhere():
    html = (live.files("analysis.crawl.local") / "live.html").read_text(encoding="utf-8")
    urls = [word for word in html.split('"') if "://" in word]
    assert urls == ["http://www.w3.org/2000/svg"]  # a name, not an address


def test_help_needs_no_crawler():
    command = [sys.executable, "-m", "analysis.crawl", "live", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--seconds" in done.stdout
