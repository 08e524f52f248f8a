"""The progress of a crawl, read from its folder: as text for a terminal, and as an HTML page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from typing import Any

import pandas as pd

from analysis.crawl.frontier.state import FOUND
from analysis.crawl.storage.store import read_progress

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

        Raises ValueError if there is no crawl, or it has not ended an epoch yet.
        """
        crawl, sources, counts, epochs = read_progress(folder)
        epoch, summary = int(crawl["epoch"]), json.loads(crawl["summary"])
        whole = epochs.columns.drop("reward")
        epochs = epochs.astype(dict.fromkeys(whole, int))
        epochs = epochs.rename(columns={"not_modified": "not modified", "reward": "worth"})
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
        tables = [("Last epochs", self.epochs)]
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
        "epochs": f"{crawl['epoch']} of {crawl['seconds']:g} s each",
        "began": f"{datetime.fromtimestamp(began, UTC):%Y-%m-%d %H:%M:%S} UTC",
        "policy": str(crawl["policy"]),
        "sources": ", ".join(f"{count} {kind}" for kind, count in kinds.items()),
        "fetches": f"{counts['fetches']:.0f}, {counts['not_modified']:.0f} of them not modified",
        "items": f"{counts['items']:.0f}, worth {counts['reward']:.6g}",
        "last epoch": f"{summary['spent']} fetches of {summary['budget']}, {summary['late']} late",
        "ages (epochs)": _quantiles(summary["age"]),
    }
    return facts | ({"indices": _quantiles(summary["index"])} if summary["index"] else {})


def _quantiles(values: list[float]) -> str:
    return "{:.4g} (median), {:.4g} (90%), {:.4g} (largest)".format(*values)


def _troubled(sources: pd.DataFrame, epoch: int) -> pd.DataFrame:
    bad = sources[~sources["kind"].isin([FOUND, ""])].sort_values("failures", ascending=False)
    rest = (bad["rest_until"] - epoch).clip(lower=0).astype(str)
    table = pd.DataFrame(
        {
            "source": bad["name"],
            "last fetch": bad["kind"],
            "failures": bad["failures"],
            "rest": rest.where(bad["kind"] != "gone", "for good"),
        }
    )
    return table.head(TROUBLED)
