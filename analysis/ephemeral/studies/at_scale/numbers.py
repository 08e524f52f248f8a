"""Values of the page `at-scale`."""

from __future__ import annotations

import pandas as pd


def of_passes(measured: pd.DataFrame, passes: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the measured times, in bare passes."""
    last = passes.iloc[-1]
    return {
        "largest": int(passes.index[-1]),
        "first-below": int(passes.index[passes["calendar"] < 1].min()),
        "cpus": int(measured["cpus"].iloc[0]),
        "calendar-passes": last["calendar"],
        "printed-passes": last["printed"],
        "scan-passes": last["scan"],
        "speedup": last["printed"] / last["calendar"],
    }


def against_compiled_ranking(benchmarks: pd.DataFrame) -> dict[str, float]:
    """Return how many times as fast the calendar is as a compiled ranking of all ages.

    Keys: ``compiled-ratio`` at the largest number of sources, ``compiled-size``; ``compiled-low``
    and ``compiled-high``, least and largest ratio at the smallest number, ``compiled-smaller``,
    where every epoch of the calendar follows one of the ranking.
    """
    same = benchmarks["peer"].eq("compiled full ranking")
    rows = benchmarks[same & benchmarks["name"].eq("epoch of the calendar")]
    sizes = rows["note"].str.extract(r"N = (\S+),")[0].astype(float)
    ratio = rows["ratio"].groupby(sizes).agg(["min", "max"])
    if len(ratio) != 2 or (sizes == sizes.max()).sum() != 1:
        raise ValueError(f"benchmarks must rank two numbers of sources, got {sizes.tolist()}")
    few, many = ratio.index
    return {
        "compiled-ratio": float(ratio.loc[many, "max"]),
        "compiled-size": many,
        "compiled-low": float(ratio.loc[few, "min"]),
        "compiled-high": float(ratio.loc[few, "max"]),
        "compiled-smaller": few,
    }
