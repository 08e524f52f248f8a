"""The rules of the scorecard: the verdict on a printed row, given the claim on it.

A printed number means the interval of all numbers that round to it: half a unit of its last digit
(or of the row's own rounding unit) either side. A row gets one verdict:

* numbers and cells: *matches*; *matches under* choices that the document does not print; *within
  the interval*; *explained*; *differs*; *not determined*;
* ranges: the worse of the verdicts on its two ends, each with its own confidence interval, so that
  more replications never turn a right answer into a wrong one;
* statements, claims, algorithms: *holds*; *holds under*; *does not hold*; *not determined*;
* figures: *redrawn* or *not determined*, which a lost image always is; announced work: *done* or
  *open*;
* parameters: *used*, or *does not hold* where the document's other numbers contradict them;
* prose, premises and bibliographic data that nothing can be computed from: *context*.

Each verdict has a basis: *computed*; *proved* in the book and checked numerically, or *proved,
machine-checked* where a proof checker has read the proof too; *judged* by a person; or *context*.
Numbers are never judged by a person. A row that no notebook records is
*missing*, which fails the build.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from scorecard.prints import Printed
from scorecard.saving.claims import Claim

VERDICTS = (
    "matches", "matches under", "within the interval", "explained", "differs", "not determined",
    "holds", "holds under", "does not hold",
    "redrawn", "used", "done", "open", "context", "missing",
)  # fmt: skip
#: Kind of an erratum by the verdict on its row; a typo may have any of these verdicts.
ERRATUM_KINDS = {
    "does not hold": "false",
    "holds under": "missing condition",
    "matches under": "missing condition",
    "explained": "wrong number",
    "differs": "wrong number",
}
TYPO = "typo"
#: Verdicts that have a condition, and verdicts that need a reason.
CONDITIONAL = ("holds under", "matches under")
REASONED = (*CONDITIONAL, "does not hold", "explained", "not determined", "open")
NUMERIC = ("number", "table-cell")
VERBAL = ("statement", "algorithm", "claim", "premise", "reference")
#: Kinds of rows whose verdict may be *context*, *not determined*, or judged by a person.
IN_CONTEXT = ("claim", "premise", "reference")
UNDETERMINED = (*NUMERIC, "figure", "statement", "claim")
JUDGED = (*VERBAL, "future")
#: Greatest width of a confidence interval for the verdict *within the interval*, relative to the
#: printed number. A wider interval would also contain numbers that are off by a twentieth.
GREATEST_WIDTH = 0.05
_ORDER = ("matches", "within the interval", "not determined", "differs")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Judgement:
    """The verdict on one row, with the computed value and the reasons."""

    verdict: str  # one of `VERDICTS`
    computed: str = ""  # the computed value, to two digits more than the print
    interval: tuple[float, float] | None = None  # confidence interval of the computed value
    reason: str = ""  # cause, evidence, or what is missing
    # Condition under which the row holds or matches, and the choices that it assumes.
    condition: str = ""
    # Basis of the verdict, one of `BASES`, or empty if it is *not determined*.
    basis: str = ""
    proof: str = ""  # label of the proof, if the row is proved
    assumes: tuple[str, ...] = ()  # choices that the document does not print


def classify_erratum(verdict: str, typo: bool) -> str:
    """Return the kind of an erratum by the verdict on its row; empty if that shows no error.

    `typo`: whether the document means the corrected form.
    """
    kind = ERRATUM_KINDS.get(verdict, "")
    return TYPO if typo and kind else kind


class RecordError(ValueError):
    """A record that does not fit its row; it fails the build."""


def judge(row: Printed, claim: Claim | None, figures: Collection[str] = ()) -> Judgement:
    """Compare a claim with its printed row.

    `claim`: the book's claim on it; None if no notebook records the row. Raises RecordError if the
    claim lacks a field that its kind of row needs, or has one that it does not allow.
    """
    if claim is None:
        return Judgement("missing")
    _check_kind(row, claim.context, IN_CONTEXT, "is set in context")
    _check_kind(row, claim.missing, UNDETERMINED, "is left undetermined")
    _check_kind(row, claim.basis == "judged", JUDGED, "is judged by a person")
    _check_kind(row, claim.assumes, (*NUMERIC, *VERBAL), "rests on choices (assumes)")
    judgement = _judge_row(row, claim, figures)
    basis = "" if judgement.verdict == "not determined" else claim.basis
    judgement = replace(judgement, basis=basis, proof=claim.proof, assumes=claim.assumes)
    if judgement.verdict in CONDITIONAL:
        parts = (claim.condition, *claim.assumes)
        judgement = replace(
            judgement, condition="; ".join(condition for condition in parts if condition)
        )
    if judgement.verdict in REASONED:
        _require(row, judgement.reason, "a reason (because, evidence or missing)")
    return judgement


def _check_kind(row: Printed, value: Any, kinds: Collection[str], what: str) -> None:
    if value and row.kind not in kinds:
        raise RecordError(f"{row.id}: a {row.kind} never {what}; only {', '.join(kinds)} may be")


def _judge_row(row: Printed, claim: Claim, figures: Collection[str]) -> Judgement:
    if claim.context:
        if claim.value is not None:
            raise RecordError(f"{row.id}: context is for prose, but {claim.value} was computed")
        return Judgement("context", reason=claim.context)
    if row.lost:
        return _judge_lost(row, claim, figures)
    if claim.missing:
        computed = "" if claim.value is None else _format_value(claim.value, row)
        return Judgement("not determined", computed, _find_hull(claim.interval), claim.missing)
    if row.kind in NUMERIC:
        return _judge_number(row, claim)
    if row.kind in VERBAL:
        return _judge_statement(row, claim)
    if row.kind == "figure":
        _require_figure(row, claim, figures)
        return Judgement("redrawn", claim.figure, reason=claim.leaves_open)
    if row.kind == "parameter":
        return _judge_parameter(row, claim)
    _require_truth(row, claim)
    return Judgement("done" if claim.value else "open", reason=claim.evidence)


def _judge_lost(row: Printed, claim: Claim, figures: Collection[str]) -> Judgement:
    """Judge an image that is lost from the document: the verdict is always *not determined*."""
    if claim.figure:
        _require_figure(row, claim, figures)
    drawn = f"what is drawn in its place leaves open: {claim.leaves_open}"
    texts = [f"lost: {row.lost}", claim.missing, drawn if claim.leaves_open else ""]
    return Judgement("not determined", claim.figure, reason=". ".join(filter(None, texts)))


def _judge_number(row: Printed, claim: Claim) -> Judgement:
    if claim.value is None or isinstance(claim.value, bool):
        raise RecordError(f"{row.id}: a printed number needs a computed value")
    ends = row.printed.strip("[]").split(",") if row.printed.startswith("[") else [row.printed]
    values = claim.value if isinstance(claim.value, list) else [claim.value]
    if len(ends) != len(values):
        raise RecordError(f"{row.id}: a printed range needs two computed ends, a number needs one")
    intervals: list[Any] = [claim.interval] if len(ends) == 1 else claim.interval or [None] * 2
    nested = claim.interval is None or _is_nested(claim.interval) == (len(ends) == 2)
    if len(intervals) != len(ends) or not nested:
        raise RecordError(f"{row.id}: a range needs an interval for each end, a number one")
    verdicts = [_compare_number(row, *end) for end in zip(ends, values, intervals, strict=True)]
    verdict = max(verdicts, key=_ORDER.index)
    reason = claim.because
    if verdict == "differs" and claim.explained is not None:
        _require(row, claim.because, "because")
        if claim.independent is None:
            raise RecordError(f"{row.id}: to be explained it needs its value by a second method")
        _, half = _read_number(row, ends[0])
        if len(values) > 1 or abs(values[0] - claim.independent) > half:
            reason = f"the value is {claim.independent} by a second method"
            return Judgement(
                "differs", _format_value(claim.value, row), _find_hull(claim.interval), reason
            )
        if len(ends) > 1 or _compare_number(row, row.printed, claim.explained, None) != "matches":
            raise RecordError(
                f"{row.id}: the cause gives {claim.explained}, which is not the printed "
                f"{row.printed}: it explains nothing"
            )
        verdict = "explained"
    elif verdict == "not determined":
        reason = f"the interval is too wide to tell: more replications are needed. {reason}"
    elif verdict != "differs" and claim.assumes:
        reason = " ".join([_count_alternatives(row, claim, ends), reason])
        verdict = "matches under"
    return Judgement(
        verdict, _format_value(claim.value, row), _find_hull(claim.interval), reason.strip()
    )


def _count_alternatives(row: Printed, claim: Claim, ends: list[str]) -> str:
    """Return a sentence on how many of the other choices give the printed digits too."""
    if not claim.alternatives:
        raise RecordError(
            f"{row.id}: it rests on {list(claim.assumes)}: record the value under other choices "
            "(alternatives)"
        )
    others = [entry if isinstance(entry, list) else [entry] for entry in claim.alternatives]
    if any(len(entry) != len(ends) for entry in others):
        raise RecordError(f"{row.id}: an alternative has as many ends as the print")
    same = sum(
        all(
            _compare_number(row, *pair, None) == "matches" for pair in zip(ends, other, strict=True)
        )
        for other in others
    )
    return f"Of {len(others)} other choices {same} give the printed digits."


def _compare_number(row: Printed, printed: str, value: float, interval: Any) -> str:
    number, half = _read_number(row, printed)
    slack = 1e-9 * half  # a computed value on the very edge rounds either way
    if abs(value - number) <= half + slack:
        return "matches"
    if interval is None or not interval[0] - half <= number <= interval[1] + half:
        return "differs"
    greatest = max(GREATEST_WIDTH * abs(number), 2 * half)
    return "within the interval" if interval[1] - interval[0] <= greatest else "not determined"


def _read_number(row: Printed, text: str) -> tuple[float, float]:
    """Return a printed number and half its rounding unit."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise RecordError(f"{row.id}: {row.printed!r} is not a number; it can only be missing")
    mantissa, _, exponent = match[0].lower().partition("e")
    digits = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return float(match[0]), (row.unit or 10.0**-digits) / 2


