"""Estimates that confirm themselves.

Two sources that trap an index policy, a rule at a given price, and optimism about the index where
items are seen, whose wrong decisions are counted against their bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest

from analysis.arrays import Floats
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.simulation import long_run_cycle
from analysis.ephemeral.sources import Sources
from analysis.learning.environment import compiled, sample_items
from analysis.learning.identification import closed_loop
from analysis.learning.random_sets import APART, ITEMS, RULES, STARTS, slope, summary
from analysis.results import Estimate
from scorecard import format_plus_minus, save_data, save_table, save_value, save_values

GRID_AGES = 12
"""Ages of which the grid at a given price has the curves."""
AGE = 2
"""Age at which the trapped policy crawls both sources."""
RATIO, STEPS = 1.5, 2
"""Ratio of neighbours on the grid of u* and of mu, and how many lie on each side of the truth."""
OLDEST = 200
"""Ages up to which indices are compared; their limits u* are compared as well."""
KINDS: Mapping[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]] = {
    "as in the sets above": ((1.0, 9.0), (0.2, 2.0), (0.2, 1.5)),
    "0.02 to 0.3 items an epoch": ((0.02, 0.3), (0.2, 2.0), (0.2, 1.5)),
    "0.01 to 100 items an epoch": ((0.01, 100.0), (0.2, 2.0), (0.2, 1.5)),
    "nearly alike, faded after an epoch": ((0.9, 1.2), (1.0, 1.0), (4.0, 4.0)),
    "decay of 1 to 8 an epoch": ((1.0, 9.0), (0.2, 2.0), (1.0, 8.0)),
    "decay of 20 to 80, above the grid": ((1.0, 9.0), (0.2, 2.0), (20.0, 80.0)),
    "decay of 0.002 to 0.02": ((1.0, 9.0), (0.2, 2.0), (2e-3, 2e-2)),
    "decay of 0.0001 to 0.001, below the grid": ((1.0, 9.0), (0.2, 2.0), (1e-4, 1e-3)),
    "all equal": ((3.0, 3.0), (1.0, 1.0), (0.5, 0.5)),
}
"""Ranges of arrival rates, mean utilities and decay of kinds of sources, drawn log-uniformly."""
OF_KINDS = ("draws and pairs", ITEMS)
"""Rules that are played on the kinds of sources."""


def make_sources(u_star: ArrayLike, alpha: ArrayLike, worth: float = 1.0) -> Sources:
    """Return sources by u*, alpha and the mean worth of an item."""
    mu = -np.log(np.asarray(alpha, dtype=float))
    rate = np.asarray(u_star, dtype=float) * mu / worth
    return Sources(rate, np.full(mu.size, worth), mu)


def example_sources(worth: float = 1.0) -> Sources:
    """Return the two sources of the worked example."""
    return make_sources([10.0, 8.0], [0.1, 0.5], worth)


def make_belief(alpha: float) -> Sources:
    """Return the belief of decay `alpha` that has source 1 right at age 2, and source 2 right."""
    content = example_sources().state_at_age(np.array([AGE, AGE]))[0]
    return make_sources([content / (1.0 - alpha**AGE), 8.0], [alpha, 0.5])


def follow_beliefs(points: int) -> pd.DataFrame:
    """Follow the beliefs that predict what a crawl of source 1 at age 2 finds, a row an alpha."""
    rows = []
    for alpha in np.linspace(0, 1, points + 2)[1:-1]:
        believed = make_belief(alpha)
        loop = closed_loop(example_sources(), believed, 1)
        indices = [whittle_index_at_age(believed, np.array([k, k]))[0] for k in (1, AGE)]
        rows.append((alpha, *indices, loop.gaps[0][0], loop.loss, loop.error))
    return pd.DataFrame(rows, columns=["alpha", "first", "second", "gap", "loss", "error"])


@dataclass(frozen=True)
class Trapped:
    """How often certainty equivalence is trapped in the worked example."""

    # Share of runs that alternate until the end, with an exact 95% interval.
    share: float
    low: float
    high: float
    early: float  # the same after a tenth of the crawls
    # Number of runs, and crawls of source 1 at age 2 in each.
    runs: int
    crawls: int


def estimate_trapped_share(
    runs: int, crawls: int, worth: float, rng: np.random.Generator
) -> Trapped:
    """Crawl source 1 once at age 1, then at age 2 for as long as the estimate asks for it.

    Source 2 is known. One crawl at age 1 that found x and any number at age 2 of mean Y,
    x < Y < 2x, are fitted exactly by alpha = Y/x - 1 and u* = x/(1 - alpha); the policy alternates
    as long as the index at age 1 is below 4 and that at age 2 above 2, the indices of source 2.
    Worths of items are exponential.
    """
    source = example_sources(worth)
    law = Utility("exponential")
    by_epoch = source.subset(slice(0, 1))
    by_pair = replace(by_epoch, period=float(AGE))
    x = Arrivals(by_epoch, law).sample(runs, rng)[0]
    going = np.flatnonzero(x > 0)
    total, x, early = np.zeros(going.size), x[going], 0
    for n in range(1, crawls + 1):
        total = total + Arrivals(by_pair, law).sample(max(going.size, 1), rng)[0][: going.size]
        mean = total / n
        alpha = mean / x - 1
        second = 3 * mean - 2 * x * (1 + alpha + alpha**2)
        stays = (alpha > 0) & (alpha < 1) & (2 * x - mean < 4) & (second > 2)
        going, total, x = going[stays], total[stays], x[stays]
        if n == crawls // 10:
            early = going.size
    test = binomtest(going.size, runs).proportion_ci()
    return Trapped(going.size / runs, float(test.low), float(test.high), early / runs, runs, crawls)


@dataclass(frozen=True)
class AtPrice:
    """Loss of a source that is crawled at a given price, on a grid that contains the truth."""

    crawls: NDArray[np.int64]  # numbers of crawls; shape (P,)
    # Loss by then, in value units: optimism about the gain, and the most likely pair; shape (R,
    # P).
    optimistic: Floats
    plain: Floats
    bound: Floats  # what is proved of the first in expectation; shape (P,)


def run_at_price(
    u_star: float, mu: float, price: float, *, crawls: int, streams: int, seed: int
) -> AtPrice:
    """Run the rule of the theorem with its constants, for u* mu items of value 1 an epoch.

    The grid has, for each age up to `GRID_AGES`, pairs that explain what is found there.
    """
    ages_known = np.arange(1, GRID_AGES + 1)[:, None]
    rates = mu * np.exp(np.linspace(-1.2, 1.2, 13))
    us = (u_star * np.expm1(-mu * ages_known) / np.expm1(-rates * ages_known)).ravel()
    mus = np.tile(rates, GRID_AGES)
    ages = np.arange(1, int(40 / mu) + 2)
    content = us[:, None] * -np.expm1(-mus[:, None] * ages)
    gains = (content - price) / ages
    gap, gain = gains.argmax(axis=1), gains.max(axis=1)
    truth = int(np.argmin(np.abs(us - u_star) + np.abs(mus - mu)))
    cost = gain[truth] * ages + price - content[truth]
    points = np.unique(np.geomspace(10, crawls, 12).astype(int))
    losses = [np.zeros((streams, points.size)), np.zeros((streams, points.size))]
    source = Sources(np.array([u_star * mu]), np.ones(1), np.array([mu]))
    for stream, rng in enumerate(np.random.default_rng([seed, 3]).spawn(streams)):
        drawn = Arrivals(source, Utility("deterministic")).sample(crawls * int(gap.max() + 1), rng)[
            0
        ]
        for lost, slack in zip(losses, (1.0, 0.0), strict=True):
            charges = _run_priced(np.log(content), content, gap, gain, cost, drawn, source.alpha[0],
                            slack, crawls)  # fmt: skip
            lost[stream] = np.cumsum(charges)[points - 1]
    losing = cost > 1e-9 * u_star
    c, m, logs = cost[losing], content[truth, losing], np.log(us.size * points.astype(float) ** 2)
    bound = 12 * ((m + c) / c).sum() * logs + 5 * c.sum()
    return AtPrice(points, losses[0], losses[1], bound)


@compiled
def _run_priced(log_content, content, gap, gain, cost, drawn, alpha, slack, crawls):  # type: ignore[no-untyped-def]
    """Return the cost of each crawl; worths of 1, so that phi = 1.

    The first crawl is at age 1. `slack` is 1 for the confidence set and 0 for the most likely pair.
    """
    size, lost, at = content.shape[0], np.zeros(crawls), 0
    likelihood = np.zeros(size)
    chosen = 0
    for n in range(crawls):
        if n > 0:
            lowest = likelihood.max() - slack * np.log(size * float(n) ** 2)
            best = -np.inf
            for g in range(size):
                if likelihood[g] >= lowest and gain[g] > best:
                    best, chosen = gain[g], g
        age = gap[chosen] + 1 if n > 0 else 1
        held = 0.0
        for _ in range(age):
            held = alpha * held + drawn[at]
            at = (at + 1) % drawn.size
        lost[n] = cost[age - 1]
        for g in range(size):
            likelihood[g] += held * log_content[g, age - 1] - content[g, age - 1]
    return lost


@dataclass(frozen=True)
class Decisions:
    """Wrong decisions of the rule of the theorem on the two sources of the worked example."""

    epochs: NDArray[np.int64]  # numbers of epochs; shape (P,)
    # Epochs so far at which the source crawled was not of the largest true index, by stream;
    # shape (R, P).
    wrong: NDArray[np.int64]
    bound: Floats  # what is proved of their expectation; shape (P,)


def index_at_age(u_star: ArrayLike, mu: ArrayLike, age: ArrayLike) -> Floats:
    """Return u* [1 - alpha^k (1 + k (1 - alpha))], alpha = e^{-mu}, of a shape to be broadcast."""
    u_star, mu, age = np.asarray(u_star), np.asarray(mu), np.asarray(age)
    return np.asarray(u_star * (1 - np.exp(-mu * age) * (1 - age * np.expm1(-mu))))


def squared_distance(
    u_star: ArrayLike, mu: ArrayLike, other_u_star: float, other_mu: float
) -> Floats:
    """Integrate the squared difference of the roots of two densities u* mu e^{-mu s} over (0, 1).

    It is what a crawl at any age adds at least to H.
    """
    u_star, mu = np.asarray(u_star), np.asarray(mu)
    half = (mu + other_mu) / 2
    both = np.sqrt(u_star * mu * other_u_star * other_mu) * -np.expm1(-half) / half
    return np.asarray(
        -u_star * np.expm1(-mu) - other_u_star * np.expm1(-other_mu) - 2 * np.asarray(both)
    )


def bound_wrong_decisions(epochs: ArrayLike) -> Floats:
    """Return the sum over sources of 3 phi log(G T^2)/kappa_i + 5, phi = 1, at each T."""
    u_star, mu = _make_grid()
    truth = example_sources()
    ages = np.append(np.arange(1.0, OLDEST + 1), np.inf)
    with np.errstate(invalid="ignore"):
        true = index_at_age(truth.u_star[:, None], truth.decay[:, None], ages)
        believed = index_at_age(u_star[..., None], mu[..., None], ages)
    true[:, -1], believed[..., -1] = truth.u_star, u_star
    gap = np.abs(true[0][:, None] - true[1]).min()
    total = np.zeros(np.shape(epochs))
    for i in range(2):
        off = np.abs(believed[i] - true[i]).max(axis=1) >= gap
        kappa = squared_distance(u_star[i], mu[i], truth.u_star[i], truth.decay[i])[off].min()
        total += 3 * np.log(u_star.shape[1] * np.asarray(epochs, dtype=float) ** 2) / kappa + 5
    return total


def run_on_items(epochs: int, streams: int, seed: int) -> Decisions:
    """Run the rule of the theorem on the worked example, for items of value 1 when new.

    At each epoch the source of largest optimistic index is crawled: the largest over the points of
    a grid whose likelihood is within log(G t^2) of the best. Both sources are empty at the start.
    """
    truth, (u_star, mu) = example_sources(), _make_grid()
    arrivals = Arrivals(truth, Utility("deterministic"))
    drawn = [
        sample_items(arrivals, epochs, rng)
        for rng in np.random.default_rng([seed, 4]).spawn(streams)
    ]
    worth, aged = np.array([d.worth for d in drawn]), np.array([d.aged for d in drawn])
    held, older = np.zeros((streams, 2)), np.zeros((streams, 2))
    age, likelihood = np.zeros((streams, 2)), np.zeros((streams, *u_star.shape))
    wrong, row = np.zeros((streams, epochs), dtype=np.int64), np.arange(streams)
    for t in range(1, epochs + 1):
        older = truth.alpha * (older + held) + aged[:, :, t - 1]
        held = truth.alpha * held + worth[:, :, t - 1]
        age += 1
        lowest = likelihood.max(axis=2, keepdims=True) - np.log(u_star.shape[1] * t**2)
        hoped = np.where(likelihood >= lowest, index_at_age(u_star, mu, age[..., None]), -np.inf)
        arm = hoped.max(axis=2).argmax(axis=1)
        true = index_at_age(truth.u_star, truth.decay, age)
        wrong[:, t - 1] = true[row, arm] < true.max(axis=1)
        u, m = u_star[arm], mu[arm]
        content, sums, k = (a[row, arm][:, None] for a in (held, older, age))
        likelihood[row, arm] += content * np.log(u * m) - m * sums + u * np.expm1(-m * k)
        held[row, arm] = older[row, arm] = age[row, arm] = 0.0
    points = np.unique(np.geomspace(10, epochs, 12).astype(int))
    return Decisions(points, wrong.cumsum(axis=1)[:, points - 1], bound_wrong_decisions(points))


def sample_problem(kind: str, rng: np.random.Generator) -> tuple[Sources, int]:
    """Draw three to six sources of a kind, and a budget of at most a third of them."""
    size = int(rng.integers(3, 7))
    drawn = [np.exp(rng.uniform(np.log(low), np.log(high), size)) for low, high in KINDS[kind]]
    rate, worth, decay = drawn
    return Sources(rate, worth, decay), int(rng.integers(1, size // 3 + 1))


def measure_kind_losses(sets: int, horizon: int, seed: int) -> pd.DataFrame:
    """Return the losses of the rules of `OF_KINDS` on sets of every kind, on the same arrivals.

    They are in % of the reward of the index policy's cycle from ages 1, over the second half.
    """
    rows = []
    for number_of_kind, kind in enumerate(KINDS):
        for number in range(sets):
            own, arrivals, *draws = np.random.default_rng([seed, 5, number_of_kind, number]).spawn(
                2 + len(OF_KINDS)
            )
            sources, budget = sample_problem(kind, own)
            drawn = sample_items(Arrivals(sources, Utility("exponential")), horizon, arrivals)
            best = long_run_cycle(sources, "whittle", budget).average_reward
            for rule, rng in zip(OF_KINDS, draws, strict=True):
                content = drawn if rule == ITEMS else drawn.worth
                run = RULES[rule](len(sources)).play(sources, content, budget, rng)
                late = run.expected[horizon // 2 :].mean()
                rows.append((kind, number, rule, 100 * (1 - late / best)))
    return pd.DataFrame(rows, columns=["kind", "set", "rule", "loss"])


def summarise_kinds(runs: pd.DataFrame) -> pd.DataFrame:
    """Return mean, half a 95% interval and the largest of the losses, by kind and rule."""
    rows = []
    for (kind, rule), rows_of_rule in runs.groupby(["kind", "rule"], sort=False):
        loss = Estimate.of(rows_of_rule.loss.to_numpy())
        rows.append((kind, rule, loss.value, loss.half_width, rows_of_rule.loss.max()))
    return pd.DataFrame(rows, columns=["kind", "rule", "mean", "half", "largest"])


def _make_grid() -> tuple[Floats, Floats]:
    """Return u* and mu at the points of each source's grid, which contains the truth; (2, G)."""
    factors = RATIO ** np.arange(-STEPS, STEPS + 1.0)
    u, m = (grid.ravel() for grid in np.meshgrid(factors, factors))
    truth = example_sources()
    return truth.u_star[:, None] * u, truth.decay[:, None] * m


