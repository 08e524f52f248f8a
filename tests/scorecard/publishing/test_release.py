"""The archive of a release: what is in it, its hash, the same bytes twice, and what is refused."""

import hashlib
import json
import tarfile
from dataclasses import replace

import pytest

from analysis import __version__
from scorecard.collate import Collation
from scorecard.publishing.citation import Edition, release_tag
from scorecard.publishing.release import check_edition, make_release
from tests.scorecard.kills import killed_at

EDITION = Edition("abc123", "2026-11-22", "")
FOUND = Collation("paper", document=True)


@pytest.fixture
def build(tmp_path):
    site = tmp_path / "html"
    (site / "figures").mkdir(parents=True)
    for name in ("index.html", "CITATION.cff", "ro-crate-metadata.json", "figures/x.csv", ".key"):
        (site / name).write_text(name)
    for name in ("manifest.json", "scorecard.csv", "errata.csv", "book.pdf", "other.txt"):
        (tmp_path / name).write_text(name)
    return tmp_path


def test_archive_is_complete(build):
    archive = make_release(FOUND, build, EDITION)
    top = f"which-source-next-{__version__}-abc123"
    assert archive.name == f"{top}.tar.gz"
    with tarfile.open(archive) as packed:
        names = packed.getnames()
        held = {name.removeprefix(f"{top}/") for name in names}
        hashes = json.loads(packed.extractfile(f"{top}/files.json").read())
        for name, digest in hashes.items():
            content = packed.extractfile(f"{top}/{name}").read()
            assert hashlib.sha256(content).hexdigest() == digest
        owners = {(member.uid, member.uname, member.mode) for member in packed.getmembers()}
    assert names == sorted(names)
    assert owners == {(0, "", 0o644)}
    assert {
        "html/index.html", "html/ro-crate-metadata.json", "html/figures/x.csv", "book.pdf",
        "manifest.json", "scorecard.csv", "CITATION.cff", "requirements.lock", "LICENSE",
        "replication/robots-1999/metadata.yaml", "replication/robots-1999/article.md",
        "source/Makefile", "source/scorecard/publishing/release.py", "source/.ci/run",
    } <= held  # fmt: skip
    assert not {"html/.key", "other.txt"} & held
    assert held == {*hashes, "files.json"}
    said = archive.with_name(f"{archive.name}.sha256").read_text()
    assert said == f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n"


def test_archive_is_reproducible(build):
    first = make_release(FOUND, build, EDITION).read_bytes()
    for path in build.rglob("*"):
        path.touch()
    assert make_release(FOUND, build, EDITION).read_bytes() == first
    (build / "scorecard.csv").write_text("another")
    (build / "book.pdf").unlink()
    other = make_release(FOUND, build, EDITION)
    assert other.read_bytes() != first
    with tarfile.open(other) as packed:
        assert not [name for name in packed.getnames() if name.endswith(".pdf")]


@pytest.mark.parametrize("name", ["abc123 (with uncommitted changes)", "unknown (no git history)"])
def test_dirty_release_needs_request(name):
    edition = replace(EDITION, commit=name)
    with pytest.raises(RuntimeError, match="commit first"):
        check_edition(edition, [release_tag()])
    check_edition(edition, [], dirty=True)
    check_edition(EDITION, [release_tag()])


@pytest.mark.parametrize("tags", [[], ["v0.0.9"], [release_tag() + "-rc1"]])
def test_untagged_release_needs_request(tags):
    with pytest.raises(RuntimeError, match=f"git tag -a {release_tag()}"):
        check_edition(EDITION, tags)
    check_edition(EDITION, tags, dirty=True)


@pytest.mark.sampled
@pytest.mark.process
def test_kill_leaves_archive_and_hash(build):
    """Of the release before or of the new one: never one of each, nor a part of either."""
    archive, version = make_release(FOUND, build, EDITION), 0
    whole = {archive.read_bytes()}
    kills = 0
    while True:
        version += 1
        (build / "scorecard.csv").write_text(f"version {version}")
        was_killed = killed_at(1 + 37 * kills, lambda: make_release(FOUND, build, EDITION))
        content = archive.read_bytes()
        digest = archive.with_name(f"{archive.name}.sha256").read_text().split()[0]
        assert digest == hashlib.sha256(content).hexdigest()
        if not was_killed:
            break
        kills += 1
        assert content in whole or content == make_release(FOUND, build, EDITION).read_bytes()
        whole.add(content)
    assert kills > 10
    assert sorted(p.name for p in archive.parent.parent.iterdir()) == [archive.parent.name]
