"""`Claim`: the book's result for one printed row, with the evidence for its verdict.

The study of a page returns a list of `Claim`; `scorecard.verdicts` judges each. A claim
depends on nothing but its fields, so that a test can make the claims of a falsified model and check
that the verdicts change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from scorecard.run import DIGITS

Number = float | int
Basis = Literal["computed", "proved", "proved, machine-checked", "judged", "context", ""]
MACHINE_CHECKED: Basis = "proved, machine-checked"
BASES: tuple[Basis, ...] = ("computed", "proved", MACHINE_CHECKED, "judged", "context")
#: Bases of a row that a theorem of the book decides.
PROVED: tuple[Basis, ...] = ("proved", MACHINE_CHECKED)


@dataclass(frozen=True)
class Claim:
    """The book's result for one printed row.

    Parameters
    ----------
    id : str
        Id of the row in `scorecard.prints`.
    value : number, pair of numbers or bool, optional
        The computed number; for a printed range, its computed ends; for a statement, a claim or an
        algorithm, whether it holds; for announced work, whether the book does it.
    interval : pair, optional
        Confidence interval of a Monte Carlo value (one pair for each end of a range).
    replications : int, optional
        Independent replications behind `interval`; required with it.
    basis : {"computed", "proved", "proved, machine-checked", "judged", "context"}, optional
        Kind of evidence for the verdict. Default: "proved" if `proof` is given, "context" if
        `context` is, empty if `missing` is given and nothing was computed, else "computed". A
        person's reading of the text is "judged", which has to be given.
    proof : str, optional
        Label of the theorem, proposition, lemma or corollary of the book that proves the row; its
        value is then the outcome of a numeric check of that theorem.
    assumes : tuple of str, optional
        Choices behind the value that the document does not print, one short sentence each. With
        them, *matches* becomes *matches under*, and *holds* becomes *holds under*.
    alternatives : sequence of numbers, optional
        For a number, its values under other choices than `assumes`: the scorecard counts how many
        of them give the printed digits too.
    explained, because : float and str, optional
        The printed number as the notebook derives it from a named cause, and that cause.
    independent : float, optional
        The value by a second method. A difference is *explained* only where the two methods agree:
        otherwise the computed value itself may be wrong.
    missing : str, optional
        What the document leaves out, where it does not determine the row.
    condition : str, optional
        Condition under which a statement holds, where it does not hold without one.
    evidence : str, optional
        How a statement was checked, or why a person judges so; required for statements.
    figure : str, optional
        Id of the figure that redraws the printed one.
    leaves_open : str, optional
        What the document does not specify about its figure; required for a redrawn figure
        ("nothing" where the document specifies everything).
    context : str, optional
        For prose from which nothing can be computed: the page's remark on it.
    experiment, reading : str, optional
        The document's experiment that the row belongs to, and the reading of its unprinted choices
        under which the row is judged. All rows of one experiment have one reading.

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

    def __post_init__(self) -> None:
        """Convert NumPy values to Python's, fill in the default basis, and check the fields."""
        pair, count = check_interval(self.id, self.interval, self.replications)
        plain = {
            "value": convert_value(self.id, self.value),
            "interval": pair,
            "replications": count,
            "explained": convert_value(self.id, self.explained),
            "independent": convert_value(self.id, self.independent),
            "alternatives": tuple(convert_value(self.id, entry) for entry in self.alternatives),
            "assumes": _check_sentences(self.id, self.assumes),
            "basis": self.basis or self._default_basis(),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        self._check_basis()

    def _default_basis(self) -> Basis:
        if self.context:
            return "context"
        if self.proof:
            return "proved"
        return "" if self.missing and self.value is None else "computed"

    def _check_basis(self) -> None:
        if self.basis and self.basis not in BASES:
            raise ValueError(f"{self.id}: basis must be one of {BASES}, got {self.basis!r}")
        for bases, name in ((PROVED, "proof"), (("context",), "context")):
            if (self.basis in bases) != bool(getattr(self, name)):
                raise ValueError(
                    f"{self.id}: basis {bases[0]!r} and the field {name} go together, got basis "
                    f"{self.basis!r} and {name} {getattr(self, name)!r}"
                )
        if bool(self.experiment) != bool(self.reading):
            raise ValueError(
                f"{self.id}: experiment and reading go together, got {self.experiment!r} and "
                f"{self.reading!r}"
            )
        if self.alternatives and not self.assumes:
            raise ValueError(f"{self.id}: alternatives need the choices they differ from: assumes")

    def as_dict(self) -> dict[str, Any]:
        """Return the fields except the id, as `records.json` stores them."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "id"}


def check_interval(id: str, interval: Any, replications: Any) -> tuple[Any, int | None]:
    """Return an interval (or one for each end of a range) and its number of replications, checked.

    Raises ValueError naming the row, if one of the two is missing, or an interval or the number is
    malformed.
    """
    if (interval is None) != (replications is None):
        raise ValueError(f"{id}: interval and replications go together: give both or neither")
    if interval is None:
        return None, None
    plain, count = convert_value(id, interval), convert_value(id, replications)
    for pair in plain if isinstance(plain[0], list) else [plain]:
        if not isinstance(pair, list) or len(pair) != 2 or not pair[0] <= pair[1]:
            raise ValueError(f"{id}: an interval must be a low and a high end, got {pair}")
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"{id}: replications must be an integer of at least 1, got {count!r}")
    return plain, count


def convert_value(id: str, value: Any) -> Any:
    """Convert NumPy values and sequences to JSON's types, floats to `DIGITS` significant digits.

    Raises ValueError naming the row, if a value is not finite.
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [convert_value(id, entry) for entry in value]
    if not isinstance(value, bool | int | float) or not math.isfinite(value):
        raise ValueError(f"{id}: a value must be a finite number or a truth value, got {value!r}")
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _check_sentences(id: str, assumes: Sequence[str]) -> tuple[str, ...]:
    if isinstance(assumes, str) or not all(isinstance(s, str) and s for s in assumes):
        raise ValueError(f"{id}: assumes must be a tuple of sentences, got {assumes!r}")
    return tuple(assumes)
