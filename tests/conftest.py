"""What all tests share."""

import gc
import json
import os

import pytest
from hypothesis import settings

from scorecard.files import ROOT
from tests.support import is_sampled

#: Folders of many tests without a book, each file of which takes seconds.
SHORT_FILES = {ROOT / "tests" / name for name in ("learning", "restarts", "robots")}

settings.register_profile("check", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=1000, deadline=None)
settings.load_profile("check")  # the same examples in every clone; ``make proofs`` searches wider


def pytest_configure(config):
    """Let the garbage collector pass over what stays."""
    gc.set_threshold(50_000, 20, 100)


def pytest_collection_modifyitems(config, items):
    """Keep a sample of what takes long and seldom fails, and order the rest.

    Of the tests marked `sampled` one in four runs, others at each commit; with WHOLE set, or where
    tests are named (``-k NAME``, ``FILE::TEST``), all do.

    The browser's tests take longest: they come first, and the book is built for them. Meanwhile
    other workers have what starts processes (much of it waits, while kernels of the book compute)
    and what needs no book; then come the other files that need one, reruns before them. Last come
    many short files, so that all workers end together.
    """
    named = config.option.keyword or any("::" in argument for argument in config.args)
    if not named and not os.environ.get("WHOLE"):
        sampled = [item for item in items if item.get_closest_marker("sampled")]
        left_out = {item for item in sampled if not is_sampled(item.nodeid)}
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]

    def files(*marks):
        return {item.path for item in items if any(map(item.get_closest_marker, marks))}

    reruns, with_book, processes = files("rerun"), files("book", "browser"), files("process")
    short = {path for path in {item.path for item in items} if SHORT_FILES & {*path.parents}}

    def turn(item):
        builds_the_book = item.path.name == "test_browser.py"
        if item.path in with_book | reruns:
            return 0 if builds_the_book else 3 if item.path in reruns else 4
        if item.path in processes:
            return 1
        return 5 if item.path in short else 2

    items.sort(key=turn)


@pytest.fixture
def values(tmp_path, monkeypatch):
    """Let values be saved into a folder of the test's own, and read them."""
    monkeypatch.setenv("BOOK_RUN_DIR", str(tmp_path))
    monkeypatch.setattr("scorecard.record._values", {})
    return lambda: json.loads((tmp_path / "record.json").read_text())["values"]
