"""The same numbers without a compiler, and where NumPy's default integers have 32 bits.

A browser's Python has no compiler, and may have such integers: a product of two of them overflows
without a word. ``PYTHON32`` may name a 32-bit interpreter that has NumPy, SciPy, pandas and some
module `numba` whose `njit` returns the function that it is given.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from analysis.ephemeral import Sources, Utility, stochastic_index
from analysis.restarts import RestartArm, thresholds, whittle_index
from scorecard.files import ROOT
from tests.answers import NAMES, answers

#: Places, products of places and seconds, records, counters that wrap around.
SAMPLE = ["ephemeral.Scheduler", "ephemeral.timetable", "mdp.stationary_law", "restarts.simulate",
          "trace.Experiment"]  # fmt: skip
#: Optima of which there are several, or whose last digits depend on the library's search.
FREE = {
    "joint.priced_problem": "vertices of a linear programme that earn the same",
    "learning.best_soft_thresholds": "found by a search",
    "robots.optimal_general_load": "found by a search",
}
#: What other platforms need not have.
MISSING = ("ModuleNotFoundError", "AssertionError: ThreadingBackend", "AttributeError: type object")
PROGRAM = """
import sys, types
tests = types.ModuleType("tests")  # a package that others may have, too
tests.__path__ = [sys.argv[1] + "/tests"]
sys.modules["tests"] = tests
sys.path.insert(0, sys.argv[1])
from tests.answers import written
written(*sys.argv[2:])
"""


def other(interpreter, path, mode, names=()):
    """Return the answers of a process in which nothing is compiled."""
    command = [interpreter, "-W", "error::RuntimeWarning", "-c", PROGRAM]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([*command, str(ROOT), str(path), mode, *names], check=True, env=environment)
    return json.loads(path.read_text())


def assert_the_same(found, expected, rtol):
    assert found.keys() == expected.keys()
    for name, numbers in expected.items():
        assert not isinstance(numbers, str), f"{name}: {numbers}"
        assert not isinstance(found[name], str), f"{name}: {found[name]}"
        np.testing.assert_allclose(found[name], numbers, rtol, atol=1e-13, err_msg=name)


@pytest.mark.sampled
def test_sample_survives_interpreter_and_narrow_places(tmp_path):
    found = other(sys.executable, tmp_path / "answers.json", "narrow", SAMPLE)
    assert_the_same(found, answers(SAMPLE), 1e-12)


def test_threads_of_blas_change_no_digit():
    """Sums that two threads share would differ from those of one in their last digit."""
    rng = np.random.default_rng(0)
    states = 400
    law = np.sort(rng.dirichlet(np.ones(states), states), axis=1)
    arm = RestartArm(law, np.eye(states)[0], np.sort(rng.random(states)), np.zeros(states))
    source = Sources([2.0], [1.0], [0.3])

    def found():
        curve = stochastic_index(source, 0, Utility(), tolerance=1e-4, points=500)
        index = whittle_index(arm, 0.9).index
        return curve.index.tobytes(), index.tobytes(), thresholds(arm, 0.9).crossings.tobytes()

    with threadpool_limits(1, "blas"):
        one = found()
    with threadpool_limits(2, "blas"):
        assert found() == one


@pytest.mark.sampled
@pytest.mark.process
@pytest.mark.parametrize("mode", ["", "narrow"])
def test_answers_without_compiler(tmp_path, monkeypatch, mode):
    monkeypatch.chdir(tmp_path)
    found = other(sys.executable, tmp_path / "answers.json", mode)
    assert_the_same(found, answers(), 1e-12)
    assert len(found) == len(NAMES)


@pytest.mark.process
@pytest.mark.skipif("PYTHON32" not in os.environ, reason="no 32-bit Python is named")
def test_answers_in_32_bits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = other(os.environ["PYTHON32"], tmp_path / "answers.json", "")
    missing = {name for name in found if str(found[name]).startswith(MISSING)}
    assert len(missing) < 10
    kept = [name for name in NAMES if name not in missing | FREE.keys()]
    assert_the_same({name: found[name] for name in kept}, answers(kept), 1e-9)
