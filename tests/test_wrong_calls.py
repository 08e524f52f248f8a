"""Calls of all that the faces offer: wrong ones are refused by name, none hangs or gives nan.

Each argument of one right call is replaced by values of other kinds, shapes and ranges. A call that
is accepted must give finite numbers; one that is refused must raise ValueError or TypeError and say
which argument is wrong.
"""

import faulthandler
import importlib
import inspect
import re
import signal
from contextlib import contextmanager
from copy import deepcopy
from datetime import datetime
from fractions import Fraction

import numpy as np
import pytest

from analysis import ephemeral
from analysis.results import NotConverged
from tests.answers import numbers
from tests.right_calls import FACES, NOT_CALLED, right_calls

#: The longest line in which an object prints: of `LspeOptions`, which are fifteen choices.
LONGEST = 350
SECONDS = 30
"""How long one call may take before it counts as hanging, on a busy machine too."""


class Wrong:
    """Something that is no argument of anything."""


ALIENS = [
    Wrong(),
    np.ma.masked_array([1.0, 2.0], [False, True]),
    np.ma.masked,
    np.array([1 + 1j, 2.0]),
    np.array(["2026-01-01", "2026-01-02"], "datetime64[s]"),
    np.array([1, 2], "timedelta64[s]"),
    np.array([(1.0, 2)], "f8,i8"),
    np.array([1.0, Wrong()]),
    datetime(2026, 1, 1),
]
"""Other kinds of things than any argument takes: must be refused by all."""
VALUES = [None, "wrong", "", -1, 0, -0.0, 1.5, np.nan, np.inf, -np.inf, True, 1j, b"wrong", {}, []]
VALUES += [[-1.0], [np.nan] * 2, [[1.0, 2.0]], ["a", "b"], np.zeros((0, 0)), [[]], [1.0, [2.0]]]
VALUES += [2**64, 10**400, Fraction(1, 3), np.int64(-1), np.float32("nan"), [-0.0], [2**64]]
VALUES += [*ALIENS]

NOT_FINITE = {
    "CertaintyEquivalenceOptions": "an infinite memory forgets nothing",
    "FleetControl": "robots that do not compete have an infinite change rate",
    "RobotKind": "robots that do not compete have an infinite change rate",
    "FeedReader": "items of an infinite half-life lose no worth",
    "JointSystem": "a window of all pages is infinite",
    "Reply": "a host that never answers has an infinite delay",
    "best_window": "a page without a price is always worth its price",
    "full_chain": "an action that is not allowed has an infinite cost",
    "proposition_4": "what is no state has no value",
    "relaxed_problem": "a source that is never due has an infinite age",
    "sweep": "gives what the function gives",
    "timetable": "a source that may be left alone has an infinite greatest age",
    "without_cap": "what is no state has no value",
}
"""Whose answers may hold inf or nan, and why."""
NOT_TRIED = {
    ("sweep", "jobs", "None"): "one process a core",
    ("compare_learners", "jobs", "None"): "one process a core",
    ("sweep", "scheduler", "'wrong'"): "waits for a cluster at that address",
    **{("sweep", "points", repr(alien)): "a list of anything" for alien in ALIENS[1:]},
}
CALLS = [(face, name) for face in FACES for name in FACES[face] if name not in NOT_CALLED[face]]


@pytest.mark.parametrize("face", FACES)
def test_examples_are_of_what_is_offered(face):
    assert right_calls(face).keys() | NOT_CALLED[face] == set(FACES[face])


