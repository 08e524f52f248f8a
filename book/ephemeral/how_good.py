"""How good the index policy is: against the exact optimum on random sets, and where it observes.

With expected contents every policy ends in a cycle, whose reward is exact; `compare_with_optimum`
compares all of them with the optimum. What observation is worth takes random contents: `bunched`
sources have the same expected contents, and so the same static lists, so that what a policy then
gains, it gains by observing.

Reference: report 8702, sections 1, 7 and 9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from analysis.arrays import Floats
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.instances import bunched, random_sources, wide_set
from analysis.ephemeral.optimum.exact import optimal_cycle
from analysis.ephemeral.optimum.static import constant_gaps
from analysis.ephemeral.policies import WhittlePolicy
from analysis.ephemeral.simulation import Cycle, long_run_cycle
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.simulation import Environment, compare, simulate_random
from analysis.ephemeral.theory.formula import index_by_definition
from analysis.results import Estimate, NotConverged
from book.ephemeral.shared import EXACT, is_optimal
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    fold_names,
    format_range,
    ink,
    is_narrow,
    pluralise,
    save_data,
    save_figure,
    save_table,
    save_value,
    save_values,
)

ObservedSets = Mapping[str, ArrayLike]

#: Starts of each set, beside empty sources; ages are drawn from 1 to 12.
STARTS = 8
#: Which of four sources are observed, by name.
OBSERVED = {
    "all observed": np.ones(4, bool),
    "1 and 2 observed": np.array([True, True, False, False]),
    "3 and 4 observed": np.array([False, False, True, True]),
    "none observed": np.zeros(4, bool),
}
#: Name of the policy that knows the true rates and observes all sources.
INFORMED = "told the truth"
_WARM_UP = 50


def formula_error(sources: Sources) -> float:
    """Return the largest relative difference of the index from its definition, at ages 1 to 20."""
    ages = np.arange(1, 21)[:, None] * np.ones(len(sources))
    defined = np.array([index_by_definition(sources, sources.state_at_age(age)) for age in ages])
    return float(np.abs(whittle_index_at_age(sources, ages) / defined - 1).max())


def count_joint_ages(size: int, sets: int, seed: int) -> list[int]:
    """Count the joint ages that bracket the optimum of random sets to six digits, at M = 1."""
    needed: list[int] = []
    for number in range(sets):
        rng = np.random.default_rng([seed, size, number])
        while len(needed) == number:
            try:
                optimum = optimal_cycle(random_sources(size, rng), 1, tolerance=1e-6)
            except NotConverged:
                continue
            if optimum.states:
                needed.append(optimum.states)
    return needed


def find_periods(size: int, sets: int, seed: int) -> pd.DataFrame:
    """Find the period of the index policy's cycle, and whether it is trivial, at every budget."""
    rows = []
    for instance in range(sets):
        sources = random_sources(size, np.random.default_rng([seed, 5, instance]))
        for budget in range(1, size + 1):
            cycle = long_run_cycle(sources, "whittle", budget)
            rows.append((instance, budget, cycle.period, constant_gaps(cycle)))
    return pd.DataFrame(rows, columns=["instance", "budget", "period", "trivial"])


def find_cycles(count: int, seed: int) -> pd.DataFrame:
    """Follow the index policy from many ages on random sets of sources, M = 1.

    Rewards per epoch are of the cycle from empty sources and of the worst and the best found.
    """
    rows = []
    for instance in range(count):
        sources, rng = wide_set(instance, seed)
        empty = long_run_cycle(sources, "whittle", 1).average_reward
        ages = rng.integers(1, 13, (STARTS, len(sources)))
        earned = [empty] + [
            long_run_cycle(sources, "whittle", 1, initial_age=age).average_reward for age in ages
        ]
        worst, best = min(earned), max(earned)
        spread = best / worst - 1
        # Rewards that differ by the rounding of their sums are of one cycle.
        rows.append((instance, len(sources), empty, worst, best, spread if spread > APART else 0.0))
    return pd.DataFrame(rows, columns=["set", "sources", "start", "worst", "best", "spread"])


