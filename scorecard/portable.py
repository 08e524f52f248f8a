"""Portable notebooks, which readers download and run without the book.

Their text is filled as that of the pages is. Jupyter does not render the book's roles and
directives: references become text (links, if the book has a base URL), theorems and notes become
block quotes, figures become attachments. The first cell checks that the right version of the
library is installed. The archive of a page has the notebook, the page's own modules, and what the
documents print.
"""

from __future__ import annotations

import base64
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import metadata
from pathlib import Path
from pprint import pformat
from typing import Any

import nbformat
import pybtex.database
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from pybtex.richtext import Text

from analysis import __version__, fingerprint
from scorecard.collate import collect_texts
from scorecard.files import BOOK
from scorecard.fill import fill_notebook
from scorecard.pages.references import make_index_key, resolve_entry
from scorecard.prints import FOLDER, documents, printed_rows
from scorecard.record import PARAMETERS
from scorecard.running.runner import find_imported_names
from scorecard.text import escape_markdown, escape_prose
from scorecard.values import book_settings

_ROLE = re.compile(r"\{(?P<role>[a-z:]+)\}`(?P<text>[^`]+)`")
_EXPLICIT = re.compile(r"(?P<words>.*?)\s*<(?P<target>[^<>]+)>", re.DOTALL)
_LABEL = re.compile(r"^\([^)\n]+\)=$\n?", re.MULTILINE)
_OPTION = re.compile(r":(?P<name>[\w-]+):[ \t]*(?P<value>.*)(?:\n|$)")
_MARKDOWN = MarkdownIt("commonmark").use(colon_fence_plugin)
_REFERENCES = {"ref", "numref", "eq", "prf:ref", "doc"}


@dataclass(frozen=True)
class Directive:
    """A directive in the source of a page."""

    name: str
    argument: str
    content: str
    options: Mapping[str, str]


@dataclass
class MarkdownConverter:
    """Converts the MyST of one page to plain Markdown."""

    page: str  # the page, such as ``ephemeral/four-sources``
    # Collated results, as `scorecard.pages.results.read_results` returns them.
    data: Mapping[str, Any]
    # Index of `scorecard.pages.references`; ``address`` is the base URL of the
    # published book, or empty.
    index: Mapping[str, Any]
    bibliography: Path  # the book's BibTeX file
    figures: list[str] = field(default_factory=list)
    cited: list[str] = field(default_factory=list)

    def plain(self, text: str) -> str:
        """Convert a text; append its figures and citations to `figures` and `cited`."""
        text = _LABEL.sub("", text)
        lines, out, end = text.split("\n"), [], 0
        # Roles are converted in the page's own lines only: captions may contain a reader's texts.
        for token in _MARKDOWN.parse(text):
            if token.map and not token.level and token.info.startswith("{"):
                out += [self._prose(lines[end : token.map[0]]), *self._directive(token)]
                end = token.map[1]
        out.append(self._prose(lines[end:]))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n")

    def _prose(self, lines: list[str]) -> str:
        return _ROLE.sub(self._role, "\n".join(lines))

    def references(self) -> str:
        """Return the works that the page cites, as a Markdown list."""
        entries = (self._works.entries[key] for key in sorted(set(self.cited)))
        return "\n".join(f"- {_format_work(entry)}" for entry in entries)

    # Roles ------------------------------------------------------------------------------------

    def _role(self, match: re.Match[str]) -> str:
        role, text = match["role"], match["text"]
        if role in _REFERENCES:
            return self._reference(role, text)
        if role.startswith("cite"):
            return self._citation(role, [key.strip() for key in text.split(",")])
        explicit = _EXPLICIT.fullmatch(text)
        return explicit["words"] if explicit else text

    def _reference(self, role: str, text: str) -> str:
        explicit = _EXPLICIT.fullmatch(text)
        target = explicit["target"] if explicit else text
        kind, label = make_index_key(role, target, self.page)
        entry = self.index["targets"][kind].get(label)
        if entry is None:
            return explicit["words"] if explicit else text
        label_text, link = resolve_entry(entry, self.index["address"])
        label_text = explicit["words"] if explicit else label_text
        return f"[{label_text}]({link})" if link else label_text

    def _citation(self, role: str, keys: list[str]) -> str:
        self.cited += keys
        citations = []
        for key in keys:
            entry = self._works.entries[key]
            names = [" ".join(person.last_names) for person in entry.persons["author"]]
            who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
            year = entry.fields.get("year", "n.d.")
            citations.append(f"{who} ({year})" if role == "cite:t" else f"{who}, {year}")
        return "; ".join(citations) if role == "cite:t" else f"({'; '.join(citations)})"

    @cached_property
    def _works(self) -> pybtex.database.BibliographyData:
        return pybtex.database.parse_file(str(self.bibliography))

    # Directives -------------------------------------------------------------------------------

    def _directive(self, token: Token) -> list[str]:
        fence = _parse_directive(token)
        write = {
            "math": self._math,
            "dropdown": self._dropdown,
            "repro-figure": self._figure,
            "repro-table": self._table,
            "verdicts": self._verdicts,
        }.get(fence.name, self._theorem if fence.name.startswith("prf:") else self._note)
        return ["", *write(fence).split("\n"), ""]

    def _math(self, fence: Directive) -> str:
        entry = self.index["targets"]["eq"].get(fence.options.get("label"))
        number = re.fullmatch(r"\(([\d.]+)\)", entry[2]) if entry else None
        tag = f"\n\\tag{{{number[1]}}}" if number else ""
        return f"$$\n{fence.content}{tag}\n$$"

    def _theorem(self, fence: Directive) -> str:
        kind, title = fence.name.removeprefix("prf:"), self._prose([fence.argument])
        entry = self.index["targets"]["prf"].get(fence.options.get("label"))
        name = entry[2] if entry and entry[2][:1].isupper() else kind.title()
        head = f"*{name}.*" if kind == "proof" else f"**{name}**" + (f" ({title})" if title else "")
        return _quote_block(f"{head}\n\n{self.plain(fence.content)}")

    def _dropdown(self, fence: Directive) -> str:
        body = self.plain(fence.content)
        return (
            f"<details><summary>{self._prose([fence.argument])}</summary>\n\n{body}\n\n</details>"
        )

    def _figure(self, fence: Directive) -> str:
        id = fence.argument
        figure = self.data["figures"][id]
        self.figures.append(id)
        alt = re.sub(r"([\[\]\\<&`*_$])", r"\\\1", figure["alt"])
        return f"![{alt}](attachment:{id}.png)\n\n{self._number(id, 'Fig.')}{figure['caption']}"

    def _table(self, fence: Directive) -> str:
        id = fence.argument
        table = self.data["tables"][id]
        rows = [[_escape_cell(text) for text in row] for row in table["rows"]]
        caption = f"{self._number(id, 'Table')}{table['caption']}"
        return f"{caption}\n\n{_format_table(table['header'], rows)}"

    def _number(self, id: str, kind: str) -> str:
        entry = self.index["targets"]["numref"].get(id)
        return f"**{entry[2]}** " if entry and entry[2].startswith(kind) else ""

    def _verdicts(self, _: Directive) -> str:
        cells = []
        for id, verdict in self.data["verdicts"].items():
            if verdict["page"] == self.page:
                row = printed_rows()[id]
                where = f"{documents()[row.document].short}, {row.place}"
                texts = [_escape_cell(verdict[name]) for name in ("computed", "verdict", "reason")]
                cells.append([_escape_cell(where), escape_prose(row.printed), *texts])
        header = ("Where", "Printed", "Computed", "Verdict", "Why")
        return _format_table(header, cells) if cells else ""

    def _note(self, fence: Directive) -> str:
        """Quote notes, tips and the like; directives without content are left out."""
        if not fence.content:
            return ""
        body = self.plain(fence.content)
        title = self._prose([fence.argument])
        return _quote_block(f"**{title}**\n\n{body}" if title else body)


