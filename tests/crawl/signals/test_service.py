"""A crawl over HTTP with hubs: subscriptions, deliveries, hostile requests, kill and restart."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analysis.crawl.progress import feeds_page, feeds_prometheus, feeds_text, read_feeds
from tests.crawl.signals.hub import HubSite, free_port

KINDS = {
    "a": "honest", "b-header": "honest", "c": "refusing", "d": "silent", "e": "broken", "f": "mute",
}  # fmt: skip


class Crawl:
    """The command ``run`` on a site with hubs, with a callback on this machine."""

    def __init__(self, folder, site, *more, every="2s"):
        self.folder, self.port = folder, free_port()
        self.callback = f"http://127.0.0.1:{self.port}/feeds"
        (folder / "feeds.txt").write_text("\n".join(site.urls()))
        self.line = [
            sys.executable, "-m", "analysis.crawl", "run", "feeds.txt", "--local", "--every", every,
            "--callback", self.callback, "--listen", f"127.0.0.1:{self.port}", "--log", "log",
            *more,
        ]  # fmt: skip

    def start(self):
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
        self.process = subprocess.Popen(
            self.line, cwd=self.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip

    def until(self, condition, seconds=300):
        ends = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None, self.process.communicate()[0]
            if time.monotonic() > ends:
                self.process.kill()
                raise AssertionError(
                    self.process.communicate()[0] + (self.folder / "log").read_text()[-3000:]
                )
            time.sleep(0.02)

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        return self.process.communicate(timeout=300)[0]

    @property
    def items(self):
        path = self.folder / "items.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    @property
    def state(self):
        return self.folder / "items.state"

    def hubs(self):
        return {hub["hub"].rpartition("/")[2]: hub for hub in read_feeds(self.state)["hubs"]}


@pytest.fixture
def crawl(tmp_path):
    with HubSite(KINDS) as site:
        now = time.time()
        for name in KINDS:
            for number in range(3):
                site.publish(name, number, now - 86_400 * (3 - number))
        crawl = Crawl(tmp_path, site)
        crawl.start()
        yield crawl, site
        if crawl.process.poll() is None:
            crawl.process.kill()
            crawl.process.communicate()


@pytest.mark.sampled
@pytest.mark.process
def test_hubs_deliver_refuse_and_are_left(crawl):
    """Each kind of hub, a delivery without a fetch, its label, kill, restart, and the end."""
    crawl, site = crawl
    crawl.until(lambda: {"a", "b-header", "f"} <= set(site.subscribers))
    fetched = site.requests.count("/feed/a")
    item = site.publish("a", 3, time.time())
    assert site.send("a", [item]) == 202
    crawl.until(lambda: any(item["id"] == "a-3" for item in crawl.items))
    pushed = next(item for item in crawl.items if item["id"] == "a-3")
    assert pushed["hub"] == site.hub("a")
    assert site.requests.count("/feed/a") - fetched <= 1
    assert site.send("b-header", [site.publish("b-header", 9, time.time(), listed=False)]) == 202
    crawl.until(
        lambda: crawl.hubs()["honest"]["true"] == 1 and crawl.hubs()["honest"]["false"] == 1
    )
    crawl.stop(signal.SIGKILL)
    before = crawl.hubs()["honest"]
    crawl.start()
    item = site.publish("a", 4, time.time())
    crawl.until(lambda: site.send("a", [item]) == 202)  # the subscription goes on
    after = crawl.hubs()["honest"]
    assert after["precision"] == pytest.approx(before["precision"], abs=1e-3)
    assert after["pings"] >= before["pings"]
    crawl.until(lambda: any(item["id"] == "a-4" for item in crawl.items))
    states = {kind: list(hub["subscriptions"]) for kind, hub in crawl.hubs().items()}
    assert states == {
        "honest": ["active"], "refusing": ["refused"], "silent": ["asked"],
        "broken": ["no answer"], "mute": ["active"],
    }  # fmt: skip
    output = crawl.stop()
    assert sorted(site.left) == ["a", "b-header", "f"], output
    ids = [(item["source"], item["id"]) for item in crawl.items]
    assert len(ids) == len(set(ids)) == 3 * len(KINDS) + 3
    whole = read_feeds(crawl.state)
    assert "honest" in feeds_text(whole)
    assert "410" in feeds_page(whole)
    assert 'crawl_hub_true_total{hub="' in feeds_prometheus(whole)