def measure_reward_by_observation(
    sources: Sources,
    law: Utility,
    factors: Sequence[float],
    observed_sets: ObservedSets,
    budget: int,
    horizon: int,
    runs: int,
    seed: int,
) -> tuple[pd.DataFrame, dict[str, Floats]]:
    """Measure the index policy's reward by the bunching of contents and the sources observed.

    Returns also the average reward of each run at the last factor, by what is observed; all runs
    are on the same content.
    """
    rows, rewards = [], {}
    for factor in factors:
        arrivals = Arrivals(bunched(sources, factor), law)
        for name, observed in observed_sets.items():
            result = compare(
                arrivals, ["whittle"], budget, horizon, runs, np.random.default_rng([seed, 3]),
                observed=observed, warm_up=_WARM_UP,
            )  # fmt: skip
            rewards[name] = result.rewards["whittle"]
            estimate = Estimate.of(rewards[name])
            rows.append((float(factor), name, estimate.value, *estimate.interval))
    table = pd.DataFrame(rows, columns=["factor", "observed", "reward", "low", "high"])
    return table, rewards


def measure_visits_by_content(
    sources: Sources, law: Utility, popular: int, horizon: int, runs: int, seed: int
) -> Floats:
    """Measure how often unpopular sources are crawled, by the content of the popular ones.

    Returns the share of crawls that go to the others, in the quarters of all epochs from the one at
    which the popular sources hold least to the one at which they hold most.
    """
    policy, arrivals = WhittlePolicy(sources), Arrivals(sources, law)
    held, elsewhere = [], []
    for stream in np.random.default_rng([seed, 4]).spawn(runs):
        environment = Environment(sources, arrivals.sample(horizon, stream))
        while environment.epoch < environment.horizon:
            chosen = policy.select(environment.observation, 1)
            held.append(float(environment.state[:popular].sum()))
            elsewhere.append(bool(chosen[0] >= popular))
            environment.step(chosen)
    quarters = np.array_split(np.argsort(held, kind="stable"), 4)
    return np.array([np.mean(np.array(elsewhere)[quarter]) for quarter in quarters])


def regained_share(rewards: Mapping[str, Floats], name: str) -> Estimate:
    """Return the share of the gain from true rates that a policy regains by observing."""
    blind = rewards["none observed"]
    return Estimate.of((rewards[name] - blind) / (rewards[INFORMED] - blind))


def gains_by_observing(rewards: Mapping[str, Floats], name: str) -> bool:
    """Whether a policy that observes earns clearly more than one that observes nothing."""
    return Estimate.of(rewards[name] - rewards["none observed"]).low > 0


def gain_from_true_rates(rewards: Mapping[str, Floats], name: str) -> tuple[float, Estimate]:
    """Return the share of the gain from true rates that a policy regains, and that gain."""
    gain = Estimate.of(rewards[INFORMED] - rewards["none observed"])
    return regained_share(rewards, name).value if gain.low > 0 else 0.0, gain


