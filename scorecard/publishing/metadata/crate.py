"""RO-Crate metadata of the book, ``ro-crate-metadata.json``, and ``codemeta.json`` of its code.

In the crate each run of a notebook is a CreateAction: the notebook is its instrument, the
parameters are its object, and figures, tables and data its result
(https://www.researchobject.org/ro-crate).
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from rocrate.model.contextentity import ContextEntity  # type: ignore[import-untyped]
from rocrate.rocrate import ROCrate  # type: ignore[import-untyped]

from scorecard.collate import PRODUCTS, Collation
from scorecard.paths import ROOT
from scorecard.publishing.metadata.citation import (
    CODE_LICENSE,
    TEXT_LICENSE,
    Edition,
    authors,
    cff,
    title_as_plain_text,
)
from scorecard.publishing.metadata.linked_data import TYPES
from scorecard.run import write_json

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
    who = [_entity(crate, "#contributors", "Organization", name) for name in authors()]
    crate.name, crate.description = cff()["title"], cff()["abstract"]
    crate.keywords, crate.creator = cff()["keywords"], who
    crate.datePublished = edition.date
    crate.license = _entity(crate, TEXT_LICENSE, "CreativeWork", "CC BY 4.0, of text and figures")
    crate.root_dataset["version"] = f"{cff()['version']}, commit {edition.commit}"
    if edition.address:
        crate.root_dataset["url"] = edition.address
    _entity(crate, CODE_LICENSE, "CreativeWork", "MIT License, of code")
    python = _entity(crate, "#python", "ComputerLanguage", "Python")
    for path, name in BOOK_FILES.items():
        _file(crate, site, path, name)
    for page, run in collation.runs.items():
        short = Path(page).name
        code = {"@type": ["File", "SoftwareSourceCode"], "license": {"@id": CODE_LICENSE}}
        path, title = f"notebooks/{short}.ipynb", f"Executed notebook of {page}"
        notebook = _file(crate, site, path, title, **code)
        notebook["programmingLanguage"] = python
        inputs = [
            _entity(crate, f"#{short}-{name}", "PropertyValue", name, value=_value(value))
            for name, value in run["parameters"].items()
        ]
        outputs = [
            file
            for product_kind in PRODUCTS
            for file in _products(crate, collation, site, product_kind, page)
        ]
        facts = {
            "name": f"Run of {page}",
            "actionStatus": "http://schema.org/CompletedActionStatus",
        }
        action = crate.add_action(notebook, f"#run-{short}", inputs, outputs, properties=facts)
        crate.root_dataset.append_to("mentions", action)
    write_json(site / CRATE, crate.metadata.generate())
    write_json(site / "codemeta.json", codemeta(edition))


def _products(
    crate: ROCrate, collation: Collation, site: Path, product_kind: str, page: str
) -> list[Any]:
    """Add the files of a page's figures, tables or data to the crate, and return them."""
    files = []
    for id, product in getattr(collation, product_kind).items():
        if product["notebook"] == page:
            title = title_as_plain_text(product.get("caption") or product["description"])
            paths = sorted(site.glob(f"{product_kind}/{id}.*"))
            files += [_file(crate, site, f"{product_kind}/{path.name}", title) for path in paths]
    return files


def _file(crate: ROCrate, site: Path, path: str, name: str, **properties: Any) -> Any:
    kind, size = _FORMATS[path.rpartition(".")[2]], str((site / path).stat().st_size)
    facts = {"name": name, "encodingFormat": kind, "contentSize": size, **properties}
    return crate.add_file(site / path, dest_path=path, properties=facts)


def _entity(crate: ROCrate, id: str, kind: str, name: str, **properties: Any) -> Any:
    facts = {"@type": kind, "name": name, **properties}
    return crate.add(ContextEntity(crate, id, properties=facts))


def _value(value: Any) -> Any:
    """Return a parameter's value for JSON-LD, which would flatten nested lists: these as text."""
    return value if isinstance(value, (int, float, str)) else str(value)


def codemeta(edition: Edition) -> dict[str, Any]:
    """Return the content of ``codemeta.json`` for the package (https://codemeta.github.io)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    facts = {
        "@context": "https://w3id.org/codemeta/3.0",
        "type": "SoftwareSourceCode",
        "name": cff()["title"],
        "description": project["description"],
        "author": [{"type": "Organization", "name": name} for name in authors()],
        "license": CODE_LICENSE,
        "version": project["version"],
        "dateModified": edition.date,
        "keywords": cff()["keywords"],
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
