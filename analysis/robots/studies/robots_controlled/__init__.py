"""Three optimal policies of the controlled queue, and the draft's algorithm that finds them.

The draft's own process, state by state, is in `process`, the pictures are in
`pictures`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.report import Claim, claim, save_value
from analysis.results import NotConverged
from analysis.robots.controlled.control import RobotControl
from analysis.robots.controlled.result import ControlSolution
from analysis.robots.printed.references import ReferenceRuns, every_reference
from analysis.robots.printed.relative import TOLERANCE, PrintedRun, proposition_4
from analysis.robots.static.mm1k import critical_gamma, static_cost

Floats = NDArray[np.float64]

#: Steps tau at which the number of updates is compared.
STEPS = (0.5, 0.8, 0.9, 0.99, 0.99999)
#: The step tau at which the printed theta is held against the optimum.
HALF = 0.5
#: A stop tight enough to stand for the limit of Proposition 4.
TIGHT = 1e-11
#: Runs from random h_0.
STARTS = 3
#: How near a cost at that tolerance must come to the optimum.
NEAR = 1e-8


@dataclass(frozen=True)
class Results:
    """What the page computes for the models of Figures 6 to 8.

    Attributes
    ----------
    models : list of RobotControl
        One for each weight.
    optima : list of ControlSolution
        Their exact optima.
    runs : list of PrintedRun
        Proposition 4 at the draft's stop, from the reference state (1,1,1) and h_0 = 0.
    references : list of ReferenceRuns
        Where it stops from every reference state.
    tolerance : float
        Bound of the stopping rule.
    updates : dict of float to int
        Updates of the middle model by tau.
    limits : list of PrintedRun
        The middle model at a tight stop, from random h_0 and several reference states.
    half_step : PrintedRun
        The middle model at a tight stop with tau = 0.5; none where rounding hides the stop.
    static : list of float
        Cost of the policy that keeps all robots active, as a policy of the decision process.
    gaps : int
        Exponential gaps between t_1 = 0 and t_10.
    """

    models: list[RobotControl]
    optima: list[ControlSolution]
    runs: list[PrintedRun]
    references: list[ReferenceRuns]
    tolerance: float
    updates: dict[float, int]
    limits: list[PrintedRun]
    half_step: PrintedRun | None
    static: list[float]
    gaps: int = 9


def solve_figures(
    models: Sequence[RobotControl], tolerance: float = TOLERANCE, seed: int = 1
) -> Results:
    """Solve the models of the three figures, exactly and as the draft does."""
    middle = models[len(models) // 2]
    return Results(
        models=list(models),
        optima=[model.solve() for model in models],
        runs=[proposition_4(model, tolerance=tolerance) for model in models],
        references=[every_reference(model, tolerance=tolerance) for model in models],
        tolerance=tolerance,
        updates={step: proposition_4(middle, step=step).updates for step in STEPS},
        limits=from_random_starts(middle, np.random.default_rng(seed)),
        half_step=tight_run(middle, step=HALF),
        static=[model.evaluate(model.static_policy()).gain for model in models],
    )


def from_random_starts(model: RobotControl, rng: np.random.Generator) -> list[PrintedRun]:
    """Run Proposition 4 to a tight stop from random h_0, with a reference state for each event.

    A run is left out where rounding hides when it should stop, as in queues that are hardly ever
    short of pages.
    """
    runs = []
    for q, r, s in ((1, 1, 1), (model.capacity, 0, 0), (0, model.robots, 2)):
        first = rng.normal(0.0, 100.0, (3, *model.shape))
        first[s, q, r] = 0.0
        runs.append(tight_run(model, initial=first, reference=(q, r, s)))
    return [run for run in runs if run]


def tight_run(model: RobotControl, **options: Any) -> PrintedRun | None:
    """Run Proposition 4 to a tight stop; there is none where rounding hides when to stop."""
    try:
        return proposition_4(model, tolerance=TIGHT, **options)
    except NotConverged:
        return None


@dataclass(frozen=True)
class Census:
    """How many of random models have a monotone switching curve as their optimum."""

    instances: int
    curves: int
    tiny: int


def census(instances: int, rng: np.random.Generator) -> Census:
    """Solve random models and count switching curves, and optima below 1e-8.

    N is up to 39, K up to 29, lambda in [0.01, 10] and gamma in [0.01, 100], with mu = 1.
    """
    curves = tiny = 0
    for _ in range(instances):
        robots, capacity = int(rng.integers(1, 40)), int(rng.integers(2, 30))
        rate, gamma = 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-2, 2)
        optimum = RobotControl(robots, rate, 1.0, capacity, gamma).solve()
        tiny += optimum.gain < 1e-8
        curves += optimum.is_switching_curve
    return Census(instances, curves, tiny)


def hits(found: Results, printed: Sequence[int]) -> list[int]:
    """Return, for each weight, how many reference states give the printed number of updates."""
    return [
        int((table.updates == n).sum()) for table, n in zip(found.references, printed, strict=True)
    ]


def are_curves(optima: Sequence[ControlSolution]) -> bool:
    """Whether every optimum is a switching curve."""
    return all(optimum.is_switching_curve for optimum in optima)


def curves_rise(optima: Sequence[ControlSolution]) -> str:
    """Say in words how the curve changes from each weight to the next."""
    if not are_curves(optima):
        return "Not every optimum is a switching curve."
    if len(optima) == 1:
        return ""
    steps = [np.diff(np.array([a.curve, b.curve]), axis=0) for a, b in itertools.pairwise(optima)]
    if all((step >= 0).all() and (step > 0).any() for step in steps):
        return "The more starvation weighs, the higher the curve."
    if all((step == 0).all() for step in steps):
        return "The weights share one curve."
    return "The curve does not rise at each step from one weight to the next."


def save_predicates(found: Results, agree: NDArray[np.bool_]) -> None:
    """Keep what the page's sentences depend on.

    Parameters
    ----------
    found : Results
    agree : ndarray of bool
        Which reference states give the compared counts for every weight.
    """
    falls = bool((np.diff(list(found.updates.values())) < 0).all())
    save_value("robots-controlled-states", int((found.references[0].updates >= 0).sum()))
    save_value("robots-controlled-hits", int(agree.sum()))
    save_value("robots-controlled-fewer-updates", falls)
    save_value("robots-controlled-are-curves", are_curves(found.optima))


def claims(found: Results) -> list[Claim]:
    """Return what the page says to Figures 6 to 8, Propositions 3 and 4, and the cost criterion."""
    return [*_figures(found), *_inputs(found), *_proposition_4(found), *_criterion(found)]


def _figures(found: Results) -> list[Claim]:
    rows = []
    for k, (run, optimum, table) in enumerate(
        zip(found.runs, found.optima, found.references, strict=True)
    ):
        number = 6 + k
        others = table.updates >= 0
        others[1, 1, 1] = False
        counts, costs = table.updates[others], table.cost[others]
        rows += [
            claim(
                f"D-fig{number}-cost",
                run.cost,
                alternatives=[*costs, optimum.gain],
            ),
            claim(f"D-fig{number}-it", run.updates, alternatives=counts),
            claim(f"D-it-text-{254 + k}", run.updates, alternatives=counts),
            claim(f"D-fig{number}-gamma", found.models[k].gamma),
            claim(f"D-fig{number}", figure="robots-controlled-curves"),
        ]
    return rows


def _inputs(found: Results) -> list[Claim]:
    model = found.models[0]
    return [
        claim("D-f-N", model.robots),
        claim("D-f-K", model.capacity),
        claim("D-f-lam", model.arrival_rate),
        claim("D-f-mu", model.service_rate),
        claim("D-f-gK", critical_gamma(model.capacity, model.service_rate)),
        claim("D-stop", found.tolerance),
    ]


def _proposition_4(found: Results) -> list[Claim]:
    middle = found.optima[len(found.optima) // 2]
    residual = max(optimum.residual for optimum in found.optima)
    same = all(run.cost - o.gain < 1e-5 for run, o in zip(found.runs, found.optima, strict=True))
    near = [abs(run.cost - middle.gain) for run in found.limits]
    if len(near) < STARTS:
        near.append(np.inf)
    falls = bool((np.diff(list(found.updates.values())) < 0).all())
    printed_theta = HALF * found.half_step.cost if found.half_step else np.nan
    heights = [optimum.policy[:, :-1].sum(axis=0) - 1 for optimum in found.optima]
    below = all(o.gain <= s for o, s in zip(found.optima, found.static, strict=True))
    return [
        claim("D-prop3", residual < 1e-09 and max(near) < NEAR),
        claim("D-prop4", same and max(near) < NEAR),
        claim("D-prop4-conv", max(near) < NEAR, numbers={"starts": len(near), "near": NEAR}),
        claim(
            "D-prop4-theta",
            bool(np.isclose(printed_theta, middle.gain, rtol=0.001)),
            numbers={"printed_theta": printed_theta, "optimum": middle.gain},
        ),
        claim("D-tau-fast", falls, numbers={"updates": found.updates}),
        claim("D-abs-mdp", max(near) < NEAR and below),
        claim("D-eq23"),
        claim(
            "D-switching",
            all(optimum.is_switching_curve for optimum in found.optima),
            numbers={"curves": [height.tolist() for height in heights]},
        ),
        claim("D-f00", all(height[0] >= 1 for height in heights), basis="judged"),
    ]


def _criterion(found: Results) -> list[Claim]:
    model = found.models[0]
    loads = model.robots * model.arrival_rate / model.service_rate
    formula = [float(static_cost(loads, m.gamma, m.capacity, m.service_rate)) for m in found.models]
    split = [m.gamma * o.starvation + o.loss_rate for m, o in _pairs(found)]
    gains = [optimum.gain for optimum in found.optima]
    gap = 1.0 / model.event_rate
    tenth = float(stats.gamma(found.gaps, scale=gap).mean())
    return [
        claim("D-static-piN", bool(np.allclose(found.static, formula, rtol=1e-10))),
        claim("D-S-L", bool(np.allclose(split, gains, rtol=1e-09))),
        claim("D-eq25"),
        claim(
            "D-tn",
            bool(np.isclose(tenth, 10 * gap)),
            basis="judged",
            numbers={"gaps": found.gaps, "tenth": tenth, "printed": 10 * gap},
        ),
    ]


def _pairs(found: Results) -> list[tuple[RobotControl, ControlSolution]]:
    return list(zip(found.models, found.optima, strict=True))