def simulate_self_tuning(
    believed: Sources,
    truth: Sources,
    law: Utility,
    observed_sets: ObservedSets,
    horizon: int,
    runs: int,
    seed: int,
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Run the index policy at believed rates on contents of the true ones, one crawl an epoch.

    Returns rewards and frequencies by set, and of ``INFORMED``, which knows the true rates.
    """
    policies = {name: (believed, observed) for name, observed in observed_sets.items()}
    policies[INFORMED] = (truth, True)
    rewards = {name: np.empty(runs) for name in policies}
    frequencies = {name: np.empty((runs, len(truth))) for name in policies}
    for r, stream in enumerate(np.random.default_rng([seed, 6]).spawn(runs)):
        content = Arrivals(truth, law).sample(horizon, stream)
        for name, (belief, observed) in policies.items():
            run = simulate_random(
                belief, "whittle", 1, content, observed=observed, warm_up=_WARM_UP
            )
            rewards[name][r], frequencies[name][r] = run.average_reward, run.frequency
    return rewards, frequencies


# Values and tables


#: Sets in the table of cycles.
SHOWN = 8
#: Relative difference from which two rewards count as two.
APART = 1e-6


def collect_policy_predicates(table: pd.DataFrame) -> dict[str, bool]:
    """Return whether the fluid frequencies, played as a list, earn less than the relaxed ones."""
    worse = table.loc["list, fluid"] < table.loc["list, relaxed"] * (1 - EXACT)
    return {"fluid-list-below": bool(worse.all())}


def count_trivial(instances: pd.DataFrame) -> dict[str, float]:
    """Count the sets with an interval of multipliers and without, and their trivial cycles.

    ``trivial-met``: single multipliers whose trivial cycle reaches the bound; ``odd``: cycles that
    are not trivial in spite of an interval; ``odd-misfit``: where no constant gaps reach the bound.
    """
    interval, constant = instances["interval"], instances["constant"]
    met = instances["whittle"] > instances["bound"] * (1 - EXACT)
    misfit = instances["periodic"] < instances["bound"] * (1 - EXACT)
    return {
        "with-interval": int(interval.sum()),
        "with-single": int((~interval).sum()),
        "trivial-interval": int((interval & constant).sum()),
        "trivial-single": int((~interval & constant).sum()),
        "trivial-met": int((met & constant & ~interval).sum()),
        "odd": int((interval & ~constant).sum()),
        "odd-misfit": int((interval & ~constant & misfit).sum()),
        "some-nontrivial": not constant.all(),
        "some-odd": bool((interval & ~constant).any()),
    }


def collect_random_set_values(instances: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the policies on random sets, rows of `compare_with_optimum`."""
    loss, optimal = 1 - instances["whittle"], is_optimal(instances)
    bound = instances["bound"]
    return {
        "instances": len(instances),
        "redrawn": int(instances["redrawn"].sum()),
        "optimal-share": float(optimal.mean()),
        "worst": float(loss.max()),
        "mean-loss": float(loss.mean()),
        "list-loss": float((1 - instances["spread"]).mean()),
        "suboptimal": not optimal.all(),
        "bound-met": float((bound < 1 + EXACT).mean()),
        "fluid-above": float((instances["fluid"] > bound * (1 + EXACT)).mean()),
        "list-better": int((instances["spread"] > instances["whittle"] * (1 + EXACT)).sum()),
    }


def collect_joint_age_values(three: float, five: float) -> dict[str, float]:
    """Return the joint ages of three and five sources, and an extrapolation to ten, in 10^9."""
    growth = (five / three) ** 0.5
    return {
        "states-three": three,
        "states-five": five,
        "growth": growth,
        "states-ten": five * growth**5 / 1e9,
    }


def collect_visit_values(visits: Floats) -> dict[str, float]:
    """Return visits elsewhere while the principal sources hold least and most."""
    least, most = float(visits[0]), float(visits[-1])
    return {"visits-least": least, "visits-most": most, "goes-elsewhere": least > most}


def save_cycles(cycles: pd.DataFrame) -> None:
    """Save the sets on which the index policy has several cycles, with the worst and the best."""
    several = cycles[cycles.spread > APART]
    gained = (cycles.best / cycles.start - 1).where(cycles.spread > APART, 0.0)
    mean = Estimate.of(gained.to_numpy())
    save_value(
        "how-good-better-cycle", mean.value, interval=mean.interval, replications=len(cycles)
    )
    values = {
        "cycle-sets": len(cycles),
        "cycle-starts": STARTS,
        "several-cycles": len(several),
        "some-several-cycles": len(several) > 0,
        "cycle-spread": float(cycles.spread.max()),
    }
    save_values("how-good", values)
    save_table(
        "how-good-entered",
        cycles.sort_values("spread", ascending=False, kind="stable").set_index("set").head(SHOWN),
        f"Rewards per epoch of cycles that the index policy enters from {STARTS} random ages and "
        "from empty sources, at $M = 1$: the sets on which they differ most.",
        formats={"start": ".3f", "worst": ".3f", "best": ".3f", "spread": ".3%"},
        labels={"start": "from empty sources"},
    )


def save_sets(instances: pd.DataFrame) -> None:
    """Save the random sets, one row each."""
    optimum = "in units of the exact optimum"
    columns = {
        "sources": "sources in the set",
        "budget": "sources crawled at each epoch",
        "whittle": f"reward of the index policy, {optimum}",
        "myopic": f"reward of the myopic policy, {optimum}",
        "round-robin": f"reward of round robin, {optimum}",
        "spread": f"reward of the list that spreads the relaxed frequencies, {optimum}",
        "periodic": f"reward of the best list with constant gaps, {optimum}",
        "draws": f"reward of the best independent draws, {optimum}",
        "fluid": f"value of the fluid formula, {optimum}",
        "bound": f"relaxed bound, {optimum}",
        "period": "period of the index policy's cycle in epochs",
        "constant": "whether each source has one constant gap in it, or is never crawled",
        "interval": "whether the relaxed problem has an interval of multipliers",
        "redrawn": "how often the set was drawn again because its optimum takes too long",
    }
    save_data(
        "how-good-sets",
        instances[list(columns)],
        "One row a random set of sources, all policies in it against the exact optimum.",
        columns,
    )


def save_tuned(
    rewards: Mapping[str, Floats], frequencies: Mapping[str, Floats], drift: float
) -> None:
    """Save what policies earn that believe Table 1 of changed sources, and every run behind it."""
    columns = {
        "policy": "what the policy observes, or is told",
        "replication": "number of the run; all policies share its content",
        "reward": "reward per epoch",
        "crawls": "crawls of source 3 per epoch",
    }
    runs = pd.concat(
        pd.DataFrame({"reward": earned, "crawls": frequencies[name][:, 2]})
        .rename_axis("replication")
        .reset_index()
        .assign(policy=name)
        for name, earned in rewards.items()
    ).reset_index(drop=True)
    save_data(
        "how-good-tuned-runs",
        runs[list(columns)],
        f"One row a run and policy while source 3 gets {drift:g} times its items.",
        columns,
    )
    estimates = {name: Estimate.of(earned) for name, earned in rewards.items()}
    table = {
        "reward per epoch": [f"{e.value:.2f} ± {e.half_width:.2f}" for e in estimates.values()],
        "crawls of source 3 per epoch": [f"{f[:, 2].mean():.3f}" for f in frequencies.values()],
    }
    count = next(iter(rewards.values())).size
    save_table(
        "how-good-tuned",
        pd.DataFrame(table, index=pd.Index(list(estimates), name="policy")),
        f"Policies that believe Table 1 while source 3 gets {drift:g} times its items, by what "
        f"they observe, and one that is told the truth ($M = 1$, 95% intervals over {count} runs).",
        instances="how-good-tuned-runs",
    )


# Claims


#: Names of the pairs of sources that are observed, as `OBSERVED` has them.
_FIRST, _LAST = "1 and 2 observed", "3 and 4 observed"


@dataclass(frozen=True)
class Results:
    """Results of the page."""

    instances: pd.DataFrame  # rows of `compare_with_optimum`
    states: int  # joint ages of the exact optimum of Table 1 at M = 2
    # Long run of the index policy on Table 1 at M = 2 and at M = 1, with expected contents.
    cycle: Cycle
    single: Cycle
    error: float  # `formula_error` of Table 1
    observed: Mapping[
        str, Floats
    ]  # rewards of `measure_reward_by_observation`, at five times `bunching`
    visits: Floats  # as `measure_visits_by_content` returns it; shape (4,)
    tuned: Mapping[str, Floats]  # rewards of `simulate_self_tuning`
    # Factors behind `visits` and `tuned`.
    bunching: float
    drift: float


def claims(results: Results) -> list[Claim]:
    """Return the page's claims on the rows on the policy's form and on observation."""
    return [claim("A-r-intro-static"), *_form(results), *_observation(results)]


def _form(results: Results) -> list[Claim]:
    nontrivial = ~results.instances["constant"]
    return [
        claim(
            "A-r-concl-simple",
            results.error < EXACT,
            basis="judged",
            numbers={"joint_ages": results.states},
        ),
        claim(
            "A-r-concl-nontrivial",
            not constant_gaps(results.cycle) and bool(nontrivial.any()),
            basis="judged",
            numbers={"share": nontrivial.mean(), "sets": len(nontrivial)},
        ),
    ]


def _observation(results: Results) -> list[Claim]:
    observed, tuned = results.observed, results.tuned
    none, two, every = observed["none observed"], observed[_FIRST], observed["all observed"]
    visits = results.visits
    elsewhere = visits[0] > 1.5 * visits[-1]
    unobserved = float(results.single.frequency[2:].sum())
    better = Estimate.of(tuned[_LAST] - tuned["none observed"])
    share = regained_share(tuned, _LAST)
    return [
        claim(
            "A-r-intro-dynamic",
            bool(elsewhere and Estimate.of(every - none).low > 0),
            condition=not unobserved,
            numbers={
                "when_little": visits[0],
                "when_much": visits[-1],
                "factor": results.bunching,
                "by_expectation": unobserved,
            },
        ),
        claim(
            "A-r-concl-observed",
            better.low > 0,
            numbers={
                "factor": results.drift,
                "gain": better.value,
                "half_width": better.half_width,
                "share": share.value,
            },
        ),
        claim(
            "A-r-s7-mixed",
            Estimate.of(two - none).low > 0 and Estimate.of(every - two).low > 0,
            numbers={
                "factor": 5 * results.bunching,
                "two": two.mean(),
                "unobserved": none.mean(),
                "every": every.mean(),
            },
        ),
    ]


# Figures


#: Policies of the random sets, with what the page calls them.
LABELS = {
    "whittle": "index",
    "spread": "list, relaxed frequencies",
    "periodic": "constant gaps",
    "myopic": "myopic",
    "draws": "independent draws",
    "round-robin": "round robin",
}
_STYLES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1))]


