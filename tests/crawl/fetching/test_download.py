"""Scrapy's download handler with its bounds: addresses, headers, the end of a crawl."""

import signal
import socket
import subprocess
import threading
import time

import pytest

from analysis.crawl.local.transport import child, crawl_over_http, write_sources
from analysis.crawl.store import read_log
from tests.crawl.misbehaving import Answer, Misbehaving, Way, one_an_epoch
from tests.crawl.support import some_sources

pytestmark = pytest.mark.process

#: Every name leads to this machine, as after a change of its address between two look-ups.
REBINDING = """
import socket
real = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: real("127.0.0.1", *rest, **more)
"""


def headers_without_end(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(200_000):
        handler.wfile.write(b"x-%d: %s\r\n" % (number, b"x" * 100))


def informational_replies_without_end(handler):
    for _ in range(1_000_000):
        handler.wfile.write(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n")


def status_line_without_end(handler):
    handler.wfile.write(b"HTTP/1.1 200 ")
    for _ in range(1_000):
        handler.wfile.write(b"x" * 65_536)


def settings_of(folder, urls, **more):
    folder.mkdir()
    write_sources(folder / "s.csv", some_sources(len(urls)), urls)
    return {
        "CRAWL_SOURCES": str(folder / "s.csv"),
        "CRAWL_BUDGET": len(urls),
        "CRAWL_PERIOD": 3,
        "CRAWL_EPOCHS": 2,
        "CRAWL_POLICY": "analysis.crawl.policies.round_robin",
        "JOBDIR": str(folder / "state"),
        "DOWNLOAD_TIMEOUT": 20,
        "LOG_FILE": str(folder / "log"),
        **more,
    }


def test_hostile_connections_are_closed(tmp_path, monkeypatch):
    """Two crawls: one of names that lead to this machine, one of hosts that send no body."""
    (tmp_path / "sitecustomize.py").write_text(REBINDING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ways = {
        "inner": Way(one_an_epoch),
        "headers": Way(lambda request: Answer(act=headers_without_end)),
        "hints": Way(lambda request: Answer(act=informational_replies_without_end)),
        "status": Way(lambda request: Answer(act=status_line_without_end)),
    }
    with Misbehaving(ways) as site:
        port = site.ports["inner"]
        names = [f"http://{name}:{port}/feed" for name in ("rebound.example", "0x7f.1", "127.1")]
        outside = settings_of(
            tmp_path / "names", names, CRAWL_LOCAL_ADDRESSES=False, DNSCACHE_ENABLED=False,
            DOWNLOADER_MIDDLEWARES={},
        )  # fmt: skip
        hostile = [url for name, url in site.urls.items() if name != "inner"]
        crawl_over_http([outside, settings_of(tmp_path / "bodies", hostile)], timeout=200)
    assert ways["inner"].requests == []
    assert set(read_log(tmp_path / "names" / "state")["kind"]) == {"failed"}
    said = "".join(path.read_text() for path in tmp_path.glob("*/log"))
    assert said.count("is not on the public internet") >= 3
    log = read_log(tmp_path / "bodies" / "state")
    assert set(log["kind"]) == {"failed"}
    assert "bytes of headers from" in said
    assert len(log) >= 3


@pytest.mark.sampled
def test_interrupt_ends_silent_crawl(tmp_path):
    """Long before the time-out; what was under way is asked again, and not settled as failed."""
    listener = socket.create_server(("127.0.0.1", 0))
    accepted, connections = threading.Event(), []

    def accept():
        while True:
            connections.append(listener.accept())
            accepted.set()

    threading.Thread(target=accept, daemon=True).start()
    urls = [f"http://127.0.0.1:{listener.getsockname()[1]}/{i}" for i in range(3)]
    settings = settings_of(tmp_path / "a", urls, DOWNLOAD_TIMEOUT=3600, CRAWL_EPOCHS=None)
    with child([settings]) as process:
        assert accepted.wait(200)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert read_log(tmp_path / "a" / "state").empty
