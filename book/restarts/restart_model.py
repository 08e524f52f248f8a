"""Single arms solved in several ways, and how a cost is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.restarts.arm import RestartArm
from analysis.restarts.bandit import RestartBandit, index_scores, relaxed_bound
from analysis.restarts.instances import SLIDE_DISCOUNT, slide_arms
from analysis.restarts.joint import evaluate_scores, solve_joint
from analysis.restarts.subsidised import (
    SubsidisedSolution,
    evaluate_policy,
    least_over_policies,
)
from analysis.results import DiscountedSolution, Estimate
from book.restarts.shared import make_two_machines
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    differ_as_formatted,
    ink,
    is_narrow,
    save_figure,
    save_table,
    save_value,
)

#: Largest difference of two exact routes that counts as rounding.
AGREE = 1e-10
Case = tuple[RestartArm, float, SubsidisedSolution]


def check_single_arms(cases: Sequence[Case], discount: float) -> pd.DataFrame:
    """Compare solved arms of at most 12 states with slides 8 and 9, without the solver.

    The largest difference over the states: ``linear``, of the value from the cost of the solution's
    policy plus the penalty times its activity; ``least``, of the value from the least over all
    policies; ``equation``, of the two sides of the optimality equation.
    """
    rows = []
    for arm, penalty, solved in cases:
        cost = evaluate_policy(arm, discount, 0.0, solved.policy)[1]
        activity = evaluate_policy(arm, discount, 1.0, solved.policy)[1] - cost
        least = least_over_policies(arm, discount, penalty)
        passive = (1 - discount) * arm.passive_cost + discount * arm.passive @ solved.values
        restart = discount * float(arm.reset @ solved.values)
        active = (1 - discount) * (arm.active_cost + penalty) + restart
        differences = {
            "linear": cost + penalty * activity,
            "least": least,
            "equation": np.minimum(passive, active),
        }
        rows.append({k: float(np.abs(v - solved.values).max()) for k, v in differences.items()})
    return pd.DataFrame(rows)


def bound_is_loose(exact: pd.DataFrame) -> bool:
    """Return whether the relaxed bound lies below the optimum of some system, beyond rounding."""
    return bool((exact.bound < exact.optimal - AGREE - 2 * exact.residual).any())


def round_up_percentage(percent: float) -> float:
    """Return the next tenth of a per cent above; 0 where rounding left less than nothing."""
    return float(np.ceil(10 * percent)) / 10 + 0.0


def describe_simulation(estimate: Estimate) -> str:
    """Return a text on the mean cost of simulated paths, with its interval if they differ."""
    if not differ_as_formatted(estimate.low, estimate.high, ".4f"):
        return f"{estimate.value:.4f} on every path"
    ends = f"between {estimate.low:.4f} and {estimate.high:.4f} at 99.99%"
    return f"{estimate.value:.4f}, {ends}"


# Values and tables


def save_numbers(bandit: RestartBandit, exact: pd.DataFrame) -> None:
    """Save the numbers that the page quotes, bounds rounded outward to the digit shown."""
    above = 100 * (exact[["index", "index_best"]].div(exact.optimal, axis=0).max() - 1)
    lowest = exact.lowest / exact.optimal
    save_value("restart-model-joint", bandit.joint_states)
    save_value("restart-model-instances", len(exact))
    save_value("restart-model-index-most", round_up_percentage(above["index"]))
    save_value("restart-model-tied-most", round_up_percentage(above["index_best"]))
    save_value("restart-model-lowest-least", np.floor(10 * lowest.min()) / 10)
    save_value("restart-model-lowest-most", np.ceil(10 * lowest.max()) / 10)
    save_value("restart-model-bound-below", 100 * float((1 - exact.bound / exact.optimal).mean()))
    save_value("restart-model-loose", bound_is_loose(exact))


POLICIES = {
    "bound": "relaxed bound",
    "optimal": "optimum",
    "index_best": "index, best ties",
    "index": "index, lower arm",
    "myopic": "myopic",
    "lowest": "lowest index",
}


def save_first_costs(exact: pd.DataFrame) -> None:
    """Save the exact costs of the first systems of the page on the model."""
    save_table(
        "restart-model-costs",
        exact.set_index("instance")[list(POLICIES)].head(3),
        "Exact cost per epoch on the first three systems, from arms as good as new: the relaxed "
        "bound, the optimum, and four policies.",
        formats=".4f",
        labels=POLICIES,
    )


def save_solutions() -> None:
    """Save the numbers of the solutions."""
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


# Claims


def claims(
    value: float,
    simulated: Estimate,
    solved: Mapping[int, DiscountedSolution],
    hundred: RestartBandit,
    apart: Floats,
    exact: pd.DataFrame,
    checked: pd.DataFrame,
) -> list[Claim]:
    """Return the page's claims on the rows of slides 1, 2, 4 to 9 and 17.

    `value`, `simulated`: cost of the index policy from its equations, and its mean over simulated
    paths with a 99.99% interval; `solved`: joint solutions of so many machines with 3 states;
    `hundred`: a hundred machines with 3 states; `apart`: the index of each of them.
    """
    low, high = simulated.low, simulated.high
    sizes = {machines: solution.values.size for machines, solution in solved.items()}
    beaten = exact.index_best - exact.optimal > 2 * exact.residual
    worse = exact.lowest > exact.index_worst + 2 * exact.residual
    excess = 100 * (exact.lowest / exact.index_worst - 1)
    loss = {"beaten": int(beaten.sum()), "systems": len(exact)}
    lowest = {"worse": int(worse.sum()), "systems": len(exact)}
    lowest |= {"least": excess.min(), "most": excess.max()}
    paths = {"value": value, "mean": simulated.value, "low": low, "high": high}
    paths["paths"] = simulated.replications
    differences = checked[["linear", "least", "equation"]].max()
    tried = {"arms": len(checked)}
    return [
        claim("C-meta"),
        claim("C-mole"),
        claim("C-model"),
        claim("C-objective", numbers=paths),
        claim("C-curse", sizes == {n: 3**n for n in sizes}, numbers={"sizes": sizes}),
        claim("C-100x3", apart.shape),
        claim("C-3p100", float(hundred.joint_states)),
        claim("C-decompose", len(apart)),
        claim("C-suboptimal", bool(beaten.any()), numbers=loss),
        claim("C-smallest", not worse.any(), numbers=lowest),
        claim("C-offline", not worse.any(), numbers=lowest),
        claim("C-c-lambda"),
        claim("C-dp", bool(differences.max() < AGREE), numbers=tried),
    ]


# Figures


#: Least probability of a transition that is drawn.
FAINT = 0.02
#: How the page calls the policies of `analysis.restarts.systems`.
NAMES = {
    "index": "highest index, ties to the lower arm",
    "index_best": "highest index, ties broken in the best way",
    "myopic": "myopic policy",
    "lowest": "lowest index, as printed",
}


def draw_arm(arm: RestartArm) -> None:
    """Draw the states of an arm as dots and its transitions as arrows, the likelier the thicker."""
    chances = {"passive": arm.passive, "active": np.tile(arm.reset, (arm.states, 1))}
    moves = pd.DataFrame(
        [
            {"action": action, "from": x + 1, "to": y + 1, "probability": chance}
            for action, kernel in chances.items()
            for (x, y), chance in np.ndenumerate(kernel)
            if x != y and chance >= FAINT
        ]
    )
    looks = {"passive": (COLOURS[0], "-", 0.35), "active": (COLOURS[1], "--", 0.25)}
    widest = moves.groupby("action")["probability"].max()

    def draw(figure: Figure) -> pd.DataFrame:
        if is_narrow(figure):
            figure.set_figheight(2.2)
        (axis,) = add_panels(figure)
        for action, start, end, chance in moves.itertuples(index=False):
            colour, style, bend = looks[action]
            axis.annotate("", (end, 0), (start, 0), arrowprops={
                "arrowstyle": "-|>", "color": colour, "linestyle": style, "shrinkA": 7,
                "linewidth": 0.5 + 1.2 * chance / widest[action], "shrinkB": 7,
                "connectionstyle": f"arc3,rad={-bend}",
            })  # fmt: skip
        states = np.arange(1, arm.states + 1)
        axis.plot(states, 0 * states, "o", color=ink(), markersize=9, zorder=3)
        for (colour, style, _), name in zip(
            looks.values(), ("passive: it wears", "active: it is repaired"), strict=True
        ):
            axis.plot([], [], style, color=colour, label=name)
        axis.set(xlabel="state of the machine, from new to worn out", xticks=states, yticks=[])
        axis.set(xlim=(0.6, arm.states + 0.4), ylim=(-1, 1))
        axis.grid(visible=False)
        axis.spines["left"].set_visible(False)
        add_legend(figure)
        return moves

    save_figure(
        "restart-model-arm",
        draw,
        "The first machine of the system below. A passive epoch moves it by its kernel (the "
        "likelier, the thicker; staying is not drawn); an active one makes it new, from every "
        f"state alike. A new machine wears in a passive epoch with probability "
        f"{1 - arm.passive[0, 0]:.2g}.",
        f"{arm.states} dots in a row, from new to worn out. Solid arrows lead from each state to "
        "those that a passive epoch moves it to; dashed arrows below lead from every state back to "
        "the first.",
        height=2.8,
    )


def draw_policies(exact: pd.DataFrame, bandit: RestartBandit, kernel: str) -> None:
    """Draw the excess cost of each policy over the optimum on every system."""
    above = exact[list(NAMES)].div(exact.optimal, axis=0).sub(1).mul(100)
    ranked = above.sort_values("index", kind="stable", ignore_index=True)
    places = np.arange(1, len(ranked) + 1)
    worst, tied = (round_up_percentage(above[name].max()) for name in ("index", "index_best"))
    least = np.floor(above.lowest.min())

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for (name, label), marker, colour in zip(NAMES.items(), "ov^s", COLOURS, strict=False):
            look = {"color": colour, "markersize": 4, "label": label}
            axis.semilogy(places, np.maximum(ranked[name], 1e-3), marker, **look)
        axis.set(
            xlabel="system, by the loss of the index policy", ylabel="cost above the optimum (%)"
        )
        add_legend(figure)
        return ranked.assign(place=places)

    save_figure(
        "restart-model-policies",
        draw,
        caption=f"Exact cost above the optimum on {len(ranked)} systems of {len(bandit.arms)} arms "
        f"with {bandit.shape[0]} states, {bandit.budget} active ({kernel} kernels, slide 18's "
        f"costs). The index policy loses at most {worst:.1f}%, or {tied:.1f}% with its ties broken "
        f"in the best way; the rule that takes the lowest index loses at least {least:.0f}%, "
        "however its own ties are broken. Smaller losses than 0.001% are drawn as 0.001%.",
        alt="Points of four policies on a logarithmic axis: the index policy with the best ties at "
        f"most {tied:.1f} percent above the optimum, with ties to the lower arm at most "
        f"{worst:.1f} percent; the rule with the lowest index at least {least:.0f} percent above.",
        height=3.6,
    )
