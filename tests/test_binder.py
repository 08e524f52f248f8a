"""What Binder installs and runs is what the repository holds."""

import os
import re
import tomllib

from packaging.specifiers import SpecifierSet

from scorecard.commands import main
from scorecard.paths import ROOT

BINDER = ROOT / "binder"


def test_binder_python_is_allowed():
    (line,) = (BINDER / "requirements.txt").read_text().splitlines()
    assert (BINDER / line.removeprefix("-r ")).resolve() == ROOT / "requirements.lock"
    name, version = (BINDER / "runtime.txt").read_text().strip().split("-")
    allowed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert name == "python"
    assert version in SpecifierSet(allowed)


def test_binder_command_exists(monkeypatch):
    script = BINDER / "postBuild"
    assert os.access(script, os.X_OK)
    (command,) = re.findall(r"python -m scorecard (.*)", script.read_text())
    asked = []
    monkeypatch.setattr(
        "scorecard.commands.make_book", lambda **given: asked.append(given["profile"])
    )
    assert main(command.split()) == 0
    assert asked == ["quick"]
