"""``python -m analysis.crawl live``: crawlers that run side by side in real time, shown on a page.

A site of random feeds is served on this machine with a fast clock: an epoch of the model takes a
fraction of a second. Scrapy crawls it over HTTP with each policy, all in one child process. The
page and a line on the terminal show the value found so far, the ratio of index to round robin with
an interval from batches of epochs, and the model's prediction. On a busy machine epochs are
skipped; the prediction is for the epochs that each crawler made.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.checks import check_integer, check_number, check_whole, set_fields
from analysis.crawl.clock import START
from analysis.crawl.local.site import ADDRESS, FeedServer, random_site
from analysis.crawl.local.transport import child, write_sources
from analysis.crawl.progress import Progress
from analysis.crawl.store import read_log
from analysis.ephemeral.policies import Observation, Policy, named_policy
from analysis.ephemeral.simulation import simulate
from analysis.ephemeral.sources import Sources
from analysis.results import Estimate

POLICIES = {
    "index, rates known": "index",
    "index, learned while crawling": "learned_index",
    "round robin": "round_robin",
}
SECONDS = 3600
"""An epoch in seconds of the site's clock."""
BATCHES = 10
GRACE = 180.0
"""Seconds that the crawlers may take to start, and to end after the last epoch."""


@dataclass(frozen=True)
class Demonstration:
    """Settings of the demonstration.

    Parameters
    ----------
    sources : int
        Feeds of the site, from 4 to 200.
    budget : int or whole float
        Fetches of each crawler in an epoch, below `sources`.
    epoch : float
        Seconds of real time that an epoch takes, from 0.1 to 60.
    seconds : float
        Length of the demonstration, from 2 to 600.
    port : int
        Port of the page on 127.0.0.1; 0 for any free port.
    seed : int
        Seed of the site.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """

    sources: int = 40
    budget: int = 4
    epoch: float = 0.5
    seconds: float = 60.0
    port: int = 8001
    seed: int = 0

    def __post_init__(self) -> None:
        sources = check_integer("sources", self.sources, 4, 200)
        epoch = check_number("epoch", self.epoch, 0.1, 60)
        set_fields(
            self,
            sources=sources,
            budget=check_whole("budget", self.budget, 1, sources - 1),
            epoch=epoch,
            seconds=check_number("seconds", self.seconds, max(2.0, 4 * epoch), 600),
            port=check_integer("port", self.port, 0, 65535),
            seed=check_integer("seed", self.seed, 0),
        )

    @property
    def epochs(self) -> int:
        """Epochs that each crawler makes."""
        return int(self.seconds / self.epoch)

    def feeds(self) -> Sources:
        """Draw the sources; their rates differ by up to a factor of 20."""
        rng = np.random.default_rng([self.seed, self.sources])
        rate = np.exp(rng.uniform(np.log(0.1), np.log(2.0), self.sources))
        draw = rng.uniform
        return Sources(rate, draw(0.2, 2.0, self.sources), draw(0.05, 0.5, self.sources))


class Clock:
    """The site's clock, on which `SECONDS` pass in `epoch` real seconds from the first request."""

    def __init__(self, epoch: float) -> None:
        self._epoch = epoch
        self._began: float | None = None

    def __call__(self) -> float:
        """Return the site's Unix time."""
        now = time.monotonic()
        if self._began is None:
            self._began = now
        return START + (now - self._began) / self._epoch * SECONDS


