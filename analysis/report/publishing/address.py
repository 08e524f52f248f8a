"""Where the book and its repository are published: two settings, empty by default.

``html.baseurl`` of ``book/_config.yml``, or ``make book BASEURL=https://...``, is the address from
which permalinks and canonical links follow; while it is empty links are relative.
``html.repository``, or ``REPOSITORY=https://...``, is what pages name where they say how to rerun
them; while it is empty they name the archive of a release.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import yaml

from analysis.report.paths import BOOK

_ADDRESS = re.compile(r"https?://[^\s\"'<>#?\\{}]+")


def base_address() -> str:
    """Return the address under which the book is published, with a slash at its end, or nothing.

    Raises
    ------
    ValueError
        If it is no address of the web.
    """
    given = _setting("BASEURL", "baseurl")
    return f"{given}/" if given else ""


def repository_address() -> str:
    """Return the address of the repository, without a slash at its end, or nothing.

    Raises
    ------
    ValueError
        If it is no address of the web.
    """
    return _setting("REPOSITORY", "repository")


def _setting(variable: str, name: str) -> str:
    """Return an address from the environment, or else from the book's configuration."""
    config = yaml.safe_load((BOOK / "_config.yml").read_text(encoding="utf-8"))
    given = (os.environ.get(variable) or config["html"].get(name) or "").strip()
    if given and not _ADDRESS.fullmatch(given):
        raise ValueError(
            f"{variable} (or html.{name} of book/_config.yml) must be an address such as "
            f"https://example.org/book, or empty, got {given!r}"
        )
    return given.rstrip("/")


def permalink(product: dict[str, Any], base: str, *, document: bool = True) -> str:
    """Return the permanent address of a figure or table, relative where the book has none.

    Parameters
    ----------
    product : dict
        With its ``id`` and the page of its ``notebook``.
    base : str
        As `base_address` returns it.
    document : bool
        False for a reader's own run, which is on its own page only.
    """
    if not document:
        return f"{Path(product['notebook']).name}.html#{product['id']}"
    return f"{base}{product['notebook']}.html#{product['id']}"
