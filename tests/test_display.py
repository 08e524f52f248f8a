"""Objects print in a line: no address, no dump of an array."""

import numpy as np
import pytest
from scipy import sparse

from analysis import ephemeral
from analysis.display import brief


def test_names_by_default_print_as_labels():
    assert repr(ephemeral.Sources(*3 * [np.ones(3)]).names) == "('1', '2', '3')"
    many = ephemeral.Sources(*3 * [np.ones(10**6)]).names
    assert repr(many) == "('1', '2', '3', '4', '5', '6', ...)"


@brief
class Kept:
    def __init__(self, value, hidden=2, *, gone=None):
        self.value, self._hidden = value, hidden


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1 / 3, "0.333333"),
        (np.float64(1 / 3), "0.333333"),
        ("a" * 300, "'aaaaaaaaaaaa...aaaaaaaaaaaaa'"),
        (np.arange(3), "[0, 1, 2]"),
        (np.arange(5), "array of shape (5,)"),
        (np.zeros((2, 2)), "array of shape (2, 2)"),
        (sparse.eye_array(3, format="csr"), "array of shape (3, 3)"),
        ((0.1, "b"), "[0.1, 'b']"),
        (list(range(5)), "5 entries"),
        ({"a": 1}, "1 entries"),
        (object(), "object"),
        (Kept(1), "Kept(value=1, hidden=2)"),
        (Kept("x" * 300), "Kept(value='xxxxxxxxxxxx...xxxxxxxxxxxxx', hidden=2)"),
        (Kept([Kept((1, 2, 3, 4))] * 2), "Kept"),  # too long to print whole
        (None, "None"),
    ],
)
def test_an_argument_prints_in_few_letters(value, shown):
    assert repr(Kept(value)) == f"Kept(value={shown}, hidden=2)"