def draw_policies(table: pd.DataFrame) -> None:
    """Draw the reward of each policy against the relaxed bound."""
    shares = 100 * (table.drop(index="relaxed bound") / table.loc["relaxed bound"] - 1)
    height = np.arange(len(shares))[::-1]
    below = shares.clip(upper=0.0).abs()
    fluid = shares.loc["fluid formula"]
    low, high = np.quantile(fluid, [0, 1]).tolist()
    beyond = (
        "The fluid formula lies above the bound: no policy can earn what it says."
        if (fluid > 0).all()
        else "What the fluid formula says is no reward of a policy, above the bound or not."
    )
    index = ", ".join(f"{gap:.2f}% at ${m}$" for m, gap in below.loc["index"].items())
    by_index, by_optimum = (below.loc[name].to_numpy() for name in ("index", "exact optimum"))
    short = by_index - by_optimum
    optimum = (
        "equals the exact optimum at every budget"
        if (short < 0.005).all()
        else f"is below the exact optimum by {short.max():.2f}% of the bound at most"
    )

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for j, (column, marker) in enumerate(zip(shares, "os^", strict=False)):
            look = {"color": COLOURS[j], "markersize": 6, "label": f"${column}$"}
            axis.plot(shares[column], height + 0.2 * (1 - j), marker, **look)
        axis.axvline(0, color=ink(), linewidth=1)
        axis.set_yticks(height, fold_names(figure, shares.index))
        axis.set_xscale("symlog", linthresh=0.1, linscale=0.7)
        ticks = [-20, -10, -5, -2, -1, -0.5, -0.1, 0, 0.5, 2]
        ticks = [-20, -5, -1, -0.1, 0, 0.5, 2] if is_narrow(figure) else ticks
        axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axis.minorticks_off()
        axis.set(xlabel="reward per epoch against the relaxed bound (%)")
        axis.set_xlim(-30, 4)
        add_legend(figure)
        return shares.reset_index(names="policy")

    save_figure(
        "how-good-policies",
        draw,
        caption="Long-run reward of each policy on the four sources, in percent above or below the "
        "relaxed bound (the scale is linear within 0.1% and logarithmic beyond). The index policy "
        f"{optimum}; the optimum lies at most {by_optimum.max():.2f}% below the "
        f"bound. {beyond}",
        alt=f"Dots for {len(shares)} rows and {pluralise(len(shares.columns), 'budget')} against a "
        f"vertical line at the bound. The index lies below it by {index}; farthest to the left is "
        f"{shares.min(axis=1).idxmin()}, by {-shares.to_numpy().min():.0f}%; the fluid formula "
        f"lies {format_range(low, high, '+.2f')}% from it.",
        height=3.9,
    )


