"""Values and tables of the page `restart-applications`."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.report import save_table, save_value
from analysis.restarts.arm import RestartArm
from analysis.restarts.policies import RestartBandit
from analysis.restarts.studies.restart_applications.experiment import arms_table, loss


def save_arms(
    kind: str, arms: Sequence[RestartArm], names: Sequence[str], passive: str, active: str
) -> None:
    """Save the table of `arms_table`; `kind` is what the arms are, in the plural."""
    save_table(
        f"restart-applications-{kind}",
        arms_table(arms, names, passive, active),
        f"The four {kind}: probabilities of the next state of an arm that is left alone, by its "
        "state, and both costs of an epoch. The last row of each is the law of the next state of "
        "an arm that is activated, whatever its state.",
    )


def save_costs(found: pd.DataFrame) -> None:
    """Save what each policy costs; `found` has a row a policy, a column an example."""
    save_table(
        "restart-applications-values",
        found.rename_axis("policy"),
        "Exact discounted cost per epoch from new machines and from empty queues, with the least "
        "cost of any policy, and the relaxed bound, which is no higher.",
        formats=".4f",
    )


def save_numbers(found: pd.DataFrame, machines: RestartBandit, queues: RestartBandit) -> None:
    """Save the numbers that the page quotes; `found` has a row a policy, a column an example."""
    grades, places = machines.arms[0].states, queues.arms[0].states
    save_value("restart-applications-grades", grades)
    save_value("restart-applications-capacity", places - 1)
    save_value("restart-applications-machines-states", grades ** len(machines.arms))
    save_value("restart-applications-queues-states", places ** len(queues.arms))
    most = max(loss(found[name], "worst state first") for name in found)
    save_value("restart-applications-thumb-most", most)
    short = {"index policy": "loss", "worst state first": "thumb", "myopic": "myopic"}
    for name in found:
        for policy, word in short.items():
            save_value(f"restart-applications-{name}-{word}", loss(found[name], policy))
