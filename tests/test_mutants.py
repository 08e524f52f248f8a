"""The lists behind `make mutants`: what they name is there."""

import tomllib

import pytest

from analysis.report.paths import ROOT
from mutants.__main__ import _changed

TARGETS, EQUIVALENT = (
    tomllib.loads((ROOT / f"mutants/{name}.toml").read_text(encoding="utf-8"))
    for name in ("targets", "equivalent")
)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_a_target_names_a_module_and_its_tests(target):
    assert (ROOT / target["module"]).is_file()
    assert all((ROOT / path).is_file() for path in target["tests"])
    assert target["sample"] > 0


def test_a_mutant_that_is_known_to_change_nothing_is_still_one():
    """Its line stands in the module, and the reason is said."""
    for name, entries in EQUIVALENT.items():
        text = " ".join((ROOT / TARGETS[name]["module"]).read_text(encoding="utf-8").split())
        for entry in entries:
            assert " ".join(entry["before"].split()) in text, entry
            assert entry["before"] != entry["after"]
            assert len(entry["reason"]) > 20


def test_a_mutant_is_known_by_its_lines():
    diff = "--- a\n+++ b\n@@ -1,3 +1,3 @@\n x = 1\n-    y = x + 1\n+    y = x - 1\n z = y\n"
    assert _changed(diff) == ("y = x + 1", "y = x - 1")
