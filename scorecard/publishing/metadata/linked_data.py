"""JSON-LD of the pages in the vocabulary of schema.org: Book, Chapter, ImageObject and Dataset.

URLs are absolute if the book has a base URL, and otherwise relative to the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scorecard.collate import PRODUCTS
from scorecard.publishing.metadata.citation import (
    TEXT_LICENSE,
    Edition,
    authors,
    cff,
    title_as_plain_text,
)

CONTEXT = "https://schema.org"
#: Media types by file suffix.
TYPES = {
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
    "csv": "text/csv",
    "json": "application/json",
    "ipynb": "application/x-ipynb+json",
}

Node = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """A page of an edition, to which URLs are relative."""

    page: str  # the page, such as "ephemeral/four-sources"
    edition: Edition  # the edition that the page is part of

    def to(self, path: str) -> str:
        """Return the URL of a file of the site."""
        return (self.edition.address or "../" * self.page.count("/")) + path

    @property
    def here(self) -> str:
        """The URL of the page itself."""
        return self.to(f"{self.page}.html")


def book(place: Place) -> Node:
    """Return the JSON-LD node of the book."""
    return {
        "@type": "Book",
        "@id": place.edition.address or place.to("index.html"),
        "name": cff()["title"],
        "author": [{"@type": "Organization", "name": name} for name in authors()],
        "abstract": cff()["abstract"],
        "keywords": cff()["keywords"],
        "inLanguage": "en",
        "license": TEXT_LICENSE,
        "version": f"{cff()['version']}, commit {place.edition.commit}",
        "datePublished": place.edition.date,
    }


def chapter(title: str, place: Place, results: Mapping[str, Any]) -> Node:
    """Return the JSON-LD node of a page, with its figures, tables and data as parts.

    `results`: ``figures``, ``tables`` and ``data`` of the book, as `scorecard.collate`
    gathers them.
    """
    mine = {
        part: [p for p in results.get(part, {}).values() if p["notebook"] == place.page]
        for part in PRODUCTS
    }
    parts = [figure(product, place) for product in mine["figures"]]
    parts += [dataset(product, place, "tables") for product in mine["tables"]]
    parts += [dataset(product, place, "data") for product in mine["data"]]
    whole = book(place)
    node = {
        "@type": "Chapter",
        "@id": place.here,
        "name": title,
        "isPartOf": {key: whole[key] for key in ("@type", "@id", "name")},
        **{key: whole[key] for key in ("author", "inLanguage", "license", "version")},
        "datePublished": place.edition.date,
    }
    return node | ({"hasPart": parts} if parts else {})


def figure(product: Mapping[str, Any], place: Place) -> Node:
    """Return the JSON-LD node of a figure, based on the dataset of its plotted numbers."""
    id = product["id"]
    return {
        "@type": "ImageObject",
        "@id": f"{place.here}#{id}",
        "name": title_as_plain_text(product["caption"]),
        "caption": product["caption"],
        "description": product["alt"],
        "contentUrl": place.to(f"figures/{id}.svg"),
        "encodingFormat": TYPES["svg"],
        "license": TEXT_LICENSE,
        "isBasedOn": {
            "@type": "Dataset",
            "@id": place.to(f"figures/{id}.csv"),
            "name": f"Numbers of the figure {id}",
            "description": product["caption"],
            "license": TEXT_LICENSE,
            "distribution": _csv(place, f"figures/{id}.csv"),
        },
    }


def dataset(product: Mapping[str, Any], place: Place, part: str) -> Node:
    """Return the JSON-LD node of a table (`part` "tables") or of saved data ("data")."""
    id = product["id"]
    path = f"{part}/{id}.csv"
    text = product["caption" if part == "tables" else "description"]
    columns = product.get("columns", [])
    variables = [{"@type": "PropertyValue", **column} for column in columns]
    return {
        "@type": "Dataset",
        "@id": f"{place.here}#{id}" if part == "tables" else place.to(path),
        "name": title_as_plain_text(text),
        "description": text,
        "license": TEXT_LICENSE,
        "distribution": _csv(place, path),
    } | ({"variableMeasured": variables} if variables else {})


def _csv(place: Place, path: str) -> Node:
    kind = {"@type": "DataDownload", "encodingFormat": TYPES["csv"]}
    return {**kind, "contentUrl": place.to(path)}
