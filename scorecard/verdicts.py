"""The rules of the scorecard: the verdict on a printed row, given the claim on it, and its words.

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

The words of the rows stand in one YAML file a document, ``book/published/verdicts/DOCUMENT.yml``:
by page and by row, Jinja2 templates of a claim's text fields, with the filters of `scorecard.fill`.
A field may have one template for each truth value::

    restart-model:
      C-suboptimal:
        evidence:
          holds: above the exact optimum on {{ beaten }} of {{ systems }} systems
          fails: nowhere above the exact optimum, on {{ systems }} systems

Rows may share an entry: its key lists their ids, and ``*`` matches any characters, as in
``D-mu05 D-t1-*-C_d``. A row has the fields of all entries that match it; each field may occur in
only one of them, except ``assumes``, whose choices are joined in the order of the file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import jinja2
import jinja2.meta

from scorecard.fill import compile_template, parse_template
from scorecard.prints import FOLDER as PUBLISHED
from scorecard.prints import Printed, printed_rows
from scorecard.record import WORDS, Claim
from scorecard.values import read_texts

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

    `claim`: the book's claim on it with the row's words (`add_words`); None if no notebook records
    the row. Raises RecordError if the claim lacks a field that its kind of row needs, or has one
    that it does not allow.
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
            raise RecordError(f"{row.id}: explained rows need `independent`, a second value")
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


# Words


#: Kinds of rows that must have words.
KINDS_WITH_WORDS = ("figure", "statement", "algorithm", "claim", "premise", "future", "reference")
FOLDER = PUBLISHED / "verdicts"


@dataclass(frozen=True)
class Entry:
    """The text templates of one row."""

    # The row, and the page that records it.
    id: str
    page: str
    # Template of each field of `WORDS` that the row has, or two as ``holds`` and ``fails``.
    words: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)
    assumes: tuple[str, ...] = ()  # templates of the choices that the document does not print

    def templates(self) -> Iterator[str]:
        """Yield all templates."""
        for template in self.words.values():
            yield from template.values() if isinstance(template, Mapping) else [template]
        yield from self.assumes


def add_words(claim: Claim) -> Claim:
    """Return a claim with the words of its row, filled with its numbers.

    A claim whose texts are given as they are is returned unchanged. Raises RecordError naming the
    row: if it needs words and has none, if a template names a number that is not given or no
    template names a given one, or if a condition is to be left out that is not there.
    """
    if claim.numbers is None:
        return claim
    row = printed_rows()[claim.id]
    entry = read_entries(row.document).get(claim.id)
    if entry is None and row.kind in KINDS_WITH_WORDS:
        raise RecordError(
            f"{claim.id}: a {row.kind} needs words in {FOLDER.name}/{row.document}.yml"
        )
    entry = entry or Entry(claim.id, "")
    unused = sorted(
        claim.numbers.keys() - {n for text in entry.templates() for n in find_names(text)}
    )
    if unused:
        raise RecordError(f"{claim.id}: no template names the number {unused[0]!r}")
    if not claim.conditional and "condition" not in entry.words:
        raise RecordError(f"{claim.id}: condition=False, but its words have none to leave out")
    try:
        texts: dict[str, Any] = {
            name: compile_template(template).render(claim.numbers)
            for name, text in entry.words.items()
            if (template := _select_template(text, claim.value))
        }
        texts["assumes"] = [compile_template(t).render(claim.numbers) for t in entry.assumes]
        texts = {name: text for name, text in texts.items() if text}
        if not claim.conditional:
            texts.pop("condition", None)
        return replace(claim, numbers=None, conditional=True, **texts)
    except (jinja2.TemplateError, TypeError, ValueError) as error:
        raise RecordError(f"{claim.id}: {error}") from None


def _select_template(text: str | Mapping[str, str], value: Any) -> str:
    return text.get("holds" if value else "fails", "") if isinstance(text, Mapping) else text


@cache
def find_names(text: str) -> frozenset[str]:
    """Return the names that a template asks for."""
    return frozenset(jinja2.meta.find_undeclared_variables(parse_template(text)))


@cache
def read_entries(document: str) -> dict[str, Entry]:
    """Return the entries of a document's file by row id; empty if the document has no file.

    Raises ValueError naming the file and the row: if the document has no such row, the row or one
    of its fields occurs twice, a field is not one of `WORDS`, a text is empty, or a template is
    malformed.
    """
    path = FOLDER / f"{document}.yml"
    if not path.exists():
        return {}
    by_id: dict[str, Entry] = {}
    content = read_texts(path)
    for page, rows in content.items():
        for names, fields in _check_mapping(f"{path.name}: {page}", rows).items():
            where = f"{path.name}: {names}"
            for id in _find_rows(where, names, document):
                entry = _parse_entry(where, id, page, fields)
                by_id[id] = _merge_entries(where, by_id[id], entry) if id in by_id else entry
    return by_id


def _find_rows(where: str, names: str, document: str) -> list[str]:
    """Return the ids of a document's rows that match a key: ids, or patterns with ``*``."""
    rows = [id for id, row in printed_rows().items() if row.document == document]
    ids = []
    for name in names.split():
        # Ids may contain other characters of patterns, such as brackets.
        fitting = [id for id in rows if (fnmatchcase(id, name) if "*" in name else id == name)]
        if not fitting:
            raise ValueError(f"{where}: {document} has no row {name}")
        ids += fitting
    return ids


def _merge_entries(where: str, first: Entry, second: Entry) -> Entry:
    """Merge two entries of the same row, which must have no field in common."""
    if first.page != second.page:
        raise ValueError(f"{where}: {first.id} occurs twice, under the page {first.page} too")
    twice = sorted(first.words.keys() & second.words.keys())
    if twice:
        raise ValueError(f"{where}: {twice[0]} of {first.id} occurs twice, in another entry too")
    texts = {**first.words, **second.words}
    return Entry(first.id, first.page, texts, first.assumes + second.assumes)


def _parse_entry(where: str, id: str, page: str, fields: Any) -> Entry:
    fields = dict(_check_mapping(where, fields))
    assumes = fields.pop("assumes", [])
    if not isinstance(assumes, list):
        raise ValueError(f"{where}: assumes must be a list of sentences, got {assumes!r:.80}")
    for name, text in fields.items():
        if name not in WORDS:
            raise ValueError(f"{where}: a field must be one of {WORDS}, got {name!r}")
        if isinstance(text, dict) and not text.keys() <= {"holds", "fails"}:
            raise ValueError(f"{where}: keys must be holds and fails, got {[*text]}")
        for template in text.values() if isinstance(text, dict) and text else [text]:
            _check_template(where, template)
    if not fields and not assumes:
        raise ValueError(f"{where}: the entry is empty")
    return Entry(id, page, fields, tuple(_check_template(where, text) for text in assumes))


def _check_mapping(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise ValueError(f"{where}: must be 'name: value' lines, got {value!r:.80}")
    return value


def _check_template(where: str, text: Any) -> str:
    if not isinstance(text, str) or not text.strip() or text != text.strip() or "\n" in text:
        raise ValueError(f"{where}: a template must be one line of text, got {text!r:.80}")
    try:
        find_names(text)
    except jinja2.TemplateError as error:
        raise ValueError(f"{where}: {error}") from None
    return text


def find_page(id: str) -> str:
    """Return the page under which the words of a row are filed; empty if it has none."""
    entry = read_entries(printed_rows()[id].document).get(id)
    return entry.page if entry else ""
