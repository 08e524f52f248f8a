"""Memory, time and messages of an epoch on a cluster of machines, by calculation."""

from __future__ import annotations

from typing import Any

from analysis.checks import check_integer, check_number
from analysis.ephemeral.scheduler.machines.partition import NUMBERS_EXCHANGED

FLOAT = 8
"""Bytes of a number."""
PASS = 4 * FLOAT
"""Bytes that a bare pass transfers for each source: three arrays read, one written."""


def cluster_plan(
    sources: float,
    crawled: float,
    machines: int,
    bytes_per_source: float,
    bandwidth: float,
    passes: float,
) -> dict[str, Any]:
    """Return the requirements of an epoch on a cluster of machines with a common multiplier.

    `crawled` is the share of the sources that an epoch crawls, `bandwidth` that of a core's memory
    in bytes per second, and `passes` the time of the calendar's epoch in units of a bare pass. The
    result has ``sources``, ``memory`` in bytes and ``crawls`` of a machine; ``seconds`` of an epoch
    on one core of it; ``messages`` and ``bytes`` that the coordinator sends and receives in an
    epoch; ``indices``, the bytes that it would receive if every machine sent all its indices.
    """
    sources = check_number("sources", sources, 1)
    crawled = check_number("crawled", crawled, 0, 1, low_open=True)
    machines = check_integer("machines", machines, 1)
    own = sources / machines
    return {
        "sources": own,
        "memory": own * bytes_per_source,
        "crawls": own * crawled,
        "seconds": passes * own * PASS / check_number("bandwidth", bandwidth, 0, low_open=True),
        "messages": NUMBERS_EXCHANGED * machines,
        "bytes": NUMBERS_EXCHANGED * machines * FLOAT,
        "indices": sources * FLOAT,
    }
