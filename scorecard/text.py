"""Escaping of texts for Markdown, Matplotlib, TeX and CSV, and formatting of numbers in sentences.

Names of sources come from readers and may contain any characters. The functions escape them in
captions, figures and citations, where they could be read as Markdown, HTML, mathematics or TeX.
Tables need no escaping: pandas and docutils do that.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

#: Length to which names are cut in captions and figures; data and tables have the whole name.
LONGEST = 48
#: Half-width of an interval, relative to the estimate, below which it counts as rounding error.
_ROUNDING = 1e-9
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_FROM_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_TEX_WORDS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def clean_text(text: object) -> str:
    """Return a text as one short line, for alt text; other functions here build on it.

    Control and format characters are removed, and a text in a right-to-left script is enclosed in
    directional isolates.
    """
    line = " ".join(str(text).split())
    line = "".join(c for c in line if unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co", "Cn"})
    line = " ".join(line.split())
    if len(line) > LONGEST:
        line = line[: LONGEST - 1] + "…"
    turns = any(unicodedata.bidirectional(c) in _FROM_RIGHT_TO_LEFT for c in line)
    return f"\u2068{line}\u2069" if turns else line


def clean_for_markdown(text: object) -> str:
    """Escape a text, cut to `LONGEST`, for a caption in Markdown."""
    return escape_markdown(clean_text(text))


def escape_markdown(line: str) -> str:
    """Escape a line of text for Markdown."""
    return _PUNCTUATION.sub(r"\\\g<0>", line)


def escape_prose(text: object) -> str:
    """Escape a document's text for Markdown, except for the formulas between dollar signs."""
    parts = re.split(r"(\$[^$]+\$)", " ".join(str(text).split()))
    return "".join(piece if n % 2 else escape_markdown(piece) for n, piece in enumerate(parts))


_GREEK = "alpha|beta|gamma|delta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|psi"
#: A Greek letter or a letter with an index or a power, as the words of verdicts write them; "gamma"
#: is a law of utilities in some of them.
_SYMBOL = re.compile(
    rf"(?<![\w$\\^_])(?P<base>(?:{_GREEK})(?![a-z])|[A-Za-z](?=[*_^]))(?P<star>\*)?"
    r"(?:_(?P<sub>[A-Za-z0-9]+|[+-]))?(?:\^(?P<sup>\{[^{}]*\}|-?\d+|[A-Za-z]+|[+]))?"
    r"(?![\w^*]|,? \d+ exactly| utilit| law)"
)


def typeset_symbols(text: str) -> str:
    r"""Write the symbols of a text, such as ``u*_i`` or ``lambda``, as formulas between dollars.

    Examples
    --------
    >>> typeset_symbols("u*_1 from lambda_M on, at most N_max")
    '$u^{*}_{1}$ from $\\lambda_{M}$ on, at most $N_{\\max}$'
    >>> typeset_symbols("gamma utilities, the mean and x_hat")
    'gamma utilities, the mean and $\\hat x$'
    """
    parts = re.split(r"(\$[^$]+\$)", text)
    return "".join(p if n % 2 else _SYMBOL.sub(_typeset_symbol, p) for n, p in enumerate(parts))


def _typeset_symbol(match: re.Match[str]) -> str:
    base, star, sub, sup = match.group("base", "star", "sub", "sup")
    letter = base if len(base) == 1 else f"\\{base}"
    if sub == "hat":
        letter, sub = rf"\hat {letter}", None
    index, power = (
        rf"\{text}" if text in ("min", "max", *_GREEK.split("|")) else text
        for text in (sub, (star or "") + (sup or "").strip("{}"))
    )
    raised = f"^{{{power}}}" if power else ""
    return f"${letter}{raised}{f'_{{{index}}}' if index else ''}$"


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def typeset_powers(text: str) -> str:
    r"""Write numbers in scientific notation with powers of ten, with spaces that do not break.

    Examples
    --------
    >>> typeset_powers("5.15e47").split("\xa0"), typeset_powers("2e-04").split("\xa0")
    (['5.15', '×', '10⁴⁷'], ['2', '×', '10⁻⁴'])
    >>> [typeset_powers(text) for text in ("1e-6", "0e+00", "3.5", "the 2e")]
    ['10⁻⁶', '0', '3.5', 'the 2e']
    """
    return re.sub(r"(?<![\w.])(\d[\d.]*)e([-+]?\d+)\b", _typeset_power, text)


def _typeset_power(match: re.Match[str]) -> str:
    """Write a number and its exponent of ten with a power."""
    number, exponent = match[1], int(match[2])
    if exponent == 0:
        return number
    power = "10" + str(exponent).translate(_RAISED)
    return power if number == "1" else f"{number}\u00a0×\u00a0{power}"


