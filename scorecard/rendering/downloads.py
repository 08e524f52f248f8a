"""Portable notebooks, which readers download and run without the book.

Roles and directives are converted to plain Markdown, figures are attached, and the first cell
checks that the right version of the library is installed. The archive of a page has the notebook,
the page's own modules, and what the documents print.
"""

from __future__ import annotations

import base64
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import metadata
from pathlib import Path
from pprint import pformat
from typing import Any

import nbformat

from analysis import __version__, fingerprint
from scorecard.paths import BOOK
from scorecard.prints import FOLDER
from scorecard.rendering.portable import MarkdownConverter
from scorecard.run import PARAMETERS
from scorecard.running.dependencies import imported_names

_CHECK_CELL = """\
# From the book "Which source next?", page {page}, version {version}, commit {commit}.
# It needs that version of the book's package, `analysis`, for Python {python}.
try:
    import analysis
except ModuleNotFoundError:
    raise SystemExit(
        "This notebook needs the package `analysis` {version} (commit {commit}): in a clone of "
        "the book's repository at that commit run `make .venv/ready` and open the notebook with "
        "`make lab`, or install the clone into this kernel with `%pip install PATH/TO/CLONE[book]`."
    ) from None
if analysis.__version__ != "{version}":
    print(f"made with analysis {version}; this is {{analysis.__version__}}: numbers may differ")
if __import__("importlib.util").util.find_spec("book") is None:
    raise SystemExit(
        "This notebook needs the folder `book` that is beside it in the page's archive, "
        "notebooks/{name}.zip of the site: unpack the archive, and open the notebook there."
    )
"""
_FILE = """\
# It reads {shipped}, SHA-256 {sha256}.
if not __import__("pathlib").Path("{shipped}").exists():
    raise SystemExit(
        "This notebook reads {shipped}, a file of its author's: put it beside the notebook. The "
        "page's site has it in the same folder, as notebooks/{shipped}."
    )
"""
_PARAMETERS = """\
# With other parameters than these the notebook makes no statements about the documents.
"""


def portable_notebook(
    notebook: nbformat.NotebookNode, page: MarkdownConverter, pictures: Path
) -> nbformat.NotebookNode:
    """Return a copy of a page's notebook that needs nothing but the package.

    `page`: converter of the page's Markdown; `pictures`: folder with the page's figures as PNG.
    """
    alone = nbformat.from_dict(notebook)
    facts = {"page": page.page, "version": __version__, "commit": page.data["edition"]["commit"]}
    facts["python"] = metadata("which-source-next")["Requires-Python"]
    facts["name"] = Path(page.page).name
    run = page.data["runs"][page.page]
    own = run["parameters"] if page.data["document"] else run["documents"]
    needed = [_CHECK_CELL.format(**facts), *(_FILE.format(**f) for f in run["files"].values())]
    needed.append(f"{_PARAMETERS}{PARAMETERS} = {pformat(own, width=96, sort_dicts=False)}")
    cells = [nbformat.v4.new_code_cell("".join(needed), id="the-package")]
    for cell in alone.cells:
        if cell.cell_type == "markdown":
            page.figures.clear()
            cell.source = page.plain(cell.source)
            for id in page.figures:
                content = base64.b64encode((pictures / f"{id}.png").read_bytes()).decode("ascii")
                cell.setdefault("attachments", {})[f"{id}.png"] = {"image/png": content}
        if cell.source or cell.cell_type == "code":
            cells.append(cell)
    if works := page.references():
        cells.append(nbformat.v4.new_markdown_cell(f"## References\n\n{works}", id="references"))
    alone.cells = cells
    alone.metadata["kernelspec"] = {
        "name": "python3", "display_name": "Python 3", "language": "python",
    }  # fmt: skip
    nbformat.validate(alone)
    return alone


def write_notebooks(data: Mapping[str, Any], index: Mapping[str, Any], site: Path) -> None:
    """Replace the executed notebooks in a site's folder ``notebooks`` by portable ones.

    Beside each is the page's archive, with all that it needs but the library.

    `index`: index of reference targets, with the ``address`` of the published book.
    """
    for name in data["runs"]:
        path = site / "notebooks" / f"{Path(name).name}.ipynb"
        page = MarkdownConverter(name, data, index, BOOK / "references.bib")
        alone = portable_notebook(nbformat.read(path, 4), page, site / "figures")
        nbformat.write(alone, path)
        files = [
            site / "notebooks" / file["shipped"] for file in data["runs"][name]["files"].values()
        ]
        _write_archive(path, [path, *files])


def _write_archive(notebook: Path, beside: Sequence[Path]) -> None:
    """Write the archive of a page: files beside the notebook, and what it reads of the book."""
    code = "\n".join(c.source for c in nbformat.read(notebook, 4).cells if c.cell_type == "code")
    modules = fingerprint.modules_behind(imported_names(code))
    sources = {fingerprint.source_file(m) for m in modules if m.split(".")[0] == BOOK.name}
    sources |= {path for path in FOLDER.rglob("*") if path.is_file()}
    files = {path.name: path for path in beside}
    files |= {path.relative_to(BOOK.parent).as_posix(): path for path in sources}
    with zipfile.ZipFile(notebook.with_suffix(".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            # The bytes depend on names and contents only: an entry without a date has that of 1980.
            archive.writestr(zipfile.ZipInfo(name), files[name].read_bytes(), zipfile.ZIP_DEFLATED)
