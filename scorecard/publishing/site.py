"""Files of the site and their metadata.

The files are figures, tables, data, notebooks, verdicts, errata and an archive of all data; the
metadata JSON-LD and ``head`` of pages, the sitemap, RO-Crate and CodeMeta.

JSON-LD describes pages in the vocabulary of schema.org: Book, Chapter, ImageObject and Dataset.
URLs are absolute if the book has a base URL, and otherwise relative to the page. Pages of a
reader's own run have no such metadata: they are not part of the published book.

In the RO-Crate (``ro-crate-metadata.json``, https://www.researchobject.org/ro-crate) each run of a
notebook is a CreateAction: the notebook is its instrument, the parameters are its object, and
figures, tables and data its result.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
import textwrap
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from markupsafe import Markup, escape
from rocrate.model.contextentity import ContextEntity  # type: ignore[import-untyped]
from rocrate.rocrate import ROCrate  # type: ignore[import-untyped]
from sphinx.application import Sphinx

from scorecard.collate import PRODUCTS, Collation, list_errata
from scorecard.files import ROOT
from scorecard.pages.results import read_results
from scorecard.prints import documents, printed_rows
from scorecard.publishing.citation import (
    CODE_LICENSE,
    TEXT_LICENSE,
    Edition,
    format_bibtex,
    format_row_bibtex,
    list_authors,
    permalink,
    read_cff,
    read_edition,
    strip_title_markup,
    write_citation,
)
from scorecard.record import write_json
from scorecard.text import encode_csv, escape_cell
from scorecard.values import book_settings

SCORECARD = [
    "id", "document", "place", "kind", "printed", "computed", "interval_low", "interval_high",
    "verdict", "page", "basis", "assumes", "condition", "reason",
]  # fmt: skip
ERRATA = [
    "id", "document", "place", "printed", "corrected", "record", "page", "kind", "weight",
    "consequence", "also",
]  # fmt: skip


def write_data(collation: Collation, site: Path) -> None:
    """Write the site's data files: figures, tables, data, notebooks, scorecard, errata, manifest.

    `site`: a new folder, whose content is copied to the root of the site.
    """
    (site / "notebooks").mkdir(parents=True)
    for product_kind in PRODUCTS:
        (site / product_kind).mkdir()
    edition = read_edition()
    for page, run in collation.runs.items():
        folder = Path(run["folder"])
        shutil.copyfile(folder / "notebook.ipynb", site / "notebooks" / f"{Path(page).name}.ipynb")
        for file in run["files"].values():  # the notebook reads them from its own folder
            shutil.copyfile(folder / file["shipped"], site / "notebooks" / file["shipped"])
        for product_kind in PRODUCTS:
            for path in folder.glob(f"{product_kind}/*"):
                if path.suffix != ".json":
                    shutil.copyfile(path, site / product_kind / path.name)
    for product_kind in PRODUCTS:
        _write_products(collation, product_kind, site, edition)
    for name, columns, rows in (
        ("scorecard", SCORECARD, _list_verdicts(collation)),
        ("errata", ERRATA, list_errata(collation)),
    ):
        text = io.StringIO()
        table = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        table.writerows({k: escape_cell(v) for k, v in row.items()} for row in rows)
        (site / f"{name}.csv").write_bytes(encode_csv(text.getvalue()))
    write_citation(site, edition)
    write_json(site / "manifest.json", _hash_files(collation, site))
    if collation.document:  # a reader's own run is not published
        _write_row_citations(collation, site / "rows", edition)
        write_crate(collation, site, edition)
        pack_data(site)


def _write_products(collation: Collation, product_kind: str, site: Path, edition: Edition) -> None:
    """Write provenance (and BibTeX, for figures and tables) of each product, and their list."""
    products = getattr(collation, product_kind)
    for id, entry in products.items():
        facts = {"commit": edition.commit, "profile": collation.profile}
        path = Path(collation.runs[entry["notebook"]]["folder"]) / "machine.json"
        facts |= {"machine": json.loads(path.read_bytes())} if path.exists() else {}
        write_json(site / product_kind / f"{id}.json", {**entry, **facts})
        if product_kind != "data":
            cited = format_bibtex(
                entry, edition, product_kind=product_kind, document=collation.document
            )
            (site / product_kind / f"{id}.bib").write_text(cited, encoding="utf-8")
    data = f"{edition.address if collation.document else ''}data/"
    listed = [
        {key: value for key, value in entry.items() if key != "rows"}
        | {
            "permalink": f"{data}{id}.csv"
            if product_kind == "data"
            else permalink(entry, edition.address, document=collation.document)
        }
        for id, entry in products.items()
    ]
    write_json(site / f"{product_kind}.json", listed)


def _write_row_citations(collation: Collation, folder: Path, edition: Edition) -> None:
    folder.mkdir()
    for id, verdict in collation.verdicts.items():
        row = printed_rows()[id]
        title = documents()[row.document].title
        entry = format_row_bibtex(row, title, verdict, edition)
        (folder / f"{id}.bib").write_text(entry, encoding="utf-8")


#: Archive of the site with all data, and the suffixes of its members.
ALL_DATA = "all-data.zip"
_DATA_SUFFIXES = {".csv", ".json", ".bib", ".cff"}


def pack_data(site: Path) -> None:
    """Write all data of a site to one archive: tables, numbers behind figures, provenance."""
    paths = sorted(path for path in site.rglob("*") if path.suffix in _DATA_SUFFIXES)
    with zipfile.ZipFile(site / ALL_DATA, "w") as archive:
        for path in paths:
            # The bytes depend on names and contents only: an entry without a date has that of 1980.
            member = zipfile.ZipInfo(
                f"{book_settings()['name']}/{path.relative_to(site).as_posix()}"
            )
            archive.writestr(member, path.read_bytes(), zipfile.ZIP_DEFLATED)


def _list_verdicts(collation: Collation) -> list[dict[str, Any]]:
    """Return the fields of each judged row, of which `SCORECARD` names the columns."""
    rows = []
    for id, verdict in collation.verdicts.items():
        low, high = verdict["interval"] or ("", "")
        cells = {"interval_low": low, "interval_high": high}
        cells["assumes"] = "; ".join(verdict["assumes"])
        rows.append(vars(printed_rows()[id]) | verdict | cells)
    return rows


def _hash_files(collation: Collation, site: Path) -> dict[str, dict[str, str]]:
    """Return the hash of every figure and data file of the site, and of every record."""
    paths = sorted(p for p in site.rglob("*") if p.suffix in {".svg", ".pdf", ".png", ".csv"})
    files = {
        path.relative_to(site).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
    }
    records = {
        id: hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()
        for id, entry in sorted({**collation.records, **collation.values}.items())
    }
    return {"files": files, "records": records}


# Metadata

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


def describe_book(location: PageLocation) -> Node:
    """Return the JSON-LD node of the book."""
    return {
        "@type": "Book",
        "@id": location.edition.address or location.to("index.html"),
        "name": read_cff()["title"],
        "author": [{"@type": "Organization", "name": name} for name in list_authors()],
        "abstract": read_cff()["abstract"],
        "keywords": read_cff()["keywords"],
        "inLanguage": "en",
        "license": TEXT_LICENSE,
        "version": f"{read_cff()['version']}, commit {location.edition.commit}",
        "datePublished": location.edition.date,
    }


def describe_chapter(title: str, location: PageLocation, results: Mapping[str, Any]) -> Node:
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
    parts = [describe_figure(product, location) for product in products["figures"]]
    parts += [describe_dataset(product, location, "tables") for product in products["tables"]]
    parts += [describe_dataset(product, location, "data") for product in products["data"]]
    book_node = describe_book(location)
    node = {
        "@type": "Chapter",
        "@id": location.here,
        "name": title,
        "isPartOf": {key: book_node[key] for key in ("@type", "@id", "name")},
        **{key: book_node[key] for key in ("author", "inLanguage", "license", "version")},
        "datePublished": location.edition.date,
    }
    return node | ({"hasPart": parts} if parts else {})


def describe_figure(product: Mapping[str, Any], location: PageLocation) -> Node:
    """Return the JSON-LD node of a figure, based on the dataset of its plotted numbers."""
    id = product["id"]
    return {
        "@type": "ImageObject",
        "@id": f"{location.here}#{id}",
        "name": strip_title_markup(product["caption"]),
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
            "distribution": _describe_csv(location, f"figures/{id}.csv"),
        },
    }


def describe_dataset(product: Mapping[str, Any], location: PageLocation, product_kind: str) -> Node:
    """Return the JSON-LD node of a table (`product_kind` "tables") or of saved data ("data")."""
    id = product["id"]
    path = f"{product_kind}/{id}.csv"
    text = product["caption" if product_kind == "tables" else "description"]
    columns = product.get("columns", [])
    variables = [{"@type": "PropertyValue", **column} for column in columns]
    return {
        "@type": "Dataset",
        "@id": f"{location.here}#{id}" if product_kind == "tables" else location.to(path),
        "name": strip_title_markup(text),
        "description": text,
        "license": TEXT_LICENSE,
        "distribution": _describe_csv(location, path),
    } | ({"variableMeasured": variables} if variables else {})


def _describe_csv(location: PageLocation, path: str) -> Node:
    kind = {"@type": "DataDownload", "encodingFormat": TYPES["csv"]}
    return {**kind, "contentUrl": location.to(path)}


CRATE = "ro-crate-metadata.json"
#: Names of the files that belong to the whole book.
BOOK_FILES = {
    "scorecard.csv": "Verdict on every row that the documents print",
    "errata.csv": "What should stand where in the documents",
    "manifest.json": "SHA-256 of every figure, data file and record",
    "CITATION.cff": "How the book is cited",
}
_FORMATS = TYPES | {"bib": "application/x-bibtex", "cff": "application/yaml"}


def write_crate(collation: Collation, site: Path, edition: Edition) -> None:
    """Write the RO-Crate metadata of a site's files."""
    crate = ROCrate()
    who = [_add_entity(crate, "#contributors", "Organization", name) for name in list_authors()]
    crate.name, crate.description = read_cff()["title"], read_cff()["abstract"]
    crate.keywords, crate.creator = read_cff()["keywords"], who
    crate.datePublished = edition.date
    crate.license = _add_entity(
        crate, TEXT_LICENSE, "CreativeWork", "CC BY 4.0, of text and figures"
    )
    crate.root_dataset["version"] = f"{read_cff()['version']}, commit {edition.commit}"
    if edition.address:
        crate.root_dataset["url"] = edition.address
    _add_entity(crate, CODE_LICENSE, "CreativeWork", "MIT License, of code")
    python = _add_entity(crate, "#python", "ComputerLanguage", "Python")
    for path, name in BOOK_FILES.items():
        _add_file(crate, site, path, name)
    for page, run in collation.runs.items():
        short = Path(page).name
        code = {"@type": ["File", "SoftwareSourceCode"], "license": {"@id": CODE_LICENSE}}
        path, title = f"notebooks/{short}.ipynb", f"Executed notebook of {page}"
        notebook = _add_file(crate, site, path, title, **code)
        notebook["programmingLanguage"] = python
        inputs = [
            _add_entity(
                crate, f"#{short}-{name}", "PropertyValue", name, value=_format_value(value)
            )
            for name, value in run["parameters"].items()
        ]
        outputs = [
            file
            for product_kind in PRODUCTS
            for file in _add_products(crate, collation, site, product_kind, page)
        ]
        facts = {
            "name": f"Run of {page}",
            "actionStatus": "http://schema.org/CompletedActionStatus",
        }
        action = crate.add_action(notebook, f"#run-{short}", inputs, outputs, properties=facts)
        crate.root_dataset.append_to("mentions", action)
    write_json(site / CRATE, crate.metadata.generate())
    write_json(site / "codemeta.json", make_codemeta(edition))


