"""Remove unused CSS rules, glyphs and scripts from the static files of a built site.

The theme has two thousand icons and the CSS of two frameworks; pages use two dozen icons and a
third of the rules. A rule is kept if every class and id of its selector occurs in a page or in a
script, a glyph of an icon if a rule that is kept shows it. The script that draws the same icons
once more, 1.5 MB, is removed.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Iterable
from functools import partial
from hashlib import sha256
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import tinycss2
from fontTools import subset
from sphinx.application import Sphinx

# fontTools logs one line for each table of a font.
logging.getLogger("fontTools").setLevel(logging.WARNING)

ICON_SCRIPT = "scripts/fontawesome.js"
MATHEMATICS = "_static/math.woff2"
FONTS = "_static/vendor/fontawesome/webfonts"
_FORMULA = re.compile(r"<math.*?</math>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
#: Mathematical italic letters, which browsers show for the plain letters of MathML identifiers.
_ITALICS = (*range(0x1D434, 0x1D468), 0x210E, 0x1D6A4, 0x1D6A5, *range(0x1D6E2, 0x1D71C))
_NAMES = re.compile(r"""\b(?:class|id)=(?:"([^"]*)"|'([^']*)')""")
_INLINE = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)
_WORD = re.compile(r"[\w-]+")
_VERSION = re.compile(r"(?<![\w-])(?P<path>_static/[\w./-]+\.(?:css|js))\?(?:v|digest)=[0-9a-f]+")
_SCRIPT_TAG = re.compile(
    r'\n *<script[^>]* src="[^"]*_static/(?P<name>[\w./-]+\.js)[^>]*></script>'
)
#: Scripts that are needed only on pages with elements of some classes, and these classes.
_SCRIPT_CONTENT = {
    "design-tabs.js": ("sd-tab-set",),
    "scorecard.js": ("book-scorecard", "book-errata"),
}
#: At-rules that contain rules.
_NESTED = {"media", "supports", "layer", "container"}


def keep_used_rules(sheet: str, used: set[str]) -> str:
    """Return a style sheet without the rules that cannot match, and without comments.

    `used`: classes and ids that elements can have; one that ends with a hyphen is a prefix, to
    which scripts append. Raises ValueError if the style sheet is not well formed.
    """
    return _kept_rules(tinycss2.parse_stylesheet(sheet, True, True), used)


def _kept_rules(rules: Iterable[Any], used: set[str]) -> str:
    texts = []
    for rule in rules:
        if rule.type == "error":
            raise ValueError(f"sheet must be well formed: {rule.message} at {rule.source_line}")
        if rule.type == "qualified-rule":
            if selectors := [
                selector for selector in _selectors(rule.prelude) if _can_match(selector, used)
            ]:
                head = ",".join(tinycss2.serialize(selector).strip() for selector in selectors)
                texts.append(f"{head}{{{tinycss2.serialize(rule.content)}}}")
        elif rule.content is not None and rule.lower_at_keyword in _NESTED:
            if nested := _kept_rules(tinycss2.parse_rule_list(rule.content, True, True), used):
                texts.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{nested}}}")
        else:
            texts.append(rule.serialize())
    return "".join(texts)


def _selectors(prelude: Iterable[Any]) -> list[list[Any]]:
    """Split a selector list at its commas."""
    selectors: list[list[Any]] = [[]]
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            selectors.append([])
        else:
            selectors[-1].append(token)
    return selectors


def _can_match(selector: list[Any], used: set[str]) -> bool:
    """Whether all classes and ids of a selector are used; arguments of :not() do not count."""
    named = [token.value for token in selector if token.type == "hash"]
    for before, token in pairwise(selector):
        if token.type == "ident" and before.type == "literal" and before.value == ".":
            named.append(token.value)
    return not any(used.isdisjoint(_prefixes(name)) for name in named)


def _prefixes(name: str) -> list[str]:
    """Return a name and its prefixes that end with a hyphen: for a-b-c these are a- and a-b-."""
    return [name, *(name[: match.end()] for match in re.finditer(r"(?<=.)-", name))]


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


def formula_characters(page: str) -> set[int]:
    """Return the code points of the characters in the formulas of a page, given its HTML."""
    text = "".join(_TAG.sub("", formula) for formula in _FORMULA.findall(page))
    written = set(map(ord, unescape(text)))
    slanted = {
        point for point in _ITALICS if ord(unicodedata.normalize("NFKC", chr(point))) in written
    }
    return written | slanted


def keep_used_glyphs(font: Path, characters: set[int]) -> None:
    """Replace a font by its WOFF2 subset for some characters, given by their code points."""
    options = subset.Options(flavor="woff2", drop_tables=[])  # layout tables are never dropped
    options.layout_features += ["ssty", "dtls"]  # small and accented letters of formulas
    typeface = subset.load_font(str(font), options)
    chosen = subset.Subsetter(options)
    chosen.populate(unicodes=characters)
    chosen.subset(typeface)
    subset.save_font(typeface, str(font), options)


def prune_site(app: Sphinx, problem: Exception | None) -> None:
    """Prune the static files of a built site (event ``build-finished``)."""
    site = Path(app.outdir)
    if problem is not None or not (site / FONTS).exists():
        return
    for path in (*site.glob(f"_static/{ICON_SCRIPT}*"), *site.glob("_static/*webpack-macros.html")):
        path.unlink()  # templates of the theme, that are no pages
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    pages = texts.values()
    scripts = [path.read_text(encoding="utf-8") for path in site.glob("_static/**/*.js")]
    named = [text for page in pages for pair in _NAMES.findall(page) for text in pair]
    scripts += [text for page in pages for text in _INLINE.findall(page)]
    used = {word for text in (*named, *scripts) for word in _WORD.findall(text)}
    characters: set[int] = set()
    for path in site.glob("_static/**/*.css"):
        sheet = keep_used_rules(path.read_text(encoding="utf-8"), used)
        path.write_text(sheet, encoding="utf-8")
        path.with_name(f"{path.name}.map").unlink(missing_ok=True)
        characters.update(map(ord, sheet))
    for font in (site / FONTS).glob("*.woff2"):
        keep_used_glyphs(font, characters)
    if (letters := site / MATHEMATICS).exists():
        keep_used_glyphs(letters, set().union(*map(formula_characters, pages)))
    for path, text in texts.items():
        stamped = _VERSION.sub(partial(_with_content_hash, site), keep_used_scripts(text))
        path.write_text(stamped, encoding="utf-8")


def _with_content_hash(site: Path, address: re.Match[str]) -> str:
    """Return a URL with the hash of the pruned file as its version, for the browser's cache."""
    content = (site / address["path"]).read_bytes()
    return f"{address['path']}?v={sha256(content).hexdigest()[:8]}"
