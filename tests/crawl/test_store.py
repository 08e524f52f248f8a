"""A kill at any moment: between any two writes the folder leads to the same crawl."""

import pytest

from analysis.crawl import store
from analysis.crawl.store import Store, write_aside
from analysis.crawl.transport import crawl_in_process
from tests.crawl.support import some_settings, some_site


class Killed(BaseException):
    """What the process does not survive."""


def dying(function, after, before):
    """Return the function, which kills at its call number `after`, before or after its work."""
    calls = []

    def wrapped(*arguments, **options):
        calls.append(1)
        if len(calls) == after and before:
            raise Killed
        result = function(*arguments, **options)
        if len(calls) == after:
            raise Killed
        return result

    return wrapped


def killed(site, settings, folder):
    with pytest.raises(Killed):
        crawl_in_process(site, settings, folder=folder)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(("call", "after"), [("note", 1), ("note", 8), ("save", 3)])
def test_a_kill_before_or_after_a_write_changes_nothing(tmp_path, monkeypatch, call, after, before):
    site = some_site(epochs=6)
    settings = some_settings(site, epochs=6, budget=3, policy="learned_index")
    crawl_in_process(site, settings, folder=tmp_path / "one")
    with monkeypatch.context() as patch:
        patch.setattr(Store, call, dying(getattr(Store, call), after, before))
        killed(site, settings, tmp_path / "two")
    crawl_in_process(site, settings, folder=tmp_path / "two")
    for name in ("fetches.jsonl", "state.npz"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("after", [1, 4])
def test_a_kill_between_the_log_and_the_state_changes_nothing(tmp_path, monkeypatch, after):
    site = some_site(epochs=6)
    settings = some_settings(site, epochs=6, budget=3)
    crawl_in_process(site, settings, folder=tmp_path / "one")
    with monkeypatch.context() as patch:
        patch.setattr(store, "write_aside", dying(write_aside, after, before=True))
        killed(site, settings, tmp_path / "two")
    crawl_in_process(site, settings, folder=tmp_path / "two")
    one, two = ((tmp_path / name / "fetches.jsonl").read_bytes() for name in ("one", "two"))
    assert one == two


def test_a_line_that_was_half_written_is_cut_off(tmp_path, monkeypatch):
    site = some_site(epochs=6)
    settings = some_settings(site, epochs=6, budget=3)
    crawl_in_process(site, settings, folder=tmp_path / "one")
    with monkeypatch.context() as patch:
        patch.setattr(Store, "note", dying(Store.note, 8, before=False))
        killed(site, settings, tmp_path / "two")
    journal = tmp_path / "two" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-5])
    crawl_in_process(site, settings, folder=tmp_path / "two")
    one, two = ((tmp_path / name / "fetches.jsonl").read_bytes() for name in ("one", "two"))
    assert one == two
