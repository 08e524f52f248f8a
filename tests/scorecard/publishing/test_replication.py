"""Replication reports: every row counted once, every assumption named, metadata as asked for."""

import io
import json

import pytest
import yaml
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from scorecard.collate import DATA
from scorecard.prints import Document, Printed, documents
from scorecard.publishing import release
from scorecard.publishing.citation import Edition
from scorecard.publishing.release import (
    NOT_REPRODUCED,
    REPRODUCED,
    WITH_CHOICES,
    describe_report,
    format_report,
    make_reports,
    write_reports,
)
from scorecard.verdicts import VERDICTS

HERE = Edition("abc123", "2026-11-22", "")
ROWS = ("X-1", "X-2", "X-3", "X-4")
SAID = {"computed": "2.0", "reason": "a cause | of $2$", "assumes": [], "page": "elsewhere"}
JUDGED = {
    "X-1": SAID | {"verdict": "matches"},
    "X-2": SAID | {"verdict": "matches under", "assumes": ["zero first", "whole time"]},
    "X-3": SAID | {"verdict": "does not hold", "assumes": ["zero first"]},
    "X-4": SAID | {"verdict": "used"},
}


@pytest.fixture(autouse=True)
def published(monkeypatch):
    rows = {id: Printed(id, "x", "section 1", "number", "1.5", None, "") for id in ROWS}
    document = Document("x", "The document", "the document", "avrachenkov2019learning", 4)
    monkeypatch.setattr(release, "printed_rows", lambda: rows)
    monkeypatch.setattr(release, "documents", lambda: {"x": document})


def test_verdicts_map_to_replication():
    silent = {"used", "context", "missing"}
    named = [*REPRODUCED, *WITH_CHOICES, *NOT_REPRODUCED, *silent]
    assert sorted(named) == sorted(VERDICTS)


def test_the_abstract_counts_every_row_once():
    (report,) = make_reports(JUDGED)
    said = report.abstract
    assert "4 rows in all" in said
    assert "1 were reproduced as they stand (1 matches)" in said
    assert "1 under choices that the document leaves open (1 matches under)" in said
    assert "1 were not (1 does not hold); the other 1 are parameters" in said


def test_every_assumption_is_named_with_its_rows():
    (report,) = make_reports(JUDGED)
    assert report.assumptions == {"zero first": ["X-2", "X-3"], "whole time": ["X-2"]}
    text = format_report(report)
    assert "| zero first | 2 | X\\-2\\, X\\-3 |" in text
    assert "X\\-3\\, section 1" in text
    assert "X\\-1\\, section 1" not in text
    assert r"a cause \| of $2$" in text


def test_metadata_name_what_was_replicated(tmp_path):
    (place,) = write_reports(JUDGED, tmp_path, HERE)
    said = yaml.safe_load((place / "metadata.yaml").read_text(encoding="utf-8"))
    assert said["title"] == "[Re] The document"
    assert said["replication"]["doi"] == "10.1109/ALLERTON.2019.8919743"
    assert "A learning algorithm for the Whittle index policy" in said["replication"]["cite"]
    assert "2019" in said["replication"]["cite"]
    assert said["code"]["note"].endswith("commit abc123")
    assert (place / "article.md").read_text(encoding="utf-8").startswith("# [Re] The document")


def test_documents_are_in_bibliography():
    for document in documents().values():
        cited = describe_report(release.Report(document, []), HERE)["replication"]["cite"]
        assert all(part.strip() for part in cited.split(", ")), cited


def test_page_shows_report_of_document(tmp_path):
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
