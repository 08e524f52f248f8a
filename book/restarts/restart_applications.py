"""Machines, queues and crawlers that restart: their arms, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.restarts.arm import RestartArm
from analysis.restarts.bandit import RestartBandit, index_scores
from analysis.restarts.instances import crawler_index, machine
from analysis.restarts.whittle import whittle_index
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    fold_names,
    ink,
    is_narrow,
    save_figure,
    save_table,
    save_value,
)

MACHINES = ("steady", "fast and cheap", "fails at once", "dear")
QUEUES = ("steady trickle", "bursts", "busy and cheap", "rare and urgent")


def tabulate_arms(
    arms: Sequence[RestartArm], names: Sequence[str], passive: str, active: str
) -> pd.DataFrame:
    """Return the kernels, restart laws and costs of arms.

    One row an arm and state: the law of the next state if passive, and the two costs, which
    `passive` and `active` head; the last row of an arm is the law after a restart.
    """
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for arm, name in zip(arms, names, strict=True):
        for x in range(arm.states):
            costs = {passive: float(arm.passive_cost[x]), active: float(arm.active_cost[x])}
            rows[name, str(x)] = _tabulate_law(arm.passive[x]) | costs
        rows[name, "restart"] = _tabulate_law(arm.reset)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["arm", "state"])


def _tabulate_law(law: Floats) -> dict[str, float]:
    return {f"to {y}": float(p) for y, p in enumerate(law)}


def loss_percentage(costs: Mapping[str, float] | pd.Series[float], policy: str) -> float:
    """Return the excess cost of a policy over the optimum in %, 0 where rounding gives less."""
    return max(0.0, float(100 * (costs[policy] / costs["optimum"] - 1)))


# Values and tables


def save_arms(
    kind: str, arms: Sequence[RestartArm], names: Sequence[str], passive: str, active: str
) -> None:
    """Save the table of `tabulate_arms`; `kind` is what the arms are, in the plural."""
    save_table(
        f"restart-applications-{kind}",
        tabulate_arms(arms, names, passive, active),
        f"The four {kind}: probabilities of the next state of an arm that is left alone, by its "
        "state, and both costs of an epoch. The last row of each is the law of the next state of "
        "an arm that is activated, whatever its state.",
    )


def save_costs(costs: pd.DataFrame) -> None:
    """Save the cost of each policy; `costs` has a row a policy, a column an example."""
    save_table(
        "restart-applications-values",
        costs.rename_axis("policy"),
        "Exact discounted cost per epoch from new machines and from empty queues, with the least "
        "cost of any policy, and the relaxed bound, which is no higher.",
        formats=".4f",
    )


def save_numbers(costs: pd.DataFrame, machines: RestartBandit, queues: RestartBandit) -> None:
    """Save the numbers that the page quotes; `costs` has a row a policy, a column an example."""
    grades, places = machines.arms[0].states, queues.arms[0].states
    save_value("restart-applications-grades", grades)
    save_value("restart-applications-capacity", places - 1)
    save_value("restart-applications-machines-states", grades ** len(machines.arms))
    most = max(loss_percentage(costs[name], "worst state first") for name in costs)
    save_value("restart-applications-thumb-most", most)
    short = {"index policy": "loss", "worst state first": "thumb", "myopic": "myopic"}
    for name in costs:
        for policy, word in short.items():
            save_value(f"restart-applications-{name}-{word}", loss_percentage(costs[name], policy))


def make_sensor_machines() -> tuple[RestartArm, RestartArm]:
    """Return a machine that is new, warned or failed, and one that is new or failed."""
    chance, repair, failed = 0.15, 5.0, 12.0
    warned = np.array([[1 - chance, chance, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    sudden = np.array([[1 - chance, chance], [0.0, 1.0]])
    return (
        machine(warned, [0.0, 0.0, failed], [repair] * 3),
        machine(sudden, [0.0, failed], [repair] * 2),
    )


def save_solutions() -> None:
    """Save the numbers of the solutions."""
    for name, u_star, alpha, age in (("slow", 1.0, 0.9, 3), ("fast", 0.15, 0.3, 1)):
        for word, discount in (("discounted", 0.9), ("average", 1.0)):
            index = crawler_index(u_star, alpha, discount, [age])
            save_value(f"restart-applications-{name}-{word}", index[0])
    warned, sudden = (whittle_index(arm, 0.95).index for arm in make_sensor_machines())
    for state, value in zip(("new", "warned", "failed"), warned, strict=True):
        save_value(f"restart-applications-sensor-{state}", value)
    save_value("restart-applications-sensorless-failed", sudden[1])


# Claims


def claims(mended: Mapping[str, float], emptied: Mapping[str, float]) -> list[Claim]:
    """Return the page's claims on the rows of slide 3, which name applications."""
    machines, queues = _loss_numbers(mended), _loss_numbers(emptied)
    return [
        *(claim(row, numbers=machines) for row in ("C-app-machine", "C-app-repair")),
        *(claim(row, numbers=queues) for row in ("C-app-queue", "C-app-channel", "C-app-data")),
        claim("C-app-clinical"),
    ]


def _loss_numbers(costs: Mapping[str, float]) -> dict[str, float]:
    return {
        "index": loss_percentage(costs, "index policy"),
        "worst_first": loss_percentage(costs, "worst state first"),
    }


