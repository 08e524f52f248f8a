"""Numbers as pages write them."""

import pytest

from scorecard.pages.results import format_number

DATA = {
    "values": {
        "reward": {"value": 2.456, "interval": [2.4, 2.512], "replications": 8},
        "alike": {"value": 2.456, "interval": [2.456, 2.456], "replications": 8},
        "exact": {"value": 2.456, "interval": None, "replications": None},
        "small": {"value": 2e-4, "interval": None, "replications": None},
        "list": {"value": [1.0, 2.5], "interval": None, "replications": None},
    },
    "records": {},
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("reward:.1f", "2.5"),
        ("reward:±2", "2.46 ± 0.06"),
        ("alike:±2", "2.46"),
        ("exact:±3", "2.456"),
        ("list:.1f", "[1.0, 2.5]"),
        ("small:.0e", "2\u00a0×\u00a010⁻⁴"),
    ],
)
def test_a_number_stands_with_its_interval_where_that_is_asked_for(text, said):
    assert format_number(DATA, "value", text) == said


@pytest.mark.parametrize("text", ["reward:±", "reward:q", "none:.1f"])
def test_what_cannot_be_written_is_an_error(text):
    with pytest.raises((KeyError, ValueError)):
        format_number(DATA, "value", text)