# Values and tables


#: What the worked example takes for the decay factor of source 1.
BELIEVED = 0.5

#: Rules whose losses sentences name, by their names there.
SHORT = {
    "UCB on the index": "ucb",
    "the estimate": "estimate",
    "draws and pairs": "draws",
    "items": "items",
}


def save_example(table: pd.DataFrame, stuck: Trapped) -> None:
    """Save what the worked example gives."""
    truth, believed = (
        closed_loop(example_sources(), b, 1) for b in (example_sources(), make_belief(BELIEVED))
    )
    trapped = table[table.gap == 2].alpha
    ends = (100 * stuck.low, 100 * stuck.high)
    save_value("learning-trap-share", 100 * stuck.share, interval=ends, replications=stuck.runs)
    values = {
        "believed": BELIEVED,
        "believed-limit": float(make_belief(BELIEVED).u_star[0]),
        "best": truth.cycle.average_reward,
        "earned": believed.cycle.average_reward,
        "loss": 100 * believed.loss,
        "some": len(trapped) > 0,
        "share-low": ends[0],
        "share-high": ends[1],
        "share-early": 100 * stuck.early,
        "never": stuck.share == 0.0,
    }
    if len(trapped):
        values |= {"low": float(trapped.min()), "high": float(trapped.max())}
    save_values("learning-trap", values)


