"""Figures of the page `restart-model`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.report import COLOURS, figure, save_figure
from analysis.restarts.joint import MOST_JOINT_STATES
from analysis.restarts.policies import RestartBandit
from analysis.restarts.studies.restart_model.experiment import up_to

#: How the page calls the policies of `analysis.restarts.systems`.
NAMES = {
    "index": "highest index, ties to the lower arm",
    "index_best": "highest index, ties broken in the best way",
    "myopic": "myopic policy",
    "lowest": "lowest index, as printed",
}


def draw_states(most: int = 100) -> None:
    """Draw how many states one problem has, and many."""
    counts = np.arange(1, most + 1)
    joint, apart = 3.0**counts, 3.0 * counts
    reach = int(np.log(MOST_JOINT_STATES) / np.log(3))
    fig, axis = figure(height=3.2)
    axis.semilogy(counts, joint, color=COLOURS[0], label="one problem for all machines")
    look = {"color": COLOURS[1], "linestyle": "--"}
    axis.semilogy(counts, apart, **look, label="one problem for each machine")
    axis.axhline(MOST_JOINT_STATES, color="black", linewidth=1, linestyle=":")
    axis.annotate(
        "largest joint problem that the library accepts",
        (most, MOST_JOINT_STATES),
        xytext=(0, 4),
        textcoords="offset points",
        ha="right",
    )
    axis.set(xlabel="machines with 3 states each", ylabel="states in all", xlim=(0, most + 1))
    axis.legend(loc="upper left")
    save_figure(
        "restart-model-states",
        fig,
        pd.DataFrame({"machines": counts, "joint": joint, "apart": apart}),
        caption=f"The curse of dimensionality: the joint problem of {most} machines has "
        f"${joint[-1] / 1e47:.2f} \\times 10^{{47}}$ states, a problem for each of them "
        f"{apart[-1]:.0f} together. The library solves joint problems of at most "
        f"{MOST_JOINT_STATES} states, here {reach} machines.",
        alt="On a logarithmic axis the number of joint states is a steep straight line that passes "
        f"what the library accepts after {reach} machines; the number of states of separate "
        "problems stays below a thousand.",
    )


def draw_policies(exact: pd.DataFrame, bandit: RestartBandit, kernel: str) -> None:
    """Draw what each policy costs above the optimum on every system."""
    above = exact[list(NAMES)].div(exact.optimal, axis=0).sub(1).mul(100)
    ranked = above.sort_values("index", ignore_index=True)
    places = np.arange(1, len(ranked) + 1)
    fig, axis = figure(height=3.6)
    for (name, label), marker, colour in zip(NAMES.items(), "ov^s", COLOURS, strict=False):
        look = {"color": colour, "markersize": 4, "label": label}
        axis.semilogy(places, np.maximum(ranked[name], 1e-3), marker, **look)
    axis.set(xlabel="system, by the loss of the index policy", ylabel="cost above the optimum (%)")
    fig.legend(loc="outside upper center", ncols=2)
    worst, tied = (up_to(above[name].max()) for name in ("index", "index_best"))
    least = np.floor(above.lowest.min())
    save_figure(
        "restart-model-policies",
        fig,
        ranked.assign(place=places),
        caption=f"Exact cost above the optimum on {len(ranked)} systems of {len(bandit.arms)} arms "
        f"with {bandit.shape[0]} states, {bandit.budget} active ({kernel} kernels, slide 18's "
        f"costs). The index policy loses at most {worst:.1f}%, or {tied:.1f}% with its ties broken "
        f"in the best way; the rule that takes the lowest index loses at least {least:.0f}%, "
        "however its own ties are broken. Losses below 0.001% are drawn there.",
        alt="Points of four policies on a logarithmic axis: the index policy with the best ties at "
        f"most {tied:.1f} percent above the optimum, with ties to the lower arm at most "
        f"{worst:.1f} percent; the rule with the lowest index at least {least:.0f} percent above.",
    )
