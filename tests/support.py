"""What the tests of all parts share: verdicts of claims, models that turn them, the wheel."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from scorecard import Claim, record_claims
from scorecard.files import ROOT
from scorecard.prints import errata, printed_rows
from scorecard.publishing.citation import commit_name
from scorecard.record import PROVED
from scorecard.verdicts import VERBAL, RecordError, add_words, judge

Claims = Callable[..., Iterable[Claim]]
#: Verdicts that show no error in the print.
RIGHT = ("holds", "matches", "used")


def sample(names: Iterable[str], size: int) -> list[str]:
    """Return `size` of the names, other ones at each commit; all of them where WHOLE is set."""
    ordered = sorted(names)
    return ordered if os.environ.get("WHOLE") else sorted(sorted(ordered, key=_draw)[:size])


def is_sampled(name: str) -> bool:
    """Whether a name belongs to the quarter that is tried at this commit."""
    return int.from_bytes(_draw(name)) % 4 == 0


def _draw(name: str) -> bytes:
    """Return a number drawn by the commit and the name."""
    return hashlib.sha256(f"{_commit()} {name}".encode()).digest()


_commit = cache(commit_name)


@cache
def read_notebooks() -> Mapping[str, Any]:
    """Return the book's notebooks by name; the text of each is parsed once."""
    from scorecard.running.notebooks import all_notebooks

    return all_notebooks()


def record(id: str, value: Any = None, **fields: Any) -> None:
    """Record one claim."""
    record_claims([Claim(id, value, **fields)])


def verdicts(claims: Iterable[Claim]) -> dict[str, str]:
    """Return the verdict on each row by id; "refused" where a claim cannot stand for its row.

    Every figure that a claim names is taken to be there: no picture is drawn in these tests.
    """
    return {claim.id: _verdict(claim) for claim in claims}


def _verdict(claim: Claim) -> str:
    claim = add_words(claim)
    try:
        return judge(printed_rows()[claim.id], claim, {claim.figure} - {""}).verdict
    except RecordError:
        return "refused"


def assert_turns(function: Claims, true: Any, falsified: Any, ids: Collection[str]) -> None:
    """Assert that the verdict on each of `ids` is another one when a falsified model is given."""
    right, wrong = _run(function, true), _run(function, falsified)
    same = {id: right[id] for id in ids if right[id] == wrong[id]}
    assert not same, f"verdicts that a falsified model does not turn: {same}"


def assert_all_turn(
    function: Claims,
    true: Any,
    falsified: Mapping[str, Any],
    overwritten: Mapping[str, Any] = MappingProxyType({}),
    stands: Collection[str] = (),
) -> None:
    """Assert that a falsified model turns each statement, claim and algorithm that is computed.

    A row with an erratum must also be turned to a verdict that shows no error, so that the erratum
    can fall, except where a person has judged it.

    Parameters
    ----------
    function : callable
        The `claims` of a study.
    true : tuple, mapping or object
        Its positional or named arguments, or its only one, of the true model.
    falsified : mapping of str to tuple, mapping or object
        Arguments that the page's code finds for falsified models (another policy, law, rate, matrix
        or clock), by what is wrong with them. Each must turn some row, and each row whose basis is
        computed must be turned by one of them.
    overwritten : mapping of str to tuple, mapping or object, optional
        Arguments of which a result is replaced by another one. Each must turn some row, so that no
        predicate is constant; a row that they alone turn is judged, or proved by a theorem.
    stands : collection of str, optional
        Rows whose erratum none of these makes fall: each must be one.
    """
    claims = [add_words(claim) for claim in _call(function, true)]
    right = verdicts(claims)
    turned, fallen = {}, set()
    for name, arguments in {**falsified, **overwritten}.items():
        wrong = _run(function, arguments)
        turned[name] = {id for id in right if wrong[id] != right[id]}
        fallen |= {id for id in right if wrong[id] in RIGHT}
        assert turned[name], f"what is wrong in {name!r} turns no verdict"
    for bases, entries in ((("computed",), falsified), (PROVED, turned)):
        mine = {c.id for c in claims if c.basis in bases and printed_rows()[c.id].kind in VERBAL}
        missed = mine.difference(*(turned[name] for name in entries))
        assert not missed, f"no falsified model turns {sorted(missed)}"
    wrong_in_print = {id for erratum in errata().values() for id in (erratum.record, *erratum.also)}
    kept = {c.id for c in claims if c.basis != "judged"} & wrong_in_print - fallen
    assert kept == set(stands), f"errata that no falsified model makes fall: {sorted(kept)}"


def _run(function: Claims, arguments: Any) -> dict[str, str]:
    return verdicts(_call(function, arguments))


def _call(function: Claims, arguments: Any) -> Iterable[Claim]:
    if isinstance(arguments, Mapping):
        return function(**arguments)
    return function(*(arguments if isinstance(arguments, tuple) else (arguments,)))


def built_wheel(folder: Path) -> Path:
    """Build the package's wheel from a copy of its sources, below a new folder, and return it."""
    copy = folder / "sources"
    for name in ("analysis", "scorecard"):
        shutil.copytree(ROOT / name, copy / name)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, copy / name)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--no-index", "-w", str(folder), str(copy)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel
