"""The archive of a release: what is in it, its hash, the same bytes twice, and its reports."""

import hashlib
import io
import json
import tarfile
from dataclasses import replace

import pytest
import yaml
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from analysis import __version__
from scorecard.collate import DATA, Collation
from scorecard.prints import Document, Printed, documents
from scorecard.publishing import release
from scorecard.publishing.citation import Edition, release_tag
from scorecard.publishing.release import (
    NOT_REPRODUCED,
    REPRODUCED,
    WITH_CHOICES,
    check_edition,
    describe_report,
    format_report,
    make_release,
    make_reports,
    write_reports,
)
from scorecard.verdicts import VERDICTS
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


@pytest.fixture
def few_sources(monkeypatch):
    """Of the repository, two files."""
    monkeypatch.setattr(release, "tracked_files", lambda: ["Makefile", "environment.yml"])


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


def test_archive_is_reproducible(build, few_sources):
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
def test_kill_leaves_archive_and_hash(build, few_sources):
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


# Replication reports: every row counted once, every assumption named


HERE = Edition("abc123", "2026-11-22", "")
ROWS = ("X-1", "X-2", "X-3", "X-4")
SAID = {"computed": "2.0", "reason": "a cause | of $2$", "assumes": [], "page": "elsewhere"}
JUDGED = {
    "X-1": SAID | {"verdict": "matches"},
    "X-2": SAID | {"verdict": "matches under", "assumes": ["zero first", "whole time"]},
    "X-3": SAID | {"verdict": "does not hold", "assumes": ["zero first"]},
    "X-4": SAID | {"verdict": "used"},
}


@pytest.fixture
def judged(monkeypatch):
    rows = {id: Printed(id, "x", "section 1", "number", "1.5", None, "") for id in ROWS}
    document = Document("x", "The document", "the document", "avrachenkov2019learning", 4)
    monkeypatch.setattr(release, "printed_rows", lambda: rows)
    monkeypatch.setattr(release, "documents", lambda: {"x": document})


def test_verdicts_map_to_replication():
    silent = {"used", "context", "missing"}
    named = [*REPRODUCED, *WITH_CHOICES, *NOT_REPRODUCED, *silent]
    assert sorted(named) == sorted(VERDICTS)


def test_the_abstract_counts_every_row_once(judged):
    (report,) = make_reports(JUDGED)
    said = report.abstract
    assert "4 rows in all" in said
    assert "1 were reproduced as they stand (1 matches)" in said
    assert "1 under choices that the document leaves open (1 matches under)" in said
    assert "1 were not (1 does not hold); the other 1 are parameters" in said


def test_every_assumption_is_named_with_its_rows(judged):
    (report,) = make_reports(JUDGED)
    assert report.assumptions == {"zero first": ["X-2", "X-3"], "whole time": ["X-2"]}
    text = format_report(report)
    assert "| zero first | 2 | X\\-2\\, X\\-3 |" in text
    assert "X\\-3\\, section 1" in text
    assert "X\\-1\\, section 1" not in text
    assert r"a cause \| of $2$" in text


def test_metadata_name_what_was_replicated(judged, tmp_path):
    (place,) = write_reports(JUDGED, tmp_path, HERE)
    said = yaml.safe_load((place / "metadata.yaml").read_text(encoding="utf-8"))
    assert said["title"] == "[Re] The document"
    assert said["replication"]["doi"] == "10.1109/ALLERTON.2019.8919743"
    assert "A learning algorithm for the Whittle index policy" in said["replication"]["cite"]
    assert "2019" in said["replication"]["cite"]
    assert said["code"]["note"].endswith("commit abc123")
    assert (place / "article.md").read_text(encoding="utf-8").startswith("# [Re] The document")


def test_documents_are_in_bibliography(judged):
    for document in documents().values():
        cited = describe_report(release.Report(document, []), HERE)["replication"]["cite"]
        assert all(part.strip() for part in cited.split(", ")), cited


def test_page_shows_report_of_document(judged, tmp_path):
    (tmp_path / "page.md").write_text("# Report\n\n```{replication} x\n```\n")
    data = {"verdicts": JUDGED, "runs": {}, "document": True, "profile": "paper"}
    (tmp_path / DATA).write_text(json.dumps(data))
    parts = ("pages.sphinx_ext", "publishing.release")
    extensions = ["myst_parser", *(f"scorecard.{part}" for part in parts)]
    settings = {"extensions": extensions, "root_doc": "page"}
    out, warnings = tmp_path / "out", io.StringIO()
    with docutils_namespace():
        Sphinx(tmp_path, None, out, out, "html", settings, status=None, warning=warnings).build()
    assert warnings.getvalue() == ""
    text = (out / "page.html").read_text(encoding="utf-8")
    assert "4 rows in all" in text
    assert "a cause | of $2$" in text
    assert "book-table" in text