def _add_products(
    crate: ROCrate, collation: Collation, site: Path, product_kind: str, page: str
) -> list[Any]:
    """Add the files of a page's figures, tables or data to the crate, and return them."""
    files = []
    for id, product in getattr(collation, product_kind).items():
        if product["notebook"] == page:
            title = strip_title_markup(product.get("caption") or product["description"])
            paths = sorted(site.glob(f"{product_kind}/{id}.*"))
            files += [
                _add_file(crate, site, f"{product_kind}/{path.name}", title) for path in paths
            ]
    return files


def _add_file(crate: ROCrate, site: Path, path: str, name: str, **properties: Any) -> Any:
    kind, size = _FORMATS[path.rpartition(".")[2]], str((site / path).stat().st_size)
    facts = {"name": name, "encodingFormat": kind, "contentSize": size, **properties}
    return crate.add_file(site / path, dest_path=path, properties=facts)


def _add_entity(crate: ROCrate, id: str, kind: str, name: str, **properties: Any) -> Any:
    facts = {"@type": kind, "name": name, **properties}
    return crate.add(ContextEntity(crate, id, properties=facts))


def _format_value(value: Any) -> Any:
    """Return a parameter's value for JSON-LD, which would flatten nested lists: these as text."""
    return value if isinstance(value, (int, float, str)) else str(value)


