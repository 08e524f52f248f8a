"""The commands behind the Makefile, as ``python -m scorecard COMMAND`` runs them."""

from __future__ import annotations

import argparse
import http.server
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from scorecard.collate import collate, summary
from scorecard.files import display_path
from scorecard.paths import INTERRUPTED, PROFILES, build_folder
from scorecard.publishing import comparison
from scorecard.publishing.archive.release import check_edition, make_release
from scorecard.publishing.metadata.citation import tags_of_commit, this_edition
from scorecard.publishing.server import SiteHandler
from scorecard.rendering.render import render_book, render_runs, render_single
from scorecard.running.build_statistics import measure_build, record_build
from scorecard.running.lab import open_lab
from scorecard.running.repeat import differences
from scorecard.running.reruns import rerun_job
from scorecard.running.runner import locked, profile_jobs, run
from scorecard.skeleton import new_page
from scorecard.values import parse_assignments


def make_book(
    profile: str,
    workers: int | None = None,
    build: Path | None = None,
    memory: float | None = None,
) -> None:
    """Run the notebooks of a profile, render the book, and print where it is."""
    build = build or build_folder(profile)
    with locked(build):
        jobs = profile_jobs(profile, build)
        run(jobs, workers, memory)
        collation = collate([job.target for job in jobs], profile=profile)
        built = render_book(collation, build)
    print(
        f"{'book' if built else 'book, unchanged'}: {display_path(build / 'html' / 'index.html')}"
    )
    print(summary(collation))


def run_notebook(notebook: str, parameters: str, sources: str, trace: str) -> None:
    """Run one notebook with a reader's parameters, sources or trace, and render its page."""
    runs = build_folder("paper") / "runs"
    job = rerun_job(notebook, parse_assignments(parameters), sources, trace, runs=runs)
    build = job.target.parent
    with locked(build):
        run([job])
        collation = collate([job.target], profile="paper", document=job.document, complete=False)
        (page,) = render_runs(collation, build, build_folder("paper") / "html")
    print(f"page: {display_path(page)}")
    print(f"figures and data: {display_path(build / 'html' / 'figures')}")


def make_pdf(profile: str) -> None:
    """Print the whole book and its papers to PDFs, after building what has changed."""
    # Imported here because loading pypdf takes long and no other command needs it.
    from scorecard.publishing.pdf.papers import print_papers
    from scorecard.publishing.pdf.printing import find_browser, print_book

    build = build_folder(profile)
    find_browser()  # fail before the build, which takes minutes
    make_book(profile)
    with locked(build):
        page = render_single(build)
        print_book(page, build / "book.pdf", this_edition())
        printed = print_papers(page, build, this_edition())
    print(f"pdf: {', '.join(display_path(path) for path in (build / 'book.pdf', *printed))}")


def publish(profile: str, dirty: bool) -> None:
    """Make the release archive of the book, its PDF and its data."""
    edition, build = this_edition(), build_folder(profile)
    check_edition(edition, tags_of_commit(), dirty=dirty)
    make_book(profile)
    try:
        make_pdf(profile)
    except RuntimeError as error:
        for path in build.glob("*.pdf"):
            path.unlink()
        print(f"the archive has no PDF: {error}")
    if this_edition() != edition:
        raise RuntimeError("the tree changed during the release: run 'make release' again")
    with locked(build):
        targets = [job.target for job in profile_jobs(profile, build)]
        archive = make_release(collate(targets, profile=profile), build, edition)
    print(f"archive: {display_path(archive)}, with its SHA-256 beside it")


def record_times(profile: str) -> None:
    """Record the times and sizes of the last build in ``book/profiles/builds.yml``."""
    print(f"times: {display_path(record_build(profile, **measure_build(build_folder(profile))))}")


def repeat(profile: str) -> None:
    """Run all notebooks of a built book again, and record how many gave the same bytes."""
    build = build_folder(profile)
    with locked(build):
        changes = differences(profile_jobs(profile, build))
    for page, names in changes.items():
        print(f"{page}: {', '.join(names) or 'the same bytes'}")
    same = sum(not names for names in changes.values())
    record = record_build(profile, repeated={"again": same, "all": len(changes)})
    print(f"repeated: {same} of {len(changes)}, kept in {display_path(record)}")


def compare(old: Path, new: Path, csv: Path | None) -> None:
    """Print a summary of the differences between two sites, and write all of them as CSV."""
    changes = comparison.differences(old, new)
    print(comparison.summary(changes))
    if csv is not None:
        changes.to_csv(csv, index=False, lineterminator="\n")
        print(f"each difference with its cause: {csv}")


def start_page(name: str) -> None:
    """Write the skeleton of a new page and print where its files are."""
    for path in new_page(name):
        print(display_path(path))
    print(f"now: make run NB={name.partition('/')[2]}, and CONTRIBUTING.md on what belongs where")


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
        options = vars(_parser().parse_args(arguments))
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


def _parser() -> argparse.ArgumentParser:
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
    option = add("serve", serve, "serve the built book on this machine")
    option("--port", type=int, default=8000, help="port (default: 8000)")
    return parser
