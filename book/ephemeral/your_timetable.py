"""A timetable for a reader's own sources: lines of a crontab, and a certificate."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from analysis.ephemeral.timetables.table import Timetable
from scorecard import (
    COLOURS,
    add_panels,
    join_words,
    save_data,
    save_figure,
    save_table,
    save_values,
)

#: Rows of the crontab that the page shows; its data have all.
SHOWN = 20
#: Commands, with what a shell types before the name of a source.
COMMANDS = {"curl": "curl -sSO", "wget": "wget -q", "fetch": "fetch"}


def tabulate_crontab(table: Timetable, command: str, minutes: int) -> pd.DataFrame:
    """Return one row an entry: name, gap in epochs, and the line for cron."""
    lines = table.crontab(COMMANDS[command], minutes).splitlines()
    frame = table.to_frame()[["name", "gap"]]
    return frame.assign(hours=frame["gap"] * minutes / 60, line=lines)


# Values and tables


def save_crontab(entries: pd.DataFrame) -> None:
    """Save the lines of the crontab: all as data, the first of them as a table."""
    save_data(
        "your-timetable-entries",
        entries,
        "One row an entry of the timetable.",
        {
            "name": "name of the source",
            "gap": "epochs between two crawls",
            "hours": "hours between two crawls",
            "line": "line of the crontab",
        },
    )
    save_table(
        "your-timetable-crontab",
        entries.head(SHOWN)[["line"]],
        f"The crontab: {min(SHOWN, len(entries))} of {len(entries)} lines.",
        instances="your-timetable-entries",
    )


def save_certificate(table: Timetable) -> None:
    """Save what the timetable earns, and what no policy can pass."""
    save_values(
        "your-timetable",
        {
            "sources": len(table.sources),
            "crawled": len(set(table.source.tolist())),
            "earned": table.average_reward,
            "bound": table.bound,
            "margin": table.margin,
            "price": table.price,
            "verified": table.verify(),
        },
    )


# Figures


def draw_gaps(entries: pd.DataFrame) -> None:
    """Draw how many entries have each gap."""
    counts = entries.groupby("hours").size()

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.bar(range(len(counts)), counts, color=COLOURS[0], width=0.6)
        axis.set_xticks(range(len(counts)), [f"{hours:g}" for hours in counts.index])
        axis.set(xlabel="hours between two crawls", ylabel="entries")
        return counts.rename("entries").reset_index()

    save_figure(
        "your-timetable-gaps",
        draw,
        caption="Entries of the timetable by the hours between two crawls: "
        f"{join_words([f'{hours:g}' for hours in counts.index[:8]])}"
        f"{' and more' if len(counts) > 8 else ''}.",
        alt="Bars of the number of entries by the hours between two crawls: "
        + ", ".join(f"{count} at {hours:g}" for hours, count in counts.items())
        + ".",
        height=2.6,
    )
