"""The commands as a new user misuses them: one clear sentence, a status, and nothing is run."""

import os
import re
import signal
import subprocess
import sys
import time

import filelock
import pytest

from scorecard import commands, paths
from scorecard.__main__ import INTERRUPTED
from scorecard.paths import ROOT
from scorecard.publishing import pdf
from scorecard.publishing.citation import Edition, release_tag
from scorecard.running import notebooks
from scorecard.running.notebooks import find_notebook
from scorecard.running.runner import lock_build

HEADER = "name,arrival_rate,mean_utility,decay_rate\n"
GOOD = HEADER + "a,1,1,1\nb,2,1,1\nc,3,1,1\n"


@pytest.fixture(autouse=True)
def no_kernel(monkeypatch, tmp_path):
    """Any kernel that starts is an error, and the build folder is a test's own."""
    started = []
    monkeypatch.setattr(commands, "run_jobs", lambda jobs, *_: started.append(jobs))
    monkeypatch.setattr(commands, "build_folder", lambda profile: tmp_path / "build")
    yield started
    assert not started


def refused(capsys, *arguments):
    """Run a command that must be refused in one sentence, and return the sentence."""
    assert commands.main(arguments) == 1
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("error: ")
    return line


def test_misspelt_parameter_lists_known(capsys):
    said = refused(capsys, "run", "four-sources", "--parameters", "budgte=2")
    assert "'budgte'" in said
    for name in find_notebook("four-sources").parameters:
        assert name in said or name == "sources"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("budget=two", "budget must be of type int, got 'two'"),
        ("budget=1.5", "budget must be of type int, got 1.5"),
        ("budget=5", "budget must be in [1, 4], got 5"),
        ("budget=0", "budget must be in [1, 4], got 0"),
        ("budget=nan", "budget must be of type int, got nan"),
        ("period=nan", "period must be in"),
        ("period=-1", "period must be in"),
        ("initial_state=half", "initial_state must be in"),
        ("budget", "name=value"),
        ("budget=1 budget=2", "given twice"),
        ("@nowhere.yml", "nowhere.yml"),
        ("sources=my.csv", "SOURCES="),
    ],
)
def test_wrong_parameters_are_refused(capsys, given, said):
    assert said in refused(capsys, "run", "four-sources", "--parameters", given)


@pytest.mark.parametrize("name", ["five-sources", "../../x", "four-sources\n", "\x1b[31m"])
def test_missing_notebook_is_refused(capsys, name):
    said = refused(capsys, "run", name)
    assert "four-sources" in said
    assert said.isprintable()


def test_typed_text_is_printable(capsys, tmp_path):
    path = tmp_path / "my.csv"
    path.write_text("name,arrival_rate,\x1b[2Jrate,decay_rate\na,1,1,1\n")
    said = refused(capsys, "run", "four-sources", "--sources", str(path))
    assert r"\x1b[2Jrate" in said
    assert said.isprintable()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ["empty"]),
        (HEADER + "a,1,1,1\nb,-1,1,1\n", ["row 2", "arrival_rate", "'-1'"]),
        (HEADER + "a,1,1,0\n", ["row 1", "decay_rate", "'0'"]),
        (HEADER + "a,1,1,1,9,9\n", ["more fields"]),
        (HEADER + "a,1,1,1\nb,1,1,1,9\n", ["line 3"]),
        ("\xff\xfe\x00", ["my.csv"]),
        (None, ["my.csv"]),
    ],
)
def test_wrong_sources_name_row(capsys, tmp_path, content, said):
    path = tmp_path / "my.csv"
    if content is not None:
        path.write_text(content, encoding="latin-1")
    line = refused(capsys, "run", "four-sources", "--sources", str(path))
    assert "my.csv" in line
    assert all(part in line for part in said), line


def test_the_range_follows_the_readers_sources(capsys, tmp_path):
    path = tmp_path / "my.csv"
    path.write_text(GOOD)
    given = ["--sources", str(path), "--parameters", "budget=4"]
    assert "budget must be in [1, 3], got 4" in refused(capsys, "run", "four-sources", *given)


def test_trace_needs_page_and_rows(capsys, tmp_path):
    said = refused(capsys, "run", "four-sources", "--trace", "my.csv")
    assert said == "error: four-sources takes no trace: leave TRACE out"
    said = refused(capsys, "run", "your-trace", "--parameters", "trace=my.csv")
    assert said == "error: trace must be given as a file, with TRACE="
    (tmp_path / "my.csv").write_text("\n")
    said = refused(capsys, "run", "your-trace", "--trace", str(tmp_path / "my.csv"))
    assert said == f"error: {tmp_path / 'my.csv'}: the file is empty"
    assert "none.csv" in refused(capsys, "run", "your-trace", "--trace", "none.csv")


