"""Every public function has families that it is held to, and keeps to its definition on them."""

import pytest

from tests.families.table import PARTS, Slow, families, not_computed, public_names

CASES = [
    pytest.param(
        check, id=f"{part}.{name}: {family}", marks=[pytest.mark.slow] * isinstance(check, Slow)
    )
    for part in PARTS
    for name, checks in families(part).items()
    for family, check in checks.items()
]


@pytest.mark.parametrize("part", PARTS)
def test_each_public_name_has_a_row(part):
    missing = public_names(part) - families(part).keys() - not_computed(part).keys()
    assert not missing, f"no family of instances for {sorted(missing)} of analysis.{part}"
    gone = (families(part).keys() | not_computed(part).keys()) - public_names(part)
    assert not {name for name in gone if "." not in name}, f"rows without a public name: {gone}"


@pytest.mark.parametrize("check", CASES)
def test_family(check):
    check()
