"""Files of a reader's own: under which name they go with a run, and what is said of them."""

import hashlib

import pytest

from scorecard.running.notebooks import OwnFile, describe_files


@pytest.mark.parametrize("name", ["my.csv", "feeds-2026_v2.csv", "feeds.2026.csv"])
def test_a_plain_name_is_kept(name):
    assert OwnFile("sources", name, b"").shipped == name


@pytest.mark.parametrize(
    "name",
    [
        "run.json",
        "my feeds.csv",
        ".csv",
        "a\nb.csv",
        "ü.csv",
        'a".csv',
        "{x}.csv",
        "a" * 70 + ".csv",
    ],
)
def test_awkward_file_name_is_replaced(name):
    assert OwnFile("trace", name, b"").shipped == "trace.csv"


def test_file_has_name_and_hash(tmp_path):
    (tmp_path / "my feeds.csv").write_bytes(b"name\n")
    file = OwnFile.read("sources", str(tmp_path / "my feeds.csv"))
    digest = hashlib.sha256(b"name\n").hexdigest()
    facts = {"name": "my feeds.csv", "shipped": "sources.csv", "sha256": digest}
    assert describe_files([file]) == {"sources": facts}
