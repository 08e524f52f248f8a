"""What the index policy can lose, and what the Lagrangian index loses where the index does.

Exact losses are those of cycles; losses of many sources are averages over the second half of a run
of the compiled loop, of the terms of the loss identity, so that no run is above the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from analysis.arrays import Floats, Ints
from analysis.ephemeral.instances import random_set, random_sources
from analysis.ephemeral.lagrangian import PricedSources, crawl_price
from analysis.ephemeral.optimum.advice import FTVAPolicy, IDPolicy, LPUpdatePolicy
from analysis.ephemeral.optimum.exact import MOST_SOURCES, guided_cycle, optimal_cycle
from analysis.ephemeral.policies import (
    LagrangianPolicy,
    Observation,
    Policy,
    TunedLagrangianPolicy,
    WhittlePolicy,
)
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.rollout import RolloutPolicy, follow
from analysis.ephemeral.scheduler.register import spread_ages
from analysis.ephemeral.simulation import long_run_cycle
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.table import timetable
from analysis.results import Estimate
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    format_plus_minus,
    save_data,
    save_figure,
    save_table,
)

#: Most sources of sets on which the rollout is played.
ROLLED = 100
#: Sources crawled at each epoch, one in so many.
ONE_IN = 10
#: Sources of the sets on which the price is wrong.
PRICED = 200
#: Epochs that LP-update looks ahead, and of its runs; most sources of sets on which it plays.
AHEAD, UPDATED, MOST_UPDATED = 5, 60, 100
#: Sets of a law and size on which LP-update and the guided search play.
FEW = 3
NAMES = "ABCF"
_FAST = 25.0  # decay of C and F: nothing is left after an epoch


def draw_by_law(law: str, size: int, rng: np.random.Generator) -> Sources:
    """Draw sources by one of `LAWS`."""
    limit, decay = LAWS[law]
    return make_sources(limit(rng, size), decay(rng, size))


def _uniform(low: float, high: float) -> Draw:
    return lambda rng, size: rng.uniform(low, high, size)


def _log_uniform(low: float, high: float) -> Draw:
    return lambda rng, size: np.exp(rng.uniform(np.log(low), np.log(high), size))


def _book_limit(rng: np.random.Generator, size: int) -> Floats:
    """Return rates on (1, 9) times utilities on (0.2, 2) over decays on (0.2, 1.5)."""
    return rng.uniform(1, 9, size) * rng.uniform(0.2, 2, size) / rng.uniform(0.2, 1.5, size)


Draw = Callable[[np.random.Generator, int], Floats]
#: Laws of u* and of the decay in an epoch, drawn for each source on its own.
LAWS: dict[str, tuple[Draw, Draw]] = {
    "moderate": (_book_limit, _uniform(0.2, 1.5)),
    "decay over two decades": (_uniform(0.2, 2), _log_uniform(0.02, 2)),
    "both over two decades": (_log_uniform(0.1, 10), _log_uniform(0.05, 2)),
    "heavy tail": (lambda rng, size: 1 + rng.pareto(1.2, size), _uniform(0.2, 1.5)),
    "slow": (_uniform(0.2, 2), _uniform(0.005, 0.05)),
    "fast": (_uniform(0.2, 2), _uniform(1, 5)),
    "one decay": (lambda rng, size: rng.lognormal(0, 1, size), _uniform(0.5, 0.5)),
}


def make_sources(u_star: ArrayLike, decay: ArrayLike) -> Sources:
    """Return sources of given u* and decay, with utilities of 1."""
    rate = np.asarray(decay, dtype=float)
    return Sources(np.asarray(u_star) * rate, np.ones(rate.size), rate)


def make_lockstep(u_c: float, u_f: float, alpha: float = 0.5) -> Sources:
    """Return A and B, which keep a share of their content in an epoch, and C and F, which fade."""
    decay = -np.log(alpha)
    return make_sources([1.0, 1.0, u_c, u_f], [decay, decay, _FAST, _FAST])


def measure_lockstep(edge: float) -> pd.DataFrame:
    """Return what index and Lagrangian index lose of the exact optimum near their suprema."""
    rows = [measure_one_lockstep("index", 0.5 - edge, 0.25 + edge, None, 0.1)]
    for theta in (0.0, 0.5, 1.0):
        u_c, u_f = (3 + theta) / 8 - edge, (2 + theta) / 8 + edge
        rows.append(measure_one_lockstep("Lagrangian index", u_c, u_f, theta, 1 / (18 + 2 * theta)))
    return pd.DataFrame(rows)


def measure_one_lockstep(
    name: str, u_c: float, u_f: float, theta: float | None, supremum: float
) -> dict[str, object]:
    sources = make_lockstep(u_c, u_f)
    relaxed = relaxed_problem(sources, 2)
    policy: WhittlePolicy | LagrangianPolicy = WhittlePolicy(sources)
    if theta is not None:
        low, high = relaxed.smallest_subsidy, relaxed.subsidy
        policy = LagrangianPolicy(sources, low + theta * (high - low))
    cycle = long_run_cycle(sources, policy, 2)
    best = optimal_cycle(sources, 2).average_reward
    return {
        "policy": name,
        "price": "none" if theta is None else {0.0: "lowest", 0.5: "middle", 1.0: "highest"}[theta],
        "content of C": u_c,
        "content of F": u_f,
        "optimum below bound": 1 - best / relaxed.bound,
        "loss": 1 - cycle.average_reward / best,
        "supremum": supremum,
    }


def make_worse_set() -> Sources:
    """Return four sources of due ages 1, 2, 3 and 6, on which the Lagrangian index is worse."""
    return make_sources([1.0, 1.75, 1.7, 1.3], -np.log([0.001, 0.45, 0.56, 0.6]))


def measure_worse_set(starts: int, seed: int) -> dict[str, float]:
    """Return the losses of both indices there: least and largest over starts and multipliers."""
    sources, rng = make_worse_set(), np.random.default_rng([seed, 1])
    relaxed = relaxed_problem(sources, 2)
    best = optimal_cycle(sources, 2).average_reward
    prices = np.linspace(relaxed.smallest_subsidy, relaxed.subsidy, 3)
    index, lagrangian = [], []
    for _ in range(starts):
        ages = rng.integers(1, 20, 4)
        cycle = long_run_cycle(sources, "whittle", 2, initial_age=ages)
        index.append(1 - cycle.average_reward / best)
        for price in prices.tolist():
            cycle = long_run_cycle(sources, LagrangianPolicy(sources, price), 2, initial_age=ages)
            lagrangian.append(1 - cycle.average_reward / best)
    return {
        "worse-starts": starts,
        "worse-index-high": max(index),
        "worse-low": min(lagrangian),
        "worse-is-worse": min(lagrangian) > max(index),
    }


def measure_losses_of_four(instances: int, seed: int) -> pd.DataFrame:
    """Return what each policy loses of the exact optimum on random sets of four sources."""
    rows = []
    for instance in range(instances):
        sources, budget = random_set(instance, seed)
        best = optimal_cycle(sources, budget).average_reward
        policies: dict[str, Policy] = {
            "index": WhittlePolicy(sources),
            "Lagrangian index": LagrangianPolicy(sources),
            "rollout": RolloutPolicy(sources),
        }
        earned = {
            name: long_run_cycle(sources, policy, budget).average_reward
            for name, policy in policies.items()
        }
        earned["guided search"] = guided_cycle(sources, budget).average_reward
        earned["timetable"] = timetable(sources, budget).average_reward
        for name, reward in earned.items():
            loss = 1 - reward / best
            rows.append((instance, budget, name, loss if loss > 1e-9 else 0.0))
    return pd.DataFrame(rows, columns=["instance", "budget", "policy", "loss"])


def measure_run(
    sources: Sources, rule: str, ages: Ints, horizon: int, price: float | None = None
) -> float:
    """Return the mean loss in the second half of a run, as a share of the bound.

    It is counted at the relaxed problem's price, with the bias of the ages at both ends, whatever
    price the policy ranks at.
    """
    budget = max(1, len(sources) // ONE_IN)
    priced = PricedSources(sources, crawl_price(sources, budget))
    _, middle = follow(sources, rule, budget, ages, horizon // 2, price=price)
    rewards, last = follow(
        sources, rule, budget, middle.astype(np.int64), horizon - horizon // 2, price=price
    )
    return _count_loss(priced, budget, rewards, middle, last)


def _count_loss(
    priced: PricedSources, budget: int, rewards: Floats, first: Floats, last: Floats
) -> float:
    bound = priced.bound(budget)
    carried = float((priced.bias(first) - priced.bias(last)).sum()) / rewards.size
    return (bound - float(rewards.mean()) + carried) / bound


def measure_losses_by_size(
    sizes: Sequence[int], sets: int, horizon: int, seed: int
) -> pd.DataFrame:
    """Return the losses of random sets of sources that all differ, from spread starting ages."""
    rows = []
    for size in sizes:
        for number in range(sets):
            sources = random_sources(size, [seed, 9, number])
            ages = spread_ages(sources, size // ONE_IN, [seed, number])
            for rule in ("whittle", "lagrangian", "rollout"):
                if rule != "rollout" or size <= ROLLED:
                    rows.append((size, number, rule, measure_run(sources, rule, ages, horizon)))
    return pd.DataFrame(rows, columns=["sources", "set", "policy", "loss"])


def measure_losses_by_price(
    factors: Sequence[float], sets: int, horizon: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return losses at wrong prices, and those of the index, the right and the self-tuned price.

    ``price`` is the last self-tuned price as a factor on the solved one.
    """
    budget, wrong, other = PRICED // ONE_IN, [], []
    for number in range(sets):
        sources = random_sources(PRICED, [seed, 9, number])
        ages = spread_ages(sources, budget, [seed, number])
        price = crawl_price(sources, budget)
        for factor in factors:
            loss = measure_run(sources, "lagrangian", ages, horizon, factor * price)
            wrong.append((number, factor, loss))
        tuning = TunedLagrangianPolicy(sources)
        tuned = _play(sources, tuning, ages, horizon, None)
        assert tuning.price is not None
        right = measure_run(sources, "lagrangian", ages, horizon)
        index = measure_run(sources, "whittle", ages, horizon)
        other.append((number, index, right, tuned, tuning.price / price))
    return (
        pd.DataFrame(wrong, columns=["set", "factor", "loss"]),
        pd.DataFrame(other, columns=["set", "index", "right", "tuned", "price"]),
    )


