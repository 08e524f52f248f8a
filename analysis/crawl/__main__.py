"""The commands of the crawler: ``python -m analysis.crawl run --help``."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import sqlite3
import sys
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Any

from analysis import missing_extra
from analysis.crawl.clock import read_duration

PINGS_HELP = """A ping says that a feed has something new, and its feed comes sooner if the sender
has been right before; status shows how often it was. Without --callback no hub (WebSub) is asked.
Senders of plain pings (IndexNow, weblogUpdates.ping) use URL/ping/TOKEN, with a token of the file
ping-tokens in the folder of the state. See the page on the crawler for what is not supported."""
RUN_HELP = """example, from an empty folder:

  python -m analysis.crawl run feeds.opml --out items.jsonl --contact you@example.org

FEEDS is OPML, a text file with an address on each line (# begins a comment), CSV with the column
url and, if you like, name, min_interval and max_interval (as in 30m), or one address: that of a
feed, or of a page that names its feeds. A round fetches a share of the feeds; every feed that was
never fetched comes first.

The policy lagrangian ranks feeds by what a fetch now gains over a wait, at the price of a fetch
that uses up the budget. The price is solved for in each round, from the rates learned so far, for
the budget alone: it does not know of feeds that come first because of --max-age or pings, nor of
hosts that limit fetches. It has to be right to about a percent: at 2% off, the gain over index is
gone, so use it for a hundred feeds or more whose rates are well known.

Ctrl-C ends the crawl; the same command continues it. A changed list and
changed options take effect then, and nothing that is known is lost; --every, --budget, --policy
and --max-age are as before if they are left out.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; print one sentence and return 1 if it fails."""
    options = _parser().parse_args(arguments)
    if options.command == "scrapy":
        Thread(target=_end_with, args=(options.open_end, options.remove), daemon=True).start()
        return run_scrapy(json.loads(options.settings))
    if options.command == "run":
        return _run(options)
    if options.command in ("status", "ask"):
        return _show_status(options)
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


def _run(options: argparse.Namespace) -> int:
    """Crawl a list of feeds."""
    try:
        from analysis.crawl.run import run
    except ModuleNotFoundError as error:
        print(f"error: {missing_extra(error, 'crawl')}", file=sys.stderr)
        return 1
    try:
        return run(options)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; the same command continues", file=sys.stderr)
        return 130


def _show_status(options: argparse.Namespace) -> int:
    """Show the progress of a crawl, or make sources available again."""
    from analysis.crawl.progress import (
        Progress,
        feeds_opml,
        feeds_page,
        feeds_prometheus,
        feeds_text,
        read_feeds,
    )
    from analysis.crawl.store import ask_again

    try:
        if options.command == "ask":
            ask_again(options.folder, options.urls)
            print(f"refetched from the next round on: {', '.join(options.urls)}")
            return 0
        feeds = read_feeds(options.folder)
        progress = None if feeds else Progress.read(options.folder)
        if not feeds and (options.json or options.opml or options.prometheus):
            raise ValueError(f"{options.folder} must be the state of a crawl of `run` for this")
        if options.opml:
            Path(options.opml).write_bytes(feeds_opml(feeds))
        if options.html:
            page = progress.page() if progress else feeds_page(feeds)
            Path(options.html).write_text(page, encoding="utf-8")
        if options.json:
            print(json.dumps(feeds, indent=1, ensure_ascii=False))
        elif options.prometheus:
            print(feeds_prometheus(feeds), end="")
        else:
            print(progress.text() if progress else feeds_text(feeds))
    except (OSError, ValueError, sqlite3.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _crawl_on_cluster(options: argparse.Namespace) -> int:
    """Run the crawl of the Scrapy project in this folder in several processes."""
    try:
        from distributed import Client, LocalCluster
        from scrapy.utils.project import get_project_settings

        from analysis.crawl.cluster import crawl_on_cluster
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


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description, parser.epilog = "Crawl feeds; items go to a file of JSON Lines.", RUN_HELP
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("feeds", metavar="FEEDS", help="list of feeds, or an address")
    add("--out", default="items.jsonl", help="file to which items are appended (items.jsonl)")
    add("--state", help="folder of the state (that of --out with .state in place of .jsonl)")
    add("--contact", help="your address of mail or web, which sites see; please give one")
    add("--every", type=_seconds, help="time from one round to the next, as in 30m (1h)")
    add("--budget", type=_positive, help="fetches in a round (each feed every 4h on average)")
    add(
        "--policy",
        help="which feeds come next: index (by what new items are expected to be worth; default), "
        "lagrangian (by what a fetch gains over a wait, at a price; see below) or round-robin (in "
        "turn)",
    )
    add("--max-age", type=_seconds, help="time after which a feed comes before others (7d)")
    add("--max-size", type=_size, help="largest feed in MiB (10)")
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--rounds", type=_positive, help="rounds of this run (until you end it)")
    end.add_argument("--until", type=_date, help="time after which no round begins, in ISO 8601")
    add("--log", help="file for all that happens, fetch by fetch")
    pings = parser.add_argument_group("pings", PINGS_HELP)
    add = pings.add_argument
    add("--callback", metavar="URL", help="address at which hubs and senders of pings reach you")
    add("--listen", metavar="HOST:PORT", help="where it leads to here (127.0.0.1:8090)")
    add("--pings", metavar="FILE", help="file or pipe of pings, an address a line")
    add("--dated", metavar="URL", action="append", help="sitemap, OPML or feed that dates feeds "
        "of the list; read once in a round; may be given several times")  # fmt: skip
    add = parser.add_argument
    add("--logins", metavar="FILE", help="logins: on each line address, user and password")
    add("--local", action="store_true", help="fetch from addresses of your own network, too")


def _seconds(text: str) -> float:
    """Return the seconds of a time such as 90s, 30m, 1h or 7d."""
    try:
        return read_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _size(text: str) -> float:
    if not re.fullmatch(r"\d{1,4}(\.\d+)?", text) or not 0.1 <= float(text) <= 1024:
        raise argparse.ArgumentTypeError(f"must be a number from 0.1 to 1024, got {text!r}")
    return float(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10**9:
        raise argparse.ArgumentTypeError(f"must be an integer from 1 to 1000000000, got {text!r}")
    return int(text)


def _date(text: str) -> float:
    """Return the Unix time of a date, which is local without a time zone."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(f"must be as 2030-01-31T18:00, got {text!r}") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m analysis.crawl", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _add_run_options(commands.add_parser("run", help="crawl feeds into a file of JSON Lines"))
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
    status = commands.add_parser("status", help="show how a crawl goes, running or not")
    status.add_argument("folder", help="its folder: that of the state of `run`, or its JOBDIR")
    form = status.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print what is known of feeds as JSON")
    form.add_argument("--prometheus", action="store_true", help="print metrics for Prometheus")
    status.add_argument("--opml", help="file to which the list of feeds is written, too")
    status.add_argument("--html", help="file to which it is written as a page, too")
    ask = commands.add_parser(
        "ask", help="fetch feeds at their next turn that are gone, forbidden or resting"
    )
    ask.add_argument("folder", help="the state of the crawl")
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
