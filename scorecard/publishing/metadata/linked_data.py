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
class PageLocation:
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


def book(location: PageLocation) -> Node:
    """Return the JSON-LD node of the book."""
    return {
        "@type": "Book",
        "@id": location.edition.address or location.to("index.html"),
        "name": cff()["title"],
        "author": [{"@type": "Organization", "name": name} for name in authors()],
        "abstract": cff()["abstract"],
        "keywords": cff()["keywords"],
        "inLanguage": "en",
        "license": TEXT_LICENSE,
        "version": f"{cff()['version']}, commit {location.edition.commit}",
        "datePublished": location.edition.date,
    }


def chapter(title: str, location: PageLocation, results: Mapping[str, Any]) -> Node:
    """Return the JSON-LD node of a page, with its figures, tables and data as parts.

    `results`: ``figures``, ``tables`` and ``data`` of the book, as `scorecard.collate`
    gathers them.
    """
    products = {
        product_kind: [
            p for p in results.get(product_kind, {}).values() if p["notebook"] == location.page
        ]
        for product_kind in PRODUCTS
    }
    parts = [figure(product, location) for product in products["figures"]]
    parts += [dataset(product, location, "tables") for product in products["tables"]]
    parts += [dataset(product, location, "data") for product in products["data"]]
    book_node = book(location)
    node = {
        "@type": "Chapter",
        "@id": location.here,
        "name": title,
        "isPartOf": {key: book_node[key] for key in ("@type", "@id", "name")},
        **{key: book_node[key] for key in ("author", "inLanguage", "license", "version")},
        "datePublished": location.edition.date,
    }
    return node | ({"hasPart": parts} if parts else {})


def figure(product: Mapping[str, Any], location: PageLocation) -> Node:
    """Return the JSON-LD node of a figure, based on the dataset of its plotted numbers."""
    id = product["id"]
    return {
        "@type": "ImageObject",
        "@id": f"{location.here}#{id}",
        "name": title_as_plain_text(product["caption"]),
        "caption": product["caption"],
        "description": product["alt"],
        "contentUrl": location.to(f"figures/{id}.svg"),
        "encodingFormat": TYPES["svg"],
        "license": TEXT_LICENSE,
        "isBasedOn": {
            "@type": "Dataset",
            "@id": location.to(f"figures/{id}.csv"),
            "name": f"Numbers of the figure {id}",
            "description": product["caption"],
            "license": TEXT_LICENSE,
            "distribution": _csv(location, f"figures/{id}.csv"),
        },
    }


def dataset(product: Mapping[str, Any], location: PageLocation, product_kind: str) -> Node:
    """Return the JSON-LD node of a table (`part` "tables") or of saved data ("data")."""
    id = product["id"]
    path = f"{product_kind}/{id}.csv"
    text = product["caption" if product_kind == "tables" else "description"]
    columns = product.get("columns", [])
    variables = [{"@type": "PropertyValue", **column} for column in columns]
    return {
        "@type": "Dataset",
        "@id": f"{location.here}#{id}" if product_kind == "tables" else location.to(path),
        "name": title_as_plain_text(text),
        "description": text,
        "license": TEXT_LICENSE,
        "distribution": _csv(location, path),
    } | ({"variableMeasured": variables} if variables else {})


def _csv(location: PageLocation, path: str) -> Node:
    kind = {"@type": "DataDownload", "encodingFormat": TYPES["csv"]}
    return {**kind, "contentUrl": location.to(path)}
