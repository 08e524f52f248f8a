"""Losses with many copies of each source, and of policies that were published since.

With R copies of each source and a budget of R M, `measure_gaps_by_copies` follows the gap

    1 - reward per copy / relaxed bound per copy

of the index policy as R grows, for expected and for random contents, from copies that start alike
and from random ages; `measure_random_set_gaps` measures it at one large R on many random sets.

Newer policies are played beside the index, timetables and two levels. Policies without chance are
judged by the cycle in which they end, those that draw by runs that begin with all ages equal, of
which the first half is left out.

Reference: Weber and Weiss, J. Appl. Prob. 27 (1990); Verloop (2016).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.instances import random_set
from analysis.ephemeral.optimum.advice import (
    FTVAPolicy,
    IDPolicy,
    LPUpdatePolicy,
    SingleSourcePolicies,
)
from analysis.ephemeral.optimum.exact import optimal_cycle
from analysis.ephemeral.policies import Policy, WhittlePolicy
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.simulation import long_run_cycle, simulate
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.index import StochasticIndex, stochastic_bound, stochastic_index
from analysis.ephemeral.stochastic.replicas import (
    STARTS,
    simulate_random_replicas,
    simulate_replicas,
)
from analysis.ephemeral.timetables.copies import two_level
from analysis.ephemeral.timetables.table import timetable
from analysis.results import Estimate
from book.ephemeral.shared import EXACT, is_optimal, tabulate_hard_sets
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    format_plus_minus,
    save_figure,
    save_table,
)

Row = tuple[str, str, int, float, float, float]

#: Epochs that LP-update looks ahead.
EPOCHS_AHEAD = 5
#: Policies without chance.
FIXED = ("index", "timetable", "two-level", "lp-update")
#: Policies that draw.
RANDOM: dict[str, Callable[[Sources, int], Policy]] = {"ftva": FTVAPolicy, "id": IDPolicy}
_WARM_UP = 200  # phases mix slowly


def measure_random_set_gaps(instances: int, copies: int, seed: int) -> pd.DataFrame:
    """Measure the gap of the index policy on many copies of random sets, with expected contents.

    ``exact``: whether both runs were averaged over a period.
    """
    rows = []
    for instance in range(instances):
        sources, budget = random_set(instance, seed)
        bound = relaxed_problem(sources, budget).bound
        rng = np.random.default_rng([seed, instance])
        runs = {s: simulate_replicas(sources, budget, copies, start=s, rng=rng) for s in STARTS}
        gaps = {start: 1 - run.average_reward / bound for start, run in runs.items()}
        exact = all(run.period for run in runs.values())
        rows.append({"instance": instance, "budget": budget, **gaps, "exact": exact})
    return pd.DataFrame(rows)


def select_lasting_gaps(gaps: pd.DataFrame) -> pd.DataFrame:
    """Mark the gaps of `measure_random_set_gaps` that surely stay: those over a period."""
    return gaps[["together", "random"]].gt(1e-9) & gaps[["exact"]].to_numpy()


def measure_alike_gaps(source: Sources, budget: float, sizes: Sequence[int]) -> list[float]:
    """Return the gap to the bound of several copies of one source, with expected contents.

    The product of a number of copies with the budget is whole.
    """
    bound = relaxed_problem(source, budget).bound
    return [1 - simulate_replicas(source, budget, n).average_reward / bound for n in sizes]


def gap_closes(copies: pd.DataFrame, share: float = 0.05) -> bool:
    """Return whether the gap with random content falls to a small share of that of one copy."""
    random = copies[copies.content == "random"]
    curves = [line.sort_values("copies") for _, line in random.groupby(["sources", "start"])]
    return all(line.high.iloc[-1] < share * line.gap.iloc[0] for line in curves)


def measure_gaps_by_copies(
    sources: Sources,
    budget: int,
    law: Utility,
    *,
    sizes: Sequence[int],
    random_sizes: Sequence[int],
    runs: int,
    horizon: int,
    seed: int,
) -> pd.DataFrame:
    """Follow the gap of the index policy as the number of copies grows.

    ``content`` is "expected"; "random", played with the index of the random model; "closed form",
    with that of Theorem 1 on the same contents. Ends are 95% intervals if contents are random, else
    the range.
    """
    rows = [*_expected_gaps(sources, budget, sizes, runs, seed)]
    curves = [stochastic_index(sources, i, law) for i in range(len(sources))]
    for copies in random_sizes:
        epochs = _WARM_UP + max(400, 4 * horizon // copies)
        rows += _random_gaps(Arrivals(sources, law), curves, budget, copies, epochs, runs, seed)
    return pd.DataFrame(rows, columns=["content", "start", "copies", "gap", "low", "high"])


def _expected_gaps(
    sources: Sources, budget: int, sizes: Sequence[int], runs: int, seed: int
) -> Iterator[Row]:
    bound = relaxed_problem(sources, budget).bound
    for start in STARTS:
        for copies in sizes:
            gaps = []
            for r in range(1 if start == "together" else runs):
                rng = np.random.default_rng([seed, copies, r])
                run = simulate_replicas(sources, budget, copies, start=start, rng=rng)
                gaps.append(1 - run.average_reward / bound)
            yield "expected", start, copies, float(np.mean(gaps)), min(gaps), max(gaps)


def _random_gaps(
    arrivals: Arrivals,
    curves: Sequence[StochasticIndex],
    budget: int,
    copies: int,
    epochs: int,
    runs: int,
    seed: int,
) -> Iterator[Row]:
    """Yield gaps with the index of the random model; from equal starts with the closed form too."""
    bound, subsidy = stochastic_bound(arrivals.sources, curves, budget)

    def play(indices: Sequence[StochasticIndex], start: str, price: float | None = None) -> list:
        return [
            simulate_random_replicas(
                arrivals, indices, budget, copies, epochs,
                np.random.default_rng([seed, copies, r]),
                start=start, warm_up=_WARM_UP, subsidy=price,
            )
            for r in range(runs)
        ]  # fmt: skip

    for start in STARTS:
        right = play(curves, start, subsidy)
        gap = Estimate.of([(run.relaxed_reward - run.average_reward) / bound for run in right])
        yield "random", start, copies, gap.value, *gap.interval
        if start == "together":
            wrong = play(_with_theorem_index(arrivals.sources, curves), start)
            pairs = zip(right, wrong, strict=True)
            gap = Estimate.of([(a.relaxed_reward - b.average_reward) / bound for a, b in pairs])
            yield "closed form", start, copies, gap.value, *gap.interval


def _with_theorem_index(
    sources: Sources, curves: Sequence[StochasticIndex]
) -> list[StochasticIndex]:
    """Return the same lattices of contents, with the index of Theorem 1 on them."""
    same = np.ones(len(sources))
    return [
        replace(curve, index=whittle_index(sources, curve.state[:, None] * same)[:, i])
        for i, curve in enumerate(curves)
    ]


def measure_losses_of_one_copy(sets: int, horizon: int, runs: int, seed: int) -> dict[str, Floats]:
    """Return the loss of each policy against the exact optimum on random sets of four sources.

    One column only for policies without chance.
    """
    losses: dict[str, list[Floats]] = {name: [] for name in (*FIXED, *RANDOM)}
    for number in range(sets):
        sources, budget = random_set(number, seed)
        optimum = optimal_cycle(sources, budget).average_reward
        ahead = LPUpdatePolicy(sources, EPOCHS_AHEAD)
        rewards: dict[str, Any] = {
            "index": long_run_cycle(sources, "whittle", budget).average_reward,
            "timetable": timetable(sources, budget).average_reward,
            "two-level": two_level(sources, budget, 1).average_reward,
            "lp-update": long_run_cycle(sources, ahead, budget).average_reward,
        }
        seeds = [[seed, 29, number, run] for run in range(runs)]
        for name, earned in (rewards | _run_random_policy(sources, budget, horizon, seeds)).items():
            losses[name].append(1 - np.atleast_1d(earned) / optimum)
    return {name: np.array(rows) for name, rows in losses.items()}


def measure_losses_of_copies(
    copies: int, sets: int, horizon: int, runs: int, seed: int
) -> dict[str, Floats]:
    """Return the losses of policies against the relaxed bound with many copies of each source.

    One column only for policies without chance.
    """
    losses: dict[str, list[Floats]] = {name: [] for name in ("index", "two-level", *RANDOM)}
    for number in range(sets):
        types, budget = random_set(number, seed)
        bound = relaxed_problem(types, budget).bound
        sources = types.subset(np.tile(np.arange(len(types)), copies))
        places = budget * copies
        losses["two-level"].append(np.array([two_level(types, budget, copies).loss]))
        index = _second_half_reward(sources, WhittlePolicy(sources), places, horizon, None)
        drawn = _run_random_policy(
            sources, places, horizon, [[seed, 31, number, run] for run in range(runs)]
        )
        for name, earned in {"index": np.array([index]), **drawn}.items():
            losses[name].append(1 - earned / copies / bound)
    return {name: np.array(rows) for name, rows in losses.items()}


def _run_random_policy(
    sources: Sources, budget: int, horizon: int, seeds: Sequence[Sequence[int]]
) -> dict[str, Floats]:
    """Return the rewards of the policies that draw, one run a seed."""
    return {
        name: np.array(
            [
                _second_half_reward(
                    sources, policy(sources, budget), budget, horizon, np.random.default_rng(seed)
                )
                for seed in seeds
            ]
        )
        for name, policy in RANDOM.items()
    }


def _second_half_reward(
    sources: Sources,
    policy: Policy,
    budget: int,
    horizon: int,
    rng: np.random.Generator | None,
) -> float:
    """Reward per epoch of the second half of a run, with what its ages are worth at both ends.

    In the relaxed problem age a is worth X(max(a, k)) - c max(k - a, 0), k the due age and c the
    source's part of the bound: with it, no half of a run is above the bound, however short.
    """
    run = simulate(sources, policy, budget, horizon, initial_state="fresh", rng=rng)
    relaxed = relaxed_problem(sources, budget)
    crawled = np.isfinite(relaxed.age)
    due = np.where(crawled, relaxed.age, 1.0)
    surplus = np.maximum(0.0, (sources.state_at_age(due) - relaxed.subsidy) / due)
    first, age = horizon // 2, np.ones(len(sources))
    worth = np.zeros(2)
    for epoch, chosen in enumerate([*run.crawled.T, np.zeros(len(sources), dtype=bool)]):
        if epoch in (first, horizon):
            ages = sources.state_at_age(np.maximum(age, due)) - surplus * np.maximum(due - age, 0.0)
            worth[int(epoch == horizon)] = ages[crawled].sum()
        age = np.where(chosen, 1.0, age + 1.0)
    return float((run.reward[first:].sum() + worth[1] - worth[0]) / (horizon - first))


def aperiodic_share(sets: int, seed: int) -> float:
    """Return the share of random sets of four sources without a periodic single-source chain."""
    drawn = (random_set(number, seed) for number in range(sets))
    return float(
        np.mean([SingleSourcePolicies.of(*instance).aperiodic().all() for instance in drawn])
    )


def compute_hard_rewards() -> pd.DataFrame:
    """Return index policy, timetable, exact optimum and bound on the hard sets."""
    return tabulate_hard_sets(_compute_hard_reward)


def _compute_hard_reward(sources: Sources, budget: int) -> dict[str, float]:
    best = optimal_cycle(sources, budget)
    index = long_run_cycle(sources, "whittle", budget).average_reward
    bound = relaxed_problem(sources, budget).bound
    return {
        "bound": bound,
        "optimum": best.average_reward,
        "timetable": timetable(sources, budget).average_reward,
        "index": index,
        "index below bound": 1 - index / bound,
        "index below optimum": 1 - index / best.average_reward,
        "joint ages": best.states,
    }


# Values and tables


LABELS = {
    "index": "index",
    "timetable": "timetable",
    "two-level": "two levels",
    "lp-update": f"LP-update, {EPOCHS_AHEAD} epochs",
    "ftva": "FTVA",
    "id": "ID",
}


def collect_gap_values(
    gaps: pd.DataFrame, settled: pd.DataFrame, lasting: pd.DataFrame
) -> dict[str, float]:
    """Return the page's numbers on the gaps with many copies of random sets."""
    return {
        "periodic": int(gaps.exact.sum()),
        "copy-instances": len(gaps),
        "kept-together": float(lasting.together.mean()),
        "kept-random": float(lasting.random.mean()),
        "kept-worst": float(settled.random.max()),
        "random-worse": int((settled.random > settled.together + 1e-9).sum()),
    }


