"""The Content-Security-Policy of a site: which scripts its pages may run.

A server that sends the policy keeps a browser from running any script but the site's own files and
the inline scripts whose hashes the policy lists. Handlers in attributes would run no more: those of
the theme's buttons become names of actions, which ``reading.js`` carries out, and the line in which
the theme repeats each page's name, for a choice of versions that the book has not, is left out.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable
from pathlib import Path

from sphinx.application import Sphinx

from scorecard.pages.collated import PLACEHOLDER

#: File of the site with the policy, in one line.
POLICY = "content-security-policy.txt"
_ACTIONS = {"window.print()": "print", "toggleFullScreen()": "fullscreen"}
_HANDLER = re.compile(r'(?<=\s)onclick="(?P<code>[^"]*)"')
_PAGE_NAME = re.compile(r"\n *<script>DOCUMENTATION_OPTIONS\.pagename = '[^']*';</script>")
_SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<code>.*?)</script>", re.DOTALL)
#: Scripts that a browser loads from a file, and blocks of data, which it does not run.
_NO_INLINE = re.compile(r"""\ssrc=|\stype=["']application/(?:ld\+)?json["']""")


def without_handlers(page: str) -> str:
    """Return the HTML of a page with the names of actions in place of the theme's handlers."""

    def named(handler: re.Match[str]) -> str:
        action = _ACTIONS.get(html.unescape(handler["code"]))
        return f'data-action="{action}"' if action else handler[0]

    return _HANDLER.sub(named, _PAGE_NAME.sub("", page))


def inline_scripts(page: str) -> set[str]:
    """Return the inline scripts of a page that a browser would run."""
    scripts = (m for m in _SCRIPT.finditer(page) if not _NO_INLINE.search(m["attributes"]))
    return {script["code"] for script in scripts}


def policy(pages: Iterable[str]) -> str:
    """Return the policy under which the inline scripts of some pages run, and no others.

    Styles may be inline: Sphinx and the figures have them in many places, and they run nothing.
    """
    scripts = sorted(set().union(*map(inline_scripts, pages)))
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
    pages = {path: without_handlers(text) for path, text in pages.items()}
    line = policy(pages.values())
    for path, text in pages.items():
        path.write_text(text.replace(PLACEHOLDER, html.escape(line, quote=False)), encoding="utf-8")
    (site / POLICY).write_text(f"{line}\n", encoding="utf-8")
