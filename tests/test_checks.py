"""Arguments: what is a number, what is none, and what the messages say."""

import ast
import gzip
import os
import socket
from fractions import Fraction
from math import nextafter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis.checks import (
    LARGEST,
    LONGEST,
    MOST_BYTES,
    check_array,
    check_booleans,
    check_choice,
    check_file,
    check_integer,
    check_integers,
    check_kind,
    check_number,
    shown,
)
from analysis.crawl.settings import read_sources
from analysis.ephemeral import PingedScheduler, Reliability, Scheduler, Sources, tables
from analysis.trace import publications, read_pings, read_trace
from scorecard.running.runner import make_rerun_job
from scorecard.values import parse_assignments

#: By name: NumPy makes a float or an int of each, and none is a number.
NO_NUMBERS = {
    "masked array": np.ma.array([1.0, 2.0], mask=[0, 1]),
    "masked array without a mask": np.ma.array([1, 2]),
    "masked entry": [1.0, np.ma.masked],
    "list of masked arrays": [np.ma.array([1, 2], mask=[0, 1]), np.array([3, 4])],
    "complex array": np.array([1.0, 2.0j]),
    "complex entry": [1, 2j],
    "dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
    "spans of time": np.array([1, 2], dtype="timedelta64[s]"),
    "structured array": np.zeros(2, dtype=[("a", float), ("b", float)]),
    "numerals": ["1", "2"],
    "numerals in an object array": np.array(["1", 2.0], dtype=object),
    "bytes": [b"1", b"2"],
    "truth values": [True, False],
    "array of truth values": np.array([True, False]),
    "a truth value among numbers": [1, True],
    "NumPy's truth value among numbers": [1.0, np.True_],
    "a truth value in an object array": np.array([1, True], dtype=object),
    "array of truth values in a list": [np.array([1.0]), np.array([True])],
    "nothing": [1.0, None],
    "rows of two lengths": [[1, 2], [3]],
    "a mapping": {1: 2},
}
#: By name: forms of the numbers 1, 2 and 3.
FORMS = {
    "list": [1, 2, 3],
    "tuple": (1, 2, 3),
    "int8": np.array([1, 2, 3], dtype=np.int8),
    "uint64": np.array([1, 2, 3], dtype=np.uint64),
    "big-endian": np.array([1, 2, 3], dtype=">i4"),
    "every second": np.array([1, 9, 2, 9, 3])[::2],
    "backwards": np.array([3, 2, 1])[::-1],
    "objects": np.array([1, np.int64(2), Fraction(3)], dtype=object),
    "series": pd.Series([1, 2, 3], index=[5, 6, 7]),
    "series that may lack values": pd.Series([1, 2, 3], dtype="Int64"),
    "arrays without axes": [np.array(1), np.array(2), np.array(3)],
}


