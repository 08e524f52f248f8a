"""The release archive: pages, PDF, data, RO-Crate, replication reports, SBOM, manifest, sources.

The archive is reproducible to the byte: members are sorted, have the date of the commit, and no
owner.

A replication report on each document, in the format of ReScience C
(https://rescience.github.io/write), is made from the verdicts: a metadata file, and an article that
lists what was reproduced, what was not, and every assumption that the document does not state. As a
Sphinx extension the module has the directive ``{replication} DOCUMENT``, which shows one report.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pybtex.database
import yaml
from docutils import nodes
from sphinx.application import Sphinx

from scorecard.browser.bundle import RUNTIME
from scorecard.collate import Collation
from scorecard.files import BOOK, ROOT, empty_folder, replace_folder
from scorecard.pages.results import BookDirective
from scorecard.prints import Document, Printed, documents, printed_rows
from scorecard.publishing.citation import (
    Edition,
    list_authors,
    read_cff,
    release_tag,
    tracked_files,
)
from scorecard.record import write_json
from scorecard.text import escape_markdown, escape_prose, typeset_symbols
from scorecard.values import book_settings

#: Verdicts by outcome of the replication; *used* and *context* have none.
REPRODUCED = ("matches", "within the interval", "holds", "redrawn", "done")
WITH_CHOICES = ("matches under", "holds under")
NOT_REPRODUCED = ("explained", "differs", "does not hold", "not determined", "open")


@dataclass(frozen=True)
class Report:
    """The verdicts on one document."""

    document: Document  # the document
    rows: list[tuple[Printed, dict[str, Any]]]  # its rows that have a verdict, with the verdict

    def of(self, verdicts: Sequence[str]) -> list[tuple[Printed, dict[str, Any]]]:
        """Return the rows that have one of the given verdicts."""
        return [(row, verdict) for row, verdict in self.rows if verdict["verdict"] in verdicts]

    def counted(self, verdicts: Sequence[str]) -> str:
        """Return the number of rows with each of the given verdicts, as a phrase."""
        counts = Counter(verdict["verdict"] for _, verdict in self.of(verdicts))
        return ", ".join(f"{counts[name]} {name}" for name in verdicts if counts[name]) or "none"

    @property
    def abstract(self) -> str:
        """Summary of the replication in a few sentences."""
        total, plain = len(self.rows), len(self.of(REPRODUCED))
        chosen, failed = len(self.of(WITH_CHOICES)), len(self.of(NOT_REPRODUCED))
        others = total - plain - chosen - failed
        return (
            f"Every number, table cell, figure and statement of {self.document.short} was computed "
            f"anew from its own definitions, with code of our own: {total} rows in all. "
            f"{plain} were reproduced as they stand ({self.counted(REPRODUCED)}), {chosen} under "
            f"choices that the document leaves open ({self.counted(WITH_CHOICES)}), and {failed} "
            f"were not ({self.counted(NOT_REPRODUCED)}); the other {others} are parameters that "
            "were used, and context."
        )

    @property
    def assumptions(self) -> dict[str, list[str]]:
        """Assumptions that the document does not print, with the ids of the rows that need them."""
        ids_by_choice: defaultdict[str, list[str]] = defaultdict(list)
        for row, verdict in self.rows:
            for choice in verdict["assumes"]:
                ids_by_choice[choice].append(row.id)
        return dict(ids_by_choice)


def make_reports(verdicts: Mapping[str, dict[str, Any]]) -> list[Report]:
    """Return one report a document."""
    rows = printed_rows()
    return [
        Report(
            document,
            [(rows[id], verdict) for id, verdict in verdicts.items() if rows[id].document == key],
        )
        for key, document in documents().items()
    ]


def format_report(report: Report, *, fenced: bool = False) -> str:
    """Return the body of a report in Markdown.

    `fenced`: whether tables are wrapped in MyST containers, for the book's pages.
    """
    choices = [
        (choice, len(ids), ", ".join(ids[:4]) + (" and others" if len(ids) > 4 else ""))
        for choice, ids in report.assumptions.items()
    ]
    columns = ("computed", "verdict", "reason")
    failed = [
        (
            f"{row.id}, {row.place}",
            row.printed,
            *(typeset_symbols(verdict[name]) for name in columns),
        )
        for row, verdict in report.of(NOT_REPRODUCED)
    ]
    parts = [
        f"**Abstract.** {escape_markdown(report.abstract)}",
        "**What was not reproduced as printed.**",
    ]
    header = ("Row", "Printed", "Computed", "Verdict", "Why")
    parts.append(_format_table(header, failed, fenced) if failed else "Nothing.")
    parts.append("**Assumptions of our own**, which the document does not print.")
    named = ("Assumption", "Rows", "Which")
    parts.append(_format_table(named, choices, fenced) if choices else "None.")
    return "\n\n".join(parts)


def _format_table(header: Sequence[str], rows: Sequence[Sequence[Any]], fenced: bool) -> str:
    lines = [header, ["---"] * len(header)]
    lines += [[escape_prose(cell) for cell in row] for row in rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if not fenced:
        return text
    name = "book-failed" if "Why" in header else "book-choices"
    return f"````{{container}} book-table\n```{{table}}\n:class: {name}\n\n{text}\n```\n````"


def describe_report(report: Report, edition: Edition) -> dict[str, Any]:
    """Return the fields of ``metadata.yaml`` of ReScience C."""
    bibliography = pybtex.database.parse_file(str(BOOK / "references.bib"))
    work = bibliography.entries[report.document.citation]
    who = " and ".join(map(str, work.persons["author"]))
    cited = ", ".join((who, work.fields["title"], work.fields["year"]))
    return {
        "title": f"[Re] {report.document.title}",
        "authors": [{"name": name, "orcid": "", "email": ""} for name in list_authors()],
        "abstract": report.abstract,
        "keywords": ", ".join(read_cff()["keywords"]),
        "type": "Replication",
        "language": "Python",
        "domain": "Computer science",
        "code": {"url": edition.address, "note": edition.note},
        "data": {"url": f"{edition.address}scorecard.csv"},
        "replication": {
            "cite": re.sub(r"[{}]", "", cited),
            "bib": report.document.citation,
            "url": "",
            "doi": work.fields.get("doi", ""),
        },
        "date": {"published": edition.date},
        "license": "CC-BY-4.0",
    }


def write_reports(
    verdicts: Mapping[str, dict[str, Any]], folder: Path, edition: Edition
) -> list[Path]:
    """Write ``metadata.yaml`` and ``article.md`` of each document, and return their folders.

    `folder`: parent of the reports' folders; it is created.
    """
    written = []
    for report in make_reports(verdicts):
        target = folder / report.document.key
        target.mkdir(parents=True, exist_ok=True)
        facts = describe_report(report, edition)
        text = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=100)
        (target / "metadata.yaml").write_text(text, encoding="utf-8")
        body = f"# {facts['title']}\n\n{format_report(report)}\n"
        (target / "article.md").write_text(body, encoding="utf-8")
        written.append(target)
    return written


class Replication(BookDirective):
    """The replication report on the document whose key is the argument."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the body of the report."""
        key = self.arguments[0]
        for report in make_reports(self.data["verdicts"]):
            if report.document.key == key:
                return self.parse_text_to_nodes(format_report(report, fenced=True))
        raise self.error(f"no document has the key {key!r}")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("replication", Replication)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


