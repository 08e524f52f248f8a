"""Citations and addresses of the book, its figures and its tables, by version, commit and URL.

Title, authors, version, date, keywords and DOI (if there is one) come from ``CITATION.cff``. The
title of a figure or table is the first sentence of its caption.

Two settings are empty by default. ``html.baseurl`` of ``book/_config.yml``, or ``make book
BASEURL=https://...``, is the prefix of permalinks and canonical links; if it is empty, links are
relative. ``html.repository``, or ``REPOSITORY=https://...``, is the repository to which the
instructions for reruns link; if it is empty, they have no link.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from scorecard.files import BOOK, ROOT
from scorecard.prints import Printed
from scorecard.text import escape_tex
from scorecard.values import book_settings

_ADDRESS = re.compile(r"https?://[^\s\"'<>#?\\{}]+")


def base_address() -> str:
    """Return the URL of the published book with a trailing slash, or an empty string."""
    address = _read_setting("BASEURL", "baseurl")
    return f"{address}/" if address else ""


def repository_address() -> str:
    """Return the URL of the repository without a trailing slash, or an empty string."""
    return _read_setting("REPOSITORY", "repository")


def _read_setting(variable: str, name: str) -> str:
    """Return a URL from an environment variable, or else from the book's configuration.

    Raises ValueError if the setting is not an http(s) URL.
    """
    config = yaml.safe_load((BOOK / "_config.yml").read_text(encoding="utf-8"))
    address = (os.environ.get(variable) or config["html"].get(name) or "").strip()
    if address and not _ADDRESS.fullmatch(address):
        raise ValueError(
            f"{variable} (or html.{name} of book/_config.yml) must be an address such as "
            f"https://example.org/book, or empty, got {address!r}"
        )
    return address.rstrip("/")


def permalink(product: dict[str, Any], base: str, *, document: bool = True) -> str:
    """Return the permalink of a figure or table, relative if the book has no base URL.

    `product`: its description, with ``id`` and ``notebook``; `document`: False for a reader's own
    run, whose page is not part of the published book.
    """
    page = product["notebook"]
    return f"{base + page if document else Path(page).name}.html#{product['id']}"


CODE_LICENSE = "https://spdx.org/licenses/MIT"
TEXT_LICENSE = "https://creativecommons.org/licenses/by/4.0/"
UNKNOWN = "unknown (no git history)"
KINDS = {"figures": "Figure", "tables": "Table"}
# A formula, code, an escaped character, a character other than a full stop, or a full stop that is
# not followed by a space.
_SENTENCE = re.compile(r"(?:\$[^$]*\$|`[^`]*`|\\.|[^.$`\\]|\.(?!\s|$))+")
_PARTS = re.compile(
    r"(?P<math>\$[^$]*\$)|(?:\{[\w:]+\})?`(?P<code>[^`]*)`|\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<strong>\*+)(?P<words>[^*]+)\*+|(?P<other>.)",
    re.DOTALL,
)


@cache
def read_cff() -> dict[str, Any]:
    """Return the fields of ``CITATION.cff``."""
    return dict(yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8")))


def list_authors() -> list[str]:
    """Return the names of the authors."""
    return [entry["name"] for entry in read_cff()["authors"]]


@dataclass(frozen=True)
class Edition:
    """The book at one commit."""

    commit: str  # as `commit_name` returns it
    date: str  # date of the commit, YYYY-MM-DD; date of the release if there is no git history
    address: str  # base URL of the published book, with a trailing slash, or empty

    @property
    def note(self) -> str:
        """Version and commit as a phrase."""
        return f"Version {read_cff()['version']}, commit {self.commit}"


def read_edition() -> Edition:
    """Return the edition that is being built."""
    commit = commit_name()
    day = release_date() if commit == UNKNOWN else str(_git("log", "-1", "--format=%cs"))
    return Edition(commit, day, base_address())


def release_date() -> str:
    """Return the date of the release, YYYY-MM-DD."""
    return str(read_cff()["date-released"])


def commit_name() -> str:
    """Return the hash of the commit, with a remark if the tree is dirty, or `UNKNOWN` without git.

    Untracked files make a tree dirty: an untracked page is built into the book.
    """
    if _git("ls-files", "--error-unmatch", "CITATION.cff") is None:
        return UNKNOWN  # no git, or an unpacked release inside another repository
    name = _git("rev-parse", "--short=12", "HEAD")
    if name is None:
        return UNKNOWN
    changed = _git("status", "--porcelain", "--untracked-files=normal")
    return name if changed == "" else f"{name} (with uncommitted changes)"


def release_tag() -> str:
    """Return the name of the git tag of this version's release."""
    return f"v{read_cff()['version']}"


def tags_of_commit() -> list[str]:
    """Return the tags of the commit that is checked out; empty without git."""
    return (_git("tag", "--points-at", "HEAD") or "").split()


def tracked_files() -> list[str]:
    """Return the paths of the existing files that git tracks; empty without git."""
    return [path for path in (_git("ls-files", "-z") or "").split("\0") if (ROOT / path).is_file()]