@pytest.mark.parametrize("values", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_non_number_is_refused(values):
    for check in (check_array, check_integers):
        with pytest.raises(ValueError, match="weights must be an array of"):
            check("weights", values)


@pytest.mark.parametrize("values", FORMS.values(), ids=FORMS)
def test_numbers_are_taken_in_every_form(values):
    for check, kind in ((check_array, np.float64), (check_integers, np.int64)):
        found = check("weights", values)
        assert type(found) is np.ndarray
        assert found.dtype == np.dtype(kind)
        assert found.flags.c_contiguous
        assert found.flags.writeable
        assert found.tolist() == [1, 2, 3]


@pytest.mark.parametrize("check", [check_array, check_integers])
def test_what_is_returned_is_a_copy(check):
    given = np.array([1, 2]).astype(float if check is check_array else int)
    check("weights", given)[0] = 5
    assert given[0] == 1


def test_floats_are_taken_in_every_form():
    for kind in (np.float32, np.longdouble, np.float16, ">f8", object):
        assert check_array("weights", np.array([[0.5, 1.5]], dtype=kind)).tolist() == [[0.5, 1.5]]
    frame = pd.DataFrame({"a": [0.5, 1.5], "b": [1, 2]})
    assert check_array("weights", frame).tolist() == [[0.5, 1.0], [1.5, 2.0]]
    table = check_array("weights", np.asfortranarray([[0.5, 1.5], [2.5, 3.5]]))
    assert table.flags.c_contiguous
    assert table[0].tolist() == [0.5, 1.5]
    assert check_array("weight", 2).shape == ()


@pytest.mark.parametrize("values", [[1.5], np.array([1.0]), [], np.array([Fraction(1, 2)])])
def test_fractions_are_no_integers(values):
    with pytest.raises(ValueError, match="ages must be an array of integers"):
        check_integers("ages", values)


@pytest.mark.parametrize("value", [2**63, 2**64 - 1, -(2**63) - 1, 10**400], ids=range(4))
def test_integers_that_would_wrap_are_refused(value):
    with pytest.raises(ValueError, match="ages must be an array of integers"):
        check_integers("ages", [1, value])


def test_the_outermost_integers_are_taken():
    assert check_integers("ages", [2**63 - 1, -(2**63)]).tolist() == [2**63 - 1, -(2**63)]
    assert check_integers("ages", np.array([2**63 - 1], dtype=np.uint64)).tolist() == [2**63 - 1]
    assert check_integer("age", 2**63 - 1, 0) == LARGEST == np.iinfo(np.int64).max
    assert check_integers("ages", np.zeros((0, 2), dtype=int)).shape == (0, 2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, np.nan], r"^weights\[1\] must be a finite number in \[0, 2\], got nan$"),
        ([[1.0], [np.inf]], r"^weights\[1, 0\] must be a finite number in \[0, 2\], got inf$"),
        (3.0, r"^weights must be a finite number in \[0, 2\], got 3.0$"),
        ([2, 10**400], "weights must be an array of numbers that a float can hold"),
        (np.array([np.longdouble("1e4000")]), r"weights\[0\] must be a finite number"),
    ],
)
def test_number_out_of_range(values, message):
    with pytest.raises(ValueError, match=message):
        check_array("weights", values, 0, 2)


ENDS = [0.0, 1.0, -1e300, 1e-300, 2.0**53]


def test_interval_ends_are_exact():
    """What is taken lies in the interval, end by end, whatever form it has."""
    for end in ENDS:
        for value in (nextafter(end, -np.inf), end, nextafter(end, np.inf)):
            for is_open in (False, True):
                inside = value > end or (value == end and not is_open)
                for given in (value, np.longdouble(value), Fraction(value), np.array(value)):
                    for check in (check_number, check_array):
                        if inside:
                            assert check("x", given, end, low_open=is_open) == value
                        else:
                            with pytest.raises(ValueError, match="x must"):
                                check("x", given, end, low_open=is_open)


@pytest.mark.parametrize(
    "value", [2, np.int8(2), np.uint64(2), Fraction(2), np.array(2), np.array(2, dtype=object)]
)
def test_integer_forms_are_accepted(value):
    found = check_integer("size", value, 1, 2)
    assert type(found) is int
    assert found == 2
    assert type(check_number("size", value)) is float


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.True_,
        np.array(True),
        "1",
        b"1",
        1j,
        np.complex128(1),
        None,
        np.timedelta64(1, "s"),
        np.datetime64("2020-01-01"),
        np.ma.masked,
        np.ma.array(1),
        np.zeros((), dtype=[("a", int)])[()],
        np.array([1]),
        [1],
    ],
    ids=repr,
)
def test_non_number_is_no_integer(value):
    with pytest.raises(ValueError, match=r"size must be a number in \(-inf, inf\), got"):
        check_number("size", value)
    with pytest.raises(ValueError, match="size must be an integer of at least 1, got"):
        check_integer("size", value, 1)


