"""What befalls a build: kills, full and read-only disks, clocks, rivals, hungry notebooks.

Each time the last good book stays whole, the next build is right, and the message is one sentence.
The book is a test's own; where a kernel and Sphinx do not matter, both are played by a few lines.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import nbformat
import pytest

from analysis import fingerprint
from scorecard import collate, commands, portable, render
from scorecard.pages import references
from scorecard.publishing import citation, site
from scorecard.record import write_json
from scorecard.running import notebooks, runner
from tests.scorecard.kills import killed_at
from tests.scorecard.running.conftest import NOTEBOOK_HEAD

pytestmark = [pytest.mark.process, pytest.mark.sampled]

PAGES = ("first", "second")
SOURCE = (
    NOTEBOOK_HEAD
    + """# The page %s

```{code-cell} ipython3
:tags: [parameters]

number: int = %d  # none; any; a number
```

```{code-cell} ipython3
%s
```
"""
)


class Book:
    """A book of two pages, built by the command itself."""

    def __init__(self, folder):
        self.source = folder / "book"
        self.build = folder / "build"
        (self.source / "profiles").mkdir(parents=True)
        (self.source / "_config.yml").write_text("html: {}\n")
        (self.source / "index.md").write_text("# A book\n")
        (self.source / "profiles/quick.yml").write_text("{}\n")
        chapters = [{"file": name} for name in PAGES]
        contents = {"root": "index", "parts": [{"chapters": chapters}]}
        (self.source / "_toc.yml").write_text(json.dumps(contents))
        self.write(1)

    def write(self, version, code="number"):
        """Change both pages."""
        for name in PAGES:
            (self.source / f"{name}.md").write_text(SOURCE % (name, version, code))

    def make(self, *options):
        """Build it in this process."""
        arguments = ["book", "--profile", "quick", "--build", str(self.build), *options]
        return commands.main(arguments)

    @property
    def version(self):
        """The one version that all pages and files of the book are of."""
        found = {path.read_text() for path in (self.build / "html/pages").iterdir()}
        manifest = json.loads((self.build / "html/manifest.json").read_text())
        assert len(manifest["records"]) == len(PAGES)
        assert len(found) == 1, f"a mixture of {found}"
        return int(found.pop())

    @property
    def files(self):
        """What a reader of the book has, and nothing else may lie in the build folder."""
        kept = {"html", "results", "stage", *render.COPIED_FILES}
        assert {p.name for p in self.build.iterdir()} - {".lock"} == kept
        results = {p.name for p in (self.build / "results").iterdir()}
        assert results == set(PAGES)
        paths = [*self.build.glob("html/**/*"), *self.build.glob("*.*")]
        return {
            p.relative_to(self.build): p.read_bytes()
            for p in paths
            if p.is_file() and p.name not in {".lock", render.KEY}  # the key holds a clock
        }


def play_kernel(kernels, folder):
    """Do what a child process does: leave a notebook and a number behind."""
    facts = json.loads((folder / "run.json").read_text())
    number = facts["parameters"]["number"]
    value = {"value": number, "interval": None, "replications": None}
    values = {f"{facts['notebook']}-value": value}
    write_json(folder / "record.json", {"claims": [], "values": values})
    nbformat.write(nbformat.read(folder / "input.ipynb", 4), folder / "notebook.ipynb")
    (folder / "cpu.txt").write_text("0.1\n")
    return ""


def play_sphinx(stage, out, builder, strict):
    """Write twenty pages, each with the number that the notebooks left behind."""
    values = json.loads((stage / "collated.json").read_text())["values"]
    (version,) = {entry["value"] for entry in values.values()}
    html = out / "_build" / builder
    (html / "pages").mkdir(parents=True)
    (html / "index.html").write_text("<html></html>\n")
    for number in range(20):
        (html / f"pages/{number}.html").write_text(str(version))


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book that nothing of this repository is part of, with real kernels and played pages."""
    return make_book(tmp_path, monkeypatch)


