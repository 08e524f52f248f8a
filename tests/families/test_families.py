"""Every family of every part, each a test by name."""

import pytest

from tests.families import Slow, crawl, ephemeral, trace

CASES = [
    pytest.param(check, id=f"{name}: {family}", marks=[pytest.mark.slow] * isinstance(check, Slow))
    for part in (crawl, ephemeral, trace)
    for name, checks in part.FAMILIES.items()
    for family, check in checks.items()
]


@pytest.mark.parametrize("check", CASES)
def test_family(check):
    check()
