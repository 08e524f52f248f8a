"""In a browser the import graph comes from the archive of the code, and says what grimp does."""

import sys

import pytest

from analysis import fingerprint
from scorecard.browser import imports

NAMES = ["analysis.learning.random_sets", "analysis.robots.curve.check"]


@pytest.fixture
def without_grimp(tmp_path, monkeypatch):
    """The graph in a folder of its own, and an interpreter that has no grimp."""
    (tmp_path / imports.FILE).write_text(imports.write_imports(fingerprint.PACKAGES))
    monkeypatch.setattr(imports, "ROOT", tmp_path)
    monkeypatch.setattr(imports, "find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "grimp")
    imports.replace_grimp()
    yield sys.modules["grimp"]
    sys.modules.pop("grimp", None)
    fingerprint.forget()


def test_certificates_are_those_of_grimp(monkeypatch, request):
    fingerprint.forget()
    here = [fingerprint.fingerprint([name], ignore_docstrings=True) for name in NAMES]
    monkeypatch.setattr(fingerprint, "grimp", request.getfixturevalue("without_grimp"))
    fingerprint.forget()
    assert [fingerprint.fingerprint([name], ignore_docstrings=True) for name in NAMES] == here


def test_grimp_itself_is_preferred():
    before = sys.modules["grimp"]
    imports.replace_grimp()
    assert sys.modules["grimp"] is before
