"""Values of the page `many-copies`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.ephemeral.studies.many_copies.experiment import EXACT
from analysis.ephemeral.timetables.copies import LONGEST_PERIOD


def of_losses(frame: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the losses, from `experiment.losses`."""
    first = frame.groupby("instance").first()
    last = frame[frame.copies == frame.copies.max()]
    later = frame[frame.copies > 1]
    return {
        "sets": len(first),
        "fractional": int(first.enough.notna().sum()),
        "median": float(np.nan_to_num(np.ceil(first.enough).median())),
        "most": float(np.nan_to_num(np.ceil(first.enough).max())),
        "largest": int(last.copies.iloc[0]),
        "exact": int((last["two-level"] < EXACT).sum()),
        "index-exact": int((last["index"] < 1e-9).sum()),
        "index-mean": float(last["index"].mean()),
        "index-worst": float(last["index"].max()),
        "two-worst": float(last["two-level"].max()),
        "early": float((later["two-level"] < EXACT).mean()) if len(later) else 0.0,
        "one-two": float(frame[frame.copies == frame.copies.min()]["two-level"].mean()),
        "one-index": float(frame[frame.copies == frame.copies.min()]["index"].mean()),
        "fewest": int(frame.copies.min()),
        "longest-period": LONGEST_PERIOD,
    }