def make_codemeta(edition: Edition) -> dict[str, Any]:
    """Return the content of ``codemeta.json`` for the package (https://codemeta.github.io)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    facts = {
        "@context": "https://w3id.org/codemeta/3.0",
        "type": "SoftwareSourceCode",
        "name": read_cff()["title"],
        "description": project["description"],
        "author": [{"type": "Organization", "name": name} for name in list_authors()],
        "license": CODE_LICENSE,
        "version": project["version"],
        "dateModified": edition.date,
        "keywords": read_cff()["keywords"],
        "programmingLanguage": "Python",
        "runtimePlatform": f"Python {project['requires-python']}",
        "softwareRequirements": project["dependencies"],
    }
    return facts | ({"url": edition.address} if edition.address else {})


def update_notebook_sizes(site: Path) -> None:
    """Update the sizes of the notebooks in the crate, which are rewritten after the pages."""
    path = site / CRATE
    if not path.exists():
        return
    content = json.loads(path.read_text(encoding="utf-8"))
    for entity in content["@graph"]:
        if entity["@id"].startswith("notebooks/"):
            entity["contentSize"] = str((site / entity["@id"]).stat().st_size)
    write_json(path, content)


_TAG = Markup("    <{} {}>\n")
#: Greatest length of a description, in characters; search engines cut longer ones.
_DESCRIPTION_LENGTH = 160
#: Beginning of the paragraph that describes a page best.
_SUMMARY = "What we find."


def describe_page(doctree: nodes.document) -> str:
    """Return the beginning of a page's finding, or else of its first paragraph."""
    texts = [
        " ".join(node.astext().split())
        for node in doctree.findall(nodes.paragraph)
        if isinstance(node.parent, nodes.section)  # no hint, card or note
    ]
    summaries = [text.removeprefix(_SUMMARY).strip() for text in texts if text.startswith(_SUMMARY)]
    return shorten_to_sentences(next(iter(summaries + texts), ""))