def _git(*arguments: str) -> str | None:
    """Return the output of a git command, or None if it fails."""
    try:
        command = ["git", "-C", str(ROOT), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def format_bibtex(
    product: dict[str, Any],
    edition: Edition,
    *,
    product_kind: str = "figures",
    document: bool = True,
) -> str:
    """Return a BibTeX entry that cites one figure or table.

    `product`: its description, as `save_figure` or `save_table` wrote it; `product_kind`: "figures"
    or "tables"; `document`: False for a reader's own run: the entry then has its parameters and no
    URL.
    """
    note = edition.note
    if not document:
        parameters = dict(product["parameters"])
        for key, file in product.get("files", {}).items():
            parameters[key] = f"{file['name']} (SHA-256 {file['sha256']})"
        values = ", ".join(f"{key} = {value}" for key, value in parameters.items())
        note += f", a run with parameters of the reader's own: {values}"
    book = escape_tex(read_cff()["title"])
    origin = rf"{KINDS[product_kind]} \texttt{{{product['id']}}} in \emph{{{book}}}"
    fields = {"title": f"{{{convert_title_to_tex(product['caption'])}}}", "howpublished": origin}
    address = permalink(product, edition.address) if document and edition.address else ""
    return _format_entry(product["id"], fields, note, edition.date, address)


def format_row_bibtex(
    row: Printed, document: str, verdict: Mapping[str, Any], edition: Edition
) -> str:
    """Return a BibTeX entry that cites the verdict on one printed row.

    `document`: title of the document that prints the row.
    """
    printed = rf"row \texttt{{{row.id}}} ({escape_tex(row.place)})"
    title = rf"Verdict on {printed} of \emph{{{escape_tex(document)}}}"
    book = escape_tex(read_cff()["title"])
    fields = {"title": f"{{{title}}}", "howpublished": rf"In \emph{{{book}}}"}
    note = f"{verdict['verdict']}; {edition.note}"
    address = f"{edition.address}{verdict['page']}.html#row-{row.id}" if edition.address else ""
    return _format_entry(f"row-{row.id}", fields, note, edition.date, address)


def format_book_bibtex(edition: Edition) -> str:
    """Return the BibTeX entry of the whole book."""
    fields = {"title": f"{{{escape_tex(read_cff()['title'])}}}"}
    return _format_entry(
        book_settings()["name"], fields, edition.note, edition.date, edition.address
    )


def _format_entry(key: str, fields: dict[str, str], note: str, date: str, address: str) -> str:
    """Return a BibTeX entry of type ``@misc``."""
    all_fields = {
        "author": " and ".join(f"{{{escape_tex(name)}}}" for name in list_authors()),
        **fields,
    }
    all_fields |= {
        "year": date[:4],
        "version": str(read_cff()["version"]),
        "note": escape_tex(note),
    }
    all_fields |= {"doi": read_cff()["doi"]} if "doi" in read_cff() else {}
    all_fields |= {"url": address} if address else {}
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in all_fields.items())
    return f"@misc{{{key},\n{lines}}}\n"


def extract_first_sentence(caption: str) -> str:
    """Return the first sentence of a caption, in its Markdown, without the full stop."""
    match = _SENTENCE.match(caption.strip())
    return (match[0] if match else caption).strip()


def convert_title_to_tex(caption: str) -> str:
    """Return the title for a field of a BibTeX entry."""

    def part(match: re.Match[str]) -> str:
        if match["math"]:
            return match["math"]
        if match["strong"]:
            return rf"\emph{{{escape_tex(match['words'])}}}"
        if match["code"] is not None:
            return rf"\texttt{{{escape_tex(match['code'])}}}"
        # `escape_tex` strips a text that is a single space.
        return escape_tex(match["escaped"] or match["other"]) or " "

    return _PARTS.sub(part, extract_first_sentence(caption))


def strip_title_markup(caption: str) -> str:
    """Return the title without Markdown markup; formulas stay as TeX, without dollar signs."""

    def part(match: re.Match[str]) -> str:
        if match["math"]:
            return match["math"].strip("$")
        return next(match[name] for name in ("words", "code", "escaped", "other") if match[name])

    return _PARTS.sub(part, extract_first_sentence(caption))


def format_citation(edition: Edition) -> str:
    """Return the citation of the whole book in APA style, as one line of text."""
    text = (
        f"{', '.join(list_authors())} ({edition.date[:4]}). {read_cff()['title']} ({edition.note})"
    )
    address = f"https://doi.org/{read_cff()['doi']}" if "doi" in read_cff() else edition.address
    return f"{text} [Computer software]. {address}".rstrip()


def write_citation(site: Path, edition: Edition) -> None:
    """Write the citation of the book: ``CITATION.cff`` with commit and URL, and BibTeX."""
    facts = {"commit": edition.commit} if " " not in edition.commit else {}
    facts |= {"url": edition.address} if edition.address else {}
    content = read_cff() | {"date-released": edition.date} | facts
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    (site / "CITATION.cff").write_text(text, encoding="utf-8")
    (site / "citation.bib").write_text(format_book_bibtex(edition), encoding="utf-8")
