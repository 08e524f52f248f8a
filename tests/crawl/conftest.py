"""A time that tests of crawls move."""

from types import SimpleNamespace

import pytest

from tests.crawl.support import NEW_YEAR


class Clock:
    """A time that the test moves, and the alarms that are set for it."""

    def __init__(self):
        self.now = NEW_YEAR
        self.set = 0.0  # seconds by which somebody has set the machine's clock ahead

    def time(self):
        return self.now + self.set

    def clock_gettime(self, kind):
        return self.now - 1e6


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("analysis.crawl.clock.time", clock)
    alarm = SimpleNamespace(cancel=lambda: None)
    monkeypatch.setattr("analysis.crawl.scheduler.call_later", lambda *_: alarm)
    return clock