# Figures


MARKS, LINES = "os^D", ("-", "--", "-.", ":")


def draw_indices(machines: RestartBandit, queues: RestartBandit) -> None:
    """Draw the index of each arm by state, machines left and queues right."""
    examples = (("machines", machines, MACHINES), ("queues", queues, QUEUES))
    indices = [w for bandit in (machines, queues) for w in index_scores(bandit)]
    rising = sum(bool((np.diff(w) >= 0).all()) for w in indices)

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2)
        drawn = []
        for axis, (name, bandit, names) in zip(axes, examples, strict=True):
            for j, (scores, label) in enumerate(zip(index_scores(bandit), names, strict=True)):
                look = {"linestyle": LINES[j], "color": COLOURS[j], "markersize": 4, "label": label}
                axis.plot(np.arange(scores.size), scores, MARKS[j], **look)
                drawn += [
                    {"kind": name, "arm": label, "state": x, "index": w}
                    for x, w in enumerate(scores)
                ]
            axis.set_yscale("symlog", linthresh=10)
            axis.legend(title=name, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        axes[0].set(xlabel="wear (0 is new)", ylabel="Whittle index (cost per active epoch)")
        axes[1].set(xlabel="packets held", ylabel="Whittle index (cost per active epoch)")
        return pd.DataFrame(drawn)

    save_figure(
        "restart-applications-index",
        draw,
        caption="The Whittle index of four machines and of four queues by state, "
        f"$b = {machines.discount:g}$. Serve the arm whose point is highest; an arm alone, at no "
        "price, would be left as it is where its index is below zero. The scale is linear up to 10 "
        "and logarithmic beyond.",
        alt=f"Two panels of four curves, of which {rising} in all never fall, machines in the "
        "first and queues in the second. Which arm comes first depends on the states of all.",
        height=4.2,
    )


def draw_costs(costs: pd.DataFrame, budget: int) -> None:
    """Draw the cost of each policy, machines left and queues right."""
    losses = {name: loss_percentage(costs[name], "index policy") for name in costs}

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2)
        for axis, name in zip(axes, costs, strict=True):
            column = costs[name]
            places = np.arange(len(column))[::-1]
            axis.hlines(places, column["optimum"], column, color="grey", linewidth=1)
            axis.plot(column, places, "o", color=COLOURS[0])
            axis.axvline(column["optimum"], color=ink(), linewidth=0.8, linestyle=":")
            axis.set(yticks=places, xlabel="cost per epoch", title=name)
            axis.set_yticklabels(fold_names(figure, column.index))
            axis.tick_params(labelleft=name == "machines" or is_narrow(figure))
        return costs.reset_index(names="policy")

    save_figure(
        "restart-applications-costs",
        draw,
        caption="Exact discounted cost per epoch from new machines and empty queues, "
        f"$m = {budget}$. The index policy is {losses['machines']:.2f}% above the optimum "
        f"(dotted) for the machines, {losses['queues']:.2f}% for the queues.",
        alt="Points for six values in each of two panels. The index policy lies at the optimum to "
        f"within {np.ceil(100 * max(losses.values())) / 100:.2f} percent; the relaxed bound is no "
        "higher, and no policy is lower.",
        height=3.2,
    )


def _sum_lost(gap: float, age: int) -> float:
    """Return the sum of 1 - b^j for j up to an age, b = 1 - gap, without cancellation."""
    return float(-np.expm1(np.arange(1, age + 1) * np.log1p(-gap)).sum())


def draw_rate(u_star: float, alpha: float, of_ages: Sequence[int]) -> None:
    """Draw how the discounted index of a source tends to the average-reward one."""
    ages = np.asarray(of_ages)
    gaps = np.logspace(-5, -1, 33)
    level = (1 - alpha) * u_star * alpha**ages
    errors = level * np.array([[_sum_lost(gap, age) for age in ages] for gap in gaps])
    bound = 0.5 * ages * (ages + 1) * level
    slope = float(np.polyfit(np.log(gaps[:9]), np.log(errors[:9, 1]), 1)[0])
    columns = {f"age {age}": errors[:, j] for j, age in enumerate(ages)}

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for j, age in enumerate(ages):
            look = {"color": COLOURS[j], "linestyle": LINES[j], "label": f"age {age}"}
            axis.loglog(gaps, errors[:, j], **look)
            axis.loglog(gaps[::8], bound[j] * gaps[::8], MARKS[j], color=COLOURS[j], markersize=4)
        axis.plot([], [], "o", color="grey", label="bound")
        axis.set(xlabel="$1 - b$", ylabel=r"$w_b(k) - \gamma_k$ (value units)")
        add_legend(figure)
        return pd.DataFrame({"gap": gaps, **columns})

    save_figure(
        "restart-applications-rate",
        draw,
        caption="The discounted index of a source tends to the average-reward one like $1 - b$, "
        "from above; marks are the bound of the proposition. Slope "
        f"{slope:.4f} at the left end for age {ages[1]}.",
        alt="Four lines of slope one on logarithmic axes, below and almost on the marks of the "
        "bound; the lines of high ages bend down at the right end.",
        height=3.6,
    )