def _play(
    sources: Sources, policy: Policy, ages: Ints, horizon: int, rng: np.random.Generator | None
) -> float:
    """Return the mean loss of a policy in the second half of a run, as `measure_run` counts it."""
    budget, size = max(1, len(sources) // ONE_IN), len(sources)
    age, middle, hidden = ages.copy(), ages, np.full(size, np.nan)
    rewards: list[float] = []
    for epoch in range(horizon):
        if epoch == horizon // 2:
            middle = age.copy()
            rewards.clear()
        arms = policy.select(Observation(epoch, age.copy(), hidden), budget, rng)
        rewards.append(float(sources.state_at_age(age)[arms].sum()))
        age += 1
        age[arms] = 1
    priced = PricedSources(sources, crawl_price(sources, budget))
    return _count_loss(priced, budget, np.array(rewards), middle.astype(float), age.astype(float))


def measure_losses_by_law(sizes: Sequence[int], sets: int, horizon: int, seed: int) -> pd.DataFrame:
    """Return what each policy loses of the relaxed bound on sets of sources from each of `LAWS`.

    LP-update, of which `UPDATED` epochs are played, and the guided search stop at `FEW` sets of a
    law and size, and at `MOST_UPDATED` and `MOST_SOURCES` sources; the rollout stops at `ROLLED`.
    """
    rows = []
    for size in sizes:
        budget = max(1, size // ONE_IN)
        for law_number, law in enumerate(LAWS):
            for number in range(sets):
                root = [seed, 13, size, law_number, number]
                sources = draw_by_law(law, size, np.random.default_rng(root))
                ages = spread_ages(sources, budget, root)
                bound = relaxed_problem(sources, budget).bound
                loss = {
                    "index": measure_run(sources, "whittle", ages, horizon),
                    "Lagrangian index": measure_run(sources, "lagrangian", ages, horizon),
                }
                if size <= ROLLED:
                    loss["rollout"] = measure_run(sources, "rollout", ages, horizon)
                if size <= MOST_SOURCES and number < FEW:
                    loss["guided search"] = 1 - guided_cycle(sources, budget).average_reward / bound
                loss["timetable"] = 1 - timetable(sources, budget).average_reward / bound
                if size <= MOST_UPDATED and number < FEW:
                    ahead = LPUpdatePolicy(sources, AHEAD)
                    loss["LP-update"] = _play(sources, ahead, ages, UPDATED, None)
                for name, kind in (("FTVA", FTVAPolicy), ("ID", IDPolicy)):
                    rng = np.random.default_rng([*root, 1])
                    loss[name] = _play(sources, kind(sources, budget), ages, horizon, rng)
                rows += [(size, law, number, name, value) for name, value in loss.items()]
    return pd.DataFrame(rows, columns=["sources", "law", "set", "policy", "loss"])


def measure_losses_by_start(size: int, sets: int, horizon: int, seed: int) -> pd.DataFrame:
    """Return losses by starting ages: spread, all just crawled, or all never crawled."""
    rows = []
    for number in range(sets):
        sources = random_sources(size, [seed, 11, number])
        starts = {
            "spread": spread_ages(sources, size // ONE_IN),
            "all just crawled": np.ones(size, np.int64),
            "none ever crawled": np.full(size, 10**6),
        }
        for start, ages in starts.items():
            for rule in ("whittle", "lagrangian"):
                rows.append((number, start, rule, measure_run(sources, rule, ages, horizon)))
    return pd.DataFrame(rows, columns=["set", "start", "policy", "loss"])


def measure_copies_by_start(copies: int, edge: float) -> dict[str, float]:
    """Return what the index loses of the bound on copies of the lockstep, by starting ages."""
    copy = make_lockstep(0.5 - edge, 0.25 + edge)
    sources = copy.subset(np.repeat(np.arange(4), copies))
    bound = relaxed_problem(sources, 2 * copies).bound
    losses = {}
    for name, ages in (
        ("copies-equal", np.full(4 * copies, 2)),
        ("copies-spread", spread_ages(sources, 2 * copies)),
    ):
        rewards, _ = follow(sources, "whittle", 2 * copies, ages, 400)
        loss = 1 - float(rewards[200:].mean()) / bound
        losses[name] = loss if abs(loss) > 1e-9 else 0.0
    return losses


# Values and tables


LABELS = {"whittle": "index", "lagrangian": "Lagrangian index", "rollout": "rollout"}


def _format_loss(losses: pd.Series) -> str:
    """Mean with its 95% interval over sets, in per cent."""
    estimate = Estimate.of(losses.to_numpy())
    return f"{format_plus_minus(100 * estimate.value, 100 * estimate.half_width, 4)}%"


def save_lockstep(frame: pd.DataFrame) -> None:
    """Save the table of the lockstep."""
    save_table(
        "lagrangian-index-lockstep",
        frame.set_index("policy").drop(columns="optimum below bound"),
        "Four sources, two crawls an epoch: what is lost of the exact optimum for ever, by the "
        "multiplier at which the Lagrangian index is taken, and the supremum of such losses.",
        formats={"content of C": ".4f", "content of F": ".4f", "loss": ".3%", "supremum": ".3%"},
    )


def save_four(frame: pd.DataFrame) -> None:
    """Save the table of random sets of four sources."""
    rows = {
        name: {
            "mean loss": _format_loss(runs.loss),
            "worst": f"{runs.loss.max():.2%}",
            "exactly optimal": f"{(runs.loss == 0).mean():.0%}",
        }
        for name, runs in frame.groupby("policy", sort=False)
    }
    save_table(
        "lagrangian-index-four",
        pd.DataFrame(rows).T.rename_axis("policy"),
        f"Loss of the exact optimum on {frame.instance.nunique()} random sets of four sources, one "
        "to three crawls an epoch; 95% intervals over the sets.",
    )


def collect_four_values(frame: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on random sets of four sources."""
    loss = frame.pivot(index="instance", columns="policy", values="loss")
    return {
        "four-sets": len(loss),
        "four-better": int((loss["Lagrangian index"] < loss["index"] - 1e-9).sum()),
        "four-worse": int((loss["Lagrangian index"] > loss["index"] + 1e-9).sum()),
        "four-guided": float(loss["guided search"].max()),
        "four-guided-optimal": int((loss["guided search"] == 0).sum()),
    }


def save_sizes(frame: pd.DataFrame) -> None:
    """Save the table of losses by the number of sources."""
    rows = {}
    for size, runs in frame.groupby("sources"):
        loss = runs.pivot(index="set", columns="policy", values="loss")
        row = {LABELS[name]: _format_loss(loss[name]) if name in loss else "not played"
               for name in LABELS}  # fmt: skip
        row["Lagrangian better"] = f"{(loss.lagrangian < loss.whittle).sum()} of {len(loss)}"
        rows[size] = row
    sets = frame.set.nunique()
    save_table(
        "lagrangian-index-sizes",
        pd.DataFrame(rows).T.rename_axis("sources"),
        f"Loss of the relaxed bound on random sets of sources that all differ, {sets} of each "
        f"size, crawls for one source in {ONE_IN} an epoch, from spread starting ages; 95% "
        "intervals over the sets.",
    )


def collect_size_values(frame: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on losses by size."""
    most = frame[frame.sources == frame.sources.max()]
    mean = most.groupby("policy").loss.mean()
    rolled = frame[frame.policy == "rollout"]
    pairs = frame.merge(rolled[["sources", "set"]], on=["sources", "set"])
    means = pairs.groupby("policy").loss.mean()
    return {
        "largest": int(frame.sources.max()),
        "large-index": float(mean["whittle"]),
        "large-lagrangian": float(mean["lagrangian"]),
        "large-better": mean["lagrangian"] < mean["whittle"],
        "rollout-better": len(rolled) > 0 and means["rollout"] < means["lagrangian"],
    }


def save_laws(frame: pd.DataFrame) -> None:
    """Save the tables of losses by policy and number of sources, and by law."""
    save_data(
        "lagrangian-index-law-sets",
        frame,
        "One row a set of sources and policy: what it loses of the relaxed bound.",
        {
            "sources": "sources of the set",
            "law": "law of u* and decay",
            "set": "number of the set of this law",
            "policy": "the policy",
            "loss": "share of the relaxed bound that is lost",
        },
    )
    rows: dict[str, dict[str, str]] = {}
    for (policy, size), runs in frame.groupby(["policy", "sources"], sort=False):
        row = rows.setdefault(str(policy), {})
        row[f"N = {size:,}"] = _format_loss(runs.loss)
        row[f"worst, N = {size:,}"] = f"{runs.loss.max():.2%}"
        row[f"sets, N = {size:,}"] = str(len(runs))
    sizes = frame.sources.unique()
    columns = [f"{what}N = {size:,}" for size in sizes for what in ("", "worst, ", "sets, ")]
    table = pd.DataFrame(rows).T.reindex(columns=columns)
    save_table(
        "lagrangian-index-laws",
        table.fillna("not played").rename_axis("policy"),
        f"Loss of the relaxed bound, with crawls for one source in {ONE_IN}, one at least; 95% "
        f"intervals over the sets of {len(LAWS)} laws. LP-update looks {AHEAD} epochs ahead.",
        instances="lagrangian-index-law-sets",
    )
    most = frame[frame.sources == frame.sources.max()]
    by_law = 100 * most.pivot_table(index="law", columns="policy", values="loss", sort=False)
    save_table(
        "lagrangian-index-by-law",
        (by_law.round(4) + 0.0).map("{:.4f}%".format),
        f"Mean loss of the relaxed bound by law of the sources, N = {most.sources.iloc[0]:,}; "
        f"{most.set.nunique()} sets of each law.",
        instances="lagrangian-index-law-sets",
    )


def collect_law_values(frame: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the sets of all laws."""
    mean = frame.pivot_table(index="sources", columns="policy", values="loss")
    most = mean.loc[mean.index.max()]
    ours = ["index", "Lagrangian index", *(["rollout"] if "rollout" in mean else [])]
    newer = mean[[name for name in ("LP-update", "FTVA", "ID") if name in mean]]
    largest = frame[frame.sources == frame.sources.max()]
    losses = largest.pivot_table(index=["law", "set"], columns="policy", values="loss")
    values = {
        "updated-sources": MOST_UPDATED,
        "updated-columns": MOST_UPDATED * 2**AHEAD,
        "updated-epochs": UPDATED,
        "laws-largest": int(mean.index.max()),
        "laws-sets": len(LAWS) * frame.set.nunique(),
        "laws-index": float(most["index"]),
        "laws-lagrangian": float(most["Lagrangian index"]),
        "laws-timetable": float(most["timetable"]),
        "laws-sets-better": int((losses["Lagrangian index"] < losses["index"] - 1e-9).sum()),
        "laws-sets-worse": int((losses["Lagrangian index"] > losses["index"] + 1e-9).sum()),
        "laws-ahead": bool(mean[ours].max(axis=1).lt(newer.min(axis=1)).all()),
        "laws-rolled": "rollout" in mean and bool(mean["rollout"].notna().all()),
        "laws-searched": "guided search" in mean,
    }
    if values["laws-rolled"]:
        values["laws-rollout"] = float(most["rollout"])
    if values["laws-searched"]:
        # The search is run on some of the sets, on which the index loses this much.
        fewest = frame[frame.sources == frame.sources.min()]
        searched = fewest.pivot_table(index=["law", "set"], columns="policy", values="loss")
        searched = searched.dropna(subset=["guided search"])
        values |= {
            "laws-few-guided": float(searched["guided search"].mean()),
            "laws-guided-index": float(searched["index"].mean()),
            "laws-guided-sets": len(searched),
        }
    return values


def save_prices(wrong: pd.DataFrame, other: pd.DataFrame) -> None:
    """Save the table of losses at wrong prices, beside the index."""
    index = other.set_index("set")["index"]
    rows = {
        f"{factor:g}": {
            "mean loss": _format_loss(runs.loss),
            "worse than the index on": f"{_count_worse(runs, index)} of {len(runs)} sets",
        }
        for factor, runs in wrong.groupby("factor")
    }
    for name, losses in (("right", other.right), ("self-tuned", other.tuned)):
        worse = f"{int((losses > other['index']).sum())} of {len(losses)} sets"
        rows[name] = {"mean loss": _format_loss(losses), "worse than the index on": worse}
    rows["the index"] = {"mean loss": _format_loss(index), "worse than the index on": "none"}
    save_table(
        "lagrangian-index-wrong-prices",
        pd.DataFrame(rows).T.rename_axis("price over the multiplier"),
        "Loss of the relaxed bound by the Lagrangian index at wrong prices, at the right and the "
        f"self-tuned one, and by the index; 95% intervals over {len(other)} sets.",
    )


def _count_worse(runs: pd.DataFrame, index: pd.Series) -> int:
    """Count the sets of one factor on which the index loses less."""
    return int((runs.set_index("set").loss > index).sum())


def collect_price_values(wrong: pd.DataFrame, other: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on wrong and self-tuned prices."""
    index = other.set_index("set")["index"]
    off = np.abs(wrong.factor - 1.0)
    worst = wrong[wrong.factor == max(wrong.factor, key=lambda f: abs(np.log(f)))]
    # The smallest error of the price, and the smallest at which most sets are worse.
    near = wrong[off == off.min()]
    factors: list[float] = sorted(set(wrong.factor))
    worse = {factor: _count_worse(wrong[wrong.factor == factor], index) for factor in factors}
    mostly = [factor for factor, count in worse.items() if 2 * count > len(index)]
    harmful = min(mostly, key=lambda factor: abs(factor - 1.0), default=None)
    facts = {
        "price-near": float(off.min()),
        "price-near-loss": float(near.loss.mean()),
        "price-is-harmful": harmful is not None,
    }
    if harmful is not None:
        facts |= {"price-worse-off": abs(harmful - 1.0), "price-worse": worse[harmful]}
    return facts | {
        "price-sets": len(other),
        "price-index": float(other["index"].mean()),
        "price-off": float(np.abs(other.price - 1).max()),
        "price-factor": float(worst.factor.iloc[0]),
        "price-matters": float(worst.loss.mean()) > float(other["index"].mean()),
        "tuned-helps": float(other["tuned"].mean()) < float(other["index"].mean()),
    }


def save_starts(frame: pd.DataFrame, size: int, horizon: int) -> None:
    """Save the table of losses by starting ages."""
    rows = {
        start: {
            f"{LABELS[str(rule)]}, {what}": value
            for rule, losses in runs.groupby("policy", sort=False).loss
            for what, value in (("mean", _format_loss(losses)), ("largest", f"{losses.max():.4%}"))
        }
        for start, runs in frame.groupby("start", sort=False)
    }
    save_table(
        "lagrangian-index-starts",
        pd.DataFrame(rows).T.rename_axis("starting ages"),
        f"Loss of the relaxed bound in the second half of {horizon} epochs on "
        f"{frame.set.nunique()} random sets of {size} sources that all differ, by starting ages; "
        "95% intervals over the sets.",
    )


def collect_start_values(frame: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on starting ages."""
    mean = frame[frame.policy == "whittle"].groupby("start").loss.mean()
    return {
        "start-worst": float(frame.loss.max()),
        "start-matters": float(mean["spread"]) < float(mean.drop("spread").max()),
    }


# Figures


def draw_timelines(edge: float) -> None:
    """Draw the crawls of the index policy in step, and those of the optimum, side by side."""
    sources = make_lockstep(0.5 - edge, 0.25 + edge)
    index = long_run_cycle(sources, "whittle", 2)
    best = optimal_cycle(sources, 2)
    crawls = {"index policy": index.crawls, "optimum": best.crawls}
    rewards = {"index policy": index.average_reward, "optimum": best.average_reward}
    lost = 1 - rewards["index policy"] / rewards["optimum"]

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2, sharey=True)
        epochs, rows = 8, []
        for axis, (name, cycle) in zip(axes, crawls.items(), strict=True):
            grid = np.array([[i in cycle[t % len(cycle)] for t in range(epochs)] for i in range(4)])
            for i, epoch in zip(*np.nonzero(grid), strict=True):
                axis.plot(epoch, i, "s", markersize=9, color=COLOURS[int(i) if i < 2 else 3])
                rows.append((name, NAMES[i], int(epoch)))
            axis.set(xlabel="epoch", xlim=(-0.6, epochs - 0.4), ylim=(3.5, -0.5))
            axis.set_xticks(range(epochs))
            axis.set_yticks(range(4), NAMES)
            axis.set_title(f"{name}: {rewards[name]:.3f} an epoch")
        return pd.DataFrame(rows, columns=["policy", "source", "crawled at epoch"])

    save_figure(
        "lagrangian-index-timelines",
        draw,
        caption="Which of four sources are crawled at each epoch. A and B keep half of their "
        "content in an epoch, C and F fade at once. The index policy crawls A and B together for "
        f"ever and loses {lost:.2%} of the optimum, which crawls them in turn.",
        alt="Two timelines of four rows. Under the index policy A and B are crawled at the same "
        "epochs and C and F at the others; under the optimum A and B alternate and C is crawled "
        "at every epoch.",
        height=2.4,
    )


def draw_sizes(frame: pd.DataFrame) -> None:
    """Draw mean losses against the number of sources."""
    mean = frame.groupby(["policy", "sources"]).loss.mean().clip(lower=1e-9)
    ends = frame[frame.sources == frame.sources.max()].groupby("policy").loss.mean()

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for (name, label), colour, marker in zip(LABELS.items(), COLOURS, "os^", strict=False):
            if name in mean.index.get_level_values(0):
                line = 100 * mean[name]
                axis.loglog(line.index, line, marker=marker, color=colour, label=label)
        axis.set(xlabel="sources, N", ylabel="mean loss (% of the bound)")
        add_legend(figure)
        return frame

    save_figure(
        "lagrangian-index-loss",
        draw,
        caption=f"Mean loss of the relaxed bound over {frame.set.nunique()} random sets of each "
        f"size against the number of sources, with crawls for one in {ONE_IN}. At "
        f"{frame.sources.max():,} sources the index loses {ends['whittle']:.4%} and the Lagrangian "
        f"index {ends['lagrangian']:.4%}.",
        alt="Curves of mean loss against the number of sources on logarithmic axes; at the largest "
        f"size the index is at {ends['whittle']:.4%}, the Lagrangian index at "
        f"{ends['lagrangian']:.4%}.",
        height=3.6,
    )


def draw_prices(wrong: pd.DataFrame, other: pd.DataFrame) -> None:
    """Draw the loss against the factor on the price, with the index and the self-tuned price."""
    right = pd.DataFrame({"set": other.set, "factor": 1.0, "loss": other.right})
    mean = 100 * pd.concat([wrong, right]).groupby("factor").loss.mean().clip(lower=1e-9)

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.semilogy(mean.index, mean, "-o", color=COLOURS[0], label="Lagrangian index")
        axis.axhline(100 * other["index"].mean(), color=COLOURS[1], linestyle="--", label="index")
        axis.plot(
            [other.price.mean()],
            [100 * other.tuned.mean()],
            "D",
            color=COLOURS[2],
            label="self-tuned",
        )
        axis.set(xlabel="price over the multiplier", ylabel="mean loss (% of the bound)")
        add_legend(figure)
        return pd.concat([wrong, right]).sort_values(["set", "factor"])

    save_figure(
        "lagrangian-index-prices",
        draw,
        caption=f"Mean loss of the relaxed bound on {len(other)} random sets of {PRICED} sources "
        "against the price at which the Lagrangian index is taken, as a factor on the multiplier. "
        f"At the multiplier it loses {other.right.mean():.4%}, with the self-tuned price "
        f"{other.tuned.mean():.4%}; the index, which has no price, loses "
        f"{other['index'].mean():.4%}.",
        alt="A curve of loss against the price that is "
        f"{other.right.mean():.4%} at the multiplier, a horizontal line of the index at "
        f"{other['index'].mean():.4%}, and a point for the self-tuned price at "
        f"{other.tuned.mean():.4%}.",
        height=3.6,
    )
