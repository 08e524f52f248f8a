"""Random content: compound Poisson arrivals, equation (19) of the report.

During one epoch of length T, items appear at source i as a Poisson process of rate Lambda_i. An
item has a random utility xi with mean xibar_i, which fades as exp(-mu_i t), so that at the end of
the epoch the items have brought

    U_i = sum_n xi_n exp(-mu_i s_n),   s_n uniform on (0, T): the time since the item appeared,
    E U_i = u_i,   Var U_i = Lambda_i E[xi^2] (1 - exp(-2 mu_i T)) / (2 mu_i),
    X_i(t+1) = alpha_i X_i(t) + U_i(t+1)   if passive,   U_i(t+1) if active.                  (19)

The documents say nothing on the law of xi beyond its mean; `Utility` offers six. All laws have mean
one and are multiplied by xibar_i.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), section 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from analysis.checks import check_choice, check_integer, check_kind, check_number
from analysis.ephemeral.sources import Sources

Floats = NDArray[np.float64]

LAWS = ("deterministic", "exponential", "uniform", "gamma", "lognormal", "pareto")
GAMMA = LAWS.index("gamma")
#: A gamma utility of variation c is c G W, with G of shape 1 + 1/c, W = exp(-c E), E exponential.
#: Where c is above `RARE`, items with c E above `NEGLIGIBLE`, W below 1e-13, are not drawn.
NEGLIGIBLE, RARE = 30.0, 40.0


@dataclass(frozen=True)
class Utility:
    """Law of an item's utility, scaled to mean one.

    Parameters
    ----------
    law : {"deterministic", "exponential", "uniform", "gamma", "lognormal", "pareto"}
        Uniform is on (0, 2); Pareto is of the first kind.
    variation : float, optional
        Squared coefficient of variation, positive; for gamma and lognormal, and only for them.
    tail_index : float, optional
        Exponent of the Pareto tail, above 1 (the mean is infinite otherwise); for Pareto only.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> Utility('gamma', variation=4.0).second_moment
    5.0
    """

    law: str = "exponential"
    variation: float | None = None
    tail_index: float | None = None

    def __post_init__(self) -> None:
        check_choice("law", self.law, LAWS)
        wanted = {"gamma": "variation", "lognormal": "variation", "pareto": "tail_index"}
        lowest = {"variation": 0.0, "tail_index": 1.0}
        for name, low in lowest.items():
            value = getattr(self, name)
            if wanted.get(self.law) == name:
                number = check_number(name, value, low, np.inf, low_open=True, high_open=True)
                object.__setattr__(self, name, number)
            elif value is not None:
                raise ValueError(f"{name} must be left out for the law {self.law!r}, got {value!r}")

    @property
    def second_moment(self) -> float:
        """E[xi^2] at mean one; infinite for a Pareto tail index of 2 or less."""
        if self.law == "pareto":
            a = self._parameter
            return (a - 1) ** 2 / (a * (a - 2)) if a > 2 else np.inf
        fixed = {"deterministic": 1.0, "exponential": 2.0, "uniform": 4 / 3}
        return fixed.get(self.law, 1.0 + self._parameter)

    @property
    def _parameter(self) -> float:
        """The one parameter of the law, 0 for those without."""
        return self.variation or self.tail_index or 0.0


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Generator of the random content that appears at each source in each epoch.

    Parameters
    ----------
    sources : Sources
        N sources.
    utility : Utility or sequence of Utility
        One law for all sources, or one a source.

    Raises
    ------
    ValueError
        If the number of laws is neither one nor N.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import four_sources
    >>> Arrivals(four_sources()).sample(10, np.random.default_rng(0)).shape
    (4, 10)
    """

    sources: Sources
    utility: Utility | Sequence[Utility] = Utility()

    def __post_init__(self) -> None:
        check_kind("sources", self.sources, Sources)
        check_kind("utility", self.utility, Utility, Iterable)
        laws = [self.utility] if isinstance(self.utility, Utility) else list(self.utility)
        laws = laws * len(self.sources) if len(laws) == 1 else laws
        if len(laws) != len(self.sources) or not all(isinstance(law, Utility) for law in laws):
            raise ValueError(
                f"utility must be one Utility, or one for each of the {len(self.sources)} sources, "
                f"got {self.utility!r}"
            )
        object.__setattr__(self, "utility", tuple(laws))

    @property
    def laws(self) -> tuple[Utility, ...]:
        """Law of the utility at each source."""
        assert not isinstance(self.utility, Utility)
        return tuple(self.utility)

    @property
    def mean(self) -> Floats:
        """E U_i, which is u_i; shape (N,)."""
        return self.sources.u

    @property
    def variance(self) -> Floats:
        """Var U_i, infinite where the utility has no second moment; shape (N,)."""
        s = self.sources
        second = np.array([law.second_moment for law in self.laws]) * s.mean_utility**2
        return s.arrival_rate * second * -np.expm1(-2 * s.decay) / (2 * s.decay_rate)

    def sample(self, epochs: int, rng: np.random.Generator) -> Floats:
        """Draw the content U_i that each epoch brings.

        Parameters
        ----------
        epochs : int
            Number of epochs, at least 1.
        rng : numpy.random.Generator
            Source of randomness. The sources are drawn one after the other.

        Returns
        -------
        ndarray, shape (N, epochs)
        """
        check_kind("rng", rng, np.random.Generator)
        check_integer("epochs", epochs, 1)
        s = self.sources
        content = np.empty((len(s), epochs))
        for i, law in enumerate(self.laws):
            mean_items = float(s.arrival_rate[i] * s.period)
            code = LAWS.index(law.law)
            _fill(rng, mean_items, float(s.decay[i]), code, law._parameter, content[i])
            content[i] *= s.mean_utility[i]
        return content


@njit(cache=True)
def _drawn_share(code: int, parameter: float) -> float:
    """Share of the items that is drawn; the others are too small to tell."""
    rare = code == GAMMA and parameter > RARE
    return -np.expm1(-NEGLIGIBLE / parameter) if rare else 1.0


@njit(cache=True)
def _utility(rng: np.random.Generator, code: int, parameter: float) -> float:
    """One utility of mean one; `code` is the position in LAWS."""
    if code == 0:
        return 1.0
    if code == 1:
        return rng.standard_exponential()
    if code == 2:
        return 2.0 * rng.random()
    if code == GAMMA and parameter <= RARE:
        return rng.standard_gamma(1.0 / parameter) * parameter
    if code == GAMMA:  # given that W is not negligible
        fall = -np.log1p(-_drawn_share(code, parameter) * rng.random()) * parameter
        return rng.standard_gamma(1.0 + 1.0 / parameter) * np.exp(-fall) * parameter
    if code == 4:
        variance = np.log1p(parameter)
        return np.exp(np.sqrt(variance) * rng.standard_normal() - 0.5 * variance)
    # 1 - random() is never zero.
    return (parameter - 1.0) / parameter * (1.0 - rng.random()) ** (-1.0 / parameter)


@njit(cache=True)
def _fill(
    rng: np.random.Generator,
    mean_items: float,
    decay: float,
    code: int,
    parameter: float,
    out: Floats,
) -> None:
    """Write one epoch's content after the other, for utilities of mean one."""
    mean_items *= _drawn_share(code, parameter)
    for epoch in range(out.size):
        total = 0.0
        for _ in range(rng.poisson(mean_items)):
            total += _utility(rng, code, parameter) * np.exp(-decay * rng.random())
        out[epoch] = total