@pytest.mark.parametrize(("face", "name"), CALLS)
def test_a_wrong_argument_is_named(face, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where names of files and folders lead
    called = getattr(importlib.import_module(f"analysis.{face}"), name)
    right = right_calls(face)[name]
    result = called(**right)
    assert name in NOT_FINITE or np.isfinite(list(numbers(result))).all()
    if face != "sweep":  # which returns what its user's function returns
        assert_reprs_are_one_line(result)
    faults = []
    for argument in inspect.signature(called).parameters:
        for value in VALUES:
            if (name, argument, repr(value)) in NOT_TRIED:
                continue
            with time_limit(f"{face}.{name} with {argument} = {value!r}"):
                fault = fault_of(called, right, argument, value)
            if fault:
                faults.append(f"{argument} = {value!r:.60}: {fault}")
    assert not faults, "\n".join([f"{face}.{name}", *faults])


def assert_reprs_are_one_line(result):
    """Assert that objects of the package print in a line: no address, no dump of an array."""
    for part in result if isinstance(result, tuple | list) else [result]:
        if type(part).__module__.startswith("analysis."):
            text = repr(part)
            assert len(text) <= LONGEST, text
            assert not any(sign in text for sign in ("array(", " at 0x", "\n")), text


def fault_of(called, right, argument, value):
    """What is wrong with the answer to a wrong argument; nothing if it is named or works."""
    try:
        result = called(**{**right, argument: value})
    except (ValueError, TypeError, NotConverged) as error:
        named = re.search(rf"\b{argument}\b", str(error))
        return "" if named else f"refused without its name: {error!r:.300}"
    except Exception as error:
        return f"raised {error!r:.300}"
    if any(value is alien for alien in ALIENS):
        return "accepted"
    if called.__name__ in NOT_FINITE or np.isfinite(list(numbers(result))).all():
        return ""
    return "gave inf or nan"


class Hang(BaseException):
    """Not an Exception, which the call itself might catch."""


@contextmanager
def time_limit(what):
    """Raise if a call takes too long; end the process where compiled code cannot be interrupted."""

    def stop(*_):
        raise Hang(f"{what} took more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    faulthandler.dump_traceback_later(4 * SECONDS, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def forms(argument, value):
    """Other forms of a right number or array, which mean the same."""
    if isinstance(value, bool | np.bool_):
        return
    if argument == "budget" and value == int(value):  # a whole number of crawls may have a point
        yield from (int(value), float(value), np.float32(value))
    if isinstance(value, int):
        yield from (np.int64(value), Fraction(value))
    elif isinstance(value, float) and np.isfinite(value):
        yield from (np.longdouble(value), Fraction(value))
    elif isinstance(value, list) and len(set(map(np.size, value))) > 1:
        return  # rows of their own lengths
    elif isinstance(value, list | np.ndarray) and np.asarray(value).dtype.kind in "if":
        array = np.asarray(value)
        yield from (tuple(array.tolist()), np.repeat(array, 2, axis=-1).astype(object)[..., ::2])


def is_drawn(face, name):
    called = getattr(importlib.import_module(f"analysis.{face}"), name)
    return "rng" in inspect.signature(called).parameters


DRAWN = [(face, name) for face, name in CALLS if is_drawn(face, name)]


@pytest.mark.parametrize(("face", "name"), DRAWN)
def test_seed_stands_for_its_generator(face, name):
    called = getattr(importlib.import_module(f"analysis.{face}"), name)
    right = right_calls(face)[name]
    if name.startswith("simulate") and face == "ephemeral":
        right = {**right, "policy": ephemeral.IDPolicy(right["sources"], right["budget"])}

    def answer(rng):
        result = called(**deepcopy({**right, "rng": rng}))
        if name == "Frontier":
            return result.rng.random()
        return list(numbers(vars(result) if name == "random_site" else result))

    expected = answer(np.random.default_rng(3))
    assert expected
    for seed in (3, np.int64(3), [3], np.array([3]), np.random.SeedSequence(3)):
        assert answer(seed) == expected, f"rng = {seed!r}"
    assert answer([3, 1]) == answer(np.random.default_rng([3, 1]))
    for wrong in (3.0, True, -1, "3", np.random.RandomState(3), [[3]], [], [True], np.array([3.0])):
        with pytest.raises(ValueError, match="rng"):
            answer(wrong)


@pytest.mark.parametrize(("face", "name"), CALLS)
def test_argument_forms_agree(face, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    called = getattr(importlib.import_module(f"analysis.{face}"), name)
    right = right_calls(face)[name]

    def answer(**changes):
        return list(numbers(called(**deepcopy({**right, **changes}))))

    expected = answer()
    for argument, value in right.items():
        for form in forms(argument, value):
            found = answer(**{argument: form})
            message = f"{argument} = {form!r:.60}"
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=message)
