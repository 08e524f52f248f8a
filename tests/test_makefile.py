"""The Makefile's commands, with programs in place of the environment's that note what they get."""

import os
import shutil
import subprocess

import pytest

from scorecard.files import ROOT

pytestmark = [
    pytest.mark.process,
    pytest.mark.sampled,
    pytest.mark.skipif(shutil.which("make") is None, reason="needs make"),
]
PROGRAM = """#!/bin/sh
printf '%s\\0' "$(basename "$0")" "$@" >> "$LOG"
printf '\\n' >> "$LOG"
test "$FAILS" != "$(basename "$0")"
"""


@pytest.fixture
def make(tmp_path):
    """Run make with played programs; return its status and the calls, each a list of words."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("python", "ruff", "mypy", "lint-imports"):
        (tools / name).write_text(PROGRAM)
        (tools / name).chmod(0o755)
    (tmp_path / "ready").touch()

    # What a make that runs these tests has told its own children is not for ours.
    around = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}

    def run(*words, fails="", **variables):
        log = tmp_path / "log"
        log.write_text("")
        done = subprocess.run(
            ["make", "--no-print-directory", f"BIN={tools}", f"READY={tmp_path / 'ready'}", *words],
            cwd=ROOT,
            env={**around, **variables, "LOG": str(log), "FAILS": fails},
            capture_output=True,
            text=True,
        )
        calls = [line.split("\0")[:-1] for line in log.read_text().split("\n")[:-1]]
        return done.returncode, calls

    return run


@pytest.mark.parametrize("fails", ["ruff", "mypy", "lint-imports"])
def test_failed_lint_still_runs_tests(make, fails):
    status, calls = make("test", fails=fails)
    assert status != 0
    assert ["--doctest-modules" in call for call in calls if call[0] == "python"] == [True]
    status, calls = make("check", fails=fails)
    assert status != 0
    assert calls[-1][0] == fails


def test_lint_and_tests_decide(make):
    status, calls = make("test")
    assert status == 0
    assert sorted(call[0] for call in calls) == ["lint-imports", "mypy", "python", "ruff", "ruff"]
    (tests,) = [call for call in calls if call[0] == "python"]
    assert "not slow and not rerun" in tests
    status, calls = make("test", "TESTS=not slow", fails="python")
    assert status != 0
    (tests,) = [call for call in calls if call[0] == "python"]
    assert "not slow" in tests


ODD = ["$(shell touch {})", "${{HOME}} $$ $x", "a # b", "'single' \"double\" `x` \\", "x=[1,2] y=~"]


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("typed", ["argument", "environment"])
def test_typed_text_is_passed_unchanged(make, tmp_path, text, typed):
    text = text.format(tmp_path / "touched")
    given = dict.fromkeys(("NB", "P", "SOURCES", "TRACE", "SIGNALS"), text)
    if typed == "argument":
        status, calls = make("run", *[f"{name}={value}" for name, value in given.items()])
    else:
        status, calls = make("run", **given)
    assert status == 0
    command = ["python", "-m", "scorecard", "run", text]
    for option in ("--parameters", "--sources", "--trace", "--signals"):
        command += [option, text]
    assert calls == [command]
    for name, words in {"serve": ["--port"], "book": ["--profile"]}.items():
        variable = {"serve": "PORT", "book": "PROFILE"}[name]
        _, calls = make(name, f"{variable}={text}")
        assert calls == [[*command[:3], name, *words, text]]
    assert not (tmp_path / "touched").exists()