def shorten_to_sentences(text: str) -> str:
    """Return as many whole sentences of a text as fit into `_DESCRIPTION_LENGTH`.

    If the first one does not fit, it is cut after a word. Sentences with formulas are left out.
    """
    sentences = re.split(r"(?<=[.!?]) +(?=[A-Z0-9])", text)
    # Search engines would show the TeX source of a formula.
    summary, *others = [sentence for sentence in sentences if "\\" not in sentence] or [""]
    for sentence in others:
        if len(f"{summary} {sentence}") > _DESCRIPTION_LENGTH:
            break
        summary = f"{summary} {sentence}"
    return textwrap.shorten(summary, _DESCRIPTION_LENGTH, placeholder="…")


def format_head(
    title: str, page: str, edition: Edition, data: dict[str, Any], description: str = ""
) -> str:
    """Return the metadata of a page as HTML elements for its head."""
    location = PageLocation(page, edition)
    front = page == "index"
    node = describe_book(location) if front else describe_chapter(title, location, data)
    text = json.dumps({"@context": CONTEXT, **node}, ensure_ascii=False, indent=1)
    # "</script>" within a caption would end the element.
    script = text.replace("<", "\\u003c")
    citation = {"title": read_cff()["title"] if front else title}
    citation |= {} if front else {"inbook_title": read_cff()["title"]}
    citation |= {"publication_date": edition.date.replace("-", "/"), "language": "en"}
    citation |= {"fulltext_html_url": location.here} if edition.address else {}
    tags = [_format_tag("meta", name="citation_author", content=name) for name in list_authors()]
    tags += [
        _format_tag("meta", name=f"citation_{name}", content=citation[name]) for name in citation
    ]
    preview = {"title": title, "site_name": read_cff()["title"]}
    preview["type"] = "book" if front else "article"
    preview |= {"url": location.here} if edition.address else {}
    if description:
        tags.append(_format_tag("meta", name="description", content=description))
        preview["description"] = description
    shown = [f for f in data.get("figures", {}).values() if f["notebook"] == page]
    if shown and edition.address:  # an address relative to the page would not be found
        preview["image"] = location.to(f"figures/{shown[0]['id']}.png")
        preview["image:alt"] = shown[0]["alt"]
    tags += [_format_tag("meta", property=f"og:{name}", content=preview[name]) for name in preview]
    tags.append(_format_tag("link", rel="license", href=TEXT_LICENSE))
    crate = location.to(CRATE)
    tags.append(_format_tag("link", rel="describedby", type="application/ld+json", href=crate))
    if edition.address:
        tags.append(_format_tag("link", rel="cite-as", href=location.here))
    return "".join(tags) + f'    <script type="application/ld+json">\n{script}\n</script>\n'


