"""The quick-profile book, built once where `make book PROFILE=quick` builds it, and its parts."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from functools import cached_property, partial
from html.parser import HTMLParser
from pathlib import Path

import filelock
import pytest
from bs4 import BeautifulSoup

from scorecard.commands import SiteHandler
from scorecard.files import BUILD, ROOT, build_folder
from scorecard.publishing.pdf import CHROMIUM, CHROMIUM_OPTIONS
from tests.support import sample

#: Kinds of tests by the fixtures that they need: what builds the book, what opens a browser.
KINDS = {"site": "book", "browser": "browser"}


def _is_rerun(item):
    """Whether a test reruns a page at one of its points."""
    chosen = getattr(item, "callspec", None)
    return chosen is not None and {"page", "number"} <= chosen.params.keys()


def _point(item):
    return item.callspec.params["page"], item.callspec.params["number"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark the tests beside this file by what they need, and keep a sample of the reruns.

    The sample is of a quarter of the pages, others at each commit, at the first of their points;
    with WHOLE set, or where pages are named (``-k PAGE``), all points are tried.
    """
    if not config.option.keyword and not os.environ.get("WHOLE"):
        pages = {item.callspec.params["page"] for item in items if _is_rerun(item)}
        chosen = {(page, 0) for page in sample(pages, len(pages) // 4)}
        left_out = [item for item in items if _is_rerun(item) and _point(item) not in chosen]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not _is_rerun(item) or _point(item) in chosen]
    for item in items:
        if item.path.parent == Path(__file__).parent and not item.get_closest_marker("rerun"):
            for fixture in KINDS.keys() & set(getattr(item, "fixturenames", ())):
                item.add_marker(KINDS[fixture])


class Page(HTMLParser):
    """One HTML page: its elements with their attributes, ids, inline scripts and styles."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self._inside = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag if tag in {"script", "style"} else self._inside
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag == self._inside else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside:
            (self.scripts if self._inside == "script" else self.styles).append(data)

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def soup(self) -> BeautifulSoup:
        """The page to be asked by selectors: parsed once, and not to be changed."""
        return BeautifulSoup(self.text, "lxml")

    @cached_property
    def ids(self) -> set[str]:
        return {
            attributes[name]
            for _, attributes in self.elements
            for name in ("id", "name")
            if attributes.get(name)
        }

    def all(self, *tags: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.elements if tag in tags]


class Site:
    """A built book."""

    def __init__(self, build: Path) -> None:
        self.build = build
        self.html = build / "html"

    @cached_property
    def pages(self) -> dict[str, Page]:
        """Every page by its place in the site; what the theme leaves in _static is none."""
        paths = sorted(self.html.rglob("*.html"))
        inside = [path.relative_to(self.html) for path in paths]
        return {p.as_posix(): Page(self.html / p) for p in inside if p.parts[0] != "_static"}

    @cached_property
    def figures(self) -> list[dict[str, str]]:
        """What `figures.json` says."""
        return json.loads((self.html / "figures.json").read_text(encoding="utf-8"))

    @cached_property
    def tables(self) -> list[dict[str, str]]:
        """What `tables.json` says."""
        return json.loads((self.html / "tables.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def site() -> Site:
    """Build the book with the quick profile; only what has changed runs again."""
    BUILD.mkdir(parents=True, exist_ok=True)
    run, built = os.environ.get("PYTEST_XDIST_TESTRUNUID"), BUILD / ".tests.built"
    with filelock.FileLock(BUILD / ".tests.lock"):  # the processes of a test run build it once
        if run is None or not built.exists() or built.read_text() != run:
            built.unlink(missing_ok=True)
            done = subprocess.run(
                [sys.executable, "-m", "scorecard", "book", "--profile", "quick"],
                cwd=ROOT,
                capture_output=True,
                text=True,
            )
            if done.returncode != 0:
                output = (done.stdout + done.stderr)[-8000:]
                pytest.fail(f"the quick book was not built:\n{output}")
            built.write_text(run or "")
    return Site(build_folder("quick"))


@pytest.fixture(scope="session")
def read_page() -> type[Page]:
    """Read one HTML file."""
    return Page


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium; without one, what needs it is skipped.

    A file of tests has its own: while Playwright is open, no other test may start an event loop.
    """
    executable = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if executable is None:
        pytest.skip(f"none of {', '.join(CHROMIUM)} is installed: the book is not opened here")
    from playwright.sync_api import sync_playwright

    options = [option for option in CHROMIUM_OPTIONS if option != "--headless"]
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=options)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def address(site):
    """Serve the site on this machine, with its policy."""

    class Quiet(SiteHandler):
        def log_message(self, *_):
            pass

    handler = partial(Quiet, directory=site.html)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def tab(browser):
    """An empty tab of a wide window."""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    context.set_default_timeout(60000)
    yield context.new_page()
    context.close()