def _parse_directive(token: Token) -> Directive:
    name, _, argument = token.info[1:].partition("}")
    content, options = token.content, {}
    while option := _OPTION.match(content):
        options[option["name"]] = option["value"]
        content = content[option.end() :]
    return Directive(name, argument.strip(), content.strip("\n"), options)


def _format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = (header, ["---"] * len(header), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escape_cell(text: object) -> str:
    return escape_markdown(" ".join(str(text).split()))


def _quote_block(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _format_work(entry: pybtex.database.Entry) -> str:
    """Return a cited work as one line of text."""
    fields = entry.fields
    authors = ", ".join(str(person) for person in entry.persons["author"])
    venues = (fields.get(name) for name in ("journal", "booktitle", "institution", "howpublished"))
    venue = next(filter(None, venues), "")
    texts = [authors, fields["title"], venue, fields.get("year", ""), fields.get("doi", "")]
    return ". ".join(str(Text.from_latex(field)).rstrip(".") for field in texts if field)


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


def make_portable(
    notebook: nbformat.NotebookNode, page: MarkdownConverter, pictures: Path
) -> nbformat.NotebookNode:
    """Return a copy of a page's notebook that needs nothing but the package.

    `notebook`: with its text filled; `page`: converter of the page's Markdown; `pictures`: folder
    with the page's figures as PNG.
    """
    alone = nbformat.from_dict(notebook)
    facts = {"page": page.page, "version": __version__, "commit": page.data["edition"]["commit"]}
    facts["python"] = metadata(book_settings()["name"])["Requires-Python"]
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
    texts = collect_texts(data)
    for name in data["runs"]:
        path = site / "notebooks" / f"{Path(name).name}.ipynb"
        page = MarkdownConverter(name, data, index, BOOK / "references.bib")
        filled = fill_notebook(texts, nbformat.read(path, 4), name)
        alone = make_portable(filled, page, site / "figures")
        nbformat.write(alone, path)
        files = [
            site / "notebooks" / file["shipped"] for file in data["runs"][name]["files"].values()
        ]
        _write_archive(path, [path, *files])


def _write_archive(notebook: Path, beside: Sequence[Path]) -> None:
    """Write the archive of a page: files beside the notebook, and what it reads of the book."""
    code = "\n".join(c.source for c in nbformat.read(notebook, 4).cells if c.cell_type == "code")
    modules = fingerprint.modules_behind(find_imported_names(code))
    files = {path.name: path for path in beside}
    for module in modules:
        if module.split(".")[0] == "book":
            path = fingerprint.source_file(module)
            folder = module if path.name == "__init__.py" else module.rpartition(".")[0]
            files[f"{folder.replace('.', '/')}/{path.name}"] = path
    prints = [path for path in FOLDER.rglob("*") if path.is_file()]
    files |= {f"book/published/{path.relative_to(FOLDER).as_posix()}": path for path in prints}
    with zipfile.ZipFile(notebook.with_suffix(".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            # The bytes depend on names and contents only: an entry without a date has that of 1980.
            archive.writestr(zipfile.ZipInfo(name), files[name].read_bytes(), zipfile.ZIP_DEFLATED)
