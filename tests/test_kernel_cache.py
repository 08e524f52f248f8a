"""Compiled kernels are used again until code that they are made from changes, in any file."""

import importlib
import subprocess
import sys
import textwrap

import numba
import pytest

from analysis import fingerprint, kernel_cache
from analysis.ephemeral import four_sources, simulate
from scorecard.files import ROOT

FILES = {
    "__init__.py": "",
    "kernel.py": """
        from typing import TYPE_CHECKING
        from numba import njit
        from made.middle import (
            doubled,
        )

        @njit(cache=True)
        def quadrupled(x):
            return doubled(doubled(x))

        if TYPE_CHECKING:
            from made.late import LATE
    """,
    "middle.py": """
        from numba import njit
        from made.folder import FACTOR

        @njit(cache=True)
        def doubled(x):
            return FACTOR * x
    """,
    "folder/__init__.py": """
        def __getattr__(name):
            return getattr(import_module("made.folder.inside"), name)

        from importlib import import_module
    """,
    "folder/__init__.pyi": "from .inside import FACTOR",
    "folder/inside.py": "from made.deep import TWO as FACTOR",
    "deep.py": "TWO = 2",
    "late.py": "LATE = 1",
    "aside.py": "import made.kernel",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of a kernel, what it is made from and what it is not, in Numba's care."""
    folder = tmp_path / "made"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(fingerprint, "PACKAGES", ("made",))
    monkeypatch.setattr(kernel_cache, "PACKAGE", "made")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.setattr(numba.config, "CACHE_LOCATOR_CLASSES", "analysis.kernel_cache.Locator")
    _forget()
    yield folder
    _forget()


def _forget():
    fingerprint.forget()
    importlib.invalidate_caches()
    for name in [name for name in sys.modules if name.partition(".")[0] == "made"]:
        del sys.modules[name]


def change(path, old, new):
    path.write_text(path.read_text().replace(old, new))
    _forget()


def append(path):
    path.write_text(path.read_text() + "#\n")
    _forget()


@pytest.mark.parametrize(
    "name", ["kernel.py", "middle.py", "folder/__init__.py", "folder/inside.py", "deep.py"]
)
def test_stamp_depends_on_imports(package, name):
    before = fingerprint.fingerprint(["made.kernel"])
    append(package / name)
    assert fingerprint.fingerprint(["made.kernel"]) != before


@pytest.mark.parametrize("name", ["late.py", "aside.py"])
def test_other_modules_do_not(package, name):
    before = fingerprint.fingerprint(["made.kernel"])
    append(package / name)
    assert fingerprint.fingerprint(["made.kernel"]) == before


def called(value):
    """Return what the kernel says, and how often it was compiled for it."""
    from made.kernel import quadrupled

    said = quadrupled(value)
    return said, sum(quadrupled.stats.cache_misses.values())


def test_changed_constant_recompiles(package):
    assert called(3) == (12, 1)
    _forget()
    assert called(3) == (12, 0)
    change(package / "late.py", "1", "7")
    assert called(3) == (12, 0)
    change(package / "deep.py", "2", "5")
    assert called(3) == (75, 1)


def test_returning_code_is_cached(package):
    called(3)
    change(package / "deep.py", "2", "5")
    assert called(3) == (75, 1)
    change(package / "deep.py", "5", "2")
    assert called(3) == (12, 0)


def test_foreign_functions_use_numba(package):
    assert kernel_cache.Locator.from_function(textwrap.dedent, textwrap.__file__) is None


UNWRITABLE = """
import warnings
import numba
import numpy as np
from numba.core.caching import CacheImpl
numba.config.CACHE_LOCATOR_CLASSES = ""
CacheImpl._locator_classes = []
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from analysis.mdp.chains import stationary_law
law = stationary_law(np.array([[0.0, 1.0], [1.0, 0.0]]))
print(len({str(w.message) for w in caught}), law.tolist())
"""


@pytest.mark.sampled
@pytest.mark.process
def test_kernels_without_writable_cache():
    command = [sys.executable, "-c", UNWRITABLE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split(maxsplit=1) == ["1", "[0.5, 0.5]\n"]


def test_first_compilation_is_announced(monkeypatch, capsys):
    announcement = kernel_cache._Announcement()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    announcement.on_start(None)
    announcement.on_start(None)
    assert capsys.readouterr().err.count("compiling kernels") == 1


WITHOUT_NUMBA = """
import importlib, pkgutil, sys
sys.modules |= dict.fromkeys(["numba", "llvmlite", "joblib"])  # an import of None is refused
import analysis
for module in pkgutil.walk_packages(analysis.__path__, "analysis."):
    if not module.name.startswith("analysis.crawl"):
        importlib.import_module(module.name)
from analysis.ephemeral import four_sources, simulate
from analysis.kernel_cache import COMPILED
print(COMPILED, simulate(four_sources(), "whittle", 1, 100).average_reward)
"""


@pytest.mark.sampled
@pytest.mark.process
def test_models_run_without_numba():
    command = [sys.executable, "-c", WITHOUT_NUMBA]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    compiled, reward = done.stdout.split()
    expected = simulate(four_sources(), "whittle", 1, 100).average_reward
    assert (compiled, float(reward)) == ("False", expected)
