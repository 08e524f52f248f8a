"""A reader's words, such as names of sources, as text in each language that the book is written in.

Names are data. Where one stands inside a caption, a figure or a citation, it passes one of these
functions, so that nothing in it is taken for Markdown, HTML, mathematics or TeX. Tables need none:
pandas and docutils escape what they hold.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

#: Characters of a name that captions and figures show; data and tables hold all of them.
LONGEST = 48
#: Half of an interval, relative to the estimate, that is rounding and no width.
_ROUNDING = 1e-9
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
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


def escaped_words(text: object) -> str:
    """Return words of a document as Markdown: mathematics as it is, all other marks escaped."""
    parts = re.split(r"(\$[^$]+\$)", " ".join(str(text).split()))
    return "".join(part if n % 2 else escaped(part) for n, part in enumerate(parts))


def with_powers(text: str) -> str:
    """Write the power of ten of a number in scientific notation as a power.

    Examples
    --------
    >>> with_powers("5.15e47"), with_powers("1e-6"), with_powers("3.5"), with_powers("the 2e")
    ('5.15 × 10⁴⁷', '1 × 10⁻⁶', '3.5', 'the 2e')
    """
    power = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    return re.sub(r"(?<=\d)e\+?(-?\d+)\b", lambda found: f" × 10{found[1].translate(power)}", text)


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


def as_cell(value: Any) -> Any:
    """Return a value for a cell of a CSV file that a spreadsheet may open; only texts are changed.

    It would run what begins like a formula: such words get an apostrophe in front, as do words that
    begin with apostrophes and then so. Who reads them back drops one apostrophe of those that stand
    before ``=``, ``+``, ``-``, ``@``, a tab or the end of a line. Numbers stay as they are.
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with what it counts.

    Examples
    --------
    >>> counted(1, "epoch"), counted(0, "epoch"), counted(2, "story", "stories")
    ('1 epoch', '0 epochs', '2 stories')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def listed(words: Sequence[str]) -> str:
    """Return words as they are listed in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def rounded(value: float, decimals: int = 2) -> str:
    """Return a number with some decimals; a small one, that they would hide, with one digit.

    Examples
    --------
    >>> rounded(104.052), rounded(-0.5, 1), rounded(0.0), rounded(-2e-22)
    ('104.05', '-0.5', '0.00', '-2e-22')
    """
    text = f"{value:.{decimals}f}"
    return f"{value:.1g}" if value and not any(c in "123456789" for c in text) else text


def apart(low: float, high: float, style: str) -> bool:
    """Tell whether two numbers are shown as two, as the ends of an interval should be.

    Examples
    --------
    >>> apart(0.981, 0.984, ".2f"), apart(0.981, 0.984, ".3f")
    (False, True)
    """
    return format(low, style) != format(high, style)


def within(value: float, low: float, high: float, style: str = ".3f") -> str:
    """Return an estimate with the ends of its interval, if they are shown as two.

    Examples
    --------
    >>> within(0.98, 0.97, 0.991), within(1.0, 1.0, 1.0), within(1.0, math.nan, math.nan)
    ('0.980 (0.970 to 0.991)', '1.000', '1.000')
    """
    said = format(value, style)
    known = math.isfinite(low) and apart(low, high, style)
    return f"{said} ({format(low, style)} to {format(high, style)})" if known else said


def span(low: float, high: float, style: str) -> str:
    """Return two numbers as a range, or the one that both are when they are shown.

    Examples
    --------
    >>> span(1, 5, "d"), span(5, 5, "d"), span(0.981, 0.984, ".2f")
    ('1 to 5', '5', '0.98')
    """
    first, last = format(low, style), format(high, style)
    return f"{first} to {last}" if apart(low, high, style) else first


def moves(first: float, last: float, style: str) -> str:
    """Say where a quantity goes, or that it stays when its ends are shown alike.

    Examples
    --------
    >>> moves(1, 5, "d"), moves(0.981, 0.984, ".2f")
    ('goes from 1 to 5', 'stays at 0.98')
    """
    begin, end = format(first, style), format(last, style)
    return f"goes from {begin} to {end}" if apart(first, last, style) else f"stays at {begin}"


def plus_minus(value: float, half: float, decimals: int = 2) -> str:
    """Return an estimate with half the width of its interval, if it has a width.

    Examples
    --------
    >>> plus_minus(2.5, 0.031), plus_minus(2.5, 0.0), plus_minus(-1e-9, 0.0004)
    ('2.50 ± 0.03', '2.50', '0.00 ± 0.0004')
    """
    said = f"{value:z.{decimals}f}"
    return f"{said} ± {rounded(half, decimals)}" if half > _ROUNDING * abs(value) else said