@pytest.fixture
def played(book, monkeypatch):
    """The same with a kernel that is played."""
    monkeypatch.setattr(runner.Kernels, "execute", play_kernel)
    return book


def make_book(folder, monkeypatch):
    book = Book(folder)
    for module in (notebooks, render, collate, citation, references, portable):
        monkeypatch.setattr(module, "BOOK", book.source)
    for name in ("printed_rows", "errata", "documents"):
        monkeypatch.setattr(collate, name, dict)
    monkeypatch.setattr(citation, "commit_name", lambda: "a commit")
    monkeypatch.setattr(site, "printed_rows", dict)
    monkeypatch.setattr(render, "_PAGE_CODE", ())
    monkeypatch.setattr(render, "_sphinx", play_sphinx)
    monkeypatch.setattr(render, "write_bundle", lambda collation, folder: None)
    fingerprint.forget()
    return book


def one_sentence(capsys):
    """Return what the command said when it could not do its work."""
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    return line


# A kill, at every moment at which the build touches a file.


def test_killed_build_leaves_whole_book(played):
    book = played
    assert book.make() == 0
    good = book.files
    book.write(2)
    assert book.make() == 0
    newer = book.files
    assert good != newer
    kills, version, right = 0, 2, {1: good, 2: newer}
    while True:
        before, version = version, 3 - version
        book.write(version)
        was_killed = killed_at(1 + 17 * kills, lambda: book.make("--workers", "1"))
        assert book.version in ((before, version) if was_killed else (version,))
        assert book.make() == 0
        assert book.files == right[version]
        if not was_killed:
            break
        kills += 1
    assert kills > 15


def test_book_exists_during_exchange(played, monkeypatch):
    """No process ever finds no book, even between two system calls."""
    book = played
    assert book.make() == 0
    book.write(2)
    missing = []

    def look(event, _):
        if looking and event in {"os.rename", "os.rmdir", "os.remove", "shutil.rmtree"}:
            missing.append(not (book.build / "html/index.html").exists())

    looking = True
    sys.addaudithook(look)
    assert book.make() == 0
    looking = False
    assert missing
    assert not any(missing)


def test_unlisted_page_is_not_built(played, capsys):
    (played.source / "new.md").write_text(SOURCE % ("new", 1, "number"))
    assert played.make() == 1
    assert "new.md: not in the contents" in one_sentence(capsys)
    assert not (played.build / "html").exists()


# Disks.


