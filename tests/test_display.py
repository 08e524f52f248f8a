"""Objects print in a line: no address, no dump of an array."""

from copy import deepcopy
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse

from analysis import ephemeral
from analysis.display import brief
from tests.right_calls import FACES, right_calls

PARTS = sorted(set(FACES) - {"sweep"})  # a sweep returns what its user's function returns
#: The longest line: of `LspeOptions`, which are fifteen choices.
LONGEST = 350


def results(part):
    """What all that a part offers returns for its right call, objects of the package only."""
    for name, arguments in right_calls(part).items():
        made = getattr(import_module(f"analysis.{part}"), name)(**deepcopy(arguments))
        for found in made if isinstance(made, tuple | list) else [made]:
            if type(found).__module__.startswith("analysis."):
                yield name, found


@pytest.mark.parametrize("part", PARTS)
def test_reprs_are_one_line(part, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where names of files and folders lead
    long = {name: repr(found) for name, found in results(part)}
    wrong = [
        f"{name}: {text[:200]}"
        for name, text in long.items()
        if len(text) > LONGEST or "array(" in text or " at 0x" in text or "\n" in text
    ]
    assert wrong == []


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
