"""The commands of the crawler: ``python -m analysis.crawl live --help``."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sqlite3
import sys
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any

from analysis.extras import missing_extra


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; print one sentence and return 1 if it fails."""
    options = _parser().parse_args(arguments)
    if options.command == "scrapy":
        Thread(target=_end_with, args=(options.open_end, options.remove), daemon=True).start()
        return run_scrapy(json.loads(options.settings))
    if options.command in ("status", "ask"):
        return _look(options)
    if options.command == "cluster":
        return _crawl_on_cluster(options)
    try:
        from analysis.crawl.local.live import Demonstration, live, report
    except ModuleNotFoundError as error:
        print(f"error: {missing_extra(error, 'crawl')}", file=sys.stderr)
        return 1
    chosen = {name: value for name, value in vars(options).items() if name != "command"}
    try:
        print("\n".join(report(live(Demonstration(**chosen)))))
    except (RuntimeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: port {options.port}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    return 0


def _look(options: argparse.Namespace) -> int:
    """Show the progress of a crawl, or make sources available again."""
    from analysis.crawl.storage.progress import Progress
    from analysis.crawl.storage.store import ask_again

    try:
        if options.command == "ask":
            ask_again(options.folder, options.urls)
            print(f"asked for again from the next epoch on: {', '.join(options.urls)}")
            return 0
        progress = Progress.read(options.folder)
        print(progress.text())
        if options.page:
            Path(options.page).write_text(progress.page(), encoding="utf-8")
    except (OSError, ValueError, sqlite3.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _crawl_on_cluster(options: argparse.Namespace) -> int:
    """Run the crawl of the Scrapy project in this folder in several processes."""
    try:
        from distributed import Client, LocalCluster
        from scrapy.utils.project import get_project_settings

        from analysis.crawl.cluster.run import crawl_on_cluster
    except ModuleNotFoundError as error:
        print(f"error: {missing_extra(error, 'crawl,cluster')}", file=sys.stderr)
        return 1
    project = get_project_settings()
    own = {name: project[name] for name in project if (project.getpriority(name) or 0) > 0}
    try:
        with ExitStack() as stack:
            where = options.scheduler or stack.enter_context(
                LocalCluster(n_workers=options.parts, threads_per_worker=1, dashboard_address=None)
            )
            client = stack.enter_context(Client(where))
            crawl_on_cluster(client, own, options.folder, options.parts)
    except (OSError, RuntimeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted: the same command goes on from here", file=sys.stderr)
        return 130
    return 0


def run_scrapy(crawls: list[dict[str, Any]]) -> int:
    """Run crawls side by side in this process, as a child of `analysis.crawl.local.transport`."""
    from scrapy.crawler import CrawlerProcess

    from analysis.crawl.local.transport import LOCAL_SETTINGS
    from analysis.crawl.scheduler import FeedSpider

    process = CrawlerProcess(LOCAL_SETTINGS)
    failures: list[Any] = []
    for settings in crawls:
        spider = type("Feeds", (FeedSpider,), {"custom_settings": settings})
        process.crawl(spider).addErrback(failures.append)
    process.start()
    for failure in failures:
        traceback.print_exception(failure.value)
    return 1 if failures else 0


def _end_with(open_end: int, folder: str | None) -> None:
    """End this process when the other end of a pipe is closed; then remove a folder."""
    while os.read(open_end, 1):
        pass
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m analysis.crawl", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser(
        "live",
        help="crawl a site on this machine in real time and show the policies side by side",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    show.add_argument("--seconds", type=float, default=60.0, help="length, from 2 to 600")
    show.add_argument("--epoch", type=float, default=0.5, help="seconds of an epoch, 0.1 to 60")
    show.add_argument("--sources", type=int, default=40, help="feeds of the site, from 4 to 200")
    show.add_argument("--budget", type=int, default=4, help="fetches of each crawler an epoch")
    show.add_argument("--port", type=int, default=8001, help="of the page; 0 for any that is free")
    show.add_argument("--seed", type=int, default=0, help="of the site")
    status = commands.add_parser("status", help="say how a crawl goes, running or not")
    status.add_argument("folder", help="its JOBDIR")
    status.add_argument("--page", help="file to write it to as HTML, too")
    ask = commands.add_parser("ask", help="let a crawl ask sources again that said they are gone")
    ask.add_argument("folder", help="its JOBDIR")
    ask.add_argument("urls", nargs="+", help="addresses, as the list of sources has them")
    cluster = commands.add_parser(
        "cluster", help="run the crawl of the Scrapy project in this folder in several processes"
    )
    cluster.add_argument("folder", help="where their state is kept")
    cluster.add_argument("--parts", type=int, default=4, help="number of processes")
    cluster.add_argument("--scheduler", help="address of a Dask scheduler; else this machine alone")
    child = commands.add_parser("scrapy", help="run crawls whose settings are given as JSON")
    child.add_argument("settings")
    child.add_argument("--with", type=int, dest="open_end", help="pipe that ends with the parent")
    child.add_argument("--remove", help="folder to remove then")
    return parser


if __name__ == "__main__":
    # Handle SIGTERM like an interrupt, so that the crawlers are stopped too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