def collect_loss_values(single: dict[str, Floats]) -> dict[str, float]:
    """Return the page's numbers on the losses of one copy, from `measure_losses_of_one_copy`."""
    mean = {name: float(losses.mean()) for name, losses in single.items()}
    others = [loss for name, loss in mean.items() if name != "index"]
    return {
        "index-loss": mean["index"],
        "update-loss": mean["lp-update"],
        "five-too-few": mean["index"] < mean["lp-update"],
        "index-ahead": mean["index"] < min(others),
    }


def collect_drawn_values(instances: pd.DataFrame) -> dict[str, float]:
    """Return the losses of one copy of random sets, rows of `optimality_row`."""
    loss = 1 - instances["whittle"]
    return {
        "drawn": len(loss),
        "drawn-mean": float(loss.mean()),
        "drawn-worst": float(loss.max()),
    }


def collect_hard_set_values(rewards: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the sets on which the index policy loses most."""
    below_bound = rewards["index below bound"].to_dict()
    below_optimum = rewards["index below optimum"].to_dict()
    return {
        "hard-three": below_bound["three sources"],
        "hard-five": below_bound["five sources"],
        "hard-three-optimum": below_optimum["three sources"],
        "hard-five-optimum": below_optimum["five sources"],
        "hard-states": int(rewards["joint ages"].to_dict()["five sources"]),
    }


def save_losses(single: dict[str, Floats], many: dict[str, Floats], copies: int) -> None:
    """Save the table of all policies' losses."""
    rows = {
        label: {
            "one copy, mean": _format_mean(single[name]),
            "one copy, worst": f"{single[name].mean(axis=1).max():.2%}",
            f"{copies} copies, mean": _format_mean(many[name]) if name in many else "not played",
        }
        for name, label in LABELS.items()
    }
    sets, runs = single["ftva"].shape
    save_table(
        "newer-policies-losses",
        pd.DataFrame(rows).T.rename_axis("policy"),
        f"Loss on {sets} random sets of four sources: of one copy against the exact optimum, of "
        f"{copies} copies of each ({many['ftva'].shape[0]} sets) against the relaxed bound, from "
        f"equal ages; 95% intervals over {runs} runs where a policy draws.",
    )


def _format_mean(losses: Floats) -> str:
    """Mean over sets, with its interval over runs if there are any."""
    means = losses.mean(axis=0)
    if means.size == 1:
        return f"{round(means[0], 9) + 0.0:.3%}"  # no minus before a zero
    estimate = Estimate.of(means)
    return f"{format_plus_minus(100 * estimate.value, 100 * estimate.half_width)}%"


def save_hard(rewards: pd.DataFrame) -> None:
    """Save the table of the sets on which the index policy loses most."""
    formats = {name: ".3%" if "below" in name else ".6f" for name in map(str, rewards)}
    save_table(
        "newer-policies-hard",
        rewards,
        "Sets of three and of five sources on which the index policy loses most, one crawl an "
        "epoch: rewards per epoch, all exact, and the joint ages of the optimum.",
        formats={**formats, "joint ages": ".0f"},
    )


# Claims


#: A cut-off of our own: the mean loss up to which a policy passes for near-optimal.
_NEAR = 0.01


@dataclass(frozen=True)
class Results:
    """Results of the page."""

    instances: pd.DataFrame  # rows of `shared.compare_with_optimum`
    # Gap to the relaxed bound of the index policy on Table 1 at M = 2, with expected contents.
    stuck: float
    alike: list[float]  # `measure_alike_gaps` of one source
    # As `measure_gaps_by_copies` returns it, with the set's name as ``sources``.
    copies: pd.DataFrame
    lasting: float  # share of random sets that keep a gap from random ages, with expected contents


def claims(results: Results) -> list[Claim]:
    """Return the page's claims on the rows on quality and on many copies."""
    optimal, loss = is_optimal(results.instances), 1 - results.instances["whittle"]
    random = results.copies[
        (results.copies.content == "random") & (results.copies.start == "together")
    ]
    largest = random[random.copies == random.copies.max()]
    gaps = [{"gap": row.gap, "set": row.sources.replace("$", "")} for row in largest.itertuples()]
    fails = results.stuck > EXACT or results.lasting > 0
    largest_alike = float(np.max(np.abs(results.alike)))
    copies = {
        "copies": int(random.copies.max()),
        "gaps": gaps,
        "stuck": results.stuck,
        "kept": results.lasting,
    }
    quality = {
        "cut": _NEAR,
        "mean": loss.mean(),
        "most": loss.max(),
        "sets": len(optimal),
        "optimal": optimal.mean(),
    }
    return [
        claim(
            "A-r-intro-asym",
            gap_closes(results.copies) and not optimal.all() and bool(loss.mean() < _NEAR),
            outcome="stays" if fails else "closes",
            numbers=quality | copies,
        ),
        claim(
            "A-s-asym-ww",
            outcome="closes" if largest_alike < EXACT else "stays",
            numbers={"numbers_of_copies": len(results.alike), "most": largest_alike},
        ),
        claim("A-s-asym-verloop", numbers=copies),
    ]


#: Label and look of each line: a colour a content and index, a dash and marker a kind of start.
_COPIES = {
    ("expected", "together"): ("expected content, equal ages", COLOURS[1], "-", "s"),
    ("expected", "random"): ("expected content, random ages", COLOURS[1], "--", "x"),
    ("random", "together"): ("random content, equal ages", COLOURS[0], "-", "o"),
    ("random", "random"): ("random content, random ages", COLOURS[0], "--", "x"),
    ("closed form", "together"): ("random content, wrong index", COLOURS[2], "-", "^"),
}
_LEAST_GAP = 1e-6  # where a gap of zero is drawn


def draw_copies(copies: pd.DataFrame, runs: int) -> None:
    """Draw the gap to the bound against the number of copies, one panel a set of sources."""
    sets = copies["sources"].unique()
    most = int(copies[copies.content == "random"].copies.max())
    gaps = copies.assign(gap=copies["gap"].where(copies["gap"] > 1e-12, 0.0))  # not of rounding
    ends = gaps.sort_values("copies").groupby(["sources", "content", "start"]).gap
    flat = " and ".join(f"{ends.last()[name, 'expected', 'together']:.2g}" for name in sets)
    fallen = " and ".join(f"{ends.last()[name, 'random', 'together']:.1g}" for name in sets)
    moves = " and ".join(
        f"from {ends.first()[name, 'random', 'together']:.1g} to "
        f"{ends.last()[name, 'random', 'together']:.1g}"
        for name in sets
    )

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, len(sets), sharey=True)
        for axis, name in zip(axes, sets, strict=True):
            for (content, start), (label, colour, style, marker) in _COPIES.items():
                selected = (
                    (copies.sources == name) & (copies.content == content) & (copies.start == start)
                )
                line = copies.loc[selected, ["copies", "gap", "low", "high"]].clip(lower=_LEAST_GAP)
                look = {"color": colour, "linestyle": style, "marker": marker, "markersize": 4}
                axis.plot(line.copies, line.gap, label=label, **look)
                axis.fill_between(
                    line.copies, line.low, line.high, color=colour, alpha=0.2, linewidth=0
                )
            axis.set(xscale="log", yscale="log", xlabel="copies of each source")
            axis.set_title(name)
        axes[0].set_ylim(_LEAST_GAP, 0.3)
        figure.supylabel("gap to the relaxed bound (share)")
        add_legend(figure)
        return copies

    save_figure(
        "newer-policies-copies",
        draw,
        caption="Gap between the index policy and the relaxed bound. With random content, equal "
        f"ages and its own index it is {fallen} at {most} copies of each source on the two sets; "
        f"with expected content and equal ages it is {flat} with any number. The wrong index is "
        f"that of expected content. Bands of {runs} runs: 95% intervals where content is random, "
        "the range otherwise; a gap of zero is drawn at the bottom.",
        alt="Log-log panels of the gap. With expected content and equal ages at the beginning the "
        f"curve is flat, at {flat}. With random content and its own index the curves go {moves} "
        f"at {most} copies.",
        height=3.9,
    )
