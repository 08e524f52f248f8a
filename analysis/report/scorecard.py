"""The rules by which a computed record is held against what a document prints.

A printed number stands for all numbers that round to it: half a unit of its last digit (or of the
row's own rounding unit) either side. A row gets one verdict:

* numbers and cells: *matches*; *within the interval*; *explained*; *differs*; *not determined*;
* ranges: the verdict of the worse of its two ends, each with its own interval, so that a better
  known range never turns a right answer into a wrong one;
* statements, claims, algorithms: *holds*; *holds under*; *does not hold*; *not determined*;
* figures: *redrawn* or *not determined*; announced work: *done* or *open*;
* parameters: *used*, or *does not hold* where the document's other numbers contradict them;
* prose that nothing can be computed from: *context*.

A row that no notebook speaks of is *missing*, and fails the build.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from analysis.published import Printed
from analysis.report.records import Record

VERDICTS = (
    "matches", "within the interval", "explained", "differs", "not determined",
    "holds", "holds under", "does not hold",
    "redrawn", "used", "done", "open", "context", "missing",
)  # fmt: skip
NUMERIC = ("number", "table-cell")
SAID = ("statement", "algorithm", "claim")
_ORDER = ("matches", "within the interval", "differs")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Judgement:
    """The verdict on one row, with what was computed in words and digits.

    Attributes
    ----------
    verdict : str
        One of `VERDICTS`.
    computed : str
        The computed value, to two digits more than the print.
    interval : tuple of float or None
        Confidence interval of the computed value.
    reason : str
        Cause, condition, evidence, or what is missing.
    """

    verdict: str
    computed: str = ""
    interval: tuple[float, float] | None = None
    reason: str = ""


class RecordError(ValueError):
    """A record that cannot stand for its row: the build fails, naming the row and the reason."""


def judge(row: Printed, record: Record | None, figures: Collection[str] = ()) -> Judgement:
    """Hold a record against its printed row.

    Parameters
    ----------
    row : Printed
        What the document prints.
    record : Record or None
        What the book computes; None if no notebook speaks of the row.
    figures : collection of str
        Ids of the figures that the book has.

    Returns
    -------
    Judgement

    Raises
    ------
    RecordError
        If the record lacks what its kind of row needs.
    """
    if record is None:
        return Judgement("missing")
    if record.context:
        if record.value is not None:
            raise RecordError(f"{row.id}: context is for prose, but {record.value} was computed")
        return Judgement("context", reason=record.context)
    if record.missing:
        computed = "" if record.value is None else _text(record.value, row)
        return Judgement("not determined", computed, _pair(record.interval), record.missing)
    if row.kind in NUMERIC:
        return _judge_number(row, record)
    if row.kind in SAID:
        return _judge_statement(row, record)
    if row.kind == "figure":
        if record.figure not in figures:
            raise RecordError(f"{row.id}: there is no figure {record.figure!r} that redraws it")
        return Judgement("redrawn", record.figure, reason=record.leaves_open)
    if row.kind == "parameter":
        return _judge_parameter(row, record)
    _need_truth(row, record)
    return Judgement("done" if record.value else "open", reason=record.evidence)


def _judge_number(row: Printed, record: Record) -> Judgement:
    if record.value is None or isinstance(record.value, bool):
        raise RecordError(f"{row.id}: a printed number needs a computed value")
    ends = row.printed.strip("[]").split(",") if row.printed.startswith("[") else [row.printed]
    values = record.value if isinstance(record.value, list) else [record.value]
    if len(ends) != len(values):
        raise RecordError(f"{row.id}: a printed range needs two computed ends, a number needs one")
    intervals: list[Any] = [record.interval] if len(ends) == 1 else record.interval or [None] * 2
    nested = record.interval is None or _is_nested(record.interval) == (len(ends) == 2)
    if len(intervals) != len(ends) or not nested:
        raise RecordError(f"{row.id}: a range needs an interval for each end, a number one")
    verdicts = [_compare(row, *end) for end in zip(ends, values, intervals, strict=True)]
    verdict = max(verdicts, key=_ORDER.index)
    pair = _pair(record.interval)
    computed = _text(record.value, row)
    if verdict == "differs" and record.explained is not None:
        _need(row, record.because, "because")
        if len(ends) > 1 or _compare(row, row.printed, record.explained, None) != "matches":
            raise RecordError(
                f"{row.id}: the cause gives {record.explained}, which is not the printed "
                f"{row.printed}: it explains nothing"
            )
        return Judgement("explained", computed, pair, record.because)
    return Judgement(verdict, computed, pair, record.because)


def _compare(row: Printed, printed: str, value: float, interval: Any) -> str:
    number, half = _printed_number(row, printed)
    slack = 1e-9 * half  # a computed value on the very edge rounds either way
    if abs(value - number) <= half + slack:
        return "matches"
    if interval is not None and interval[0] - half <= number <= interval[1] + half:
        return "within the interval"
    return "differs"


def _printed_number(row: Printed, text: str) -> tuple[float, float]:
    """Return a printed number and half its rounding unit."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        raise RecordError(f"{row.id}: {row.printed!r} is not a number; it needs context or missing")
    mantissa, _, exponent = found[0].lower().partition("e")
    digits = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return float(found[0]), (row.unit or 10.0**-digits) / 2


