"""How the book and its products are cited: by version and commit, and by address where it has one.

The facts stand in ``CITATION.cff``, and nowhere else: title, authors, version, date, keywords, and
the DOI if there is one.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from analysis.report.paths import ROOT
from analysis.report.publishing.address import base_address, permalink
from analysis.report.publishing.captions import title_as_tex
from analysis.report.text import as_tex

CODE_LICENSE = "https://spdx.org/licenses/MIT"
TEXT_LICENSE = "https://creativecommons.org/licenses/by/4.0/"
UNKNOWN = "unknown (no git history)"
KINDS = {"figures": "Figure", "tables": "Table"}


@cache
def facts() -> dict[str, Any]:
    """Return the fields of ``CITATION.cff``."""
    content: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return content


def authors() -> list[str]:
    """Return the authors as names to print; the book has none but its contributors."""
    return [entry["name"] for entry in facts()["authors"]]


@dataclass(frozen=True)
class Edition:
    """What is cited: the book at one commit.

    Attributes
    ----------
    commit : str
        Its name; it says so when the tree was dirty or there is no git.
    date : str
        The day of the commit, YYYY-MM-DD; that of the release where there is no git.
    address : str
        Where the book is published, with a slash at its end; empty where it is not.
    """

    commit: str
    date: str
    address: str

    @property
    def note(self) -> str:
        """Version and commit in words."""
        return f"Version {facts()['version']}, commit {self.commit}"


def this_edition() -> Edition:
    """Return the edition that is being built."""
    commit = commit_name()
    day = released() if commit == UNKNOWN else str(_git("log", "-1", "--format=%cs"))
    return Edition(commit, day, base_address())


def released() -> str:
    """Return the day of the release."""
    return str(facts()["date-released"])


def commit_name() -> str:
    """Return the commit of the tree; it says so when the tree is dirty or there is no git.

    A tree is dirty if it has anything that its commit has not, files that git does not track
    included: a page that nobody has added is built all the same.
    """
    if _git("ls-files", "--error-unmatch", "CITATION.cff") is None:
        return UNKNOWN  # also where the book lies, unpacked, in a repository of something else
    name = _git("rev-parse", "--short=12", "HEAD")
    if name is None:
        return UNKNOWN
    changed = _git("status", "--porcelain", "--untracked-files=normal")
    return name if changed == "" else f"{name} (with uncommitted changes)"


def release_tag() -> str:
    """Return the name of the tag that a commit of this version bears once it is released."""
    return f"v{facts()['version']}"


def tags_of_commit() -> list[str]:
    """Return the tags of the commit that is checked out; none where there is no git."""
    return (_git("tag", "--points-at", "HEAD") or "").split()


def tracked_files() -> list[str]:
    """Return the files of the repository that git tracks, by path; none where there is no git."""
    return [path for path in (_git("ls-files", "-z") or "").split("\0") if (ROOT / path).is_file()]


def _git(*arguments: str) -> str | None:
    """Return what git says; nothing where it fails."""
    try:
        command = ["git", "-C", str(ROOT), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def bibtex(
    product: dict[str, Any], edition: Edition, *, part: str = "figures", document: bool = True
) -> str:
    """Return a BibTeX entry that cites one figure or table.

    Parameters
    ----------
    product : dict
        Its description, as `save_figure` or `save_table` wrote it.
    edition : Edition
        What it is part of.
    part : str
        "figures" or "tables".
    document : bool
        False for a reader's own run: then its parameters are named, and no address.
    """
    note = edition.note
    if not document:
        files = product.get("files", {})
        said = product["parameters"] | {key: in_words(file) for key, file in files.items()}
        values = ", ".join(f"{key} = {value}" for key, value in said.items())
        note += f", a run with parameters of the reader's own: {values}"
    place = rf"{KINDS[part]} \texttt{{{product['id']}}} in \emph{{{as_tex(facts()['title'])}}}"
    fields = {"title": f"{{{title_as_tex(product['caption'])}}}", "howpublished": place}
    address = permalink(product, edition.address) if document and edition.address else ""
    return _entry(product["id"], fields, note, edition.date, address)


def in_words(file: dict[str, str]) -> str:
    """Return what identifies a reader's own file: its name and its hash."""
    return f"{file['name']} (SHA-256 {file['sha256']})"


def book_bibtex(edition: Edition) -> str:
    """Return the BibTeX entry of the whole book."""
    fields = {"title": f"{{{as_tex(facts()['title'])}}}"}
    return _entry("which-source-next", fields, edition.note, edition.date, edition.address)


def _entry(key: str, fields: dict[str, str], note: str, date: str, address: str) -> str:
    """Return a BibTeX entry: a thing that was published, but by no publisher."""
    whole = {"author": " and ".join(f"{{{as_tex(name)}}}" for name in authors()), **fields}
    whole |= {"year": date[:4], "version": str(facts()["version"]), "note": as_tex(note)}
    whole |= {"doi": facts()["doi"]} if "doi" in facts() else {}
    whole |= {"url": address} if address else {}
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in whole.items())
    return f"@misc{{{key},\n{lines}}}\n"


def plain_citation(edition: Edition) -> str:
    """Return the citation of the whole book in the style of the APA, as one line of text."""
    said = f"{', '.join(authors())} ({edition.date[:4]}). {facts()['title']} ({edition.note})"
    address = f"https://doi.org/{facts()['doi']}" if "doi" in facts() else edition.address
    return f"{said} [Computer software]. {address}".rstrip()


def write_citation(site: Path, edition: Edition) -> None:
    """Write how the whole book is cited: ``CITATION.cff`` with commit and address, and BibTeX."""
    known = {"commit": edition.commit} if " " not in edition.commit else {}
    known |= {"url": edition.address} if edition.address else {}
    whole = facts() | {"date-released": released()} | known
    text = yaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=100)
    (site / "CITATION.cff").write_text(text, encoding="utf-8")
    (site / "citation.bib").write_text(book_bibtex(edition), encoding="utf-8")
