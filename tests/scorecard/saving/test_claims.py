"""What a claim takes, and what it fills in."""

import numpy as np
import pytest

from scorecard import Claim


@pytest.mark.parametrize(
    ("fields", "basis"),
    [
        ({"value": 1.5}, "computed"),
        ({"figure": "states"}, "computed"),
        ({"value": True, "evidence": "words"}, "computed"),
        ({"value": True, "proof": "the-theorem"}, "proved"),
        ({"value": True, "basis": "judged"}, "judged"),
        ({"context": "motivation"}, "context"),
        ({"missing": "the law"}, ""),
        ({"value": 1.5, "missing": "the law"}, "computed"),
    ],
)
def test_the_basis_follows_from_the_fields_where_it_is_not_said(fields, basis):
    assert Claim("X-1", **fields).basis == basis


@pytest.mark.parametrize(
    "fields",
    [
        {"value": True, "basis": "believed"},
        {"value": True, "basis": "proved"},
        {"value": True, "basis": "judged", "proof": "the-theorem"},
        {"value": True, "basis": "context"},
        {"basis": "computed", "context": "words"},
    ],
)
def test_a_basis_that_contradicts_the_fields_is_refused(fields):
    with pytest.raises(ValueError, match="X-1: basis"):
        Claim("X-1", **fields)


@pytest.mark.parametrize("assumes", ["a sentence", ("",), (1,)])
def test_choices_are_sentences(assumes):
    with pytest.raises(ValueError, match="X-1: assumes must be a tuple of sentences"):
        Claim("X-1", 1.0, assumes=assumes)


def test_alternatives_are_alternatives_to_something():
    with pytest.raises(ValueError, match="X-1: alternatives need the choices"):
        Claim("X-1", 1.0, alternatives=[1.0])


def test_numpy_values_become_plain_ones():
    claim = Claim(
        "X-1", np.float64(1 / 3), explained=np.float64(2 / 3), assumes=["a"], alternatives=np.eye(1)
    )
    assert (claim.value, claim.explained) == (0.333333333, 0.666666667)
    assert (claim.assumes, claim.alternatives) == (("a",), ([1.0],))
    assert isinstance(Claim("X-1", np.bool_(True)).value, bool)
