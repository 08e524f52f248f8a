"""The run of a notebook: its folder and facts, and its record of claims and numbers.

The runner executes a notebook in a folder of its own, to which it sets ``BOOK_RUN_DIR``;
``run.json`` in that folder has the notebook's name, its parameters and whether they are the
documents' own. A notebook that is run "by hand", in Jupyter without the runner, writes to
``_output`` beside it. Figures, tables and data are saved with their provenance (page, parameters,
package versions and machine), and share one set of ids.

``record.json`` of a run is ``{"values": {}, "claims": []}``. A notebook writes it with
`record_claims` and `save_value`; `scorecard.collate` reads it. A claim depends on nothing but its
fields, so that a test can make the claims of a falsified model and check that the verdicts change.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from scorecard.prints import printed_rows

VARIABLE = "BOOK_RUN_DIR"
#: Name of the variable with the documents' parameters in a portable notebook.
PARAMETERS = "DOCUMENTS_PARAMETERS"
#: Significant digits of saved numbers: more than the documents print, few enough to be the same
#: whatever the order in which a threaded library sums.
DIGITS = 9
#: Formats in which each figure is saved.
FORMATS = ("svg", "pdf", "png")
#: Parts of the names of a figure's files for narrow screens and for dark pages.
NARROW = "narrow."
DARK = "dark."
#: Packages whose versions may change a number or a picture.
PACKAGES = ("numpy", "scipy", "numba", "matplotlib", "pandas")
#: Kind of each product saved in this run, by id: "figure", "table" or "data".
saved: dict[str, str] = {}
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CPU = Path("/proc/cpuinfo")
#: File of a run.
RECORD = "record.json"
#: Text fields of a claim, which stand in files; the last is a list of sentences.
WORDS = (
    "condition", "evidence", "because", "missing", "context", "leaves_open", "experiment",
    "reading", "assumes",
)  # fmt: skip
#: Greatest length of a text among the numbers, such as the name of a distribution.
LONGEST_NAME = 48
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
    numbers : mapping of str to any, optional
        Named numbers for the words of the row, which `scorecard.verdicts.add_words` fills in; None
        once that is done, or if the texts above are given as they are.
    conditional : bool
        False to leave out the condition in the row's words, because the row holds without it.

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
    numbers: Mapping[str, Any] | None = None
    conditional: bool = True

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
        }
        if self.numbers is None:
            plain["basis"] = self.basis or self._default_basis()
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        if self.numbers is None:
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
        """Return the id and the fields that differ from their defaults, as a record has them."""
        return {
            f.name: value
            for f in fields(self)
            if (value := getattr(self, f.name)) != f.default or f.name == "id"
        }


def claim(
    id: str,
    value: Any = None,
    *,
    outcome: str = "",
    condition: bool = True,
    numbers: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Claim:
    """Make the claim on a row whose words stand in ``book/published/verdicts``.

    Parameters
    ----------
    id, value : str and any
        As in `Claim`.
    outcome : str, optional
        A word that the templates call ``outcome``, where more than two texts are told apart.
    condition : bool
        False to leave out the condition in the file, because the row holds without it.
    numbers : mapping of str to any, optional
        What the words name: numbers, short names, and lists or mappings of these. A mapping becomes
        a list of pairs `name` and `value`.
    **fields
        Fields of `Claim` other than `WORDS`.

    Returns
    -------
    Claim

    Raises
    ------
    ValueError
        Naming the row: if there is no such row, `fields` has one of `WORDS`, or a number is none.
    """
    misplaced = sorted({*fields} & {*WORDS})
    if misplaced:
        raise ValueError(f"{id}: {misplaced[0]} belongs in a file of verdicts/, not in code")
    if id not in printed_rows():
        raise ValueError(f"id must name a row of book/published, got {id!r}")
    given = dict(numbers or {}) | ({"outcome": outcome} if outcome else {})
    named = {name: _convert_word(f"{id}: {name}", number) for name, number in given.items()}
    return Claim(id, value, numbers=named, conditional=condition, **fields)


def _convert_word(what: str, value: Any) -> Any:
    """Return what words may name as JSON's types; raise ValueError for any other."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        value = [{"name": name, "value": entry} for name, entry in value.items()]
    if isinstance(value, list | tuple):
        return [
            {name: _convert_word(what, field) for name, field in entry.items()}
            if isinstance(entry, Mapping)
            else _convert_word(what, entry)
            for entry in value
        ]
    if isinstance(value, str) and value.strip() and len(value) <= LONGEST_NAME:
        return value
    if not isinstance(value, int | float):
        raise ValueError(f"{what} must be a number or a short name, got {value!r:.80}")
    if not math.isfinite(value):  # of a run that failed: its row is judged all the same
        return str(value)
    return convert_value(what, value)


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


_claims: dict[str, Claim] = {}
_values: dict[str, dict[str, Any]] = {}


def record_claims(claims: Iterable[Claim]) -> None:
    """Save the claims of a page on printed rows, for `scorecard.verdicts` to judge.

    Parameters
    ----------
    claims : iterable of Claim
        One claim a row. They are saved also by a rerun with other parameters than the documents',
        but its pages and the scorecard do not show them.

    Raises
    ------
    ValueError
        If there is no such row, or it was recorded before.
    """
    for claim in claims:
        if claim.id not in printed_rows():
            raise ValueError(f"id must name a row of book/published, got {claim.id!r}")
        if claim.id in _claims and not by_hand():
            raise ValueError(f"id {claim.id!r} was recorded before in this notebook")
        _claims[claim.id] = claim
    _write()


