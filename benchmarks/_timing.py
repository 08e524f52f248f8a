"""What the benchmarks share: the shortest time of a few runs, and a row of the table."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any


def best(call: Callable[[], Any], runs: int = 5) -> tuple[float, Any]:
    """Return the shortest time of a few runs, after one to compile and warm up, and the result.

    With 0 runs the first one counts: for what takes long, and has run before on less.
    """
    times = []
    result = call() if runs else None
    for _ in range(max(runs, 1)):
        start = perf_counter()
        result = call()
        times.append(perf_counter() - start)
    return min(times), result


def row(name: str, ours: float, peer: str, theirs: float, note: str) -> dict[str, Any]:
    """Return a row: seconds of ours and of the peer for the same work, and their ratio."""
    return {
        "name": name,
        "ours_s": ours,
        "peer": peer,
        "peer_s": theirs,
        "ratio": theirs / ours,
        "note": note,
    }
