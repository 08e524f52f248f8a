"""Points drawn at random within the ranges that pages declare, and tables of sources with them.

Ranges are those of the parameters cell. What only makes a run longer, a number of epochs or of
replications, stays near the quick profile's; all else is drawn from its whole range, the ends of
the range and values beside them more often than others.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scorecard.running.notebooks import Notebook, Parameter, profile_parameters
from scorecard.values import FILES, split_choices

#: Whole numbers are drawn up to so many times the quick profile's value, or up to the least that
#: shows more than one of a kind.
_STRETCH, _FEW = 1.5, 4
#: Floats without a finite end, or over more decades, are drawn so many decades around the default.
_DECADES = 2.0
#: Chances of the low end, of the value next to it, and of the high end.
_ENDS = (0.2, 0.1, 0.15)
#: Chance that a parameter keeps its quick value.
_KEPT = 0.5


def draw_point(notebook: Notebook, rng: np.random.Generator, folder: Path) -> dict[str, Any]:
    """Draw one point of a page: some parameters anew, and a table or a trace where it takes one.

    Parameters
    ----------
    notebook : Notebook
        The page's notebook.
    rng : numpy.random.Generator
        Source of randomness.
    folder : Path
        Where tables and traces are written.

    Returns
    -------
    dict
        ``parameters``, and ``sources`` or ``trace``, the path of a file, where there is one.
    """
    point: dict[str, Any] = {}
    numbers: dict[str, Any] = {"N": 4}
    if "sources" in notebook.parameters and rng.random() < 0.6:
        kind = str(rng.choice(list(TABLES)))
        table = TABLES[kind](rng)
        numbers["N"] = len(table)
        point["sources"] = str(folder / f"{kind}-{rng.integers(10**9)}.csv")
        table.to_csv(point["sources"], index=False)
    if "trace" in notebook.parameters and rng.random() < 0.6:
        point["trace"] = str(folder / f"trace-{rng.integers(10**9)}.csv")
        drawn = draw_trace(rng)
        numbers["N"] = drawn["source"].nunique()
        drawn.to_csv(point["trace"], index=False)
    quick = notebook.resolve(profile_parameters("quick").get(notebook.name, {}))
    parameters = [p for p in notebook.parameters.values() if p.name not in FILES]
    for parameter in parameters:
        value = quick[parameter.name]
        if rng.random() > _KEPT:
            value = _draw(parameter, value, numbers, rng)
        elif parameter.ends and parameter.type == "int":
            low, high = _ends(parameter.allowed, numbers)
            value = int(min(max(value, low), high))
        numbers[parameter.name] = value
    return point | {"parameters": {p.name: numbers[p.name] for p in parameters}}


def _draw(
    parameter: Parameter, quick: Any, numbers: dict[str, Any], rng: np.random.Generator
) -> Any:
    if not parameter.type.startswith("list["):
        return _scalar(parameter.type, parameter, quick, numbers, rng)
    if not quick:  # an empty list stands for values that the page chooses
        return quick
    kind, centre = parameter.type[5:-1], quick[len(quick) // 2]
    drawn = [_scalar(kind, parameter, centre, numbers, rng) for _ in range(int(rng.integers(1, 4)))]
    return sorted(set(drawn))


def _scalar(
    kind: str,
    parameter: Parameter,
    quick: Any,
    numbers: dict[str, Any],
    rng: np.random.Generator,
) -> Any:
    allowed = parameter.allowed
    if allowed.startswith("{"):
        chosen = str(rng.choice(split_choices(allowed)))
        return {"int": int, "float": float}.get(kind, str)(chosen)
    if kind == "bool":
        return bool(rng.integers(2))
    if kind == "str":
        return quick
    low, high = _ends(allowed, numbers)
    if kind == "int":
        return _integer(int(low), high, int(quick), rng)
    return _float(low, high, float(quick), allowed, parameter.unit, rng)


def _ends(allowed: str, numbers: dict[str, Any]) -> tuple[float, float]:
    """Return the ends of a range; a whole number keeps away from an open end by one."""
    if allowed == "any":
        return 0.0, math.inf
    low, high = (end.strip() for end in allowed.strip("[]()").split(","))
    top = float(numbers[high] - (allowed[-1] == ")")) if high in numbers else float(high)
    return float(numbers.get(low, low)), top


def _integer(low: int, high: float, quick: int, rng: np.random.Generator) -> int:
    high = int(min(high, max(low + _FEW, _STRETCH * quick)))
    where = rng.random()
    if where < _ENDS[0]:
        return low
    if where < sum(_ENDS[:2]):
        return min(low + 1, high)
    if where < sum(_ENDS):
        return high
    drawn = math.exp(rng.uniform(math.log(max(low, 1)), math.log(max(high, 1))))
    return int(np.clip(round(drawn), low, high))


def _float(
    low: float, high: float, quick: float, allowed: str, unit: str, rng: np.random.Generator
) -> float:
    if unit == "time units" and low >= 100:  # the length of a run
        high = max(low, _STRETCH * quick)
    centre = abs(quick) or 1.0
    least = max(low, centre * 10**-_DECADES) if low >= 0 else low
    most = min(high, centre * 10**_DECADES)
    where = rng.random()
    if where < _ENDS[0]:
        return low if allowed[0] == "[" else least
    if where > 1 - _ENDS[2]:
        return (
            high if allowed[-1] == "]" and math.isfinite(high) else least + 0.999 * (most - least)
        )
    if rng.random() < 0.5 and least > 0:
        drawn = math.exp(rng.uniform(math.log(least), math.log(most)))
    else:
        drawn = rng.uniform(least, most)
    return float(f"{drawn:.3g}") if least < float(f"{drawn:.3g}") < most else float(drawn)


def _table(rates: Any, utilities: Any, decays: Any, costs: Any = None) -> pd.DataFrame:
    frame = pd.DataFrame({"arrival_rate": rates, "mean_utility": utilities, "decay_rate": decays})
    frame.insert(0, "name", [f"feed {chr(97 + n)}" for n in range(len(frame))])
    return frame if costs is None else frame.assign(cost=costs)


def _random(size: int, rng: np.random.Generator, *, costs: bool = False) -> pd.DataFrame:
    drawn = [10 ** rng.uniform(*ends, size) for ends in ((0, 2.5), (-1, 1), (-2, 0.7))]
    return _table(
        *(column.round(4) for column in drawn), rng.choice([1.0, 2.0, 5.0], size) if costs else None
    )


#: Tables of sources that make sentences false: by name, one draws a table.
TABLES: dict[str, Any] = {
    "alike": lambda rng: _table([20.0] * 4, [1.0] * 4, [0.5] * 4),
    "one": lambda rng: _random(1, rng),
    "two": lambda rng: _random(2, rng),
    "three": lambda rng: _random(3, rng),
    "seven": lambda rng: _random(7, rng),
    "dear": lambda rng: _random(7, rng, costs=True),
    "pairs": lambda rng: _table([8.0, 8.0, 4.0, 4.0], [1.0, 1.0, 0.5, 0.5], [0.2, 0.2, 0.1, 0.1]),
    "silent": lambda rng: _table([10.0, 0.0, 5.0], [1.0, 1.0, 0.0], [0.3, 0.3, 0.3]),
    "slow": lambda rng: _table([3.0, 2.0, 5.0], [1.0, 2.0, 0.5], [1e-6, 1e-3, 1e-2]),
    "fast": lambda rng: _table([3.0, 2.0, 5.0], [1.0, 2.0, 0.5], [5.0, 20.0, 50.0]),
    "many": lambda rng: _random(16, rng),
    "near ties": lambda rng: _table([10.0, 10.000001, 10.0], [1.0, 1.0, 1.000001], [0.3, 0.3, 0.3]),
}


def draw_trace(rng: np.random.Generator) -> pd.DataFrame:
    """Return a trace of two to six sources over five to thirty weeks, some almost silent."""
    begin = pd.Timestamp("2024-01-01")
    hours = 168.0 * int(rng.integers(5, 31))
    per_day = 10 ** rng.uniform(-1.0, 1.0, int(rng.integers(2, 7)))
    counts = np.maximum(rng.poisson(per_day * hours / 24), 3)
    rows = [
        (f"feed {chr(97 + n)}", begin + pd.Timedelta(hours=float(at)))
        for n, count in enumerate(counts)
        for at in np.sort(rng.uniform(0, hours, count))
    ]
    return pd.DataFrame(rows, columns=["source", "utc"]).sort_values("utc")