def clean_for_mathtext(text: object) -> str:
    """Escape a text for a title, label or legend of a Matplotlib figure.

    Matplotlib leaves a label that begins with an underscore out of the legend, and reads a final
    backslash as an escape of what follows: a zero-width space prevents both.
    """
    line = clean_text(text).strip("\u2068\u2069").replace("$", r"\$")
    line = "\u200b" + line if line.startswith("_") else line
    return line + "\u200b" if line.endswith("\\") else line


def escape_tex(text: object) -> str:
    """Escape a text for a field of a BibTeX entry."""
    line = " ".join(str(text).split())
    return re.sub(r"[&%$#_{}\\~^]", lambda match: _TEX_WORDS.get(match[0], f"\\{match[0]}"), line)


def escape_cell(value: Any) -> Any:
    """Escape a text for a cell of a CSV file, where a spreadsheet could read it as a formula.

    A text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a newline, or with apostrophes
    before one of these, gets one more apostrophe in front; to read it back, remove one. Numbers,
    also as texts, are not changed.
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def encode_csv(text: str) -> bytes:
    """Encode the text of a CSV file so that spreadsheets read its letters.

    Some take a file for one of an older encoding unless it begins with the mark of UTF-8. A text of
    ASCII needs none.
    """
    return text.encode("ascii" if text.isascii() else "utf-8-sig")


def pluralise(number: int, noun: str, plural: str = "") -> str:
    """Return a number with a noun in singular or plural.

    Examples
    --------
    >>> pluralise(1, "epoch"), pluralise(0, "epoch"), pluralise(2, "story", "stories")
    ('1 epoch', '0 epochs', '2 stories')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def join_words(names: Sequence[str]) -> str:
    """Join words for a sentence, with commas and "and".

    Examples
    --------
    >>> join_words(["a"]), join_words(["a", "b"]), join_words(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def format_rounded(value: float, decimals: int = 2) -> str:
    """Format a number with some decimals, or with one significant digit if all would be 0.

    Examples
    --------
    >>> [format_rounded(number) for number in (104.052, 0.0, -2e-22)], format_rounded(-0.5, 1)
    (['104.05', '0.00', '-2e-22'], '-0.5')
    """
    text = f"{value:.{decimals}f}"
    return f"{value:.1g}" if value and not any(c in "123456789" for c in text) else text


def differ_as_formatted(low: float, high: float, style: str) -> bool:
    """Whether two numbers differ when they are formatted.

    Examples
    --------
    >>> differ_as_formatted(0.981, 0.984, ".2f"), differ_as_formatted(0.981, 0.984, ".3f")
    (False, True)
    """
    return format(low, style) != format(high, style)


def format_interval(value: float, low: float, high: float, style: str = ".3f") -> str:
    """Format an estimate with its interval, unless the ends are finite and formatted alike.

    Examples
    --------
    >>> format_interval(0.98, 0.97, 0.991), format_interval(1.0, 1.0, 1.0)
    ('0.980 (0.970 to 0.991)', '1.000')
    >>> format_interval(1.0, math.nan, math.nan)
    '1.000'
    """
    text = format(value, style)
    differs = math.isfinite(low) and differ_as_formatted(low, high, style)
    return f"{text} ({format(low, style)} to {format(high, style)})" if differs else text


def format_range(low: float, high: float, style: str) -> str:
    """Format two numbers as a range, or as one number if they are formatted alike.

    Examples
    --------
    >>> format_range(1, 5, "d"), format_range(5, 5, "d"), format_range(0.981, 0.984, ".2f")
    ('1 to 5', '5', '0.98')
    """
    first, last = format(low, style), format(high, style)
    return f"{first} to {last}" if differ_as_formatted(low, high, style) else first


def format_change(first: float, last: float, style: str) -> str:
    """Return "goes from first to last", or "stays at first" if they are formatted alike.

    Examples
    --------
    >>> format_change(1, 5, "d"), format_change(0.981, 0.984, ".2f")
    ('goes from 1 to 5', 'stays at 0.98')
    """
    begin, end = format(first, style), format(last, style)
    return (
        f"goes from {begin} to {end}"
        if differ_as_formatted(first, last, style)
        else f"stays at {begin}"
    )


def format_plus_minus(value: float, half: float, decimals: int = 2) -> str:
    """Format an estimate with the half-width of its interval, unless that is zero.

    Examples
    --------
    >>> format_plus_minus(2.5, 0.031), format_plus_minus(2.5, 0.0), format_plus_minus(-1e-9, 0.0004)
    ('2.50 ± 0.03', '2.50', '0.00 ± 0.0004')
    """
    text = f"{value:z.{decimals}f}"
    return f"{text} ± {format_rounded(half, decimals)}" if half > _ROUNDING * abs(value) else text
