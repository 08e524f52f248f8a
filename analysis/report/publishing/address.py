"""The book's address, the one setting from which permalinks and canonical links follow.

It is ``html.baseurl`` of ``book/_config.yml``, or given as ``make book BASEURL=https://...``; empty
by default, and then links are relative and nothing claims to be found anywhere.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import yaml

from analysis.report.paths import BOOK

VARIABLE = "BASEURL"
_ADDRESS = re.compile(r"https?://[^\s\"'<>#?\\{}]+")


def base_address() -> str:
    """Return the address under which the book is published, with a slash at its end, or nothing.

    Raises
    ------
    ValueError
        If it is no address of the web.
    """
    config = yaml.safe_load((BOOK / "_config.yml").read_text(encoding="utf-8"))
    given = (os.environ.get(VARIABLE) or config["html"].get("baseurl") or "").strip()
    if given and not _ADDRESS.fullmatch(given):
        raise ValueError(
            f"{VARIABLE} (or html.baseurl of book/_config.yml) must be an address such as "
            f"https://example.org/book, or empty, got {given!r}"
        )
    return f"{given.rstrip('/')}/" if given else ""


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
