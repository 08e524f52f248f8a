"""Arms that need not restart: how many have an index, and what two policies earn with them.

An arm is drawn with rewards uniform on (0, 1) for each action and state, and kernels by one of
`KINDS`. Sets of arms are played for average rewards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import binomtest

from analysis.arrays import Floats
from analysis.bandits import (
    Arm,
    Indexability,
    certify_indexability,
    relaxed_problem,
    simulate,
)
from analysis.mdp import policy_iteration, solve_discounted
from analysis.results import Estimate, NotConverged
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    ink,
    save_data,
    save_figure,
    save_table,
    save_value,
    save_values,
)

KINDS = {
    "dense": "rows uniform on the simplex",
    "few": "rows of few likely states, a fiftieth spread over all",
    "walk": "one state up or down, by a chance of each state and action",
}
#: Draws after which the search for an arm without an index stops.
MOST_DRAWS = 100_000
#: Share of the paths' epochs that are played before rewards count.
WARM_UP = 0.25


def draw_arm(kind: str, states: int, rng: np.random.Generator) -> Arm:
    """Draw an arm with kernels of a kind."""
    if kind == "dense":
        kernels = rng.dirichlet(np.ones(states), (2, states))
    elif kind == "few":
        kernels = 0.98 * rng.dirichlet(np.full(states, 0.2), (2, states)) + 0.02 / states
    else:
        up, down = np.roll(np.eye(states), 1, axis=1), np.roll(np.eye(states), -1, axis=1)
        up[-1], down[0] = np.eye(states)[-1], np.eye(states)[0]
        climbs = rng.random((2, states, 1))
        kernels = climbs * up + (1 - climbs) * down
    return Arm(kernels, rng.random((2, states)))


def survey(sizes: Sequence[int], discount: float, arms: int, seed: int) -> pd.DataFrame:
    """Count the arms without an index, one row a kind and number of states.

    The interval is Clopper and Pearson's of 95%. Arms of which rounding hides the answer are
    counted apart.
    """
    rows = []
    for kind_number, kind in enumerate(KINDS):
        for states in sizes:
            rng = np.random.default_rng([seed, kind_number, states])
            none = hidden = 0
            for _ in range(arms):
                try:
                    none += not certify_indexability(draw_arm(kind, states, rng), discount).holds
                except NotConverged:
                    hidden += 1
            interval = binomtest(none, arms).proportion_ci()
            rows.append((kind, states, none / arms, interval.low, interval.high, hidden))
    return pd.DataFrame(rows, columns=["kind", "states", "share", "low", "high", "hidden"])


def find_unindexable(states: int, discount: float, seed: int) -> tuple[Arm, Indexability]:
    """Return the first walk without an index, and what shows it.

    Raises NotConverged if none of `MOST_DRAWS` is.
    """
    rng = np.random.default_rng([seed, 17])
    for _ in range(MOST_DRAWS):
        arm = draw_arm("walk", states, rng)
        certificate = certify_indexability(arm, discount)
        if not certificate.holds:
            return arm, certificate
    raise NotConverged(f"none of {MOST_DRAWS} arms of {states} states lacks an index")


def advantage(arm: Arm, discount: float, subsidy: float) -> Floats:
    """Return what activity earns above passivity in each state, by policy iteration."""
    rewards = arm.rewards + np.array([[subsidy], [0.0]])
    if discount == 1:
        values = policy_iteration(arm.transitions, rewards).bias
    else:
        values = solve_discounted(arm.transitions, rewards, discount).values
    worth = rewards + discount * arm.transitions @ (values - values[0])
    return worth[1] - worth[0]


def lines(arm: Arm, discount: float, certificate: Indexability) -> pd.DataFrame:
    """Return the advantages of all states over subsidies around those of the witness."""
    assert certificate.witness is not None
    _, low, high = certificate.witness
    room = 1.5 * (high - low)
    subsidies = np.linspace(low - room, high + room, 181)
    table = np.array([advantage(arm, discount, subsidy) for subsidy in subsidies])
    frame = pd.DataFrame({"subsidy": np.repeat(subsidies, arm.states)})
    frame["state"] = np.tile(np.arange(1, arm.states + 1), subsidies.size)
    return frame.assign(advantage=table.ravel())


def play(
    sets: int, arms: int, states: int, budget: int, epochs: int, paths: int, seed: int
) -> pd.DataFrame:
    """Play sets of arms by the Whittle index, the Lagrangian index and the myopic score.

    One row a set and policy: the loss in % of the relaxed bound. In sets of `no index` no arm has
    one, and the Whittle index is left out.
    """
    rows = []
    for kind in KINDS:
        for family in ("index", "no index") if kind == "walk" else ("index",):
            for number in range(sets):
                rng = np.random.default_rng([seed, number, *kind.encode()])
                chosen, tables = _arms_of(family, kind, arms, states, rng)
                relaxed = relaxed_problem(chosen, budget)
                scores = {
                    "Lagrangian index": list(relaxed.index),
                    "myopic": [arm.rewards[1] - arm.rewards[0] for arm in chosen],
                }
                if family == "index":
                    scores = {"Whittle index": tables, **scores}
                warm_up = int(WARM_UP * epochs)
                run: dict[str, Any] = {
                    "epochs": epochs,
                    "paths": paths,
                    "warm_up": warm_up,
                    "rng": rng,
                }
                rewards = simulate(chosen, scores, budget, **run)
                for policy, earned in rewards.items():
                    loss = 100 * (1 - earned.value / relaxed.bound)
                    rows.append((kind, family, number, policy, relaxed.bound, earned.value, loss))
    columns = ["kind", "family", "set", "policy", "bound", "reward", "loss"]
    return pd.DataFrame(rows, columns=columns)


def _arms_of(
    family: str, kind: str, arms: int, states: int, rng: np.random.Generator
) -> tuple[list[Arm], list[Floats]]:
    """Draw arms until enough have an index, or none."""
    chosen, tables = [], []
    for _ in range(MOST_DRAWS):
        arm = draw_arm(kind, states, rng)
        try:
            certificate = certify_indexability(arm)
        except NotConverged:
            continue
        if certificate.holds == (family == "index"):
            chosen.append(arm)
            tables.append(certificate.index)
        if len(chosen) == arms:
            return chosen, tables
    raise NotConverged(f"{MOST_DRAWS} draws did not give {arms} arms with {family}")


# Values and tables


def save_shares(table: pd.DataFrame, arms: int) -> None:
    """Save the shares of arms without an index."""
    save_data(
        "restart-any-arm-survey",
        table,
        "One row a kind of kernels and number of states: random arms without an index.",
        {
            "kind": "; ".join(f"{kind}: {text}" for kind, text in KINDS.items()),
            "states": "states of an arm",
            "share": "share of the arms that are not indexable",
            "low": "lower end of its 95% interval (Clopper and Pearson)",
            "high": "upper end",
            "hidden": "arms of which rounding hides the answer",
        },
    )
    for kind in ("walk", "dense"):
        worst = table[table.kind == kind].sort_values("share", kind="stable").iloc[-1]
        interval = (float(worst.low), float(worst.high))
        id = f"restart-any-arm-{kind}-most"
        save_value(id, float(worst.share), interval=interval, replications=arms)


def save_witness(certificate: Indexability) -> None:
    """Save the state and the subsidies of the arm that is drawn."""
    assert certificate.witness is not None
    state, low, high = certificate.witness
    facts = {"state": state + 1, "passive-at": low, "active-at": high}
    save_values("restart-any-arm", facts)


def losses(played: pd.DataFrame) -> pd.DataFrame:
    """Return the mean loss of each kind, family and policy, with its interval over the sets."""
    rows = []
    for (kind, family, policy), runs in played.groupby(["kind", "family", "policy"], sort=False):
        mean = Estimate.of(runs.loss)
        rows.append((kind, family, policy, mean.value, mean.low, mean.high, mean.replications))
    columns = ["kind", "family", "policy", "loss", "low", "high", "sets"]
    return pd.DataFrame(rows, columns=columns)


def save_losses(played: pd.DataFrame) -> pd.DataFrame:
    """Save every set, the mean losses, and which sentences are true; return the means."""
    save_data(
        "restart-any-arm-sets",
        played,
        "One row a set of arms and policy: relaxed bound, simulated reward per epoch, loss in %.",
        {
            "kind": "kind of kernels",
            "family": "whether all arms of the set have an index, or none has",
            "set": "number of the set",
            "policy": "what ranks the arms",
            "bound": "relaxed bound on the average reward of every policy",
            "reward": "simulated average reward",
            "loss": "100 (1 - reward/bound)",
        },
    )
    means: Any = losses(played)  # typed tables of pandas know no columns
    at = means.set_index(["family", "policy", "kind"]).sort_index()
    lagrangian, myopic = at.loc[("index", "Lagrangian index")], at.loc[("index", "myopic")]
    whittle = at.loc[("index", "Whittle index")]
    without = at.loc["no index"].droplevel("kind")
    facts = {
        "loss-walk-lagrangian-without": without.loc["Lagrangian index", "loss"],
        "both-beat-myopic": bool(
            (lagrangian.high < myopic.low).all() and (whittle.high < myopic.low).all()
        ),
        "without-beats-myopic": bool(
            without.loc["Lagrangian index", "high"] < without.loc["myopic", "low"]
        ),
        "indices-close": bool(
            ((lagrangian.low < whittle.high) & (whittle.low < lagrangian.high)).all()
        ),
    }
    save_values("restart-any-arm", facts)
    table = means.assign(
        loss=[f"{r.loss:.2f} ({r.low:.2f} to {r.high:.2f})" for r in means.itertuples()],
        arms=means.family.map({"index": "all have an index", "no index": "none has one"}),
    ).pivot(index=["kind", "arms"], columns="policy", values="loss")
    order = ["Whittle index", "Lagrangian index", "myopic"]
    save_table(
        "restart-any-arm-losses",
        table[order].fillna("undefined"),
        f"Mean loss in % of the relaxed bound over {int(means.sets.iloc[0])} sets of arms, with "
        "its 95% interval; average rewards.",
        instances="restart-any-arm-sets",
    )
    return means


def save_solutions() -> None:
    """Save the numbers of the solutions."""
    kernel = np.array([[0.5, 0.5], [0.2, 0.8]])
    arm = Arm(np.array([kernel, kernel]), np.array([[0.0, 1.0], [2.0, 1.5]]))
    index = certify_indexability(arm).index
    save_values("restart-any-arm-alike", {"first": index[0], "second": index[1]})


# Figures


def draw_survey(table: pd.DataFrame, arms: int) -> None:
    """Draw the share of arms without an index by their number of states."""
    most = {kind: table[table.kind == kind].share.max() for kind in KINDS}
    text = "; ".join(f"{kind} {share:.1%}" for kind, share in most.items())

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for kind, colour, marker in zip(KINDS, COLOURS, "os^", strict=False):
            shares = table[table.kind == kind]
            around = np.abs(shares[["low", "high"]].to_numpy().T - shares.share.to_numpy())
            axis.errorbar(
                shares.states, 100 * shares.share, yerr=100 * around, marker=marker, color=colour,
                capsize=2, label=kind,
            )  # fmt: skip
        axis.set(xlabel="states of the arm", ylabel="arms without an index (%)", ylim=(-1, None))
        axis.set_xticks(sorted(table.states.unique()))
        add_legend(figure)
        return table

    save_figure(
        "restart-any-arm-shares",
        draw,
        f"Share of {arms} random arms a point that are not indexable, with 95% intervals. The "
        f"largest shares: {text}.",
        f"Three lines with error bars over the number of states. Largest shares: {text}.",
        instances="restart-any-arm-survey",
        height=3.2,
    )


def draw_lines(frame: pd.DataFrame, certificate: Indexability) -> None:
    """Draw the advantage of activity of each state over the subsidy for passivity."""
    assert certificate.witness is not None
    state, low, high = certificate.witness
    at = frame[frame.state == state + 1].set_index("subsidy").advantage
    near = at[(at.index >= 2 * low - high) & (at.index <= 2 * high - low)].abs().max()

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for number, curve in frame.groupby("state"):
            back = number == state + 1
            look = {"color": COLOURS[0], "linewidth": 2.4} if back else {"color": "grey", "lw": 1}
            axis.plot(
                curve.subsidy, curve.advantage, label=f"state {number}" if back else None, **look
            )
        axis.axhline(0.0, color=ink(), linewidth=0.8)
        for subsidy in (low, high):
            axis.axvline(subsidy, color=COLOURS[1], linewidth=1, linestyle="--")
        axis.plot([], [], color="grey", label="other states")
        axis.set(xlabel="subsidy for a passive epoch", ylabel="advantage of activity")
        axis.set_ylim(-4 * near, 4 * near)
        add_legend(figure)
        return frame

    save_figure(
        "restart-any-arm-lines",
        draw,
        f"Advantage of activity in each state of one arm, by policy iteration at 181 subsidies. "
        f"State {state + 1} is passive at a subsidy of {low:.4f} and active again at {high:.4f} "
        "(dashed).",
        f"Lines over the subsidy that fall through zero, one a state. That of state {state + 1} "
        f"is below zero at {low:.4f} and above it again at {high:.4f}.",
        height=3.2,
    )


def verdict_facts(table: pd.DataFrame) -> Mapping[str, bool]:
    """Return which sentences of the page's answer are true."""
    shares = table.groupby("kind").share.max()
    facts = {
        "dense-all": bool(shares["dense"] == 0),
        "walk-many": bool(shares["walk"] > 0.02),
    }
    save_values("restart-any-arm", facts)
    return facts
