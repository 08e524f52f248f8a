"""Titles of figures and tables: the first sentence of the caption, as TeX and as plain text."""

from __future__ import annotations

import re

from analysis.report.text import as_tex

# A formula, code, an escaped character, a character other than a full stop, or a full stop that is
# not followed by a space.
_SENTENCE = re.compile(r"(?:\$[^$]*\$|`[^`]*`|\\.|[^.$`\\]|\.(?!\s|$))+")
_PARTS = re.compile(
    r"(?P<math>\$[^$]*\$)|(?:\{[\w:]+\})?`(?P<code>[^`]*)`|\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<strong>\*+)(?P<words>[^*]+)\*+|(?P<other>.)",
    re.DOTALL,
)


def first_sentence(caption: str) -> str:
    """Return the first sentence of a caption, in its Markdown, without the full stop."""
    found = _SENTENCE.match(caption.strip())
    return (found[0] if found else caption).strip()


def title_as_tex(caption: str) -> str:
    """Return the title for a field of a BibTeX entry."""

    def part(found: re.Match[str]) -> str:
        if found["math"]:
            return found["math"]
        if found["strong"]:
            return rf"\emph{{{as_tex(found['words'])}}}"
        if found["code"] is not None:
            return rf"\texttt{{{as_tex(found['code'])}}}"
        # `as_tex` strips a text that is a single space.
        return as_tex(found["escaped"] or found["other"]) or " "

    return _PARTS.sub(part, first_sentence(caption))


def title_as_plain_text(caption: str) -> str:
    """Return the title without Markdown markup; formulas stay as TeX, without dollar signs."""

    def part(found: re.Match[str]) -> str:
        if found["math"]:
            return found["math"].strip("$")
        return next(found[name] for name in ("words", "code", "escaped", "other") if found[name])

    return _PARTS.sub(part, first_sentence(caption))
