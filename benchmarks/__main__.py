"""Speed against peers, as ratios within one run: ``python -m benchmarks [name ...]``.

Each module of this folder has a function ``rows()`` that times one comparison after another and
yields a dict with the keys name, ours_s, peer, peer_s, ratio (peer_s / ours_s) and note. Seconds
depend on the machine and are only shown; the file keeps the ratios, and how many cores there were.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
OUTPUT = FOLDER.parent / "book" / "_build" / "benchmarks.csv"
COLUMNS = ("benchmark", "name", "peer", "ratio", "note", "cpus")


def main(arguments: list[str] | None = None) -> None:
    """Run benchmarks, show their rows as they come, and keep them in a CSV file."""
    known = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"any of {', '.join(known)}; all by default"
    )
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, help="CSV file (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in known:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(known)}")
    chosen = list(dict.fromkeys(options.names or known))
    keep(options.output, chosen, show(timed(chosen)))


def timed(names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of each benchmark with its name and the number of cores."""
    for name in names:
        for row in import_module(f"benchmarks.{name}").rows():
            yield {"benchmark": name, "cpus": len(os.sched_getaffinity(0)), **row}


def show(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Print each row when it comes, and pass it on."""
    print(f"{'benchmark':<12} {'ours':>10} {'peer':>10} {'ratio':>9}  what, against what")
    for row in rows:
        what = f"{row['name']}, against {row['peer']}" + f" ({row['note']})" * bool(row["note"])
        ours, peer = in_units(row["ours_s"]), in_units(row["peer_s"])
        print(
            f"{row['benchmark']:<12} {ours:>10} {peer:>10} {row['ratio']:>9.3g}  {what}", flush=True
        )
        yield row


def in_units(seconds: float) -> str:
    """Write a time in the largest unit in which it is at least one."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def three_digits(ratio: float) -> str:
    """Write a ratio with three digits and no exponent."""
    return f"{float(f'{ratio:.3g}'):g}"


def keep(path: Path, chosen: list[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the rows once all are there, with what the file holds of other benchmarks."""
    table = [
        {column: row[column] for column in COLUMNS} | {"ratio": three_digits(row["ratio"])}
        for row in rows
    ]
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            table += [row for row in csv.DictReader(file) if row["benchmark"] not in chosen]
    table.sort(key=lambda row: str(row["benchmark"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(table)


if __name__ == "__main__":
    main()