def save_price(at_price: AtPrice) -> None:
    """Save losses at a given price, and the share of streams within the bound."""
    for name, lost in (("optimistic", at_price.optimistic), ("plain", at_price.plain)):
        end = Estimate.of(lost[:, -1])
        save_value(
            f"learning-trap-price-{name}", end.value, interval=end.interval, replications=len(lost)
        )
    save_value("learning-trap-price-bound", float(at_price.bound[-1]))
    save_value("learning-trap-price-crawls", int(at_price.crawls[-1]))


def save_decisions(decisions: Decisions) -> None:
    """Save the number of wrong decisions where items are seen, and its bound."""
    wrong = Estimate.of(decisions.wrong[:, -1].astype(float))
    save_value("learning-trap-wrong", wrong.value, interval=wrong.interval,
               replications=len(decisions.wrong))  # fmt: skip
    tenth = int(np.searchsorted(decisions.epochs, decisions.epochs[-1] // 10, side="right")) - 1
    save_value("learning-trap-wrong-early", float(decisions.wrong[:, tenth].mean()))
    save_value("learning-trap-wrong-early-epochs", int(decisions.epochs[tenth]))
    save_value("learning-trap-wrong-bound", float(decisions.bound[-1]))
    save_value("learning-trap-wrong-epochs", int(decisions.epochs[-1]))


def save_jolts(cycles: pd.DataFrame) -> None:
    """Save what a move to the best cycle by the estimates earns, where there are several."""
    gains = (cycles.entered - cycles.jolted).dropna().to_numpy()
    any_gain = bool((gains > APART).any())
    save_value("learning-trap-some-jolts", any_gain)
    if any_gain:
        save_value("learning-trap-jolt", float(gains.mean()))
        save_value("learning-trap-jolt-most", float(gains.max()))
        save_value("learning-trap-jolts", int((gains > APART).sum()))


def _save_rules(table: pd.DataFrame, sets: int) -> None:
    """Save losses at the longest horizon that all rules have, and slopes up to each rule's own."""
    horizons = table.groupby("rule").horizon.max()
    common = int(horizons.min())
    save_value("learning-trap-common", common)
    rows: Any = table.set_index(["rule", "horizon"])  # typed tables of pandas know no columns
    losses = {f"{short}-loss": rows.loc[(rule, common)] for rule, short in SHORT.items()}
    losses["items-late"] = latest = rows.loc[("items", int(horizons.max()))]
    for name, row in losses.items():
        ends = row["low"], row["high"]
        save_value(f"learning-trap-{name}", row["mean"], interval=ends, replications=sets)
    for name in ("draws-loss", "items-late"):
        half = (losses[name]["high"] - losses[name]["low"]) / 2
        save_value(f"learning-trap-{name}-half", half)
    save_value("learning-trap-draws-loss-median", losses["draws-loss"]["median"])
    slopes = {short: slope(table, rule) for rule, short in SHORT.items() if short != "estimate"}
    grows = {short: bool(np.isfinite(value)) for short, value in slopes.items()}
    save_value("learning-trap-slopes", grows["ucb"] and grows["draws"])
    save_value("learning-trap-items-grows", grows["items"])
    save_value("learning-trap-items-ahead", bool(latest["mean"] < 0))
    for short, value in slopes.items():
        save_value(f"learning-trap-{short}-slope", value if np.isfinite(value) else 0.0)
    means = table[table.horizon == common].set_index("rule")["mean"]
    sums = means.drop("items")
    save_value("learning-trap-items-least", bool(means["items"] < sums.min()))
    save_value("learning-trap-draws-least", bool(sums.idxmin() == "draws and pairs"))


def _save_paired(runs: pd.DataFrame) -> None:
    """Save the table of losses above that of optimism about the index, paired by sets."""
    by = runs.pivot(index="set", columns=["rule", "horizon"], values="loss")
    rows = []
    for column in by.columns.tolist():
        rule, horizon = tuple(column)
        if rule == "UCB on the index":
            continue
        excess = Estimate.of((by[rule, horizon] - by["UCB on the index", horizon]).to_numpy())
        rows.append((rule, horizon, excess.value, excess.half_width))
        if rule == "draws and pairs" and horizon == runs.horizon.max():
            save_value("learning-trap-draws-over-ucb", excess.value, interval=excess.interval,
                       replications=len(by))  # fmt: skip
            save_value("learning-trap-draws-over-ucb-half", excess.half_width)
            save_value("learning-trap-draws-are-less", bool(excess.high < 0))
        rank = sorted(runs.horizon.unique()).index(horizon)
        if rule == "gain and pairs" and rank < 2:
            name = f"learning-trap-gain-over-ucb-{('first', 'second')[rank]}"
            save_value(name, excess.value, interval=excess.interval, replications=len(by))
            save_value(f"{name}-half", excess.half_width)
    save_table(
        "learning-trap-paired",
        pd.DataFrame(rows, columns=["rule", "horizon", "more lost (%)", "± (95%)"]).set_index(
            ["rule", "horizon"]
        ),
        "Loss of each rule less that of UCB on the index, on the same sets and arrivals; negative "
        "where less is lost.",
        formats={"more lost (%)": ".3f", "± (95%)": ".2g"},
        instances="learning-trap-runs",
    )


def save_losses(runs: pd.DataFrame, cycles: pd.DataFrame) -> pd.DataFrame:
    """Save the table of losses, the runs and the cycles; return the table."""
    table = summary(runs)
    save_data(
        "learning-trap-runs",
        runs,
        "One row a set of sources, rule and horizon.",
        {
            "set": "number of the set",
            "rule": "name of the rule",
            "horizon": "epochs",
            "loss": "loss in the second half of the horizon, %",
            "regret": "reward lost until then, in epochs of the index policy's reward",
        },
    )
    with_half = table.assign(half=(table.high - table.low) / 2)
    save_table(
        "learning-trap-losses-table",
        with_half[["rule", "horizon", "mean", "half", "median", "largest"]]
        .rename(columns={"mean": "mean loss (%)", "half": "± (95%)", "median": "median (%)",
                         "largest": "largest (%)"})
        .set_index(["rule", "horizon"]),
        "Loss against the index policy with known rates, in the second half of each horizon, over "
        f"{len(cycles)} random sets of sources with one stream of arrivals each; in the longest, "
        "where it exceeds 20,000 epochs, not all rules are played.",
        formats={"mean loss (%)": ".3f", "± (95%)": ".2g", "median (%)": ".3f",
                 "largest (%)": ".2f"},
        instances="learning-trap-runs",
    )  # fmt: skip
    _save_rules(table, len(cycles))
    _save_paired(runs)
    percent = cycles[["worst", "best", "entered", "jolted"]]
    # What is left of a difference of two equal sums differs by platform.
    cycles = cycles.assign(**percent.mask(percent.abs() <= APART, 0.0))
    several = cycles[cycles.worst - cycles.best > APART]
    save_value("learning-trap-sets", len(cycles))
    save_value("learning-trap-starts", STARTS)
    save_value("learning-trap-several", len(several))
    save_value("learning-trap-some-several", len(several) > 0)
    save_value("learning-trap-spread", float((cycles.worst - cycles.best).max()))
    save_value("learning-trap-worst", float(cycles.worst.max()))
    save_value("learning-trap-better", float(-cycles.best.min()))
    save_data(
        "learning-trap-cycles",
        cycles,
        "One row a set: by what percentage cycles of the index policy with known rates fall "
        "short of the one from ages 1.",
        {
            "set": "number of the set",
            "sources": "number of sources",
            "budget": "sources crawled at each epoch",
            "worst": "of the worst cycle found, %",
            "best": "of the best cycle found, %; negative if it earns more",
            "entered": "of the cycle that the learner of items enters, where there are several",
            "jolted": "of the best cycle by its estimates, where there are several",
        },
    )
    save_jolts(cycles)
    return table


def save_kinds(runs: pd.DataFrame) -> None:
    """Save the losses on kinds of sources, and where draws and pairs lose most."""
    save_data(
        "learning-trap-kinds-runs",
        runs,
        "One row a kind of sources, set and rule.",
        {
            "kind": "what the sources are like",
            "set": "number of the set",
            "rule": "name of the rule",
            "loss": "loss in the second half of the run, %",
        },
    )
    table = summarise_kinds(runs)
    text = [
        f"{format_plus_minus(mean, half, 2)}; {largest:.2f}"
        for mean, half, largest in zip(table["mean"], table.half, table.largest, strict=True)
    ]
    wide = table.assign(text=text).pivot(index="kind", columns="rule", values="text")
    save_table(
        "learning-trap-kinds",
        wide.loc[runs.kind.unique(), runs.rule.unique()].rename_axis(None, axis=1),
        "Loss against the index policy with known rates, in % over the second half of the run: "
        f"mean over {runs.set.nunique()} sets with one stream of arrivals each, ± half of the "
        "95% interval, and the largest.",
        instances="learning-trap-kinds-runs",
    )
    save_value("learning-trap-kinds-number", int(runs.kind.nunique()))
    for rule in runs.rule.unique():
        rows = table[table.rule == rule]
        most, name = rows.loc[rows["mean"].idxmax()], f"learning-trap-kinds-{SHORT[rule]}"
        save_value(f"{name}-mean", float(most["mean"]),
                   interval=(most["mean"] - most.half, most["mean"] + most.half),
                   replications=runs.set.nunique())  # fmt: skip
        save_value(f"{name}-half", float(most.half))
        save_value(f"{name}-largest", float(rows.largest.max()))
