"""The exercises of this part: small instances, and the numbers that their solutions quote."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.restarts.arm import RestartArm
from analysis.restarts.bandit import RestartBandit, index_scores, relaxed_bound
from analysis.restarts.instances import (
    SLIDE_DISCOUNT,
    crawler_index,
    machine,
    one_step,
    slide_arm,
    slide_arms,
)
from analysis.restarts.joint import evaluate_scores, solve_joint
from analysis.restarts.whittle import whittle_index
from scorecard import save_value

#: Arms and budget of the cells that the solution on the myopic policy quotes.
QUOTED = ((25, 5), (75, 5), (25, 1), (75, 1))


def make_two_machines() -> RestartBandit:
    """Return two machines of two states, of which the index policy repairs the wrong one."""
    wear, new = np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.0])
    first = RestartArm(wear, new, np.array([0.0, 1.2]), np.array([1.0, 1.0]))
    second = RestartArm(wear, new, np.array([0.0, 1.0]), np.array([0.0, 4.0]))
    return RestartBandit((first, second), 1, SLIDE_DISCOUNT)


def save_model_solutions() -> None:
    """Save the numbers of the page on the model."""
    two = make_two_machines()
    for name, indices in zip(("first", "second"), index_scores(two), strict=True):
        save_value(f"restart-model-two-{name}-new", indices[0])
        save_value(f"restart-model-two-{name}-worn", indices[1])
    save_value("restart-model-two-index", evaluate_scores(two, index_scores(two)).values[0, 0])
    save_value("restart-model-two-optimal", solve_joint(two).values[0, 0])
    arm = slide_arms("sorted-simplex", 1, 4, np.random.default_rng(2019))[0]
    for name, copies in (("three", 3), ("six", 6)):
        many = RestartBandit((arm,) * copies, copies // 3, SLIDE_DISCOUNT)
        save_value(f"restart-model-copies-{name}", solve_joint(many).values.flat[0] / copies)
    save_value("restart-model-copies-bound", relaxed_bound(many)[0] / copies)


def make_trap() -> RestartBandit:
    """Return three arms alike, one active, that fail when new and stay as they are in between."""
    wear, new = np.eye(3)[[2, 1, 2]], np.array([1.0, 0.0, 0.0])
    arm = RestartArm(wear, new, np.array([0.0, 1.0, 4.0]), np.full(3, 2.0))
    return RestartBandit((arm,) * 3, 1, SLIDE_DISCOUNT)


def compute_shock_ratios(instances: int = 12) -> pd.DataFrame:
    """Return the ratio in % on small systems of shocks by how ties are broken.

    To the lower arm, by the rule of the one most likely to fail, and in the best way.
    """
    rng, rows = np.random.default_rng(5), []
    for _ in range(instances):
        bandit = RestartBandit(tuple(slide_arms("shock", 4, 4, rng)), 1, SLIDE_DISCOUNT)
        scores = index_scores(bandit)
        fails = [arm.passive[0, -1] for arm in bandit.arms]
        ruled = [index + 1e-7 * chance for index, chance in zip(scores, fails, strict=True)]
        costs = {
            "lower": evaluate_scores(bandit, scores),
            "rule": evaluate_scores(bandit, ruled),
            "best": evaluate_scores(bandit, scores, ties="best"),
        }
        optimal = solve_joint(bandit).values.flat[0]
        rows.append({name: 100 * optimal / cost.values.flat[0] for name, cost in costs.items()})
    return pd.DataFrame(rows)


def save_optimum_solutions() -> None:
    """Save the numbers of the page on the experiments against the optimum."""
    bandit = make_trap()
    scores = index_scores(bandit)
    for name, index in zip(("new", "middle", "worst"), scores[0], strict=True):
        save_value(f"restart-optimum-trap-{name}", index)
    save_value("restart-optimum-trap-optimal", solve_joint(bandit).values[0, 0, 1])
    save_value("restart-optimum-trap-index", evaluate_scores(bandit, scores).values[0, 0, 1])
    ratios = compute_shock_ratios()
    save_value("restart-optimum-shocks", len(ratios))
    for name in ("lower", "rule", "best"):
        save_value(f"restart-optimum-shocks-{name}", ratios[name].min())


def save_myopic_solutions(cells: pd.DataFrame, kernel: str = "lazy-wearing") -> None:
    """Save the median saving of a generator for few and many arms to a repair, where it was run."""
    medians = cells[cells.kernel == kernel].groupby(["arms", "budget"], as_index=False).eps.median()
    savings = {(cell.arms, cell.budget): cell.eps for cell in medians.itertuples()}
    save_value("restart-myopic-wearing", saves_like_wear(savings))
    for cell in QUOTED:
        if cell in savings:
            save_value(f"restart-myopic-{cell[0]}-{cell[1]}", savings[cell])


def saves_like_wear(medians: Mapping[tuple[int, int], float]) -> bool:
    """Whether savings rise with the arms at a large budget and fall at a small one."""
    if not all(cell in medians for cell in QUOTED):
        return False
    few_large, many_large, few_small, many_small = (medians[cell] for cell in QUOTED)
    return bool(many_large > few_large and many_small < few_small)


def save_indexability_solutions(arm: RestartArm, discount: float) -> None:
    """Save the indices of an arm, and of one that differs in its reset only."""
    to_first = np.eye(arm.states)[0]
    moved = RestartArm(arm.passive, to_first, arm.passive_cost, arm.active_cost)
    for name, variant in (("", arm), ("moved-", moved)):
        index = whittle_index(variant, discount).index
        save_value(f"restart-indexability-{name}least", index.min())
        save_value(f"restart-indexability-{name}most", index.max())


def index_of_sure_wear(arm: RestartArm, discount: float) -> Floats:
    """Return the index of an arm that wears by one state an epoch, in closed form."""
    powers = discount ** np.arange(1, arm.states + 1)
    before = np.concatenate(([0.0], np.cumsum(powers * arm.passive_cost)[:-1]))
    lengths = (1 - powers) / (1 - discount)
    return np.asarray(arm.passive_cost * lengths - before - arm.active_cost)


def save_threshold_solutions() -> None:
    """Save the numbers of the page on thresholds."""
    sure = slide_arm(one_step(5, 0.0))
    save_value("restart-thresholds-sure-formula", index_of_sure_wear(sure, SLIDE_DISCOUNT)[-1])
    save_value("restart-thresholds-sure", whittle_index(sure, SLIDE_DISCOUNT).index[-1])
    dear = make_two_machines().arms[1]
    index, gains = whittle_index(dear, SLIDE_DISCOUNT).index, dear.stopping_cost(SLIDE_DISCOUNT)
    for state, value, gain in zip(("new", "worn"), index, gains, strict=True):
        save_value(f"restart-thresholds-dear-{state}", value)
        save_value(f"restart-thresholds-dear-r-{state}", gain)


def save_application_solutions() -> None:
    """Save the numbers of the page on machines, queues and crawlers."""
    for name, u_star, alpha, age in (("slow", 1.0, 0.9, 3), ("fast", 0.15, 0.3, 1)):
        for word, discount in (("discounted", 0.9), ("average", 1.0)):
            index = crawler_index(u_star, alpha, discount, [age])
            save_value(f"restart-applications-{name}-{word}", index[0])
    warned, sudden = (whittle_index(arm, 0.95).index for arm in make_sensor_machines())
    for state, value in zip(("new", "warned", "failed"), warned, strict=True):
        save_value(f"restart-applications-sensor-{state}", value)
    save_value("restart-applications-sensorless-failed", sudden[1])


def make_sensor_machines() -> tuple[RestartArm, RestartArm]:
    """Return a machine that is new, warned or failed, and one that is new or failed."""
    chance, repair, failed = 0.15, 5.0, 12.0
    warned = np.array([[1 - chance, chance, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    sudden = np.array([[1 - chance, chance], [0.0, 1.0]])
    return (
        machine(warned, [0.0, 0.0, failed], [repair] * 3),
        machine(sudden, [0.0, failed], [repair] * 2),
    )