def _judge_statement(row: Printed, claim: Claim) -> Judgement:
    _require_truth(row, claim)
    if not claim.value:
        return Judgement("does not hold", reason=claim.evidence)
    under = claim.condition or claim.assumes
    return Judgement("holds under" if under else "holds", reason=claim.evidence)


def _judge_parameter(row: Printed, claim: Claim) -> Judgement:
    """Compare the numbers in a printed parameter with those used; one without needs evidence."""
    numbers = _NUMBER.findall(row.printed)
    if claim.value is False or not numbers:
        _require_truth(row, claim)
        # A false value means that the document's other numbers contradict this one.
        return Judgement("used" if claim.value else "does not hold", reason=claim.evidence)
    if claim.value is None or claim.value is True:
        raise RecordError(f"{row.id}: {row.printed!r} holds numbers: record those that were used")
    values = claim.value if isinstance(claim.value, list) else [claim.value]
    if [float(number) for number in numbers] != [float(value) for value in values]:
        return Judgement("differs", str(claim.value), reason=claim.evidence)
    return Judgement("used", ", ".join(f"{value:g}" for value in values), reason=claim.evidence)


def _require_figure(row: Printed, claim: Claim, figures: Collection[str]) -> None:
    if claim.figure not in figures:
        raise RecordError(f"{row.id}: there is no figure {claim.figure!r} that redraws it")


def _require_truth(row: Printed, claim: Claim) -> None:
    if not isinstance(claim.value, bool):
        raise RecordError(f"{row.id}: a {row.kind} needs True or False, got {claim.value!r}")
    _require(row, claim.evidence, "evidence")


def _require(row: Printed, text: str, name: str) -> None:
    if not text:
        raise RecordError(f"{row.id}: its verdict needs {name}: add it to the record")


def _is_nested(interval: Any) -> bool:
    return isinstance(interval, list) and isinstance(interval[0], list)


def _find_hull(interval: Any) -> tuple[float, float] | None:
    """Return an interval, or the hull of the intervals of a range's two ends."""
    if interval is None:
        return None
    low, high = (interval[0][0], interval[-1][1]) if _is_nested(interval) else interval
    return float(low), float(high)


def _format_value(value: Any, row: Printed) -> str:
    """Format a computed value with two decimals more than the printed number."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "[" + ", ".join(_format_value(entry, row) for entry in value) + "]"
    decimals = max((len(d) for d in re.findall(r"\.(\d+)", row.printed)), default=0)
    if isinstance(value, int) and decimals == 0:
        return str(value)
    return f"{value:.{decimals + 2}f}" if abs(value) < 1e7 else f"{value:.6g}"
