"""The URLs of the published book and of its repository: two settings, empty by default.

``html.baseurl`` of ``book/_config.yml``, or ``make book BASEURL=https://...``, is the prefix of
permalinks and canonical links; if it is empty, links are relative.
``html.repository``, or ``REPOSITORY=https://...``, is the repository to which the instructions for
reruns link; if it is empty, they have no link.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import yaml

from scorecard.paths import BOOK

_ADDRESS = re.compile(r"https?://[^\s\"'<>#?\\{}]+")


def base_address() -> str:
    """Return the URL of the published book with a trailing slash, or an empty string."""
    address = _setting("BASEURL", "baseurl")
    return f"{address}/" if address else ""


def repository_address() -> str:
    """Return the URL of the repository without a trailing slash, or an empty string."""
    return _setting("REPOSITORY", "repository")


def _setting(variable: str, name: str) -> str:
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