def test_unused_sources_are_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "BOOK", tmp_path)
    (tmp_path / "plain.md").write_text("---\nkernelspec: {name: python3}\n---\n\n# A page\n")
    (tmp_path / "_toc.yml").write_text("parts: []")
    said = refused(capsys, "run", "plain", "--sources", "my.csv")
    assert said == "error: plain takes no sources: leave SOURCES out"


def test_second_book_is_refused(capsys, tmp_path):
    with lock_build(tmp_path / "build"):
        assert "another build is running" in refused(capsys, "book")


@pytest.mark.process
def test_a_lock_of_another_process_is_respected(capsys, tmp_path):
    """The lock holds between processes, and the file alone holds nothing."""
    (tmp_path / "build").mkdir()
    path = tmp_path / "build/.lock"
    path.touch()
    program = (
        "import sys, filelock\n"
        f"with filelock.FileLock({str(path)!r}):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        assert "another build is running" in refused(capsys, "book")
        other.stdin.close()
    with filelock.FileLock(path, timeout=0):
        pass


def test_an_unwritable_folder_is_named(capsys, tmp_path):
    (tmp_path / "file").write_text("in the way")
    said = refused(capsys, "book", "--build", str(tmp_path / "file" / "build"))
    assert "cannot be written" in said


def test_fewer_than_one_worker_is_refused(capsys, monkeypatch):
    from scorecard.running.runner import run_jobs

    monkeypatch.setattr(commands, "run_jobs", run_jobs)
    assert "workers" in refused(capsys, "book", "--workers", "-1")


def test_serve_needs_book(capsys):
    assert "make book" in refused(capsys, "serve")


def test_a_port_in_use_gives_one_sentence(capsys, tmp_path):
    import socket

    (tmp_path / "build/html").mkdir(parents=True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = refused(capsys, "serve", "--port", str(taken.getsockname()[1]))
    assert "in use" in said


@pytest.mark.parametrize("port", ["65536", "99999", "-1"])
def test_impossible_port_is_refused(capsys, tmp_path, port):
    (tmp_path / "build/html").mkdir(parents=True)
    said = refused(capsys, "serve", "--port", port)
    assert said == f"error: port must be in [0, 65535], got {port}"


def test_pdf_needs_browser(capsys, monkeypatch):
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    assert "chromium" in refused(capsys, "pdf")


def test_interrupt_has_own_status(capsys, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "run_jobs", interrupt)
    assert commands.main(["book"]) == 130
    assert "previous build is unchanged" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["book", "run", "pdf", "times", "repeat", "serve"])
def test_every_command_explains_its_options(capsys, name):
    with pytest.raises(SystemExit) as left:
        commands.main([name, "--help"])
    assert left.value.code == 0
    said = capsys.readouterr().out
    options = re.findall(r"^  (-\S+|[a-z]+)(?: \S+)?(?:  +|\n +)(\S.*)", said, re.MULTILINE)
    shown = {option.rstrip(",") for option, words in options if len(words.split()) >= 3}
    declared = {
        action.option_strings[0] if action.option_strings else action.dest
        for action in commands._make_parser()._subparsers._group_actions[0].choices[name]._actions
    }
    assert shown == declared


@pytest.fixture
def small_book(tmp_path, monkeypatch):
    """A book of one page, with something known of its builds and a result of its own."""
    monkeypatch.setattr(notebooks, "BOOK", tmp_path)
    (tmp_path / "part").mkdir()
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles/quick.yml").write_text("{}")
    (tmp_path / "profiles/builds.yml").write_text("full: {seconds: {plain: 100.0}}")
    (tmp_path / "part/plain.md").write_text("---\nkernelspec: {name: python3}\n---\n\n# A page\n")
    (tmp_path / "_toc.yml").write_text("parts: [{chapters: [{file: part/plain}]}]")
    result = tmp_path / "build/results/part/plain"
    result.mkdir(parents=True)
    (result / "cpu.txt").write_text("12.5\n")
    return result


def test_times_are_kept(capsys, small_book):
    assert commands.main(["times", "--profile", "quick"]) == 0
    quick = {"seconds": {"plain": 12.5}, "compilation": 0, "bytes": {"results": 5, "pages": 0}}
    assert notebooks.read_statistics() == {
        "full": {"seconds": {"plain": 100.0}},
        "quick": quick,
    }
    (small_book / "compilation.txt").write_text("3.5\n")
    (small_book.parents[2] / "html").mkdir()
    (small_book.parents[2] / "html/index.html").write_text("page")
    assert commands.main(["times", "--profile", "quick"]) == 0
    assert notebooks.read_statistics()["quick"]["compilation"] == 3.5
    assert notebooks.read_statistics()["quick"]["bytes"] == {"results": 9, "pages": 4}
    assert notebooks.read_seconds("quick", "plain") == 12.5
    assert notebooks.read_seconds("paper", "plain") is None


def test_times_need_a_book(capsys):
    assert "make book" in refused(capsys, "times")


def test_how_many_notebooks_repeat_is_kept(capsys, small_book, monkeypatch):
    assert "make book" in refused(capsys, "repeat", "--profile", "quick")  # that result has no key
    found = {"part/one": [], "part/other": ["notebook.ipynb", "record.json"]}
    monkeypatch.setattr(commands, "repeat_jobs", lambda jobs: found)
    assert commands.main(["repeat", "--profile", "quick"]) == 0
    said = capsys.readouterr().out
    assert "part/other: notebook.ipynb, record.json\nrepeated: 1 of 2" in said
    assert notebooks.read_statistics()["quick"] == {"repeated": {"again": 1, "all": 2}}


def test_an_unknown_profile_is_refused(capsys):
    with pytest.raises(SystemExit) as left:
        commands.main(["book", "--profile", "tiny"])
    assert left.value.code == 2
    assert "quick" in capsys.readouterr().err


@pytest.mark.process
def test_the_status_reaches_the_shell():
    done = subprocess.run(
        [sys.executable, "-m", "scorecard", "run", "four-sources", "--parameters", "budgte=2"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "budgte" in done.stderr
    assert "Traceback" not in done.stderr


def test_failed_release_names_notebook(monkeypatch, tmp_path, capsys):
    made = []

    def fail(profile):
        made.append(profile)
        raise RuntimeError("1 of 28 notebooks failed: first")

    monkeypatch.setattr(commands, "make_book", fail)
    monkeypatch.setattr(commands, "build_folder", lambda profile: tmp_path)
    assert commands.main(["release", "--profile", "quick", "--dirty"]) == 1
    assert made == ["quick"]
    said = capsys.readouterr()
    assert "1 of 28 notebooks failed: first" in said.err
    assert "PDF" not in said.out + said.err


def test_quick_profile_has_own_folder():
    assert paths.build_folder("quick") != paths.build_folder("paper")
    assert paths.build_folder("quick") / "html" != paths.build_folder("paper") / "html"


def test_changed_tree_is_not_released(monkeypatch, capsys):
    seen = iter(["abc", "abc (with uncommitted changes)"])
    monkeypatch.setattr(commands, "read_edition", lambda: Edition(next(seen), "2026-01-01", ""))
    monkeypatch.setattr(commands, "tags_of_commit", lambda: [release_tag()])
    for name in ("make_book", "make_pdf"):
        monkeypatch.setattr(commands, name, lambda profile: None)
    said = refused(capsys, "release", "--profile", "quick")
    assert "changed during the release" in said


@pytest.mark.sampled
@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_early_interrupt_is_one_sentence(tmp_path, number):
    # The first module that the command loads says that it has begun.
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "def say(event, args):\n"
        "    if event == 'import' and args[0] == 'scorecard.commands':\n"
        "        print('begun', flush=True)\n"
        "sys.addaudithook(say)\n"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    for wait in (0.0, 0.3):
        with subprocess.Popen(
            [sys.executable, "-m", "scorecard", "run", "four-sources"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as started:
            assert started.stdout.readline() == "begun\n"
            time.sleep(wait)
            started.send_signal(number)
            _, said = started.communicate(timeout=60)
        assert (started.returncode, said) == (130, f"{INTERRUPTED}\n")


def test_failed_run_leaves_no_folder(tmp_path):
    with pytest.raises(RuntimeError, match="failed"), lock_build(tmp_path / "runs/first"):
        raise RuntimeError("failed")
    assert list((tmp_path / "runs").iterdir()) == []
    with lock_build(tmp_path / "runs/first"):
        (tmp_path / "runs/first/page").touch()
    assert {path.name for path in (tmp_path / "runs/first").iterdir()} >= {"page"}