def _judge_statement(row: Printed, record: Record) -> Judgement:
    _need_truth(row, record)
    if not record.value:
        return Judgement("does not hold", reason=record.evidence)
    if record.condition:
        return Judgement("holds under", reason=f"{record.condition}. {record.evidence}")
    return Judgement("holds", reason=record.evidence)


def _judge_parameter(row: Printed, record: Record) -> Judgement:
    """Compare numbers among the printed words with those that were used; words need evidence."""
    numbers = _NUMBER.findall(row.printed)
    if not numbers:
        _need(row, record.evidence, "evidence")
        return Judgement("used", reason=record.evidence)
    if record.value is None:
        raise RecordError(f"{row.id}: {row.printed!r} holds numbers: record those that were used")
    if record.value is False:  # the document contradicts itself, and the other reading is right
        _need(row, record.evidence, "evidence")
        return Judgement("does not hold", reason=record.evidence)
    values = record.value if isinstance(record.value, list) else [record.value]
    if [float(number) for number in numbers] != [float(value) for value in values]:
        return Judgement("differs", str(record.value), reason=record.evidence)
    return Judgement("used", ", ".join(f"{value:g}" for value in values), reason=record.evidence)


def _need_truth(row: Printed, record: Record) -> None:
    if not isinstance(record.value, bool):
        raise RecordError(f"{row.id}: a {row.kind} needs True or False, got {record.value!r}")
    _need(row, record.evidence, "evidence")


def _need(row: Printed, text: str, name: str) -> None:
    if not text:
        raise RecordError(f"{row.id}: its verdict needs {name}: say it in the record")


def _is_nested(interval: Any) -> bool:
    return isinstance(interval, list) and isinstance(interval[0], list)


def _pair(interval: Any) -> tuple[float, float] | None:
    """Return an interval, or the hull of those of a range's two ends."""
    if interval is None:
        return None
    low, high = (interval[0][0], interval[-1][1]) if _is_nested(interval) else interval
    return float(low), float(high)


def _text(value: Any, row: Printed) -> str:
    """Write a computed value with two digits more than the print has."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "[" + ", ".join(_text(entry, row) for entry in value) + "]"
    decimals = max((len(d) for d in re.findall(r"\.(\d+)", row.printed)), default=0)
    if isinstance(value, int) and decimals == 0:
        return str(value)
    return f"{value:.{decimals + 2}f}" if abs(value) < 1e7 else f"{value:.6g}"