def live(demonstration: Demonstration) -> dict[str, Any]:
    """Run the demonstration; return what the page shows at its end.

    Raises
    ------
    RuntimeError
        If the crawlers fail.
    OSError
        If the port is taken.
    """
    sources = demonstration.feeds()
    rng = np.random.default_rng([demonstration.seed, 1])
    site = random_site(sources, demonstration.epochs + 1, rng, seconds=SECONDS)
    deadline = time.monotonic() + demonstration.seconds + 2 * GRACE
    with (
        tempfile.TemporaryDirectory() as around,
        _Page(demonstration.port) as page,
        FeedServer(site, Clock(demonstration.epoch)) as server,
    ):
        folder = Path(around)
        write_sources(folder / "sources.csv", sources, server.urls())
        print(f"page: {page.address}", flush=True)
        crawls = [_settings(demonstration, folder, policy) for policy in POLICIES.values()]
        with child(crawls, around) as process:
            try:
                while process.poll() is None and time.monotonic() < deadline:
                    page.state = summary(demonstration, folder)
                    _progress(page.state)
                    time.sleep(min(0.5, demonstration.seconds / 10))
            finally:
                process.kill()
            errors = process.stderr.read() if process.stderr else ""
        page.state = summary(demonstration, folder) | {"over": True}
        _progress(page.state)
        print(file=sys.stderr)
        if process.returncode != 0:
            raise RuntimeError(f"the crawlers ended with {process.returncode}: {errors[-1000:]}")
        # So that the page can fetch the final state.
        time.sleep(min(1.0, demonstration.seconds / 10))
        return page.state | status(folder / next(iter(POLICIES.values())))


def status(folder: Path) -> dict[str, str]:
    """Return the status of a crawl; none before a busy machine has begun it."""
    try:
        return {"status": Progress.read(folder).text()}
    except ValueError:
        return {}


def summary(demonstration: Demonstration, folder: Path) -> dict[str, Any]:
    """Return what the page shows, from the logs of the crawls."""
    results, rows = {}, []
    for name, policy in POLICIES.items():
        log = read_log(folder / policy)
        log = log[log["epoch"] < demonstration.epochs]  # not what ended after the last epoch
        epochs = log["epoch"].to_numpy(dtype=np.intp)
        reward = np.bincount(epochs, log["reward"], demonstration.epochs).astype(np.float64)
        reached = int(epochs.max()) + 1 if len(log) else 0
        results[policy] = (reward, reached, np.bincount(epochs, minlength=demonstration.epochs) > 0)
        counts = {"fetches": len(log), "failed": int((log["kind"] != "found").sum())}
        counts["unchanged"] = int((log["status"] == 304).sum())
        skipped = reached - log["epoch"].nunique()
        rows.append({"name": name, "value": float(reward.sum()), "skipped": skipped, **counts})
    epoch = min(reached for _, reached, _ in results.values())
    places = np.unique(np.linspace(0, epoch, 120).astype(int))
    for row, (reward, _, _) in zip(rows, results.values(), strict=True):
        total = np.pad(reward.cumsum(), (1, 0))
        row["curve"] = [round(float(value), 3) for value in total[places]]
    state = {
        "epoch": epoch,
        "epochs": demonstration.epochs,
        "places": places.tolist(),
        "rows": rows,
    }
    state |= {
        "sources": demonstration.sources,
        "budget": demonstration.budget,
        "seconds": demonstration.epoch,
    }
    state |= {"over": False, "ratio": None, "predicted": None}
    if epoch >= 2 * BATCHES:
        ratio = batch_ratio(results["index"][0][:epoch], results["round_robin"][0][:epoch])
        expected = [
            expected_value(demonstration, policy, results[name][2][:epoch])
            for name, policy in {"index": "whittle", "round_robin": "round-robin"}.items()
        ]
        state |= {"ratio": ratio, "predicted": expected[0] / expected[1]}
    return state


@dataclass(frozen=True)
class Pausing:
    """A policy that fetches nothing in epochs that were skipped."""

    policy: Policy
    made: NDArray[np.bool_]

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> NDArray[np.int64]:
        """Return the policy's choice, or nothing."""
        if not self.made[observation.epoch]:
            return np.empty(0, dtype=np.int64)
        return self.policy.select(observation, budget, rng)


def expected_value(demonstration: Demonstration, policy: str, fetched: NDArray[np.bool_]) -> float:
    """Return the expected value of a built-in policy in the epochs `made`, a mask of shape (T,)."""
    sources = demonstration.feeds()
    pausing = Pausing(named_policy(policy, sources), fetched)
    run = simulate(sources, pausing, demonstration.budget, fetched.size, initial_state="fresh")
    return float(run.reward.sum())


