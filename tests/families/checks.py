"""Checks of arguments against exact comparison, on numbers beside the ends of their intervals."""

from fractions import Fraction
from math import inf, nextafter

import numpy as np
import pytest

from analysis import checks

ENDS = [0.0, 1.0, -1e300, 1e-300, 2.0**53]


def numbers():
    """What is taken lies in the interval, end by end, whatever form it has."""
    for end in ENDS:
        for value in (nextafter(end, -inf), end, nextafter(end, inf)):
            for is_open in (False, True):
                inside = value > end or (value == end and not is_open)
                for given in (value, np.longdouble(value), Fraction(value), np.array(value)):
                    for check in (checks.check_number, checks.check_array):
                        if inside:
                            assert check("x", given, end, low_open=is_open) == value
                        else:
                            with pytest.raises(ValueError, match="x must"):
                                check("x", given, end, low_open=is_open)


def integers():
    for value in (2**53 + 1, 2**63 - 1, -(2**63), 0):
        assert checks.check_integer("n", value, -(2**63)) == value
        assert checks.check_integers("n", [value]).tolist() == [value]
    for value in (2**63, 2**64, 10**400, Fraction(1, 2), 1.0, True):
        with pytest.raises(ValueError, match="n must"):
            checks.check_integer("n", value, 0)
        with pytest.raises(ValueError, match="n must"):
            checks.check_integers("n", [value])


def truths():
    for values in ([0, 1], [False, True], np.array([0.0, 1.0])):
        assert checks.check_booleans("p", values).tolist() == [False, True]
    for values in ([0.5], ["1"], np.ma.array([1]), [2], [np.nan]):
        with pytest.raises(ValueError, match="p"):
            checks.check_booleans("p", values)


FAMILIES = {
    "check_number": {"beside the ends": numbers},
    "check_array": {"beside the ends": numbers},
    "check_integer": {"beside the ends of int64": integers},
    "check_integers": {"beside the ends of int64": integers},
    "check_booleans": {"what is neither": truths},
}
NOT_COMPUTED = {
    "check_choice": "looks a text up; tests/test_checks.py",
    "check_file": "looks at a file; tests/test_files.py",
    "check_rng": "makes a generator; tests/test_checks.py",
    "check_selected": "answers of policies; tests/ephemeral/test_policies.py",
    "check_whole": "forms of a budget; tests/test_wrong_calls.py",
    "check_kind": "looks at the class; tests/test_checks.py",
    "interval_text": "writes an interval",
    "normalising_factors": "by the precision of the rows; tests/mdp/test_discounted.py",
    "set_fields": "sets fields",
    "shown": "writes a value; tests/test_checks.py",
}