def draw_random_sets(instances: pd.DataFrame) -> None:
    """Draw the distribution of each policy's loss over random sets."""
    loss = 1 - instances[list(LABELS)]
    loss = 100 * loss.where(loss.abs() > EXACT, 0.0)
    share = 100 * np.arange(1, len(loss) + 1) / len(loss)
    exact, worst = is_optimal(instances).mean(), loss.max()
    order = ", ".join(LABELS[name] for name in loss.mean().sort_values(kind="stable").index)
    bound = np.ceil(10 * worst["whittle"]) / 10

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for (name, label), colour, style in zip(LABELS.items(), COLOURS, _STYLES, strict=False):
            look = {"color": colour, "linestyle": style, "label": label}
            axis.step(np.sort(loss[name].clip(lower=0)), share, where="post", **look)
        axis.set_xscale("symlog", linthresh=0.01, linscale=0.5)
        axis.set_xticks([0, 0.01, 0.1, 1, 10], ["0", "0.01", "0.1", "1", "10"])
        axis.set(xlabel="loss against the exact optimum (%)", ylim=(0, 102), xlim=(0, 60))
        axis.set_ylabel("share of instances with no larger loss (%)")
        add_legend(figure)
        return loss.assign(sources=instances["sources"], budget=instances["budget"])

    save_figure(
        "how-good-random",
        draw,
        caption=f"Distribution of the loss over {len(loss)} random sets of three or four sources. "
        f"The index policy is optimal on {exact:.0%} of them and loses at most {bound:.1f}%; the "
        f"worst loss of the myopic policy is {worst['myopic']:.0f}%, that of the best list with "
        f"constant gaps {worst['periodic']:.0f}%.",
        alt=f"Six rising step curves. The one of the index policy starts at {exact:.0%} at no loss "
        f"and reaches the top below {bound:.1f}%. By mean loss, from the least: {order}.",
        height=4.1,
    )


