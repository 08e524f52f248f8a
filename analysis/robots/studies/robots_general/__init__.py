"""Laws of the indexing time, and the queue of pages simulated against its exact cost.

Indexing times have mean 1 and one of the laws of `LAWS`; each law comes with the way in which it is
drawn, which knows nothing of `analysis.robots.general.mg1k`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from analysis.checks import check_choice
from analysis.results import Estimate
from analysis.robots.controlled.control import RobotControl
from analysis.robots.general import mg1k
from analysis.robots.general.mg1k import ServiceLaw, general_cost, optimal_general_robots
from analysis.robots.general.simulation import Sampler, simulate_queue

LAWS = ("constant", "Erlang-3", "exponential", "lognormal", "hyper-exponential")


def service_law(law: str, variation: float) -> ServiceLaw:
    """Return a law of mean 1; the squared variation holds for the last two of `LAWS`."""
    laws = {
        "constant": mg1k.deterministic,
        "Erlang-3": lambda: mg1k.erlang(3),
        "exponential": mg1k.exponential,
        "lognormal": lambda: mg1k.lognormal(variation),
        "hyper-exponential": lambda: mg1k.hyperexponential(variation),
    }
    return laws[check_choice("law", law, LAWS)]()


def reader_law(own_law: str, own_shape: float) -> ServiceLaw:
    """Return a continuous law of `scipy.stats` by its name and its shape, scaled to mean 1.

    Raises
    ------
    ValueError
        If there is no such law of one shape, or none of its means, variances and tails that
        `from_scipy` takes.
    """
    family = getattr(stats, own_law, None)
    if not isinstance(family, stats.rv_continuous) or family.numargs != 1:
        raise ValueError(
            f"own_law must be a continuous law of scipy.stats with one shape, got {own_law!r}"
        )
    with np.errstate(all="ignore"):
        scaled = family(own_shape, scale=1.0 / family(own_shape).mean())
        try:
            return mg1k.from_scipy(scaled, name=f"{own_law}({own_shape:g})")
        except ValueError as error:
            raise ValueError(
                f"own_law at own_shape = {own_shape:g} is not taken, got {own_law}: {error}"
            ) from None


def service_sampler(law: str, variation: float) -> Sampler:
    """Return how the law's indexing times are drawn."""
    sigma = float(np.sqrt(np.log1p(variation)))
    share = 0.5 * (1.0 + np.sqrt(max(variation - 1.0, 0.0) / (variation + 1.0)))
    samplers: dict[str, Sampler] = {
        "constant": lambda rng, size: np.ones(size),
        "Erlang-3": lambda rng, size: rng.gamma(3.0, 1.0 / 3.0, size),
        "exponential": lambda rng, size: rng.exponential(1.0, size),
        "lognormal": lambda rng, size: rng.lognormal(-(sigma**2) / 2.0, sigma, size),
        "hyper-exponential": lambda rng, size: (
            rng.exponential(1.0, size)
            / (2.0 * np.where(rng.random(size) < share, share, 1.0 - share))
        ),
    }
    return samplers[check_choice("law", law, LAWS)]


@dataclass(frozen=True)
class SimulatedCase:
    """A queue to simulate, with indexing times of mean 1, and its exact cost.

    Parameters
    ----------
    law : str
        One of `LAWS`.
    robots : int
        Robots; all active at all times, unless a policy starts and stops them.
    arrival_rate : float
        Pages that one active robot brings per unit of time.
    capacity : int
        Places in the queue.
    gamma : float
        Weight of starvation.
    exact : float
        Exact cost per unit of time.
    variation : float
        Squared coefficient of variation of the last two of `LAWS`.
    policy : ndarray of bool, optional
        Where robots are started, as `analysis.robots.RobotControl` has it.
    horizon, warmup : float
        Length of a run, and of the part at its start that is not counted.
    """

    law: str
    robots: int
    arrival_rate: float
    capacity: int
    gamma: float
    exact: float
    variation: float = 1.0
    policy: NDArray[np.bool_] | None = None
    horizon: float = 2500.0
    warmup: float = 100.0


def best_fixed(
    law: str, arrival_rate: float, capacity: int, gamma: float, **options: Any
) -> SimulatedCase:
    """Return the queue with the best fixed number of robots for a law."""
    service = service_law(law, options.get("variation", 1.0))
    robots = optimal_general_robots(arrival_rate, gamma, capacity, service)
    exact = general_cost(robots * arrival_rate, gamma, capacity, service)
    return SimulatedCase(law, robots, arrival_rate, capacity, gamma, exact, **options)


def under_control(
    robots: int, arrival_rate: float, capacity: int, gamma: float, **options: Any
) -> SimulatedCase:
    """Return the optimally controlled queue, with exponential indexing times."""
    # So small a model is solved before the kernels of the censored method are compiled.
    optimum = RobotControl(robots, arrival_rate, 1.0, capacity, gamma).solve("sparse")
    model = "exponential", robots, arrival_rate, capacity, gamma, optimum.gain
    return SimulatedCase(*model, policy=optimum.policy, **options)


def simulated_cost(case: SimulatedCase, rng: np.random.Generator) -> float:
    """Return the cost per unit of time over one run."""
    run = simulate_queue(
        case.robots,
        case.arrival_rate,
        case.capacity,
        service_sampler(case.law, case.variation),
        horizon=case.horizon,
        warmup=case.warmup,
        policy=case.policy,
        rng=rng,
    )
    return run.cost(case.gamma)


def simulate_all(cases: Sequence[SimulatedCase], replications: int, seed: int) -> pd.DataFrame:
    """Simulate each case several times, and set its mean beside the exact cost."""
    generators = np.random.default_rng(seed).spawn(len(cases))
    runs = [
        Estimate.of([simulated_cost(case, rng) for _ in range(replications)])
        for case, rng in zip(cases, generators, strict=True)
    ]
    return pd.DataFrame(
        {
            "indexing times": [case.law for case in cases],
            "robots": [case.robots for case in cases],
            "controlled": [case.policy is not None for case in cases],
            "exact": [case.exact for case in cases],
            "simulated": [run.value for run in runs],
            "half-width": [run.high - run.value for run in runs],
        }
    )


def contains(check: pd.DataFrame) -> int:
    """Count the intervals of `simulate_all` that contain the exact cost."""
    return int(((check["simulated"] - check["exact"]).abs() <= check["half-width"]).sum())