#: Files of the repository that belong to a release.
SOURCES = ("README.md", "LICENSE", "CHANGELOG.md", "requirements.lock")
#: Files of the build folder that do, besides its PDFs and the site.
BUILT = ("manifest.json", "scorecard.csv", "errata.csv")


def check_edition(edition: Edition, tags: Collection[str], *, dirty: bool = False) -> None:
    """Raise RuntimeError if an edition is not a clean commit with the tag of its version.

    `dirty`: True to skip the check.
    """
    if dirty:
        return
    if " " in edition.commit:
        raise RuntimeError(
            f"the commit of this tree is {edition.commit!r}: commit first, so that the release can "
            "be cited, or pass --dirty (make release DIRTY=1)"
        )
    if (tag := release_tag()) not in tags:
        raise RuntimeError(
            f"commit {edition.commit} has no tag {tag}: tag it first (git tag -a {tag}), or pass "
            "--dirty (make release DIRTY=1)"
        )


def make_release(collation: Collation, build: Path, edition: Edition) -> Path:
    """Write the archive and its SHA-256 below the build folder, and return the archive.

    Both are replaced at once: a killed run does not change an existing release.
    """
    name = f"{book_settings()['name']}-{read_cff()['version']}-{edition.commit.split()[0]}"
    target = build / "releases" / name
    target.parent.mkdir(exist_ok=True)
    for stale in target.parent.glob(".*"):  # of a run that was killed
        shutil.rmtree(stale)
    with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as aside:
        extra = Path(aside)
        write_reports(collation.verdicts, extra / "replication", edition)
        files = {
            f"replication/{p.relative_to(extra / 'replication')}": p for p in _list_files(extra)
        }
        # Python for browsers is published by others: a release names where it is.
        runtime = build / "html" / RUNTIME
        pages = [p for p in _list_files(build / "html") if not p.is_relative_to(runtime)]
        files |= {f"html/{p.relative_to(build / 'html')}": p for p in pages}
        files |= {path: build / path for path in BUILT if (build / path).exists()}
        files |= {path.name: path for path in build.glob("*.pdf")}
        files["CITATION.cff"] = build / "html/CITATION.cff"
        (extra / "sbom.cdx.json").write_bytes(bill_of_materials())
        files["sbom.cdx.json"] = extra / "sbom.cdx.json"
        files |= {path: ROOT / path for path in SOURCES}
        files |= {f"source/{path}": ROOT / path for path in tracked_files()}
        hashes = {path: _sha256(files[path].read_bytes()) for path in sorted(files)}
        write_json(extra / "files.json", hashes)
        files["files.json"] = extra / "files.json"
        packed = _pack_archive(name, files, edition)
        archive = target / f"{name}.tar.gz"
        new = empty_folder(extra / "release")
        (new / archive.name).write_bytes(packed)
        (new / f"{archive.name}.sha256").write_text(f"{_sha256(packed)}  {archive.name}\n")
        replace_folder(new, target)
    return archive


@cache
def bill_of_materials() -> bytes:
    """Return the CycloneDX list of all installed packages, with versions and licences, as JSON."""
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"]
    return subprocess.run([*command, sys.prefix], check=True, capture_output=True).stdout


def _list_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name[0] != "."]


def _pack_archive(name: str, files: dict[str, Path], edition: Edition) -> bytes:
    """Return a .tar.gz archive whose bytes depend on names, contents and the commit's date only."""
    day = datetime.fromisoformat(edition.date).replace(tzinfo=UTC)
    packed = io.BytesIO()
    with (
        gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in sorted(files):
            content = files[path].read_bytes()
            member = tarfile.TarInfo(f"{name}/{path}")
            member.size, member.mtime, member.mode = len(content), int(day.timestamp()), 0o644
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
