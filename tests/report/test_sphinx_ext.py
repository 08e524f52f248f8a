"""What pages say of computed values; the directives themselves are tested on the built book."""

import pytest

from analysis.report.sphinx_ext import _computed, _why


@pytest.mark.parametrize(
    ("computed", "interval", "shown"),
    [
        ("260.3856", None, "260.3856"),
        ("260.3856", [259.99999, 260.5], "260.3856 (260.0000 to 260.5000)"),
        ("12345.6", [12345.1, 12346.2], "12345.6 (12345.1 to 12346.2)"),
        ("160", [155.4, 164.6], "160 (155 to 165)"),
        ("[95.520, 100.000]", [95.1, 100.0], "[95.520, 100.000] (95.100 to 100.000)"),
        ("1.23456e+08", [1.2e8, 1.3e8], "1.23456e+08 (1.2e+08 to 1.3e+08)"),
        ("", None, ""),
    ],
)
def test_an_interval_has_as_many_decimals_as_its_value(computed, interval, shown):
    assert _computed({"computed": computed, "interval": interval}) == shown


@pytest.mark.parametrize(
    ("reason", "assumes", "shown"),
    [
        ("a cause", [], "a cause"),
        ("a cause.", ["one", "two"], "a cause. Assumes: one; two"),
        ("", ["one"], "Assumes: one"),
        ("", [], ""),
    ],
)
def test_choices_stand_beside_the_reason(reason, assumes, shown):
    assert _why({"reason": reason, "assumes": assumes}) == shown
