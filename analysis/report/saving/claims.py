"""What the book says to one printed row: a value and all that its verdict rests on.

A chapter's study returns a list of `Claim`; `analysis.report.scorecard` judges each. A claim is a
plain value, so that a test can build the claims of a falsified model and see the verdicts turn.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from analysis.report.run import DIGITS

Number = float | int
Value = Number | bool | tuple[Number, Number]
Basis = Literal["computed", "proved", "judged", "context", ""]
BASES: tuple[Basis, ...] = ("computed", "proved", "judged", "context")


@dataclass(frozen=True)
class Claim:
    """State what the book says to one printed row.

    Parameters
    ----------
    id : str
        Id of the row in `analysis.published`.
    value : number, pair of numbers or bool, optional
        The computed number; for a printed range, its computed ends; for a statement, a claim or an
        algorithm, whether it holds; for announced work, whether the book does it.
    interval : pair, optional
        Confidence interval of a Monte Carlo value (one pair for each end of a range).
    replications : int, optional
        Independent replications behind `interval`; required with it.
    basis : {"computed", "proved", "judged", "context"}, optional
        What the verdict rests on. Without it: "proved" where `proof` is given, "context" where
        `context` is, none where `missing` is and nothing was computed, else "computed". A person's
        reading is "judged", and says so here.
    proof : str, optional
        Label of the theorem, proposition, lemma or corollary of the book that proves the row; its
        value is then the outcome of a numeric check of what is proved.
    assumes : tuple of str, optional
        Choices behind the value that the document does not print, one short sentence each. They
        turn *matches* into *matches under*, and *holds* into *holds under*.
    alternatives : sequence of numbers, optional
        The value under other choices than `assumes`, for a number: the scorecard counts how many of
        them give the printed digits too.
    explained, because : float and str, optional
        The printed number as derived from a named cause, live, and that cause.
    independent : float, optional
        The value by a second method. A print is explained only where the two agree, so that a wrong
        value is not explained by a cause that does not depend on it.
    missing : str, optional
        What the document leaves out, where it does not determine the row.
    condition : str, optional
        Where a statement holds only under a condition.
    evidence : str, optional
        How a statement was checked, or why a person judges so; required for statements.
    figure : str, optional
        Id of the figure that redraws the printed one.
    leaves_open : str, optional
        What the document leaves open about its figure; required for a redrawn figure, "nothing"
        where that is so.
    context : str, optional
        For prose that nothing can be computed from: what the page says of it.
    experiment, reading : str, optional
        The document's experiment that the row belongs to, and the reading of its unprinted choices
        under which the row is judged. All rows of one experiment have one reading.
    code : str, optional
        Module and function with the predicate; that of the study which makes the claim, unless it
        is given.

    Raises
    ------
    ValueError
        Naming the row, if a value is not finite, an interval is not low to high with the number of
        replications behind it, the basis is unknown, or it contradicts the other fields.
    """

    id: str
    value: Any = None
    interval: Any = None
    replications: int | None = None
    basis: Basis = ""
    proof: str = ""
    assumes: tuple[str, ...] = ()
    alternatives: Any = ()
    explained: float | None = None
    because: str = ""
    independent: float | None = None
    missing: str = ""
    condition: str = ""
    evidence: str = ""
    figure: str = ""
    leaves_open: str = ""
    context: str = ""
    experiment: str = ""
    reading: str = ""
    code: str = ""

    def __post_init__(self) -> None:
        """Turn NumPy's values into plain ones, fill in the basis, and check the fields."""
        pair, count = checked_interval(self.id, self.interval, self.replications)
        plain = {
            "value": plain_value(self.id, self.value),
            "interval": pair,
            "replications": count,
            "explained": plain_value(self.id, self.explained),
            "independent": plain_value(self.id, self.independent),
            "alternatives": tuple(plain_value(self.id, entry) for entry in self.alternatives),
            "assumes": _sentences(self.id, self.assumes),
            "basis": self.basis or self._usual_basis(),
            "code": self.code or _deciding_function(self.id),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        self._check_basis()

    def _usual_basis(self) -> Basis:
        if self.context:
            return "context"
        if self.proof:
            return "proved"
        return "" if self.missing and self.value is None else "computed"

    def _check_basis(self) -> None:
        if self.basis and self.basis not in BASES:
            raise ValueError(f"{self.id}: basis must be one of {BASES}, got {self.basis!r}")
        if (self.basis == "proved") != bool(self.proof):
            raise ValueError(
                f"{self.id}: basis 'proved' and the label of a proof go together, got basis "
                f"{self.basis!r} and proof {self.proof!r}"
            )
        if (self.basis == "context") != bool(self.context):
            raise ValueError(
                f"{self.id}: basis 'context' and what the page says go together, got basis "
                f"{self.basis!r} and context {self.context!r}"
            )
        if bool(self.experiment) != bool(self.reading):
            raise ValueError(
                f"{self.id}: experiment and reading go together, got {self.experiment!r} and "
                f"{self.reading!r}"
            )
        if self.alternatives and not self.assumes:
            raise ValueError(f"{self.id}: alternatives are to choices: name these in assumes")

    def as_dict(self) -> dict[str, Any]:
        """Return the fields but the id, as `records.json` keeps them."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "id"}


def _deciding_function(id: str) -> str:
    """Return the function of a study that decides a row, as ``module:name``; empty elsewhere.

    It is the innermost one that names the row, or else the innermost one at all.
    """
    innermost = ""
    frame = sys._getframe(2)
    while frame := frame.f_back:  # type: ignore[assignment]
        module, code = frame.f_globals.get("__name__", ""), frame.f_code
        if not module.startswith("analysis.") or ".studies." not in module:
            continue
        name = f"{module}:{code.co_qualname.partition('.<locals>')[0]}"
        innermost = innermost or name
        if any(id == c or (isinstance(c, tuple) and id in c) for c in code.co_consts):
            return name
    return innermost


def checked_interval(id: str, interval: Any, replications: Any) -> tuple[Any, int | None]:
    """Check an interval, or one for each end of a range, and the replications behind it."""
    if (interval is None) != (replications is None):
        raise ValueError(f"{id}: interval and replications go together: give both or neither")
    if interval is None:
        return None, None
    plain, count = plain_value(id, interval), plain_value(id, replications)
    for pair in plain if isinstance(plain[0], list) else [plain]:
        if not isinstance(pair, list) or len(pair) != 2 or not pair[0] <= pair[1]:
            raise ValueError(f"{id}: an interval must be a low and a high end, got {pair}")
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"{id}: replications must be an integer of at least 1, got {count!r}")
    return plain, count


def plain_value(id: str, value: Any) -> Any:
    """Turn NumPy values and sequences into what JSON holds; refuse what is not finite."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [plain_value(id, entry) for entry in value]
    if not isinstance(value, bool | int | float) or not math.isfinite(value):
        raise ValueError(f"{id}: a value must be a finite number or a truth value, got {value!r}")
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _sentences(id: str, assumes: Sequence[str]) -> tuple[str, ...]:
    said = not isinstance(assumes, str) and all(isinstance(s, str) and s for s in assumes)
    if not said:
        raise ValueError(f"{id}: assumes must be a tuple of sentences, got {assumes!r}")
    return tuple(assumes)
