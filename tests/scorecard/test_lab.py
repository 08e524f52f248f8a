"""Notebooks for JupyterLab: copies, so that neither sources nor a reader's own changes are lost."""

import subprocess

import pytest

from scorecard import commands
from scorecard.commands import copy_notebooks, open_lab
from scorecard.paths import ROOT


@pytest.fixture
def build(tmp_path):
    (tmp_path / "html/notebooks").mkdir(parents=True)
    for name in ("one", "two"):
        (tmp_path / f"html/notebooks/{name}.ipynb").write_text(f"{name}, first")
    return tmp_path


def texts(folder):
    return {path.name: path.read_text() for path in folder.glob("*.ipynb")}


def test_new_book_keeps_readers_changes(build):
    folder = copy_notebooks(build)
    assert texts(folder) == {"one.ipynb": "one, first", "two.ipynb": "two, first"}
    (folder / "one.ipynb").write_text("mine")
    for name in ("one", "two"):
        (build / f"html/notebooks/{name}.ipynb").write_text(f"{name}, second")
    assert texts(copy_notebooks(build)) == {"one.ipynb": "mine", "two.ipynb": "two, second"}
    assert (build / "html/notebooks/one.ipynb").read_text() == "one, second"


def test_lab_needs_book(tmp_path):
    with pytest.raises(RuntimeError, match="make book"):
        copy_notebooks(tmp_path)


@pytest.mark.parametrize("status", [0, 1])
def test_jupyterlab_is_opened_on_the_copies(build, monkeypatch, status):
    started = []

    def run(command, env):
        assert str(ROOT) in env["PYTHONPATH"]
        started.append(command)
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(commands.subprocess, "run", run)
    if status:
        with pytest.raises(RuntimeError, match="JupyterLab"):
            open_lab(build, ["--no-browser"])
    else:
        open_lab(build, ["--no-browser"])
    (command,) = started
    assert command[1:3] == ["-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={build / 'lab'}" in command
    assert command[-1] == "--no-browser"
