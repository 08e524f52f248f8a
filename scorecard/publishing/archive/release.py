"""The release archive: pages, PDF, data, RO-Crate, replication reports, SBOM, manifest, sources.

The archive is reproducible to the byte: members are sorted, have the date of the commit, and no
owner.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Collection
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from scorecard.collate import Collation
from scorecard.files import empty_folder, replace_folder
from scorecard.paths import ROOT
from scorecard.publishing.archive.replication import write_reports
from scorecard.publishing.metadata.citation import Edition, cff, release_tag, tracked_files
from scorecard.run import write_json

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
    name = f"which-source-next-{cff()['version']}-{edition.commit.split()[0]}"
    target = build / "releases" / name
    target.parent.mkdir(exist_ok=True)
    for stale in target.parent.glob(".*"):  # of a run that was killed
        shutil.rmtree(stale)
    with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as aside:
        extra = Path(aside)
        write_reports(collation.verdicts, extra / "replication", edition)
        files = {f"replication/{p.relative_to(extra / 'replication')}": p for p in _files(extra)}
        files |= {f"html/{p.relative_to(build / 'html')}": p for p in _files(build / "html")}
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
        packed = _archive_bytes(name, files, edition)
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


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name[0] != "."]


def _archive_bytes(name: str, files: dict[str, Path], edition: Edition) -> bytes:
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
