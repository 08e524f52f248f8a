"""The commands behind the Makefile, as ``python -m scorecard COMMAND`` runs them.

`open_lab` opens copies of the notebooks, so that no source is changed; `SiteHandler` serves the
built book with the site's Content-Security-Policy.
"""

from __future__ import annotations

import argparse
import hashlib
import http.server
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jinja2

from scorecard.browser import bundle
from scorecard.collate import collate, summarise
from scorecard.files import (
    INTERRUPTED,
    PROFILES,
    ROOT,
    build_folder,
    child_environment,
    display_path,
)
from scorecard.pages.theme import POLICY
from scorecard.publishing import comparison
from scorecard.publishing.citation import read_edition, tags_of_commit
from scorecard.publishing.comparison import repeat_jobs
from scorecard.publishing.release import check_edition, make_release
from scorecard.record import write_json
from scorecard.render import render_book, render_runs, render_single
from scorecard.running.notebooks import measure_build, record_build
from scorecard.running.runner import lock_build, make_jobs, make_rerun_job, run_jobs
from scorecard.values import parse_assignments


def make_book(
    profile: str,
    workers: int | None = None,
    build: Path | None = None,
    memory: float | None = None,
) -> None:
    """Run the notebooks of a profile, render the book, and print where it is."""
    build = build or build_folder(profile)
    with lock_build(build):
        jobs = make_jobs(profile, build)
        run_jobs(jobs, workers, memory)
        collation = collate([job.target for job in jobs], profile=profile)
        built = render_book(collation, build)
    print(
        f"{'book' if built else 'book, unchanged'}: {display_path(build / 'html' / 'index.html')}"
    )
    print(summarise(collation))


def run_notebook(notebook: str, parameters: str, sources: str, trace: str, signals: str) -> None:
    """Run one notebook with a reader's parameters or files, and render its page."""
    runs = build_folder("paper") / "runs"
    values = parse_assignments(parameters)
    job = make_rerun_job(notebook, values, sources, trace, signals, runs=runs)
    build = job.target.parent
    with lock_build(build):
        run_jobs([job])
        collation = collate([job.target], profile="paper", document=job.document, complete=False)
        (page,) = render_runs(collation, build, build_folder("paper") / "html")
    print(f"page: {display_path(page)}")
    print(f"figures and data: {display_path(build / 'html' / 'figures')}")


def make_pdf(profile: str) -> None:
    """Print the whole book and its papers to PDFs, after building what has changed."""
    # Imported here because loading pypdf takes long and no other command needs it.
    from scorecard.publishing.pdf import find_browser, print_book, print_papers

    build = build_folder(profile)
    find_browser()  # fail before the build, which takes minutes
    make_book(profile)
    with lock_build(build):
        page = render_single(build)
        print_book(page, build / "book.pdf", read_edition())
        printed = print_papers(page, build, read_edition())
    print(f"pdf: {', '.join(display_path(path) for path in (build / 'book.pdf', *printed))}")


def publish(profile: str, dirty: bool) -> None:
    """Make the release archive of the book, its PDF and its data."""
    edition, build = read_edition(), build_folder(profile)
    check_edition(edition, tags_of_commit(), dirty=dirty)
    make_book(profile)
    try:
        make_pdf(profile)
    except RuntimeError as error:
        for path in build.glob("*.pdf"):
            path.unlink()
        print(f"the archive has no PDF: {error}")
    if read_edition() != edition:
        raise RuntimeError("the tree changed during the release: run 'make release' again")
    with lock_build(build):
        targets = [job.target for job in make_jobs(profile, build)]
        archive = make_release(collate(targets, profile=profile), build, edition)
    print(f"archive: {display_path(archive)}, with its SHA-256 beside it")


def record_times(profile: str) -> None:
    """Record the times and sizes of the last build in ``book/profiles/builds.yml``."""
    print(f"times: {display_path(record_build(profile, **measure_build(build_folder(profile))))}")


def repeat(profile: str) -> None:
    """Run all notebooks of a built book again, and record how many gave the same bytes."""
    build = build_folder(profile)
    with lock_build(build):
        changes = repeat_jobs(make_jobs(profile, build))
    for page, names in changes.items():
        print(f"{page}: {', '.join(names) or 'the same bytes'}")
    same = sum(not names for names in changes.values())
    record = record_build(profile, repeated={"again": same, "all": len(changes)})
    print(f"repeated: {same} of {len(changes)}, kept in {display_path(record)}")


def compare(old: Path, new: Path, csv: Path | None) -> None:
    """Print a summary of the differences between two sites, and write all of them as CSV."""
    changes = comparison.compare_sites(old, new)
    print(comparison.summarise_changes(changes))
    if csv is not None:
        changes.to_csv(csv, index=False, lineterminator="\n")
        print(f"each difference with its cause: {csv}")


def start_page(name: str) -> None:
    """Write the skeleton of a new page and print where its files are."""
    for path in write_page(name):
        print(display_path(path))
    print(f"now: make run NB={name.partition('/')[2]}, and CONTRIBUTING.md on what belongs where")


