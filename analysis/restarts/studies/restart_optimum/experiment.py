"""Experiments (1) and (2), against the optimum.

Frames of systems are those of `analysis.restarts.systems.exact_costs`, with the ratios in
per cent of the optimum to the index policy added: ``alpha`` with ties to the lower arm,
``alpha_best`` and ``alpha_worst`` with ties broken in the best and in the worst way.
"""

from __future__ import annotations

import pandas as pd

from analysis.published import printed_number

#: Width of the bins of the histograms, in %; the slides print none.
BIN = 0.5


def with_ratios(exact: pd.DataFrame) -> pd.DataFrame:
    """Return the systems with the ratios in % of optimum to index policy, by ties."""
    plans = {"alpha": "index", "alpha_best": "index_best", "alpha_worst": "index_worst"}
    return exact.assign(**{name: 100 * exact.optimal / exact[plan] for name, plan in plans.items()})


def bands_of(systems: pd.DataFrame) -> pd.DataFrame:
    """Return where the ratios of each budget and generator lie."""
    grouped = systems.groupby(["budget", "kernel"], sort=False)
    low = printed_number("C-e12-lo")
    return pd.DataFrame(
        {
            "least": grouped.alpha.min(),
            "5%": grouped.alpha.quantile(0.05),
            "median": grouped.alpha.median(),
            f"below {low:g}": grouped.alpha.apply(lambda ratios: int((ratios < low).sum())),
            "worst ties": grouped.alpha_worst.min(),
            "best ties": grouped.alpha_best.min(),
            "greatest": grouped.alpha.max(),
        }
    )
