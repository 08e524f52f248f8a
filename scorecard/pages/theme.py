"""Post-processing of the theme's pages: cells, labels, the Content-Security-Policy, unused files.

Cells that only record are removed, folded ones labelled; roles, labels and ids are corrected for
screen readers.

A server that sends the policy keeps a browser from running any script but the site's own files and
the inline scripts whose hashes the policy lists. Handlers in attributes would run no more: those of
the theme's buttons become names of actions, which ``reading.js`` carries out, and the line in which
the theme repeats each page's name, for a choice of versions that the book has not, is left out.

The theme draws its icons twice: the script that does so once more, 1.5 MB, is removed, and scripts
that a page does not need.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from scorecard.pages.results import PLACEHOLDER, read_results

_CALLS = re.compile(r"\b(?:page|figures)\.(\w+)\(")
#: Functions that record results: those of `scorecard`, and those of pages that save or draw.
_RECORDING = re.compile(r"record_claims|exercises\.\w+|(\w+\.)?(save|draw)_\w+")


def remove_recording_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Remove the cells that only record results and have no output."""
    for cell in _code_cells(doctree):
        if len(cell.children) == 1 and only_records(cell.astext()):
            cell.parent.remove(cell)


def only_records(code: str) -> bool:
    """Whether all statements of a cell are calls of functions that record results.

    A cell that also sets a variable, imports or ends in a value does more.
    """
    try:
        statements = ast.parse(code).body
    except SyntaxError:  # a magic command of IPython
        return False
    return bool(statements) and all(map(_records, statements))


def _records(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If | ast.For):
        return all(map(_records, [*statement.body, *statement.orelse]))
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    function = ast.unparse(statement.value.func)
    return bool(_RECORDING.fullmatch(function))


def label_folded_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Set the labels that show and hide each folded cell."""
    for cell in _code_cells(doctree):
        if cell.get("hide_mode"):
            does = describe_cell(cell.children[0].astext())
            cell["prompt_show"] = f"Show the code: {does}"
            cell["prompt_hide"] = f"Hide the code: {does}"


def describe_cell(code: str) -> str:
    """Describe the code of a cell in a few words.

    The words are those of a comment in its first line, or else names of functions that it calls, or
    of variables that it sets.
    """
    first = code.strip().partition("\n")[0]
    if first.startswith("#"):
        return first.lstrip("# ").rstrip(".")
    if re.match(r"\w+: \w[\w\[\]]* = ", first):
        return "parameters of this page"
    if "record_claims(" in code:
        return "claims on the printed rows"
    if names := list(dict.fromkeys(_CALLS.findall(code))):
        objects = (re.sub(r"^(save|draw)_", "", name) for name in names[:3])
        return ", ".join(objects).replace("_", " ")
    if re.match(r"(from|import) ", first):
        return "imports"
    names = re.findall(r"^(\w+)(?:, \w+)* = ", code, re.M) or re.findall(r"^([a-z]\w*)", code, re.M)
    return ", ".join(dict.fromkeys(names[:3])).replace("_", " ") or "this step"


def _code_cells(doctree: nodes.document) -> list[nodes.container]:
    cells = doctree.findall(nodes.container)
    return [cell for cell in cells if cell.get("nb_element") == "cell_code"]


#: HTML that other packages write, and its correction: bibliographies that are no ARIA list, labels
#: that hide the text of a toggle, header cells without text, attributes that HTML no longer has.
_REPLACEMENTS = (
    (' role="list" class="citation-list"', ' class="citation-list"'),
    (' role="doc-biblioentry"', ""),
    (' aria-label="Toggle hidden content"', ""),
    ("<th></th>", "<td></td>"),
    ('<table border="1" class="dataframe', '<table class="dataframe'),
    (' valign="top"', ""),
)
#: The style that pandas puts into the body of a page, before each table.
_STYLE = re.compile(r"<style scoped>.*?</style>\s*", re.DOTALL)
_TOGGLE = '<summary><span class="toctree-toggle"'
_NAMED = '<summary aria-label="Pages of this part">'


def correct_aria_roles(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Correct roles and labels in the body of a page (event ``html-page-context``)."""
    for written, fitting in _REPLACEMENTS if "body" in context else ():
        context["body"] = context["body"].replace(written, fitting)
    if "body" in context:
        context["body"] = _STYLE.sub("", context["body"])


def make_proof_ids_unique(app: Sphinx, doctree: nodes.document) -> None:
    """Append numbers to the ids of proofs and theorem contents, which sphinx-proof repeats."""
    same = [n for n in doctree.findall(nodes.Element) if n["ids"] in (["proof"], ["proof-content"])]
    for number, node in enumerate(same):
        node["ids"] = [f"{node['ids'][0]}-{number}"]


#: A part of the book in the sidebar: its name, and the list of its pages.
_PART = re.compile(
    r'<p aria-level="2" class="caption" role="heading">(?P<name><span[^>]*>.*?</span>)</p>\n'
    r'(?P<pages><ul class="(?P<here>current )?nav bd-sidenav">.*?\n</ul>)'
    r"(?=\n<p aria-level|\s*</div>)",
    re.DOTALL,
)


def fold_navigation(page: str) -> str:
    """Return the HTML of a page with the parts of its sidebar folded, and with toggles labelled.

    The part of the page itself is open. The theme's toggles are icons without text.
    """
    folded = _PART.sub(_fold_part, page)
    return folded.replace(_TOGGLE, _TOGGLE.replace("<summary>", _NAMED))