def add_browser(origin: str, quick: bool) -> None:
    """Put the Python runtime for browsers into the built book, so that pages recompute there."""
    site = build_folder("paper") / "html"
    if not (site / bundle.FOLDER).exists():
        raise RuntimeError("there is no book yet: run 'make book' first")
    with lock_build(build_folder("paper")):
        copied = bundle.install_runtime(site / bundle.RUNTIME, origin)
        if quick:
            jobs = make_jobs("quick", build_folder("quick"))
            run_jobs(jobs)
            bundle.add_profile(collate([job.target for job in jobs], profile="quick"), site)
    size = sum(file["bytes"] for file in bundle.read_runtime()["files"])
    print(
        f"runtime: {display_path(site / bundle.RUNTIME)}, {size / 1e6:.0f} MB, {copied} files new"
    )


def lab(profile: str, options: str) -> None:
    """Open copies of the notebooks of a built book in JupyterLab."""
    open_lab(build_folder(profile), shlex.split(options))


def serve(port: int) -> None:
    """Serve the built book on this machine until interrupted."""
    folder = build_folder("paper") / "html"
    if not 0 <= port < 2**16:
        raise ValueError(f"port must be in [0, {2**16 - 1}], got {port}")
    if not folder.exists():
        raise RuntimeError("there is no book yet: run 'make book' first")
    handler = partial(SiteHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/ (stop with Ctrl-C)", flush=True)
        server.serve_forever()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; print an error as one sentence."""
    name = ""
    try:
        options = vars(_make_parser().parse_args(arguments))
        name, function = options.pop("command"), options.pop("function")
        function(**options)
    except (RuntimeError, ValueError) as error:
        return _print_error(str(error))
    except shutil.Error as error:  # a list of files that could not be copied: print the first
        return _print_error(error.args[0][0][-1])
    except OSError as error:
        return _print_error(f"{error.filename or name}: {error.strerror}")
    except KeyboardInterrupt:
        print(INTERRUPTED, file=sys.stderr)
        return 130
    return 0


def _print_error(message: str) -> int:
    """Print an error, with control characters escaped, and return the exit status 1."""
    plain = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in message)
    print(f"error: {plain}", file=sys.stderr)
    return 1


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scorecard", description="The commands behind the Makefile."
    )
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name: str, function: Callable[..., None], help_text: str, profile: str = "") -> Any:
        """Add a command; `profile`: help of its option ``--profile``, if it has one."""
        command = commands.add_parser(name, help=help_text)
        command.set_defaults(function=function)
        if profile:
            command.add_argument("--profile", choices=PROFILES, default="paper", help=profile)
        return command.add_argument

    option = add("book", make_book, "run what has changed and render the book", "set of parameters")
    option("--workers", type=int, help="notebooks at a time (default: one a core)")
    option("--build", type=Path, help="build folder (default: book/_build)")
    option("--memory", type=float, help="GiB that each notebook may take")
    option = add("run", run_notebook, "run one notebook with other parameters")
    option("notebook", help="name of the notebook, such as four-sources")
    option("--parameters", default="", help="'budget=2 horizon=200' or '@file.yml'")
    option("--sources", default="", help="CSV file with sources of your own")
    option("--trace", default="", help="CSV file with a trace of your own")
    option("--signals", default="", help="CSV file with pings of your own")
    add("pdf", make_pdf, "print the whole book to one PDF", "set of parameters")
    pack_help = "pack the book, its PDF and data in one archive"
    option = add("release", publish, pack_help, "set of parameters")
    option("--dirty", action="store_true", help="even with uncommitted changes")
    times_help = "record the CPU-seconds and bytes of the last build"
    add("times", record_times, times_help, "profile of the build")
    repeat_help = "run all again and count what gives the same bytes"
    add("repeat", repeat, repeat_help, "profile of the build")
    option = add("diff", compare, "list the differences between two builds, with causes")
    option("old", type=Path, help="html folder of a build, or of an unpacked release")
    option("new", type=Path, help="the same of another one")
    option("--csv", type=Path, help="file for all differences with their causes")
    option = add("page", start_page, "write the skeleton of a new page")
    option("name", help="part and page, such as ephemeral/my-page")
    option = add("lab", lab, "open the notebooks in JupyterLab", "which book's")
    option("--options", default="", help="JupyterLab's own: '--no-browser --port 9999'")
    browser_help = "put Python for browsers into the built book, to recompute pages there"
    option = add("browser", add_browser, browser_help)
    option("--from", dest="origin", default="", help="folder or archive with the runtime's files")
    option("--quick", action="store_true", help="compare runs with small parameters too: run them")
    option = add("serve", serve, "serve the built book on this machine")
    option("--port", type=int, default=8000, help="port (default: 8000)")
    return parser


# The skeleton of a page: the files of the folder ``skeleton`` are its templates

_PAGE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SKELETON = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("skeleton")),
    keep_trailing_newline=True,
    undefined=jinja2.StrictUndefined,
)
#: Values in the prose of the skeleton, with their formats.
_VALUES = {"draws": "d", "mean": ".3f", "low": ".3f", "high": ".3f"}


def write_page(name: str, root: Path = ROOT) -> list[Path]:
    """Write the skeleton of a page and add it to the contents.

    `name`: part and page, such as ``ephemeral/my-page``. Returns the files that were written or
    changed. Raises ValueError if there is no such part, the name is not made of lower-case words
    joined by hyphens, or the book has a page of that name.
    """
    part_name, _, page = name.partition("/")
    parts = sorted(folder.parent.name for folder in root.glob("book/*/__init__.py"))
    if part_name not in parts:
        raise ValueError(
            f"NAME must begin with one of {', '.join(parts)} and a slash, got {name!r}"
        )
    if not _PAGE.fullmatch(page):
        raise ValueError(
            f"NAME must be PART/PAGE, with PAGE in lower-case words joined by hyphens, got {name!r}"
        )
    if existing := sorted((root / "book").glob(f"*/{page}.md")):
        raise ValueError(f"the book has a page {page!r}: {existing[0].relative_to(root)}")
    module = page.replace("-", "_")
    targets = {
        "page.md": root / "book" / part_name / f"{page}.md",
        "page.py.txt": root / "book" / part_name / f"{module}.py",
        "test.py.txt": root / "tests" / "book" / part_name / f"test_{module}.py",
    }
    if present := [path for path in targets.values() if path.exists()]:
        raise ValueError(f"{present[0].relative_to(root)} exists already")
    fields = {
        "part": part_name,
        "page": page,
        "module": module,
        "title": page.replace("-", " ").capitalize(),
    }
    fields |= {value: f'{{{{ v.{value} | fmt("{style}") }}}}' for value, style in _VALUES.items()}
    for template, path in targets.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_SKELETON.get_template(template).render(fields), encoding="utf-8")
    contents = root / "book" / "_toc.yml"
    contents.write_text(
        _insert_page(contents.read_text("utf-8"), part_name, page), encoding="utf-8"
    )
    return [*targets.values(), contents]


def _insert_page(contents: str, part_name: str, page: str) -> str:
    """Return the text of ``_toc.yml`` with a line for the page after the last of its part."""
    lines = contents.splitlines()
    last = max(n for n, line in enumerate(lines) if f"file: {part_name}/" in line)
    lines.insert(last + 1, f"  - file: {part_name}/{page}")
    return "\n".join(lines) + "\n"


# Notebooks by hand, and the site

#: File with the hashes of the copies as made, to find those that the reader has changed.
COPY_HASHES = ".copies.json"


def copy_notebooks(build: Path) -> Path:
    """Return a folder with copies of a built book's notebooks; changed copies are not replaced.

    Raises RuntimeError if there is no book yet.
    """
    notebooks = sorted((build / "html" / "notebooks").glob("*.ipynb"))
    if not notebooks:
        raise RuntimeError("there is no book yet: run 'make book' first (PROFILE=quick is short)")
    folder = build / "lab"
    folder.mkdir(exist_ok=True)
    record = folder / COPY_HASHES
    hashes = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    for notebook in notebooks:
        copy = folder / notebook.name
        if not copy.exists() or _hash(copy) == hashes.get(notebook.name):
            shutil.copyfile(notebook, copy)
            hashes[notebook.name] = _hash(copy)
    write_json(record, hashes)
    return folder


def open_lab(build: Path, options: Sequence[str]) -> None:
    """Run JupyterLab on copies of the notebooks, with this environment's kernel, until stopped.

    Raises RuntimeError if there is no book yet, or JupyterLab could not run.
    """
    folder = copy_notebooks(build)
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}", *options]
    if subprocess.run(command, env=child_environment()).returncode:
        raise RuntimeError("JupyterLab failed: see its messages above")


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class SiteHandler(http.server.SimpleHTTPRequestHandler):
    """Answers requests for files of one folder; a link that leads out of it is not there."""

    def send_head(self) -> Any:
        """Send the header of the answer, and return the file; 404 for what is out of the folder."""
        path = Path(self.translate_path(self.path))
        try:
            folder = Path(self.directory).resolve()
            opened = (path, path / "index.html", path / "index.htm")
            is_inside = all(file.resolve().is_relative_to(folder) for file in opened)
        except (OSError, RuntimeError, ValueError):  # a loop of links; a zero in the name
            is_inside = False
        if not is_inside:
            self.send_error(404, "File not found")
            return None
        return super().send_head()

    def end_headers(self) -> None:
        """Add the policy of the site, or of the worker that recomputes pages, if it has one."""
        path = getattr(self, "path", "")  # a request that cannot be read has none
        is_worker = path.partition("?")[0] == "/recompute/worker.js"
        policy = Path(self.directory, bundle.WORKER_POLICY if is_worker else POLICY)
        if policy.is_file():
            self.send_header("Content-Security-Policy", policy.read_text(encoding="utf-8").strip())
        super().end_headers()