def _format_tag(element: str, **attributes: str) -> str:
    pairs = Markup(" ").join(Markup('{}="{}"').format(*pair) for pair in attributes.items())
    return _TAG.format(Markup(element), pairs)


def _add_head(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    data = read_results(app)
    if doctree is None or not data["document"]:
        return
    edition = Edition(**{name: data["edition"][name] for name in ("commit", "date", "address")})
    title = unescape(re.sub(r"<[^>]+>", "", str(context.get("title", ""))))
    summary = describe_page(doctree) or f"{title} of {read_cff()['title']}"
    if page == "index":
        summary = shorten_to_sentences(" ".join(read_cff()["abstract"].split()))
    tags = format_head(title, page, edition, data, summary)
    context["metatags"] = context.get("metatags", "") + tags
    context["subject"] = book_settings()["subjects"].get(page.partition("/")[0], "")


def write_sitemap(pages: list[str], address: str, site: Path) -> None:
    """Write ``sitemap.xml`` with the URLs of all pages (https://www.sitemaps.org)."""
    lines = [f"  <url><loc>{escape(address)}{escape(page)}.html</loc></url>\n" for page in pages]
    text = '<?xml version="1.0" encoding="utf-8"?>\n'
    text += '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    (site / "sitemap.xml").write_text(f"{text}{''.join(lines)}</urlset>\n", encoding="utf-8")


def _add_sitemap(app: Sphinx, failed: Exception | None) -> None:
    if not failed and app.builder.name == "html" and app.config.html_baseurl:
        write_sitemap(sorted(app.env.found_docs), app.config.html_baseurl, Path(app.outdir))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the event handlers."""
    app.connect("html-page-context", _add_head)
    app.connect("build-finished", _add_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
