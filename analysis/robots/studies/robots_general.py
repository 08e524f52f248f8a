"""Simulated replications of the queue of pages, for `analysis.sweep`.

Indexing times have mean 1 and one of the laws of `LAWS`; each law comes with the way in which it is
drawn, which knows nothing of `analysis.robots.general.mg1k`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.checks import check_choice
from analysis.robots.controlled.control import RobotControl
from analysis.robots.general import mg1k
from analysis.robots.general.mg1k import ServiceLaw, general_cost
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
    """A queue to simulate, with indexing times of mean 1.

    Parameters
    ----------
    law : str
        One of `LAWS`.
    robots : int
        Robots; all active at all times, unless they are controlled.
    arrival_rate : float
        Pages that one active robot brings per unit of time.
    capacity : int
        Places in the queue.
    gamma : float
        Weight of starvation.
    variation : float
        Squared coefficient of variation of the last two of `LAWS`.
    controlled : bool
        Start and stop robots by the optimal policy for exponential indexing times.
    horizon, warmup : float
        Length of a run, and of the part at its start that is not counted.
    """

    law: str
    robots: int
    arrival_rate: float
    capacity: int
    gamma: float
    variation: float = 1.0
    controlled: bool = False
    horizon: float = 2500.0
    warmup: float = 100.0

    def control(self) -> RobotControl:
        """Return the controlled queue with exponential indexing times."""
        return RobotControl(self.robots, self.arrival_rate, 1.0, self.capacity, self.gamma)

    def exact_cost(self) -> float:
        """Return what the simulation estimates; under control for exponential times only.

        Raises
        ------
        ValueError
            If robots are controlled and indexing times are not exponential.
        """
        if self.controlled:
            check_choice("law of a controlled queue", self.law, ("exponential",))
            return self.control().solve().gain
        law = service_law(self.law, self.variation)
        return general_cost(self.robots * self.arrival_rate, self.gamma, self.capacity, law)


def simulated_cost(case: SimulatedCase, rng: np.random.Generator) -> float:
    """Return the cost per unit of time over one run."""
    run = simulate_queue(
        case.robots,
        case.arrival_rate,
        case.capacity,
        service_sampler(case.law, case.variation),
        horizon=case.horizon,
        warmup=case.warmup,
        policy=case.control().solve().policy if case.controlled else None,
        rng=rng,
    )
    return run.cost(case.gamma)
