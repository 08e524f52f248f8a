"""The server of the built book: only files of its folder, with the site's policy."""

import http.client
import threading
from functools import partial
from http.server import ThreadingHTTPServer

import pytest

from scorecard.commands import SiteHandler
from scorecard.pages.theme import POLICY


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Serve a folder, and return a function that asks for a path and gives the answer."""
    monkeypatch.setattr(SiteHandler, "log_message", lambda *_: None)
    site = tmp_path / "site"
    (site / "part").mkdir(parents=True)
    (site / "index.html").write_text("front")
    (site / "part/page.html").write_text("page")
    (site / POLICY).write_text("default-src 'self'\n")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SiteHandler, directory=site)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()

        def answer(path):
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
            connection._validate_path = lambda url: None  # a client that asks for anything
            connection.request("GET", path)
            reply = connection.getresponse()
            return reply.status, reply.read(), reply.headers

        yield answer
        server.shutdown()
        thread.join()


def test_pages_come_with_policy(ask):
    for path, content in {"/": b"front", "/part/page.html?v=1": b"page"}.items():
        status, body, headers = ask(path)
        assert (status, body) == (200, content)
        assert headers["Content-Security-Policy"] == "default-src 'self'"


def test_links_within_the_folder_are_followed(ask, tmp_path):
    (tmp_path / "site/other.html").symlink_to(tmp_path / "site/part/page.html")
    assert ask("/other.html")[:2] == (200, b"page")


@pytest.mark.parametrize(
    ("link", "path"),
    [("out.html", "/out.html"), ("out", "/out/secret.html"), ("part/index.html", "/part/")],
)
def test_links_out_of_the_folder_are_not(ask, tmp_path, link, path):
    (tmp_path / "secret.html").write_text("secret")
    target = tmp_path if link == "out" else tmp_path / "secret.html"
    (tmp_path / "site" / link).symlink_to(target)
    status, body, _ = ask(path)
    assert status == 404
    assert body != b"secret"


@pytest.mark.parametrize("path", ["/%00", "/part/%00page.html", "/part%00/", "/loop"])
def test_names_of_no_file_are_answered(ask, tmp_path, path):
    (tmp_path / "site/loop").symlink_to(tmp_path / "site/loop")
    assert ask(path)[0] in {400, 404}


def test_traversal_finds_nothing(ask, tmp_path):
    (tmp_path / "secret.html").write_text("secret")
    for path in ("/../secret.html", "/%2e%2e/secret.html", "/part/..%2f..%2fsecret.html"):
        assert ask(path)[0] == 404
