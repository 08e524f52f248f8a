"""Timetables of 10^4 to 10^6 sources, against the relaxed bound that they are certified by.

The bound is a part of the work: gaps and phases are the rest. The relaxed problem looks at every
source a few times, so its time says what any plan of so many sources takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.ephemeral import relaxed_bound, timetable
from analysis.ephemeral.instances import even_decay_sources
from benchmarks._timing import best, row

SIZES = (10**4, 10**5, 10**6)
CRAWLED = 10  # one source in so many is crawled in an epoch


def rows() -> Iterator[dict[str, Any]]:
    """Yield one comparison a size: gaps, phases and certificate, and the check of all of them."""
    for size in SIZES:
        sources, budget = even_decay_sources(size, np.random.default_rng(0)), size // CRAWLED
        runs = 3 if size < SIZES[-1] else 1
        bound, _ = best(lambda s=sources, m=budget: relaxed_bound(s, m), runs)
        ours, table = best(lambda s=sources, m=budget: timetable(s, m), runs)
        plain, powers = best(lambda s=sources, m=budget: timetable(s, m, odd_parts=(1,)), runs)
        checked, true = best(table.verify, runs)
        size_note = f"N = {size:.0e}, M = {budget:.0e}"
        for name, seconds, made in (
            ("timetable, best of several grids", ours, table),
            ("timetable of powers of two", plain, powers),
        ):
            note = f"{size_note}; loses {1 - made.average_reward / made.bound:.1e} of the bound"
            yield row(name, seconds, "relaxed bound alone", bound, note)
        note = f"{size_note}; {'true' if true else 'false'}"
        yield row("check of a timetable, for ever", checked, "relaxed bound alone", bound, note)
