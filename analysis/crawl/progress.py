"""The progress of a crawl, read from its folder: as text for a terminal, and as an HTML page.

A crawl of the command ``run`` also has a file with what is known of each feed (`read_feeds`), which
the functions below write as text, as OPML and for Prometheus.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from itertools import repeat
from os import PathLike
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from analysis.crawl.clock import write_duration
from analysis.crawl.frontier.pinged import COUNTS
from analysis.crawl.frontier.state import FOUND
from analysis.crawl.store import read_progress

FEEDS = "feeds.json"
"""File of what is known of each feed of ``run``."""
POLICIES = {
    "index": "by index: feeds come first whose new items are expected to be worth most, by rates "
    "that are learned from their dates",
    "lagrangian": "by Lagrangian index: feeds come first that gain most by a fetch now, at the "
    "price of the budget and by rates that are learned from their dates",
    "round-robin": "in turn",
}
"""What the policies of ``run`` do, in words."""
HUB_METRICS = {
    "pings": "Pings of a hub.",
    "true": "Pings that announced a new item.",
    "false": "Pings that announced none.",
    "ignored": "Pings that were ignored.",
    "unknown": "Pings about no feed of the list.",
    "delivered": "Items that a hub delivered.",
    "recall": "Share of new items that a hub announces.",
    "precision": "Share of its pings that announce a new item.",
    "precision_low": "Lower end of the 95% interval of the precision.",
    "precision_high": "Upper end of the 95% interval of the precision.",
    "believed": "1 if its pings are believed, 0 if not.",
    "alive": "1 if a hub is not taken for dead, 0 if it is.",
}
"""Metrics of a hub."""
TROUBLED = 20
"""Sources in trouble that are shown."""


@dataclass(frozen=True)
class Progress:
    """The state of a crawl, running or stopped."""

    facts: dict[str, str]  # single facts, such as epochs and policy, by name
    epochs: pd.DataFrame  # the last epochs: fetches by outcome, new items and their value
    # Sources whose last fetch failed, or that are forbidden or gone: consecutive failures,
    # remaining epochs of rest.
    troubled: pd.DataFrame

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> Progress:
        """Read the saved state of a crawl from its folder.

        Before the end of the first epoch it has the number of fetches alone. Raises ValueError if
        there is no crawl.
        """
        crawl, sources, counts, epochs = read_progress(folder)
        if not crawl:
            facts = {"epochs": "none has ended yet", "fetches": f"{counts['fetches']:.0f} so far"}
            return cls(facts, epochs.head(0), sources.head(0))
        epoch, summary = int(crawl["epoch"]), json.loads(crawl["summary"])
        integer_columns = epochs.columns.drop("reward")
        epochs = epochs.astype(dict.fromkeys(integer_columns, int))
        epochs = epochs.rename(columns={"not_modified": "unchanged", "reward": "value"})
        return cls(_facts(crawl, sources, counts, summary), epochs, _troubled(sources, epoch))

    def text(self) -> str:
        """Return the progress as lines of text."""
        width = max(map(len, self.facts))
        lines = [f"{name:<{width}}  {value}" for name, value in self.facts.items()]
        for title, table in self._tables():
            lines += ["", title, table.to_string(index=False)]
        return "\n".join(lines)

    def page(self) -> str:
        """Return the progress as an HTML page without external resources."""
        facts = pd.DataFrame(self.facts.items()).to_html(index=False, header=False, border=0)
        tables = "".join(
            f"<h2>{title}</h2>{table.to_html(index=False, border=0)}"
            for title, table in self._tables()
        )
        style = "body{font:16px/1.5 sans-serif;margin:2em}td,th{padding:.1em .8em;text-align:right}"
        return (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Crawl</title>'
            f"<style>{style}</style></head><body><h1>Crawl</h1>{facts}{tables}</body></html>"
        )

    def _tables(self) -> list[tuple[str, pd.DataFrame]]:
        tables = [("Last epochs", self.epochs)] if len(self.epochs) else []
        if len(self.troubled):
            tables.append(("Sources in trouble", self.troubled))
        return tables


def _facts(
    crawl: dict[str, Any],
    sources: pd.DataFrame,
    counts: dict[str, float],
    summary: dict[str, Any],
) -> dict[str, str]:
    kinds = sources["kind"].replace("", "not fetched yet").value_counts()
    began = float(crawl["began"])
    facts = {
        "epochs": f"{crawl['epoch']} of {crawl['seconds']:g} s each; in each, sources are chosen "
        "and fetched",
        "began": f"{datetime.fromtimestamp(began, UTC):%Y-%m-%d %H:%M:%S} UTC",
        "policy": str(crawl["policy"]),
        "sources": ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        + " (by the last fetch)",
        "fetches": f"{counts['fetches']:.0f}, of which {counts['not_modified']:.0f} found the feed "
        "unchanged (HTTP 304)",
        "items": f"{counts['items']:.0f}, of total value {counts['reward']:.6g} when they were "
        "found",
        "last epoch": f"{summary['spent']} fetches ended, {summary['budget']} were allowed, "
        f"{summary['late']} went on after its end",
        "since last fetch (epochs)": _quantiles(summary["age"]),
    }
    if summary["index"]:
        facts["indices (expected gain of a fetch)"] = _quantiles(summary["index"])
    return facts


def _quantiles(values: list[float]) -> str:
    return "{:.4g} (median), {:.4g} (90%), {:.4g} (largest)".format(*values)


def _troubled(sources: pd.DataFrame, epoch: int) -> pd.DataFrame:
    bad = sources[~sources["kind"].isin([FOUND, ""])].sort_values("failures", ascending=False)
    epochs_left = (bad["rest_until"] - epoch).clip(lower=0).astype(str)
    table = pd.DataFrame(
        {
            "source": bad["name"],
            "last fetch": bad["kind"],
            "failed in a row": bad["failures"],
            "not fetched for (epochs)": epochs_left,
        }
    )
    return table.head(TROUBLED)


def read_feeds(folder: str | PathLike[str]) -> dict[str, Any]:
    """Return what is known of the feeds of a crawl of ``run``; empty if there is none.

    Parameters
    ----------
    folder : path
        Folder of the state.

    Returns
    -------
    dict
        every (seconds from one round to the next), policy, options (as given), rounds (ended),
        budget (fetches in a round), next_round (UTC), open (what of the feeds' counts belongs to
        the last round) and feeds, a list of dict: url, name, min_interval and max_interval (as in
        30m, or empty), status (HTTP, 0 without an answer) and reason (why the last fetch brought no
        feed, or empty), last (UTC, begin of the round of the last fetch), next (UTC, begin of the
        round in which the next is expected), fetches, items, failures (in a row), items_a_day (the
        learned rate, or None). If the crawl takes pings also hubs, a list of dict: hub (its address
        or name), subscriptions (number by state), reason (of the last that failed), pings, true,
        false, ignored, unknown (of no feed in the list), delivered (items), recall, precision,
        precision_low and precision_high (95% interval), alive, believed.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    path = Path(folder) / FEEDS
    if not path.is_file():
        return {}
    try:
        record: dict[str, Any] = json.loads(path.read_bytes())
        for feed in record["feeds"]:
            feed["url"], feed["reason"], feed["items"]
        record["every"], record["policy"], record["rounds"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged: delete it to begin its counts anew") from error
    return record


def _overview(record: dict[str, Any]) -> list[tuple[str, str]]:
    """Return name and value of what concerns all feeds."""
    feeds = record["feeds"]
    counts = {
        "fetched without trouble": sum(bool(f["last"]) and not f["reason"] for f in feeds),
        "in trouble": sum(bool(f["reason"]) for f in feeds),
        "not fetched yet": sum(not f["last"] for f in feeds),
    }
    policy = POLICIES.get(record["policy"], record["policy"])
    return [
        ("feeds", f"{len(feeds)}: " + ", ".join(f"{n} {name}" for name, n in counts.items())),
        ("items", f"{sum(feed['items'] for feed in feeds)} found"),
        (
            "rounds",
            f"{record['rounds']} passed; one every {write_duration(record['every'])}, with at most "
            f"{record['budget']} of the feeds, and all that were never fetched",
        ),
        ("next round", record["next_round"]),
        ("order", policy),
    ]


def feeds_table(record: dict[str, Any]) -> pd.DataFrame:
    """Return what is known of each feed as a table of text, feeds in trouble first."""
    feeds = sorted(record["feeds"], key=lambda feed: (not feed["reason"], -feed["failures"]))
    return pd.DataFrame(
        {
            "feed": [feed["url"] for feed in feeds],
            "HTTP": [str(feed["status"] or "") for feed in feeds],
            "failed in a row": [str(feed["failures"] or "") for feed in feeds],
            "items": [str(feed["items"]) for feed in feeds],
            "items a day (learned)": [
                "" if feed["items_a_day"] is None else f"{feed['items_a_day']:.2f}"
                for feed in feeds
            ],
            "fetches": [str(feed["fetches"]) for feed in feeds],
            "last fetch (UTC)": [_minutes(feed["last"]) or "none yet" for feed in feeds],
            "next fetch (expected)": [_minutes(feed["next"]) for feed in feeds],
            "trouble": [feed["reason"] for feed in feeds],
        }
    )


def _minutes(moment: str) -> str:
    return moment[:16].replace("T", " ")


def feeds_text(record: dict[str, Any]) -> str:
    """Return the feeds of a crawl as text, those in trouble first."""
    lines = [f"{name:<10}  {value}" for name, value in _overview(record)]
    table = feeds_table(record)
    troubled = table[table["trouble"] != ""]
    if len(troubled):
        lines += ["", "Feeds in trouble"]
        for row in troubled.to_dict("records"):
            lines += [
                f"  {row['feed']}",
                f"    {row['trouble']}; {row['failed in a row']} in a row",
            ]
    if record.get("hubs"):
        lines += ["", "Hubs and other senders of pings", hubs_table(record).to_string(index=False)]
    # The longest column is the last one.
    columns = [*table.columns.drop(["feed", "trouble"]), "feed"]
    return "\n".join([*lines, "", "All feeds", table[columns].to_string(index=False)])


def hubs_table(record: dict[str, Any]) -> pd.DataFrame:
    """Return what is known of hubs and other senders of pings as a table of text."""
    hubs = record.get("hubs", [])
    return pd.DataFrame(
        {
            "pings": [str(hub["pings"]) for hub in hubs],
            "true": [str(hub["true"]) for hub in hubs],
            "false": [str(hub["false"]) for hub in hubs],
            "ignored": [str(hub["ignored"] + hub["unknown"]) for hub in hubs],
            "items delivered": [str(hub["delivered"]) for hub in hubs],
            "recall": [f"{hub['recall']:.2f}" for hub in hubs],
            "precision": [f"{hub['precision']:.2f}" for hub in hubs],
            "95% interval": [
                f"{hub['precision_low']:.2f} to {hub['precision_high']:.2f}" for hub in hubs
            ],
            "believed": [
                "no, silent for too long"
                if not hub["alive"]
                else "yes"
                if hub["believed"]
                else "no"
                for hub in hubs
            ],
            "subscriptions": [
                ", ".join(f"{count} {state}" for state, count in hub["subscriptions"].items())
                + (f" ({hub['reason']})" if hub["reason"] else "")
                for hub in hubs
            ],
            "hub": [hub["hub"] for hub in hubs],
        }
    )


def feeds_page(record: dict[str, Any]) -> str:
    """Return the feeds of a crawl as an HTML page without external resources or scripts."""
    facts = "".join(
        f"<tr><th scope=row>{escape(name)}<td>{escape(value)}" for name, value in _overview(record)
    )
    feeds, hubs = feeds_table(record), ""
    if record.get("hubs"):
        hubs = f"<h2>Hubs and other senders of pings</h2>{_html_table(hubs_table(record))}"
    style = (
        ":root{color-scheme:light dark}body{font:15px/1.5 sans-serif;margin:1.5em}"
        "table{border-collapse:collapse}td,th{padding:.15em .7em;text-align:left;"
        "border-bottom:1px solid #8884}div{overflow-x:auto}td:first-child{overflow-wrap:anywhere;"
        "min-width:16em}.trouble{background:#f803}"
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Crawl</title>'
        f"<style>{style}</style></head><body><h1>Crawl</h1><table>{facts}</table>{hubs}"
        f"<h2>Feeds, those in trouble first</h2>{_html_table(feeds, feeds['trouble'] != '')}"
        "</body></html>\n"
    )


def _html_table(table: pd.DataFrame, is_marked: Iterable[bool] = repeat(False)) -> str:
    """Return a table of text in HTML, with some of its rows marked."""
    head = "".join(f"<th scope=col>{escape(name)}" for name in table.columns)
    rows = "".join(
        f"<tr{' class=trouble' * mark}>" + "".join(f"<td>{escape(cell)}" for cell in row)
        for row, mark in zip(table.itertuples(index=False, name=None), is_marked, strict=False)
    )
    return f"<div><table><thead><tr>{head}</thead><tbody>{rows}</tbody></table></div>"


def feeds_opml(record: dict[str, Any]) -> bytes:
    """Return the feeds of a crawl as OPML."""
    root = ElementTree.Element("opml", version="2.0")
    ElementTree.SubElement(ElementTree.SubElement(root, "head"), "title").text = "Feeds"
    body = ElementTree.SubElement(root, "body")
    for feed in record["feeds"]:
        facts = {"type": "rss", "text": feed["name"], "title": feed["name"], "xmlUrl": feed["url"]}
        for attribute, name in (("minInterval", "min_interval"), ("maxInterval", "max_interval")):
            if feed.get(name):
                facts[attribute] = feed[name]
        ElementTree.SubElement(body, "outline", facts)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def feeds_prometheus(record: dict[str, Any]) -> str:
    """Return the feeds of a crawl as metrics, in the text format of Prometheus."""
    feeds = record["feeds"]
    lines = []

    def add(name: str, kind: str, text: str, values: dict[str, Any]) -> None:
        lines.extend([f"# HELP crawl_{name} {text}", f"# TYPE crawl_{name} {kind}"])
        lines.extend(f"crawl_{name}{labels} {value}" for labels, value in values.items())

    def each(field: str) -> dict[str, Any]:
        return {
            f'{{feed="{_escaped(feed["url"])}"}}': feed[field]
            for feed in feeds
            if feed[field] is not None
        }

    add("rounds_total", "counter", "Rounds that have ended.", {"": record["rounds"]})
    add("feeds", "gauge", "Feeds in the list.", {"": len(feeds)})
    troubled = sum(bool(feed["reason"]) for feed in feeds)
    add("feeds_in_trouble", "gauge", "Feeds whose last fetch failed.", {"": troubled})
    add("feed_items_total", "counter", "Items found in a feed.", each("items"))
    add("feed_fetches_total", "counter", "Fetches of a feed.", each("fetches"))
    add("feed_failures", "gauge", "Failed fetches of a feed in a row.", each("failures"))
    add("feed_http_status", "gauge", "HTTP status of its last fetch, 0 for none.", each("status"))
    add("feed_items_per_day", "gauge", "Learned rate of a feed.", each("items_a_day"))
    if hubs := record.get("hubs"):
        for field, text in HUB_METRICS.items():
            kind = "counter" if field in COUNTS else "gauge"
            values = {f'{{hub="{_escaped(hub["hub"])}"}}': float(hub[field]) for hub in hubs}
            add(f"hub_{field}" + "_total" * (kind == "counter"), kind, text, values)
        active = {
            f'{{hub="{_escaped(hub["hub"])}"}}': hub["subscriptions"].get("active", 0)
            for hub in hubs
        }
        add("hub_subscriptions", "gauge", "Active subscriptions to a hub.", active)
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Return the value of a label as Prometheus writes it."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
