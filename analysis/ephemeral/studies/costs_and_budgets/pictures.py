"""Pictures of costs and budgets: what each way to fill a budget loses, and what it spends."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.report import COLOURS, figure, save_figure, span

#: The ways that keep the budget at every epoch, and all of them in the order of what they spend.
WITHIN = ("stop", "skip", "index", "value")
BY_SPENDING = ("reach", "debt", "value", "index", "skip", "stop")


def save_losses(instances: pd.DataFrame) -> None:
    """Draw the loss of each way that keeps the budget, one dot an instance."""
    loss = 100 * (1 - instances[list(WITHIN)])
    fig, axis = figure(height=3.2)
    for row, fill in enumerate(WITHIN):
        spread = row + 0.5 * (np.arange(len(loss)) / len(loss) - 0.5)
        shown = loss[fill].clip(lower=1e-6)
        axis.plot(shown, spread, "o", color=COLOURS[row], markersize=3, alpha=0.7)
        axis.plot([loss[fill].mean()], [row], "|", color="black", markersize=26)
    axis.set_yticks(range(len(WITHIN)), WITHIN)
    axis.set_xlabel("loss against the exact optimum (%), one dot an instance, bar at the mean")
    axis.set_xscale("symlog", linthresh=0.1)
    axis.set_xlim(left=-0.005)
    axis.invert_yaxis()
    mean, worst = loss.mean(), loss.max()
    bound = np.ceil(10 * worst["value"] + 1e-9) / 10
    save_figure(
        "costs-and-budgets-losses",
        fig,
        instances,
        caption="Loss of the ways that keep the budget at every epoch, over "
        f"{len(loss)} random instances of three and four sources. The set with the largest "
        f"$\\sum C_i\\gamma_i$ (*value*) loses less than {bound:.1f}%, the "
        f"others up to {worst.drop('value').max():.0f}%.",
        alt="Four rows of dots, one a way to fill. Mean losses: stopping at the first source that "
        f"does not fit {mean['stop']:.1f}%, skipping it {mean['skip']:.1f}%, the knapsack on the "
        f"index {mean['index']:.1f}%, the knapsack on cost times index {mean['value']:.2f}%.",
    )


def save_spending(instances: pd.DataFrame) -> None:
    """Draw what each way spends, in budgets."""
    columns = [f"{fill}_cost" for fill in BY_SPENDING]
    spending = instances[columns].set_axis(BY_SPENDING, axis=1)
    fig, axis = figure(height=3.0)
    axis.boxplot(
        [spending[fill] for fill in BY_SPENDING],
        orientation="horizontal",
        widths=0.55,
        medianprops={"color": COLOURS[1], "linewidth": 2},
        flierprops={"markersize": 3},
    )
    axis.axvline(1, color="black", linewidth=1)
    axis.set_yticks(range(1, len(BY_SPENDING) + 1), BY_SPENDING)
    axis.set_xlabel("cost per epoch, in budgets")
    reach, debt = spending["reach"], spending["debt"]
    save_figure(
        "costs-and-budgets-spending",
        fig,
        spending,
        caption="What each way spends. Taking sources until the constraint is reached (*reach*) "
        f"overshoots on {(reach > 1 + 1e-9).mean():.0%} of the instances, and spends "
        f"{reach.mean():.2f} budgets on average; owing the overshoot (*debt*) spends "
        f"{span(debt.min(), debt.max(), '.3f')}.",
        alt=f"Box plots of the cost per epoch in units of the budget over {len(spending)} "
        f"instances: reach has mean {reach.mean():.2f} and reaches {reach.max():.2f}, debt spends "
        f"{span(debt.min(), debt.max(), '.3f')}, the four others at most one.",
    )
