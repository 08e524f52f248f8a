"""The printed recursions against exact chains of two sources."""

import numpy as np
import pytest

from analysis.ephemeral.sources import four_sources
from analysis.learning.scheme import chains
from analysis.learning.scheme.lspe import LspeOptions

FOUR = four_sources()
TWO = FOUR.subset(np.array([0, 1]))
AT = np.random.default_rng(1).normal(0, 0.2, (2, 3))
#: (8) with its own source only, for the content of all.
OWN = LspeOptions.as_printed(projected=False, threshold="quadratic", gradient="own arm")


def test_recursion_needs_right_a():
    found = chains.check_recursion(TWO, AT, OWN)
    assert found.radius < 1
    assert found.end < 1e-9 < 1e-3 < found.printed_end


@pytest.mark.parametrize("options", [LspeOptions.corrected(), LspeOptions.as_printed()])
def test_threshold_form_from_program(options):
    form = chains.threshold_form(FOUR, options)
    assert form == ((0, 1, 2, 2) if options.threshold == "quadratic" else (0, 1, 1, 2))
