"""What all tests share."""

import gc
import json

import pytest
from hypothesis import settings

settings.register_profile("check", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=1000, deadline=None)
settings.load_profile("check")  # the same examples in every clone; ``make proofs`` searches wider


def pytest_configure(config):
    """Let QuantEcon compile before the workers start; let the collector pass over what stays.

    QuantEcon compiles a generalised ufunc when it is imported, and Numba's cache of one, filled by
    two processes at once, aborts every process that reads it.
    """
    gc.set_threshold(50_000, 20, 100)
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        import quantecon  # noqa: F401


def pytest_collection_modifyitems(items):
    """While one worker builds the book, another one has what needs no book to do.

    The browser's tests take longest: they come first, and the book is built for them.
    """

    def turn(item):
        builds_the_book = item.path.name == "test_browser.py"
        return 0 if builds_the_book else 1 if item.get_closest_marker("process") else 2

    items.sort(key=turn)


@pytest.fixture
def values(tmp_path, monkeypatch):
    """Let values be saved into a folder of the test's own, and read them."""
    monkeypatch.setenv("BOOK_RUN_DIR", str(tmp_path))
    monkeypatch.setattr("scorecard.saving.records._values", {})
    return lambda: json.loads((tmp_path / "records.json").read_text())["values"]