@contextmanager
def disk(folder, size):
    """A small disk of its own, for which one has to be root."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True
    )
    if made.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {made.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def remount(folder, how):
    subprocess.run(["mount", "-o", f"remount,{how}", folder], check=True)


def test_full_disk_keeps_book(played, tmp_path, capsys):
    book = played
    with disk(tmp_path / "disk", "2m") as small:
        book.build = small / "build"
        assert book.make() == 0
        site = site_files(book)
        book.write(2)
        for left in (0, 3, 8, 15, 22):  # blocks: it fills up here and there
            filled = os.statvfs(small).f_bavail - left
            (small / "filler").write_bytes(bytes(4096 * filled))
            capsys.readouterr()
            assert book.make() == 1, left
            assert "No space left on device" in one_sentence(capsys)
            assert book.version == 1
            assert site_files(book) == site
            (small / "filler").unlink()
        assert book.make() == 0
        assert book.version == 2
        assert book.files


def site_files(book):
    """The site alone: beside it a build that failed may have left more."""
    paths = (book.build / "html").glob("**/*")
    return {p: p.read_bytes() for p in paths if p.is_file()}


@pytest.mark.parametrize("where", ["kernel", "sphinx"])
def test_full_disk_in_child_is_reported(played, capsys, monkeypatch, where):
    said = "Traceback: OSError: [Errno 28] No space left on device"
    assert played.make() == 0
    played.write(2)
    capsys.readouterr()
    with monkeypatch.context() as patch:
        if where == "kernel":
            patch.setattr(runner.Kernels, "execute", lambda *_: said)
        else:
            done = subprocess.CompletedProcess([], 1, "", said)
            patch.setattr(render, "_sphinx", REAL_SPHINX)
            patch.setattr(render.subprocess, "run", lambda *_, **__: done)
        assert played.make() == 1
        assert "No space left on device" in one_sentence(capsys)
        assert played.version == 1
    assert played.make() == 0
    assert played.version == 2


REAL_SPHINX = render._sphinx


def test_read_only_folder_keeps_book(played, tmp_path, capsys):
    book = played
    with disk(tmp_path / "disk", "4m") as small:
        book.build = small / "build"
        assert book.make() == 0
        good = book.files
        book.write(2)
        remount(small, "ro")
        capsys.readouterr()
        assert book.make() == 1
        assert "cannot be written" in one_sentence(capsys)
        assert book.files == good
        remount(small, "rw")
        assert book.make() == 0
        assert book.version == 2


# A clock, a rival, and a notebook that takes too much.


def test_jumping_clock_changes_nothing(played, monkeypatch, capsys):
    book = played
    assert book.make() == 0
    jumps = iter(range(10**6))
    monkeypatch.setattr(time, "time", lambda: 2e9 - 1e5 * next(jumps))
    for path in (*book.source.rglob("*"), *book.build.rglob("*")):
        os.utime(path, (4e9, 4e9))
    capsys.readouterr()
    assert book.make() == 0
    said = capsys.readouterr().out
    assert "2 notebooks, 0 to run" in said
    assert "book, unchanged" in said
    book.write(2)
    for path in book.source.rglob("*"):
        os.utime(path, (1e6, 1e6))  # older than everything that was built
    assert book.make() == 0
    assert book.version == 2
    for name in PAGES:
        assert float((book.build / "results" / name / "seconds.txt").read_text()) >= 0


def test_second_build_is_refused(played, capsys, tmp_path, monkeypatch):
    book = played
    assert book.make() == 0
    book.write(2)
    go = tmp_path / "go"

    def wait(kernels, folder):
        (tmp_path / "started").touch()
        while not go.exists():
            time.sleep(0.01)
        return play_kernel(kernels, folder)

    first = os.fork()
    if first == 0:
        runner.Kernels.execute = wait
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        os._exit(book.make())
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "started").exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        capsys.readouterr()
        assert book.make() == 1
        assert "another build is running" in one_sentence(capsys)
        assert book.version == 1
    finally:
        go.touch()
        _, status = os.waitpid(first, 0)
    assert status == 0
    assert book.version == 2
    good = book.files
    assert book.make() == 0
    assert book.files == good


def test_hungry_notebook_fails_alone(book, capsys):
    """With a real kernel, whose address space is limited."""
    code = "from pathlib import Path\nbytes(number * 2**30)\nPath('record.json').write_text('%s')"
    values = '{"records": {}, "values": {"x-" + str(number): {"value": number}}}'
    book.write(1, "import json\n" + code.replace("'%s'", f"json.dumps({values})"))
    (book.source / "second.md").write_text(SOURCE % ("second", 9, code))
    assert book.make("--memory", "3") == 1
    said = capsys.readouterr()
    assert said.err == "error: 1 of 2 notebooks failed: second\n"
    assert "second: FAILED in cell 2: MemoryError" in said.out
    assert (book.build / "results/first/notebook.ipynb").exists()
    assert not (book.build / "results/second").exists()
    assert not (book.build / "html").exists()
    assert book.make("--memory", "-1") == 1
    assert "memory must be a number of GiB above 0" in one_sentence(capsys)


def test_dying_kernel_is_reported(book, capsys):
    assert book.make("--memory", "0.001") == 1
    said = capsys.readouterr()
    assert said.err.startswith("error: 2 of 2 notebooks failed: ")
    assert said.err.count("\n") == 1
    assert said.out.count(": FAILED in its kernel: Kernel died before replying") == 2
