"""Arrival rates from a training period, with and without a prior.

The plain estimate of a source's rate is its number of items over the hours watched. It is biased
upwards for the sources that look best (the winner's curse), and is 0 for a source without an item.
With a gamma prior of shape a and rate b the numbers of items are negative binomial, whose
likelihood gives a and b, and the estimate is (n + a) / (hours + b).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

from analysis.arrays import Floats, Ints
from analysis.checks import check_integer, check_number
from analysis.trace.trace import HOUR, Trace


def trained_rates(trace: Trace, begin: int, end: int) -> Floats:
    """Return the items per hour of each source in [begin, end), in seconds; shape (N,)."""
    end = check_integer("end", end, begin + 1)
    return trace.counts(begin, end) / ((end - begin) / HOUR)


def gamma_prior(counts: Ints, hours: float) -> tuple[float, float]:
    """Return shape and rate (in hours) of the gamma law of the rates, by maximum likelihood.

    `counts`, shape (N,), has the items of at least two sources in `hours`. ValueError if no source
    has an item, RuntimeError if the search finds no maximum of the likelihood.
    """
    hours = check_number("hours", hours, 0, low_open=True)
    if counts.sum() == 0:
        raise ValueError("counts must not all be 0: there is nothing to fit")
    mean = counts.mean()

    def minus_log_likelihood(log_parameters: Floats) -> float:
        a, b = np.exp(log_parameters)
        share = hours / (hours + b)
        terms = gammaln(counts + a) - gammaln(a) + a * np.log1p(-share) + counts * np.log(share)
        return -float(terms.sum())

    begin = np.log([1.0, hours / mean])
    fit = minimize(
        minus_log_likelihood, begin, method="Nelder-Mead",
        bounds=[(-12, 12), (np.log(hours) - 20, np.log(hours) + 20)],
        options={"xatol": 1e-6, "fatol": 1e-8, "maxiter": 2000},
    )  # fmt: skip
    if not fit.success:
        raise RuntimeError(f"the gamma prior did not converge: {fit.message}")
    a, b = np.exp(fit.x)
    return float(a), float(b)


def shrunk_rates(counts: Ints, hours: float, prior: tuple[float, float]) -> Floats:
    """Return the posterior mean of each rate, items per hour; shape (N,)."""
    return np.asarray((counts + prior[0]) / (hours + prior[1]), dtype=np.float64)
