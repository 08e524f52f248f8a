"""A reader's words, such as names of sources, as text in each language that the book is written in.

Names are data. Where one stands inside a caption, a figure or a citation, it passes one of these
functions, so that nothing in it is taken for Markdown, HTML, mathematics or TeX. Tables need none:
pandas and docutils escape what they hold.
"""

from __future__ import annotations

import re
import unicodedata

#: Characters of a name that captions and figures show; data and tables hold all of them.
LONGEST = 48
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_FROM_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_TEX_WORDS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def as_plain(text: object) -> str:
    """Return words as one short line, for alt text; the other functions start from it.

    Characters that control a terminal or turn the direction of writing are left out, and words
    that run from right to left are set apart from the line around them.
    """
    line = " ".join(str(text).split())
    line = "".join(c for c in line if unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co", "Cn"})
    line = " ".join(line.split())
    if len(line) > LONGEST:
        line = line[: LONGEST - 1] + "…"
    turns = any(unicodedata.bidirectional(c) in _FROM_RIGHT_TO_LEFT for c in line)
    return f"\u2068{line}\u2069" if turns else line


def as_markdown(text: object) -> str:
    """Return words for a caption: every mark that Markdown might read is escaped."""
    return escaped(as_plain(text))


def escaped(line: str) -> str:
    """Return a line of Markdown that stands for a line of text."""
    return _PUNCTUATION.sub(r"\\\g<0>", line)


def as_mathtext(text: object) -> str:
    """Return words for a title, label or legend of a figure, where dollars would be mathematics.

    Matplotlib takes a label that begins with an underscore for one to leave out of the legend, and
    a backslash before a dollar for part of it: a space without width keeps both apart.
    """
    line = as_plain(text).strip("\u2068\u2069").replace("$", r"\$")
    line = "\u200b" + line if line.startswith("_") else line
    return line + "\u200b" if line.endswith("\\") else line


def as_tex(text: object) -> str:
    """Return words for a field of a BibTeX entry."""
    line = " ".join(str(text).split())
    return re.sub(r"[&%$#_{}\\~^]", lambda found: _TEX_WORDS.get(found[0], f"\\{found[0]}"), line)
