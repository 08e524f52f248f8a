"""Folders are exchanged whole, and programs end with who has started them."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from scorecard import files
from scorecard.files import ROOT, child_environment, own_temporary_folder, replace_folder


@pytest.fixture
def folders(tmp_path):
    new, target = tmp_path / "new", tmp_path / "target"
    for folder in (new, target):
        folder.mkdir()
        (folder / folder.name).touch()
    return new, target


def refuse(*_):
    raise OSError("the folders cannot be exchanged")


@pytest.mark.parametrize("can", [True, False])
def test_a_folder_takes_the_place_of_another(folders, monkeypatch, tmp_path, can):
    new, target = folders
    if not can:
        monkeypatch.setattr(files, "_exchange", refuse)
    replace_folder(new, target)
    assert [path.name for path in target.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot exchange folders")
def test_two_folders_change_places_at_one_stroke(folders):
    new, target = folders
    files._exchange(new, target)
    assert [path.name for path in new.iterdir()] == ["target"]
    assert [path.name for path in target.iterdir()] == ["new"]
    with pytest.raises(OSError, match="cannot be exchanged"):
        files._exchange(new, target / "nowhere")


def test_a_folder_comes_where_none_was(tmp_path):
    (tmp_path / "new").mkdir()
    replace_folder(tmp_path / "new", tmp_path / "target")
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


PARENT = """
import subprocess
from scorecard.files import exit_with_parent
command = ["sh", "-c", "echo $$ > pid.new; mv pid.new pid; exec sleep 600"]
subprocess.run(command, preexec_fn=exit_with_parent)
"""


@pytest.mark.sampled
@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
def test_child_ends_with_parent(tmp_path):
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = subprocess.Popen([sys.executable, "-c", PARENT], cwd=tmp_path, env=path)
    while not (tmp_path / "pid").exists():
        assert started.poll() is None
        time.sleep(0.05)
    child = psutil.Process(int((tmp_path / "pid").read_text()))
    started.send_signal(signal.SIGKILL)
    started.wait()
    psutil.wait_procs([child], timeout=300)
    assert not Path(f"/proc/{child.pid}/cwd").exists()


def test_temporary_files_end_with_the_process(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with own_temporary_folder() as folder:
        assert folder.parent == tmp_path
        assert Path(tempfile.mkdtemp()).parent == folder
        child = "import tempfile; print(tempfile.gettempdir())"
        found = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True)
        assert found.stdout.strip() == str(folder)
    assert list(tmp_path.iterdir()) == []
    assert tempfile.gettempdir() == str(tmp_path)


def test_what_killed_processes_left_is_cleared(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    lines = [
        "import os, tempfile",
        "from scorecard.files import own_temporary_folder",
        "with own_temporary_folder(): tempfile.mkdtemp(); os.kill(os.getpid(), 9)",
    ]
    subprocess.run([sys.executable, "-c", chr(10).join(lines)], env=child_environment())
    (killed,) = tmp_path.iterdir()
    (tmp_path / "book-of-another").mkdir()
    with own_temporary_folder() as alive:
        assert not killed.exists()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with own_temporary_folder():
            assert alive.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["book-of-another"]