def draw_periods(periods: pd.DataFrame) -> None:
    """Draw the period of the index policy's cycle against the budget."""
    size = int(periods.budget.max())
    looks = ((True, COLOURS[0], "o", -0.12), (False, COLOURS[1], "x", 0.12))
    median = periods.groupby("budget").period.median()
    ticks = [1, 2, 5, 10, 20, 50, 100]
    middle = periods[periods.budget == size // 2].trivial.mean()
    full = periods[periods.budget == size].trivial.mean()

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for kind, colour, marker, side in looks:
            cycles = periods[periods.trivial == kind]
            spread = 0.18 * (cycles.instance / max(periods.instance.max(), 1) - 0.5)
            label = "trivial" if kind else "not trivial"
            look = {"color": colour, "markersize": 4, "alpha": 0.8, "linestyle": "none"}
            axis.plot(cycles.budget + side + spread, cycles.period, marker, label=label, **look)
        axis.plot(median.index, median, color=ink(), linewidth=1, label="median")
        axis.set(xlabel="sources crawled per epoch, M", ylabel="period of the cycle (epochs)")
        axis.set_yscale("log")
        axis.set_yticks(ticks, [f"{t}" for t in ticks])
        axis.minorticks_off()
        add_legend(figure)
        return periods

    save_figure(
        "how-good-periods",
        draw,
        caption=f"Period of the index policy's cycle on {periods.instance.nunique()} random sets "
        f"of {size} sources at every budget. With half of the sources crawled {middle:.0%} of the "
        f"cycles are trivial, with all of them {full:.0%}.",
        alt=f"Points of period against budget on a log scale, the longest {periods.period.max()} "
        f"epochs. The median is {median.iloc[0]:.0f} at M = 1 and {median.iloc[-1]:.0f} at "
        f"M = {size}, where {full:.0%} of the cycles are trivial.",
        height=3.6,
    )


def draw_observed(observed: pd.DataFrame, runs: int, horizon: int) -> None:
    """Draw the reward against the bunching of content, by the sources observed."""
    names = observed["observed"].unique()
    factors = observed["factor"].unique()
    ends = observed[observed.factor == factors[-1]].set_index("observed").reward
    gain = ends["all observed"] / ends["none observed"] - 1

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for name, colour, style, marker in zip(names, COLOURS, _STYLES, "o^sx", strict=False):
            line = observed[observed.observed == name]
            look = {"color": colour, "linestyle": style, "marker": marker, "markersize": 5}
            axis.plot(line.factor, line.reward, label=name, **look)
            axis.fill_between(
                line.factor, line.low, line.high, color=colour, alpha=0.2, linewidth=0
            )
        axis.set(xlabel="factor by which items are rarer and worth more", xscale="log")
        axis.set_ylabel("reward per epoch (value units)")
        axis.set_xticks(factors, [f"{f:g}" for f in factors])
        axis.minorticks_off()
        add_legend(figure)
        return observed

    save_figure(
        "how-good-observed",
        draw,
        caption="Reward of the index policy on the four sources at $M = 1$ with random content, by "
        "what it observes. Without observation it plays a fixed cycle, and the expected reward "
        "does not depend on how content is bunched; with all states observed it earns "
        f"{gain:+.0%} against that at a factor of {factors[-1]:g}. Bands: 95% intervals over "
        f"{runs} runs of {horizon} epochs.",
        alt="Curves of reward against bunching at the largest factor end at "
        + ", ".join(f"{ends[name]:.0f} with {name}" for name in names)
        + ".",
        height=3.6,
    )
