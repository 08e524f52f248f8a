"""Random content: compound Poisson arrivals, equation (19) of the report.

During one epoch of length T, items appear at source i as a Poisson process of rate Lambda_i. An
item has a random utility xi with mean xibar_i, which fades as exp(-mu_i t), so that at the end of
the epoch the items have brought

    U_i = sum_n xi_n exp(-mu_i s_n),   s_n uniform on (0, T): the time since the item appeared,
    E U_i = u_i,   Var U_i = Lambda_i E[xi^2] (1 - exp(-2 mu_i T)) / (2 mu_i),
    X_i(t+1) = alpha_i X_i(t) + U_i(t+1)   if passive,   U_i(t+1) if active.                  (19)

The documents say nothing on the law of xi beyond its mean; `Utility` offers six. All laws have mean
one and are multiplied by xibar_i.

Items are drawn one by one, but for gamma (and exponential) utilities of shape a <= 1, where U is
drawn at once. A gamma variable of shape a and scale p >= alpha is one of shape a + J and scale
alpha, J negative binomial with success probability alpha/p. All items have then the same scale,

    U = (alpha / a) G,   G gamma of shape  sum_k (a + k) N_k,   k = 0, 1, ...,
    N_k Poisson of mean  Lambda/mu I_{1-alpha}(k + 1, a) / (a + k),

with N_k the items of J = k, as s is uniform, and I the regularised incomplete beta function. For
a = 1 the shape is itself negative binomial: Lambda/mu successes of probability alpha.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), section 7; for a = 1, Cufaro
Petroni and Sabino, Quant. Finance 21 (2021), on gamma-driven Ornstein-Uhlenbeck processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from analysis.checks import (
    Rng,
    check_array,
    check_choice,
    check_integer,
    check_kind,
    check_number,
    check_rng,
)
from analysis.display import brief
from analysis.ephemeral.sources import Sources

Floats = NDArray[np.float64]

LAWS = ("deterministic", "exponential", "uniform", "gamma", "lognormal", "pareto")
#: Longest decay over which the contents of gamma utilities are drawn at once, in pieces if longer.
LONGEST_DECAY = 1.0
#: Longest decay of a gamma utility that is drawn at once: what has faded to 1e-11 is left out.
FADED = 25.0
#: Items expected per epoch, of one J, below which they are left out.
NEGLIGIBLE = 1e-16
#: Items drawn at once.
BLOCK = 1 << 14
#: Most items expected per epoch of one source: all of them are drawn where the law needs it.
MOST_ITEMS = 1e8


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
        required = {"gamma": "variation", "lognormal": "variation", "pareto": "tail_index"}
        lowest = {"variation": 0.0, "tail_index": 1.0}
        for name, low in lowest.items():
            value = getattr(self, name)
            if required.get(self.law) == name:
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


@brief
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

    def sample(self, epochs: int, rng: Rng) -> Floats:
        """Draw the content U_i that each epoch brings.

        Parameters
        ----------
        epochs : int
            Number of epochs, at least 1.
        rng : numpy.random.Generator or seed
            Source of randomness. Sources of exponential utilities are drawn together, then the
            others one after the other.

        Returns
        -------
        ndarray, shape (N, epochs)

        Raises
        ------
        ValueError
            If an argument is wrong, or a source has more than 1e8 items an epoch.
        """
        rng = check_rng(rng)
        epochs = check_integer("epochs", epochs, 1)
        s = self.sources
        items, content = s.arrival_rate * s.period, np.empty((len(s), epochs))
        check_array("arrival_rate * period", items, 0, MOST_ITEMS)
        simple = np.array([law.law == "exponential" for law in self.laws])
        content[simple] = _exponential_content(items[simple], s.decay[simple], epochs, rng)
        for i in np.flatnonzero(~simple):
            law = self.laws[i]
            at_once = law.law == "gamma" and law._parameter >= 1.0
            arguments = law, float(items[i]), float(s.decay[i]), epochs, rng
            content[i] = _gamma_content(*arguments) if at_once else _sums_by_item(*arguments)[0]
        content *= s.mean_utility[:, None]
        return content

    def sample_aged(self, epochs: int, rng: Rng) -> tuple[Floats, Floats]:
        """Draw the content that each epoch brings, item by item, and that content times its age.

        Parameters
        ----------
        epochs : int
            Number of epochs, at least 1.
        rng : numpy.random.Generator or seed
            Source of randomness.

        Returns
        -------
        content, aged : ndarray, shape (N, epochs)
            Sums over the items of an epoch, at its end: of worth, and of worth times age, in
            epochs.

        Raises
        ------
        ValueError
            As `sample` does.
        """
        rng = check_rng(rng)
        epochs = check_integer("epochs", epochs, 1)
        s = self.sources
        items = s.arrival_rate * s.period
        check_array("arrival_rate * period", items, 0, MOST_ITEMS)
        drawn = np.array(
            [
                _sums_by_item(law, float(rate), float(decay), epochs, rng)
                for law, rate, decay in zip(self.laws, items, s.decay, strict=True)
            ]
        )
        drawn *= s.mean_utility[:, None, None]
        return drawn[:, 0], drawn[:, 1]


def _exponential_content(
    items: Floats, decay: Floats, epochs: int, rng: np.random.Generator
) -> Floats:
    """Draw the content of each source, shape (N, epochs), for exponential utilities of mean one."""
    length = np.minimum(decay, FADED)[:, None]
    # A negative binomial number is Poisson with a gamma mean.
    mean = np.expm1(length) * rng.standard_gamma((items / decay)[:, None], (items.size, epochs))
    return np.asarray(np.exp(-length) * rng.standard_gamma(rng.poisson(mean)))


def _gamma_content(
    law: Utility, items: float, decay: float, epochs: int, rng: np.random.Generator
) -> Floats:
    """Draw the content of each epoch for gamma utilities of mean one and shape at most one."""
    lasting = min(decay, FADED)
    pieces = int(np.ceil(lasting / LONGEST_DECAY))
    shape, length = 1.0 / law._parameter, lasting / pieces
    alpha, ratio = np.exp(-length), items / decay
    scale = alpha / shape * np.exp(-length * np.arange(pieces))
    number = np.arange(np.ceil(np.log(NEGLIGIBLE) / np.log(-np.expm1(-length))))
    mean = ratio * betainc(number + 1.0, shape, -np.expm1(-length)) / (shape + number)
    content = np.zeros(epochs)
    for factor in scale:
        total = np.zeros(epochs)
        for k in number[mean > NEGLIGIBLE].astype(int):
            total += (shape + k) * rng.poisson(mean[k], epochs)
        content += factor * rng.standard_gamma(total)
    return content


def _sums_by_item(
    law: Utility, items: float, decay: float, epochs: int, rng: np.random.Generator
) -> Floats:
    """Draw worth, and worth times age, of each epoch's items, of mean utility one; shape (2, T)."""
    sums = np.zeros((2, epochs))
    block = max(1, int(BLOCK / (1.0 + items)))
    for first in range(0, epochs, block):
        columns = sums[:, first : first + block]
        number = np.asarray(rng.poisson(items, columns.shape[1]))
        age = rng.random(int(number.sum()))
        worth = _items(law, decay * age, rng)
        nonempty = number > 0  # an empty sum would be the next item
        starts = (np.cumsum(number) - number)[nonempty].astype(np.intp)
        columns[0, nonempty] = np.add.reduceat(worth, starts)
        columns[1, nonempty] = np.add.reduceat(worth * age, starts)
    return sums


def _items(law: Utility, fading: Floats, rng: np.random.Generator) -> Floats:
    """Draw a utility of mean one for each item, and let it fade: exp(-fading) of it is left."""
    parameter = law._parameter
    if law.law == "lognormal":
        variance = np.log1p(parameter)
        normal = rng.standard_normal(fading.size)
        return np.exp(np.sqrt(variance) * normal - (0.5 * variance + fading))
    if law.law == "pareto":
        growth = rng.standard_exponential(fading.size) / parameter
        return (parameter - 1.0) / parameter * np.exp(growth - fading)
    worth = np.exp(-fading)
    if law.law == "exponential":
        worth *= rng.standard_exponential(fading.size)
    elif law.law == "uniform":
        worth *= 2.0 * rng.random(fading.size)
    elif law.law == "gamma":
        worth *= parameter * rng.standard_gamma(1.0 / parameter, fading.size)
    return worth