@pytest.mark.parametrize("value", [10**400, -(10**400), Fraction(10**400), 10**5000], ids=range(4))
def test_overflowing_number_is_refused(value):
    with pytest.raises(ValueError, match="size must be a number that a float can hold, got"):
        check_number("size", value)
    with pytest.raises(
        ValueError, match=r"size must be an integer in \[1, 92|of at least 1, got -"
    ):
        check_integer("size", value, 1)


def test_infinity_inside_interval():
    for value in (np.inf, np.float32("inf"), np.longdouble("inf")):
        assert check_number("memory", value, 0) == np.inf
    assert check_number("memory", -np.inf) == -np.inf
    with pytest.raises(ValueError, match=r"memory must be a number that a float can hold"):
        check_number("memory", np.longdouble("1e4000"))


@pytest.mark.parametrize(
    ("value", "low", "high", "message"),
    [
        (0, 1, LARGEST, "size must be an integer of at least 1, got 0"),
        (3, 1, 2, r"size must be an integer in \[1, 2\], got 3"),
        (2**63, 1, LARGEST, r"size must be an integer in \[1, 9223372036854775807\], got 9"),
        (-1, 0, np.inf, "size must be an integer of at least 0, got -1"),
    ],
)
def test_integer_out_of_range(value, low, high, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        check_integer("size", value, low, high)


def test_unbounded_integer():
    assert check_integer("seed", 2**128, 0, np.inf) == 2**128


def test_truth_values_are_accepted():
    for values in (
        [[True, False]],
        [[1, 0]],
        np.array([[1.0, 0.0]]),
        np.array([[1, 0]], order="F"),
    ):
        found = check_booleans("policy", values)
        assert found.dtype == bool
        assert found.tolist() == [[True, False]]
    wrong = [[2], [0.5], [np.nan], ["1"], [None], [1j], np.ma.array([1, 0]), [np.ma.array([1])]]
    for values in [*wrong, np.array([1], dtype="timedelta64[s]"), np.array([True], dtype=object)]:
        with pytest.raises(ValueError, match="policy must hold true or false"):
            check_booleans("policy", values)


def test_a_choice_is_returned_as_text():
    assert type(check_choice("law", np.str_("poisson"), ("poisson", "constant"))) is str
    for value in ("normal", None, ["poisson"], 1):
        with pytest.raises(ValueError, match="law must be one of poisson, constant, got"):
            check_choice("law", value, ("poisson", "constant"))


def test_a_kind_is_named():
    check_kind("name", None, str, None)
    check_kind("name", "x", str, None)
    with pytest.raises(ValueError, match="name must be of class str or None, got 5"):
        check_kind("name", 5, str, None)


LONG = {
    "numerals": ["1"] * 1_000_000,
    "text": "x" * 1_000_000,
    "digits": 10**5000,
    "nested lists": [[[[["x" * 50] * 6] * 6] * 6] * 6] * 6,
    "array": np.full((300, 300), "x" * 50),
    "mapping": {f"key {i}" * 50: i for i in range(1000)},
}


@pytest.mark.parametrize("value", LONG.values(), ids=LONG)
def test_messages_are_one_short_line(value):
    for check in (
        lambda: check_number("size", value),
        lambda: check_integer("size", value, 1),
        lambda: check_array("size", value),
        lambda: check_integers("size", value),
        lambda: check_booleans("size", value),
        lambda: check_choice("size", value, ("a", "b")),
        lambda: check_kind("size", value, float),
    ):
        with pytest.raises(ValueError, match=r"^size must .*, got ") as caught:
            check()
        assert len(str(caught.value)) < LONGEST + 100
        assert "\n" not in str(caught.value)


def test_short_value_is_shown():
    assert shown("a b") == "'a b'"
    assert shown((1, 1, 1)) == "(1, 1, 1)"
    assert shown(-1.5) == "-1.5"
    assert shown(np.array([1, 2])) == "array([1, 2])"
    assert shown(10**5000) == "an integer of 16610 bits"
    assert len(shown("x" * 1000)) == LONGEST


def test_what_a_check_returns_is_used():
    """What was given may be a NumPy integer or a Fraction, and is not what was checked."""
    folder, thrown_away = Path(analysis.__file__).parent, []
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            call = node.value if isinstance(node, ast.Expr) else None
            named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
            if (
                named
                and call.func.id in ("check_number", "check_integer")
                and isinstance(call.args[0], ast.Constant)  # a formatted name is an entry's
                and ast.unparse(call.args[1]).removeprefix("self.") == call.args[0].value
            ):
                thrown_away.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    assert thrown_away == []


# Files that users name.


def test_regular_file_is_accepted(tmp_path):
    path = tmp_path / "my.csv"
    path.write_bytes(b"12345")
    assert check_file("path", path) == str(path)
    assert check_file("path", str(path), most=5) == str(path)
    (tmp_path / "link.csv").symlink_to(path)
    assert check_file("path", tmp_path / "link.csv") == str(tmp_path / "link.csv")
    with pytest.raises(ValueError, match="path must be a file of at most 4 bytes, got 5 bytes"):
        check_file("path", path, most=4)
    with pytest.raises(FileNotFoundError):
        check_file("path", tmp_path / "none.csv")


@pytest.fixture(params=["folder", "pipe", "socket", "device", "link to a device"])
def endless(request, tmp_path):
    """What can be named like a file, and is none."""
    path = tmp_path / "my.csv"
    if request.param == "folder":
        path.mkdir()
    elif request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    elif request.param == "device":
        return Path(os.devnull)
    else:
        path.symlink_to("/dev/zero")
    return path


def readers():
    """Every function that reads a file which a user names, by name."""
    return {
        "Sources.from_csv": Sources.from_csv,
        "Sources.from_parquet": Sources.from_parquet,
        "Scheduler.load": Scheduler.load,
        "read_trace": read_trace,
        "read_sources": read_sources,
        "parameters": lambda path: parse_assignments(f"@{path}"),
        "own sources": lambda path: make_rerun_job("four-sources", {}, str(path), runs=path.parent),
        "PingedScheduler.load": PingedScheduler.load,
        "Reliability.load": Reliability.load,
        "read_pings": lambda path: read_pings(path, publications()),
        "own signals": lambda path: make_rerun_job(
            "signals-that-lie", {}, "", "", str(path), runs=path.parent
        ),
        "own trace": lambda path: make_rerun_job("your-trace", {}, "", str(path), runs=path.parent),
    }


@pytest.mark.parametrize("name", readers())
def test_endless_file_is_refused_unread(name, endless):
    with pytest.raises(ValueError, match="must be a regular file, got a "):
        readers()[name](endless)


@pytest.mark.parametrize("name", readers())
def test_huge_file_is_refused_unread(name, tmp_path):
    """A sparse file: it takes no room on the disk."""
    path = tmp_path / "my.csv"
    with open(path, "wb") as file:
        file.truncate(MOST_BYTES + 1)
    if name in {"Scheduler.load", "PingedScheduler.load"}:  # what `save` wrote may be larger
        os.truncate(path, 10)
    with pytest.raises(ValueError, match=r"at most 1,000,000,000 bytes|that `save` wrote"):
        readers()[name](path)


@pytest.mark.parametrize("path", [3, b"my.csv", None, "my\0.csv", True])
def test_what_names_no_file_is_refused(path):
    with pytest.raises(ValueError, match="path must be"):
        check_file("path", path)


def test_packed_table_is_bounded_too(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_BYTES", 1000)
    path = tmp_path / "my.csv.gz"
    path.write_bytes(gzip.compress(b"name,arrival_rate,mean_utility,decay_rate\na,1,1,1\n"))
    assert len(Sources.from_csv(path)) == 1
    path.write_bytes(gzip.compress(b"0" * 1001))
    with pytest.raises(ValueError, match="at most 1,000 bytes when it is unpacked"):
        Sources.from_csv(path)