def _fold_part(part: re.Match[str]) -> str:
    state = " open" if part["here"] else ""
    return (
        f'<details class="book-part"{state}><summary>{part["name"]}</summary>\n'
        f"{part['pages']}</details>"
    )


def fold_navigations(app: Sphinx, problem: Exception | None) -> None:
    """Fold the sidebars of all pages (event ``build-finished``)."""
    for path in Path(app.outdir).rglob("*.html") if problem is None else ():
        text = path.read_text(encoding="utf-8")
        folded = fold_navigation(text)
        if folded != text:
            path.write_text(folded, encoding="utf-8")


def replace_download_buttons(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Replace the theme's download of a page's source by the archive of its portable notebook.

    The source has roles and directives that Jupyter does not render.
    """
    for group in context.get("header_buttons", ()):
        if group.get("label") != "download-buttons":
            continue
        buttons = [b for b in group["buttons"] if b["label"] == "download-pdf-button"]
        if page in read_results(app)["runs"]:
            address = context["pathto"](f"notebooks/{Path(page).name}.zip", 1)
            label = {
                "text": ".zip",
                "tooltip": "Download the notebook and its code",
                "icon": "fas fa-code",
            }
            notebook = {"type": "link", "url": address, "label": "download-notebook-button"}
            buttons.insert(0, notebook | label)
        group["buttons"] = buttons


#: File of the site with the policy, in one line.
POLICY = "content-security-policy.txt"
_ACTIONS = {"window.print()": "print", "toggleFullScreen()": "fullscreen"}
_HANDLER = re.compile(r'(?<=\s)onclick="(?P<code>[^"]*)"')
_PAGE_NAME = re.compile(r"\n *<script>DOCUMENTATION_OPTIONS\.pagename = '[^']*';</script>")
_SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<code>.*?)</script>", re.DOTALL)
#: Scripts that a browser loads from a file, and blocks of data, which it does not run.
_NO_INLINE = re.compile(r"""\ssrc=|\stype=["']application/(?:ld\+)?json["']""")


def replace_handlers(page: str) -> str:
    """Return the HTML of a page with the names of actions in place of the theme's handlers."""

    def named(handler: re.Match[str]) -> str:
        action = _ACTIONS.get(html.unescape(handler["code"]))
        return f'data-action="{action}"' if action else handler[0]

    return _HANDLER.sub(named, _PAGE_NAME.sub("", page))


def find_inline_scripts(page: str) -> set[str]:
    """Return the inline scripts of a page that a browser would run."""
    scripts = (m for m in _SCRIPT.finditer(page) if not _NO_INLINE.search(m["attributes"]))
    return {script["code"] for script in scripts}


def make_policy(pages: Iterable[str]) -> str:
    """Return the policy under which the inline scripts of some pages run, and no others.

    Styles may be inline: Sphinx and the figures have them in many places, and they run nothing.
    """
    scripts = sorted(set().union(*map(find_inline_scripts, pages)))
    digests = (base64.b64encode(hashlib.sha256(code.encode()).digest()) for code in scripts)
    allowed = " ".join(["'self'", *(f"'sha256-{digest.decode()}'" for digest in digests)])
    return (
        f"default-src 'self'; script-src {allowed}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'self'"
    )


def write_policy(app: Sphinx, problem: Exception | None) -> None:
    """Replace handlers on all pages, and write the policy of the site."""
    site = Path(app.outdir)
    if problem is not None or app.builder.name != "html":
        return
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    pages = {path: replace_handlers(text) for path, text in pages.items()}
    line = make_policy(pages.values())
    for path, text in pages.items():
        path.write_text(text.replace(PLACEHOLDER, html.escape(line, quote=False)), encoding="utf-8")
    (site / POLICY).write_text(f"{line}\n", encoding="utf-8")


ICON_SCRIPT = "scripts/fontawesome.js"
MATHEMATICS = "_static/math.woff2"
FONTS = "_static/vendor/fontawesome/webfonts"
_SCRIPT_TAG = re.compile(
    r'\n *<script[^>]* src="[^"]*_static/(?P<name>[\w./-]+\.js)[^>]*></script>'
)
#: Scripts that are needed only on pages with elements of some classes, and these classes.
_SCRIPT_CONTENT = {
    "design-tabs.js": ("sd-tab-set",),
    "scorecard.js": ("book-scorecard", "book-errata"),
}


def keep_used_scripts(page: str) -> str:
    """Return the HTML of a page without the icon script, and without others that it does not need.

    `_SCRIPT_CONTENT` has the scripts that not every page needs.
    """
    content = _SCRIPT_TAG.sub("", page)

    def kept(tag: re.Match[str]) -> str:
        classes = _SCRIPT_CONTENT.get(tag["name"], ("",))
        needed = tag["name"] != ICON_SCRIPT and any(name in content for name in classes)
        return tag[0] if needed else ""

    return _SCRIPT_TAG.sub(kept, page)


def remove_unused_files(app: Sphinx, problem: Exception | None) -> None:
    """Remove what no page of a built site uses (event ``build-finished``)."""
    site = Path(app.outdir)
    if problem is not None or not (site / FONTS).exists():
        return
    unused = (f"_static/{ICON_SCRIPT}*", "_static/*webpack-macros.html", "_static/**/*.map")
    for path in (path for pattern in unused for path in site.glob(pattern)):
        path.unlink()
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        path.write_text(keep_used_scripts(page), encoding="utf-8")