def batch_ratio(
    first: NDArray[np.float64], second: NDArray[np.float64], batches: int = BATCHES
) -> tuple[float, float, float] | None:
    """Return the ratio of two sums with a 95% interval, from batches of epochs by the jackknife.

    `one` and `other` are the values found at each epoch, shape (T,); `batches` is from 2 to T.
    Returns None if one batch has all of the second sum, if that sum is 0, or if the batches do not
    differ, as on a machine too busy to crawl.
    """
    batches = check_integer("batches", batches, 2, first.size)
    edges = np.linspace(0, first.size, batches + 1).astype(int)[:-1]
    sums = np.add.reduceat(first, edges), np.add.reduceat(second, edges)
    remaining = second.sum() - sums[1]
    if not (remaining > 1e-12 * second.sum()).all():
        return None
    ratio = float(first.sum() / second.sum())
    without = (first.sum() - sums[0]) / remaining
    if np.ptp(without) == 0:
        return None
    return ratio, *Estimate.of(batches * ratio - (batches - 1) * without).interval


def _settings(demonstration: Demonstration, folder: Path, policy: str) -> dict[str, Any]:
    return {
        "CRAWL_SOURCES": str(folder / "sources.csv"),
        "CRAWL_BUDGET": demonstration.budget,
        "CRAWL_EPOCHS": demonstration.epochs,
        "CRAWL_PERIOD": demonstration.epoch,
        "CRAWL_POLICY": f"analysis.crawl.policies.{policy}",
        "JOBDIR": str(folder / policy),
        "CLOSESPIDER_TIMEOUT": demonstration.seconds + GRACE,
    }


def _progress(state: dict[str, Any]) -> None:
    """Write one line: over the last one on a terminal, in a log one for every tenth of the time."""
    values = ", ".join(f"{row['name']} {row['value']:.1f}" for row in state["rows"])
    ratio = ""
    if state["ratio"]:
        middle, low, high = state["ratio"]
        interval = f"{middle:.2f} ({low:.2f} to {high:.2f}), predicted {state['predicted']:.2f}"
        ratio = f"; index : round robin {interval}"
    line = f"epoch {state['epoch']} of {state['epochs']}; found: {values}{ratio}"
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
    elif state["over"] or state["epoch"] % max(1, state["epochs"] // 10) == 0:
        print(line, file=sys.stderr, flush=True)


class _Page:
    """HTTP server of the page and of its data, on this machine only."""

    def __init__(self, port: int) -> None:
        self.state: dict[str, Any] = {"rows": [], "epoch": 0, "over": False}
        html = (files("analysis.crawl.local") / "live.html").read_bytes()
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answers = {
                    "/": ("text/html; charset=utf-8", lambda: html),
                    "/state.json": ("application/json", lambda: json.dumps(page.state).encode()),
                }
                kind, content = answers.get(self.path, ("", lambda: b""))
                body = content()
                self.send_response(200 if kind else 404)
                self.send_header("content-type", kind or "text/plain")
                self.send_header("content-length", str(len(body)))
                self.send_header("cache-control", "no-store")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Write nothing: the terminal shows the crawl."""

        self._server = ThreadingHTTPServer((ADDRESS, port), Handler)
        self._server.daemon_threads = True
        self.address = f"http://{ADDRESS}:{self._server.server_port}/"

    def __enter__(self) -> _Page:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def report(state: dict[str, Any]) -> Sequence[str]:
    """Return the results of the demonstration as lines of text."""
    lines = [
        f"{row['name']}: found {row['value']:.1f} in {row['fetches']} fetches "
        f"({row['unchanged']} unchanged, {row['failed']} failed, {row['skipped']} epochs fell out)"
        for row in state["rows"]
    ]
    if state["ratio"]:
        middle, low, high = state["ratio"]
        verdict = "inside" if low <= state["predicted"] <= high else "outside"
        lines.append(
            f"index : round robin {middle:.3f}, 95% interval {low:.3f} to {high:.3f}; "
            f"predicted {state['predicted']:.3f}, {verdict}"
        )
    else:
        lines.append("index : round robin: no ratio, too little was found in too few epochs")
    if "status" in state:
        lines += ["", f"status of the crawl with {next(iter(POLICIES))}:", state["status"]]
    return lines