def save_value(
    id: str,
    value: Number,
    *,
    interval: tuple[Number, Number] | None = None,
    replications: int | None = None,
) -> None:
    """Save a number of the book's own, which prose quotes by its id.

    Parameters
    ----------
    id : str
        Name of the number, unique in the book; by custom it starts with the notebook's name.
    value : number
        The number.
    interval, replications : pair and int, optional
        Confidence interval of a Monte Carlo value, and the replications behind it.

    Raises
    ------
    ValueError
        If the id was used before, the number is not finite, or an interval is not low to high
        with the number of replications behind it.
    """
    if id in _values and not by_hand():
        raise ValueError(f"id {id!r} was saved before in this notebook")
    if value is None:
        raise ValueError(f"{id}: a value must be a number, got None")
    number = convert_value(id, value)
    pair, count = check_interval(id, interval, replications)
    _values[id] = {"value": number, "interval": pair, "replications": count}
    _write()


def save_values(prefix: str, values: Mapping[str, Number]) -> None:
    """Save several numbers of the book's own, each under a common prefix and its own name.

    Parameters
    ----------
    prefix : str
        What the ids begin with, by custom the notebook's name: a value `gain` of the page
        `four-sources` has the id ``four-sources-gain``.
    values : mapping of str to number
        The numbers, by name.

    Raises
    ------
    ValueError
        As `save_value` does.
    """
    for name, value in values.items():
        save_value(f"{prefix}-{name}", value)


def read_saved_numbers(prefix: str) -> dict[str, float]:
    """Return the values saved in this notebook whose ids have a prefix, by id without the prefix.

    For sentences that depend on many numbers.
    """
    return {
        id.removeprefix(prefix): entry["value"]
        for id, entry in _values.items()
        if id.startswith(prefix)
    }


def is_document_run() -> bool:
    """Whether this run has the documents' own parameters, not those of a reader's rerun."""
    return unchanged_by_hand() if by_hand() else bool(run_facts()["document"])


def _write() -> None:
    content = {"values": _values, "claims": [claim.as_dict() for claim in _claims.values()]}
    # In one line, which is faster: it is written again after each of hundreds of values.
    aside = run_folder() / f".{RECORD}~"
    write_json(aside, content, indent=None)
    aside.replace(run_folder() / RECORD)


def read_record(folder: Path) -> dict[str, Any]:
    """Return the record of a run: its ``values`` by id, and its ``claims``."""
    path = folder / RECORD
    return dict(json.loads(path.read_bytes())) if path.exists() else {"values": {}, "claims": []}


# The folder and the facts of the run, and provenance of what it saves


def run_folder() -> Path:
    """Return the folder of the run; it is created if it is missing."""
    folder = Path(os.environ.get(VARIABLE, "_output"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def by_hand() -> bool:
    """Whether the notebook runs without the runner, so that a cell may run twice."""
    return VARIABLE not in os.environ


def unchanged_by_hand() -> bool:
    """Whether a notebook that runs without the runner has the documents' parameters."""
    names = vars(sys.modules["__main__"])
    return all(names.get(name) == value for name, value in names.get(PARAMETERS, {}).items())


def show_by_hand(product: object) -> None:
    """Display a figure or a table in the notebook, unless the runner runs it."""
    if by_hand():
        from IPython.display import display

        display(product)


@cache
def run_facts() -> dict[str, Any]:
    """Return the content of ``run.json``; defaults without the runner."""
    path = run_folder() / "run.json"
    if by_hand() or not path.exists():
        return {"notebook": "", "parameters": {}, "document": True}
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return facts


def write_json(path: Path, content: Any, indent: int | None = 1) -> None:
    """Write JSON reproducibly to the byte; ``indent=None`` is ten times as fast."""
    options: dict[str, Any] = {"sort_keys": True, "ensure_ascii": False, "allow_nan": False}
    text = json.dumps(content, indent=indent, **options)
    path.write_text(text + "\n", encoding="utf-8")


def check_id(id: str) -> None:
    """Raise ValueError if an id is malformed, or used by another product of this notebook."""
    if not _ID.fullmatch(id):
        raise ValueError(f"id must be lower-case words joined by hyphens, got {id!r}")
    if id in saved and not by_hand():
        raise ValueError(f"id {id!r} is taken: another {saved[id]} of this notebook has it")


def check_instances(id: str | None) -> None:
    """Raise ValueError if `save_data` has not saved data under an id before; None passes."""
    if id is not None and saved.get(id) != "data":
        raise ValueError(f"instances must be the id of data saved before by save_data, got {id!r}")


def write_provenance(kind: str, folder: Path, description: dict[str, Any]) -> None:
    """Write the description and provenance of a product as JSON, and register its id.

    `kind`: "figure", "table" or "data"; `folder`: folder of the product's files; `description`:
    fields particular to the product, among them its ``id``.
    """
    facts = run_facts()
    origin = {
        "notebook": facts["notebook"],
        "parameters": facts["parameters"],
        **({"files": facts["files"]} if facts.get("files") else {}),
        "versions": find_versions(),
    }
    write_json(folder / f"{description['id']}.json", {**description, **origin})
    # Kept in a separate file: the other files must be the same bytes on every machine.
    write_json(run_folder() / "machine.json", describe_machine())
    saved[description["id"]] = kind


def find_versions() -> dict[str, str]:
    """Return the versions of Python and of `PACKAGES`, of those that are installed."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):  # a browser has no Numba
            versions[package] = version(package)
    return versions


def describe_machine() -> dict[str, str]:
    """Return the processor, the operating system and the number of threads of Numba."""
    names = re.findall(r"model name\s*: (.*)", _CPU.read_text()) if _CPU.exists() else []
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "system": f"{platform.system()} {platform.machine()}",
        "threads": os.environ.get("NUMBA_NUM_THREADS", "all"),
    }
