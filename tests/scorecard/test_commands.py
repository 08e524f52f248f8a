"""The commands as a new user misuses them: one clear sentence, a status, and nothing is run."""

import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import filelock
import pytest

from scorecard import commands, files
from scorecard.__main__ import INTERRUPTED
from scorecard.commands import SiteHandler, copy_notebooks, open_lab, write_page
from scorecard.files import ROOT
from scorecard.pages.theme import POLICY
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
        ("budget=5", "budget must be in [1, 4], got 5"),
        ("budget", "name=value"),
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
    assert files.build_folder("quick") != files.build_folder("paper")
    assert files.build_folder("quick") / "html" != files.build_folder("paper") / "html"


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


# The skeleton of a page


BUILT = shutil.ignore_patterns("_build", "__pycache__", "node_modules")


@pytest.fixture
def checkout(tmp_path):
    """A copy of what the skeleton reads and writes."""
    for folder in ("analysis", "scorecard", "book", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=BUILT)
    for name in ("pyproject.toml", "requirements.lock", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def run(checkout, *words):
    done = subprocess.run(words, cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.sampled
@pytest.mark.process
def test_new_page_runs(checkout):
    written = write_page("robots/my-page", checkout)
    bin = Path(sys.executable).parent
    code = [str(path) for path in written if path.suffix == ".py"]
    assert len(code) == 2
    run(checkout, bin / "ruff", "check", *code)
    run(checkout, bin / "ruff", "format", "--check", *code)
    run(checkout, bin / "lint-imports", "--no-cache")
    run(checkout, sys.executable, "-m", "pytest", "tests/book/robots/test_my_page.py")
    report = [sys.executable, "-m", "scorecard"]
    assert "page: " in run(checkout, *report, "run", "my-page", "--parameters", "draws=50")
    page = (checkout / "book/_build/runs").rglob("my-page.html")
    text = next(page).read_text(encoding="utf-8")
    assert "With 50 draws the mean is 0." in re.sub("<[^>]*>", "", text)
    assert "my-page-means" in text


def test_new_page_joins_contents(checkout):
    assert len(write_page("trace/my-page", checkout)) == 4
    lines = (checkout / "book/_toc.yml").read_text(encoding="utf-8").splitlines()
    place = lines.index("  - file: trace/my-page")
    assert lines[place - 1].startswith("  - file: trace/")
    assert not lines[place + 1].startswith("  - file: trace/")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "NAME must begin with one of"),
        ("my-page", "NAME must begin with one of"),
        ("nowhere/my-page", "got 'nowhere/my-page'"),
        ("robots/", "PAGE in lower-case words joined by hyphens"),
        ("robots/My page", "PAGE in lower-case words joined by hyphens"),
        ("robots/../x", "PAGE in lower-case words joined by hyphens"),
        ("robots/four-sources", "the book has a page 'four-sources': book/ephemeral/four"),
    ],
)
def test_wrong_name_is_refused(name, said, capsys):
    assert commands.main(["page", name]) == 1
    assert said in capsys.readouterr().err


def test_existing_file_is_kept(checkout):
    (checkout / "book/robots/my_page.py").write_text("precious = 1\n")
    with pytest.raises(ValueError, match=r"my_page\.py exists already"):
        write_page("robots/my-page", checkout)
    assert not (checkout / "book/robots/my-page.md").exists()


# Notebooks for JupyterLab: copies, so that no source and no change of a reader's is lost


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


# The server of the built book: only files of its folder, with the site's policy


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Serve a folder, and return a function that asks for a path and gives the answer."""
    monkeypatch.setattr(SiteHandler, "log_message", lambda *_: None)
    site = tmp_path / "site"
    (site / "part").mkdir(parents=True)
    (site / "index.html").write_text("front")
    (site / "part/page.html").write_text("page")
    (site / POLICY).write_text("default-src 'self'\n")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SiteHandler, directory=site)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()

        def answer(path):
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
            connection._validate_path = lambda url: None  # a client that asks for anything
            connection.request("GET", path)
            reply = connection.getresponse()
            return reply.status, reply.read(), reply.headers

        yield answer
        server.shutdown()
        thread.join()


def test_pages_come_with_policy(ask):
    for path, content in {"/": b"front", "/part/page.html?v=1": b"page"}.items():
        status, body, headers = ask(path)
        assert (status, body) == (200, content)
        assert headers["Content-Security-Policy"] == "default-src 'self'"


def test_malformed_request_is_answered(ask):
    assert ask("/a b")[0] == 400


def test_links_within_the_folder_are_followed(ask, tmp_path):
    (tmp_path / "site/other.html").symlink_to(tmp_path / "site/part/page.html")
    assert ask("/other.html")[:2] == (200, b"page")


@pytest.mark.parametrize(
    ("link", "path"),
    [("out.html", "/out.html"), ("out", "/out/secret.html"), ("part/index.html", "/part/")],
)
def test_links_out_of_the_folder_are_not(ask, tmp_path, link, path):
    (tmp_path / "secret.html").write_text("secret")
    target = tmp_path if link == "out" else tmp_path / "secret.html"
    (tmp_path / "site" / link).symlink_to(target)
    status, body, _ = ask(path)
    assert status == 404
    assert body != b"secret"


@pytest.mark.parametrize("path", ["/%00", "/part/%00page.html", "/part%00/", "/loop"])
def test_names_of_no_file_are_answered(ask, tmp_path, path):
    (tmp_path / "site/loop").symlink_to(tmp_path / "site/loop")
    assert ask(path)[0] in {400, 404}


def test_traversal_finds_nothing(ask, tmp_path):
    (tmp_path / "secret.html").write_text("secret")
    for path in ("/../secret.html", "/%2e%2e/secret.html", "/part/..%2f..%2fsecret.html"):
        assert ask(path)[0] == 404
