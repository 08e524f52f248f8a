"""Section 7 of the report, line by line: what it prints against what random content does.

Between two crawls at epochs eta_m and eta_{m+1} a source gathers

    X(eta_{m+1}) = sum from t = eta_m + 1 to eta_{m+1} of alpha^(eta_{m+1} - t) U(t),

while the report prints the sum from eta_m to eta_{m+1} - 1; and the epochs between two crawls,
which the report takes from (16) as one fixed number, are a random first passage.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), section 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.index import StochasticIndex
from analysis.ephemeral.stochastic.simulation import Comparison
from analysis.ephemeral.stochastic.values import (
    RandomSource,
    discount_to_crawl,
    index_from_passages,
    stopping_value,
)
from analysis.results import AverageSolution, DiscountedSolution, Estimate, NotConverged
from book.ephemeral.shared import tabulate_runs
from scorecard import COLOURS, Claim, add_legend, add_panels, claim, ink, save_data, save_figure

#: Policies of the page beside the true index, by label: rules of `analysis.ephemeral.kernels`.
RULES = {
    "closed form": "whittle",
    "to the letter": "theorem",
    "largest content": "myopic",
    "greedy": "greedy",
}


def simulate_index(content: Floats, alpha: float, state: float) -> tuple[float, float]:
    """Return the index from simulated passages and the half-width of its interval.

    As `index_from_passages`; both are nan where the content reaches the state too seldom.
    """
    try:
        estimate = index_from_passages(content, alpha, state)
    except NotConverged:
        return np.nan, np.nan
    return estimate.value, estimate.half_width


def solve_printed_average(source: RandomSource, subsidy: float, beta: float) -> dict[str, float]:
    """Solve the report's (21) as printed for a beta above C lambda.

    By V = W_g - beta, g = C lambda - beta.
    """
    value = stopping_value(source, source.cost * subsidy - beta) - beta
    right = evaluate_right_of_21(source, subsidy, value)
    return {
        "beta": beta,
        "residual of (21)": float(np.abs(value + beta - right).max()),
        "integral of V": float(source.ahead(value)[0]),
    }


def evaluate_right_of_21(source: RandomSource, subsidy: float, value: Floats) -> Floats:
    """Return the right side of (21) as printed, shape (points,), for a value of each content."""
    return np.maximum(source.cost * subsidy + source.ahead(value), source.state)


def mark_crawled(source: RandomSource, value: Floats, subsidy: float) -> NDArray[np.int64]:
    """Return 1 where crawling is at least as good as waiting for so much: x >= subsidy + E V."""
    return (source.state >= subsidy + source.ahead(value)).astype(np.int64)


def find_best_threshold(curve: StochasticIndex, subsidy: float) -> float:
    """Return the threshold of largest average reward, by renewal rewards alone.

    At unit cost the threshold x earns r(x) + lambda (1 - f(x)) per epoch, with f its crawls per
    epoch and r = gamma f - g, as follows from the tie at lambda = gamma(x).
    """
    rate = curve.index * curve.frequency - curve.waiting + subsidy * (1.0 - curve.frequency)
    return float(curve.state[np.argmax(rate)])


def simulate_discounted_reward(
    content: Floats,
    alpha: float,
    threshold: float,
    initial: float,
    subsidy: float,
    discount: float,
) -> Estimate:
    """Estimate what a threshold policy earns on random content, discounted.

    `content`: what each epoch of each run brings; `initial`: content at the first epoch. The epochs
    beyond the last are left out.
    """
    state, earned = np.full(len(content), float(initial)), np.zeros(len(content))
    for epoch, arriving in enumerate(content.T):
        crawl = state >= threshold
        earned += discount**epoch * np.where(crawl, state, subsidy)
        state = np.where(crawl, 0.0, alpha * state) + arriving
    return Estimate.of(earned)


def follow_threshold(
    content: Floats, alpha: float, threshold: float, first: int = 0
) -> pd.DataFrame:
    """Crawl one source whenever its content reaches a threshold, and note each crawl but the first.

    `content`: what each epoch brings; `first`: where the printed sum begins, counted from the crawl
    before: 0 as printed, 1 as it should be. It has a term for each epoch between two crawls.
    """
    rows, state, last = [], 0.0, -1
    for epoch, arriving in enumerate(content):
        state = alpha * state + arriving
        if state < threshold:
            continue
        if last >= 0:
            terms = np.arange(last, epoch) + first
            printed = float(alpha ** (epoch - terms) @ content[terms])
            rows.append((state, printed, epoch - last))
        state, last = 0.0, epoch
    return pd.DataFrame(rows, columns=["content", "printed", "gap"])


def printed_average_reward(alpha: float, u_star: float, subsidy: float, eta: int) -> float:
    """Average reward of section 7 with one fixed number of epochs between crawls."""
    return (subsidy * (eta - 1) + (1.0 - alpha**eta) * u_star) / eta


def closed_form_deviation(
    sources: Sources, curves: Sequence[StochasticIndex], share: Floats
) -> Floats:
    """Return Theorem 1, continued by x/C, over the true index of random content, less 1.

    `share`: contents in units of u*; ``nan`` beyond the end of a curve.
    """
    contents = share[:, None] * sources.u_star
    closed = whittle_index(sources, contents).T
    true = [
        np.interp(column, curve.state, curve.index, right=np.nan)
        for column, curve in zip(contents.T, curves, strict=True)
    ]
    return closed / np.array(true) - 1


@dataclass(frozen=True)
class Results:
    """Results of the page: source 1 on a lattice, its equations, its crawls, and all indices."""

    law: str  # of the utilities
    # Source 1 at unit cost, and at another cost.
    source: RandomSource
    costly: RandomSource
    subsidy: float  # lambda of the equations at unit cost; the costly source has the same C lambda
    # Solution of the corrected (21) for each of the two.
    average: AverageSolution
    costly_average: AverageSolution
    raised: AverageSolution  # the same for source 1 at 1.1 times the subsidy
    solutions: pd.DataFrame  # rows of `solve_printed_average`, the first at the optimal beta
    discounted: dict[float, DiscountedSolution]  # solution of (20) by discount
    # V_d in one state, and what its policy earns from there on random content.
    played: tuple[float, Estimate]
    crawls: pd.DataFrame  # crawls by the threshold of `average`, from `follow_threshold`
    eta: float  # epochs between them by (16)
    betas: pd.DataFrame  # average reward as printed and by the dynamic program, one row a subsidy
    check: pd.DataFrame  # the index on the lattice and simulated, one row a content
    # Index of each source, by arrival rate, the largest rate first.
    curves: dict[float, list[StochasticIndex]]
    # Contents at which the closed form is compared with the index, in units of u*; shape (G,).
    grid: Floats
    deviation: dict[float, Floats]  # closed form over index, less 1, by arrival rate; shape (N, G)
    scale: Floats  # u*/C of each source at the largest rate; shape (N,)

    @property
    def worst(self) -> dict[float, float]:
        """Largest deviation of the closed form, by arrival rate."""
        return {rate: float(np.nanmax(np.abs(d))) for rate, d in self.deviation.items()}

    @property
    def worst_busy(self) -> float:
        """Largest deviation of the closed form at the largest rate, up to u*."""
        busy = next(iter(self.deviation.values()))
        return float(np.nanmax(np.abs(busy[:, is_up_to_limit(self.grid)])))

    @property
    def worst_inside(self) -> float:
        """Largest deviation of the closed form at the largest rate, below u*."""
        busy = next(iter(self.deviation.values()))
        return float(np.nanmax(np.abs(busy[:, is_below_limit(self.grid)])))

    @property
    def busiest(self) -> list[StochasticIndex]:
        """Index of each source at the largest rate."""
        return next(iter(self.curves.values()))

    @property
    def error(self) -> float:
        """Largest estimated error of the index at the largest rate, in units of u*/C."""
        return max(c.error / top for c, top in zip(self.busiest, self.scale, strict=True))

    @property
    def simulation_agrees(self) -> bool:
        """Whether each simulated index is within two half-widths of the lattice's."""
        off = (self.check["simulated"] - self.check["lattice"]).abs()
        return bool((off <= 2 * self.check["half-width"]).all())

    @property
    def is_closed_form(self) -> bool:
        """Whether the closed form is the index, within ten times the error of the latter."""
        return self.worst_inside < 10 * self.error


def is_below_limit(grid: Floats) -> NDArray[np.bool_]:
    """Return which contents, in units of u*, are below u*: Theorem 1 prints an index there."""
    return np.asarray(grid < 1 - 1e-9)


def is_up_to_limit(grid: Floats) -> NDArray[np.bool_]:
    """Return which contents, in units of u*, are at most u*, to which the index is continuous."""
    return np.asarray(grid <= 1 + 1e-9)


# Values and tables


def tabulate_policy_rewards(
    plays: dict[float, Comparison], bounds: dict[float, float], greedy: dict[float, float]
) -> pd.DataFrame:
    """Return the reward of each policy, with the exact reward of greedy as control variate.

    ``below`` is the distance to the bound in %.
    """
    rows = []
    for rate, play in plays.items():
        for policy in play.rewards:
            earned = play.controlled(policy, "greedy", greedy[rate])
            below = 100 * (1 - earned.value / bounds[rate])
            rows.append((rate, policy, bounds[rate], earned.value, earned.half_width, below))
    columns = ["rate", "policy", "bound", "reward", "half_width", "below"]
    return pd.DataFrame(rows, columns=columns)


def collect_deviation_values(
    deviations: Mapping[float, Floats], grid: Floats, errors: Sequence[float]
) -> dict[str, float]:
    """Return the page's numbers on the closed form against the index, up to u* and below it."""
    busy, rare = (list(deviations.values())[end] for end in (0, -1))
    below = is_below_limit(grid)
    return {
        "worst-busy": np.nanmax(abs(busy[:, is_up_to_limit(grid)])),
        "inside": np.nanmax(abs(busy[:, below])),
        "inside-at": grid[below].max(),
        "low-rare": np.nanmin(rare),
        "high-rare": np.nanmax(rare),
        "error": max(errors),
        "curves": len(errors),
    }


def collect_policy_values(rewards: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the policies; losses are at the smallest rate."""
    by_policy = rewards.pivot(index="policy", columns="rate", values="reward")
    true, rarest = by_policy.loc["true index"], rewards["rate"].iloc[-1]
    lost = 1 - by_policy[rarest] / true[rarest]
    return {
        "most-gained": (true / by_policy.loc["closed form"] - 1).max(),
        "letter": lost["to the letter"],
        "blind": lost["greedy"],
        "rarest": rarest,
    }


def measure_value_shape(results: Results) -> dict[str, float]:
    """Return the numbers behind the second Lemma 5, on V_d, over all discounts.

    The outer half of the lattice, where its end is felt, is left out.
    """
    x, source = results.source.state, results.source
    interior = x <= 0.5 * (x[-1] + source.mean / (1 - source.alpha))
    values = {d: solution.values[interior] for d, solution in results.discounted.items()}
    slopes = {d: np.diff(value) / np.diff(x[interior]) for d, value in values.items()}
    fading = {
        d: discount_to_crawl(source, solution.policy, source.alpha * d)[interior]
        for d, solution in results.discounted.items()
    }
    return {
        "smallest slope": min(float(s.min()) for s in slopes.values()),
        "largest slope": max(float(s.max()) for s in slopes.values()),
        "least second difference": min(float(np.diff(v, 2).min()) for v in values.values()),
        "slope above the bound, at most": max(
            float((slopes[d] - fading[d][1:]).max()) for d in slopes
        ),
        "slope above the printed bound": max(
            _steepest_beyond(x[interior], values[d], fading[d]) for d in values
        ),
        "V above the content, at least": min(
            float((v.values - x).min()) for v in results.discounted.values()
        ),
    }


def _steepest_beyond(x: Floats, values: Floats, fading: Floats) -> float:
    """Return the largest excess of a chord of V over the bound with a control optimal at its start.

    Chords join each tenth content to the last one of the grid.
    """
    start = np.arange(0, x.size - 1, 10)
    chords = (values[-1] - values[start]) / (x[-1] - x[start])
    return float((chords - fading[start]).max())


# Claims


#: How far the slopes of V may pass their bound, a lattice being no continuum.
LATTICE_SLACK = 0.01


def claims(results: Results) -> list[Claim]:
    """Return the page's claims on the rows of section 7 and of the slides' announcements."""
    return [*_discounted(results), *_average(results), *_between_crawls(results), *_index(results)]


def _discounted(results: Results) -> list[Claim]:
    shape = measure_value_shape(results)
    value, played = results.played
    rounding = 1e-9 * results.source.state[-1]
    regular = (
        shape["smallest slope"] >= -1e-9
        and shape["largest slope"] <= 1 + 1e-9
        and shape["least second difference"] >= -rounding
    )
    return [
        claim(
            "A-r-eq20",
            abs(value - played.value) <= 2 * played.half_width,
            numbers={
                "value": value,
                "earned": played.value,
                "half_width": played.half_width,
                "runs": played.replications,
            },
        ),
        claim(
            "A-r-lem5b",
            regular and shape["V above the content, at least"] < -rounding,
            numbers={
                "least_slope": shape["smallest slope"],
                "most_slope": shape["largest slope"],
                "discounts": list(results.discounted),
            },
        ),
        claim("A-r-lem5b-sum", False, basis="judged"),
        claim(
            "A-r-lem5b-const",
            shape["slope above the printed bound"] < LATTICE_SLACK,
            numbers={
                "above_printed": shape["slope above the printed bound"],
                "above_bound": shape["slope above the bound, at most"],
            },
        ),
    ]


def _average(results: Results) -> list[Claim]:
    source, average, table = results.source, results.average, results.solutions
    tiny = 1e-9 * source.state[-1]
    solves = table["residual of (21)"] < tiny
    solved = bool(solves.iloc[0])
    shifted = table["integral of V"].abs() > 1e-3 * source.mean
    others = bool((solves & shifted).iloc[1:].any())
    right = mark_crawled(results.costly, results.costly_average.bias, results.subsidy)
    literal = mark_crawled(
        results.costly, results.costly_average.bias, results.subsidy / results.costly.cost
    )
    from_right, from_literal = (
        results.costly.state[np.argmax(crawled)] for crawled in (right, literal)
    )
    optimal = np.array_equal(right, results.costly_average.policy)
    edge = float(source.state[np.argmax(mark_crawled(source, average.bias, results.subsidy))])
    best = find_best_threshold(results.busiest[0], results.subsidy)
    above = float(average.bias[-1] + average.gain - source.state[-1])
    return [
        *(
            claim(
                row,
                solved,
                proof="prop-random-stopping",
                condition=others,
                numbers={"solutions": int(solves.sum())},
            )
            for row in ("A-r-eq21", "A-r-s7-unique")
        ),
        claim(
            "A-r-s7-eq12",
            solved and abs(table["integral of V"].iloc[0]) < tiny,
            condition=others,
            numbers={"integral": table["integral of V"].iloc[-1]},
        ),
        claim(
            "A-r-s7-argmax",
            optimal,
            condition=not np.array_equal(right, literal),
            numbers={
                "cost": results.costly.cost,
                "from_printed": from_literal,
                "from_optimal": from_right,
            },
        ),
        claim(
            "A-r-s7-V",
            bool(np.isclose(above, source.mean, atol=0.5 * source.mean)),
            numbers={"mean": source.mean, "above": abs(above)},
        ),
        claim(
            "A-r-s7-B",
            abs(edge - best) <= 0.02 * source.state[-1],
            numbers={"edge": edge, "best": best},
        ),
        claim("A-r-s7-Xi"),
        claim(
            "A-r-s7-shape",
            bool(np.diff(average.bias).min() >= -tiny and np.diff(average.bias, 2).min() >= -tiny),
            proof="prop-random-stopping",
            numbers={"points": len(average.bias)},
        ),
    ]


def _between_crawls(results: Results) -> list[Claim]:
    crawls, source = results.crawls, results.source
    gaps = crawls["gap"]
    u, alpha = source.mean, source.alpha
    off = float((results.betas["beta as printed"] / results.betas["beta"] - 1).abs().max())
    return [
        claim(
            "A-r-s7-Xeta",
            bool(np.allclose(crawls["content"], crawls["printed"])),
            numbers={
                "crawls": len(crawls),
                "content": crawls["content"].mean(),
                "printed_sum": crawls["printed"].mean(),
                "fluid": u * (1 + alpha),
                "printed_fluid": u * alpha * (1 + alpha),
            },
        ),
        claim(
            "A-r-s7-eta16",
            bool((gaps == results.eta).all()),
            numbers={
                "values": gaps.nunique(),
                "least": gaps.min(),
                "most": gaps.max(),
                "eta": results.eta,
            },
        ),
        claim(
            "A-r-s7-beta",
            off < 0.001 and results.is_closed_form,
            numbers={
                "law": results.law,
                "subsidies": len(results.betas),
                "off": off,
                "off_by_theorem": results.worst_busy,
            },
        ),
    ]


def _index(results: Results) -> list[Claim]:
    rate, rarest = list(results.worst.items())[-1]
    every = [curve for curves in results.curves.values() for curve in curves]
    monotone = all(curve.indexable for curve in every)
    fall = float((results.raised.bias - results.average.bias).min())
    return [
        claim(
            "A-r-s7-same",
            results.is_closed_form,
            numbers={
                "law": results.law,
                "inside": results.worst_inside,
                "inside_at": results.grid[is_below_limit(results.grid)].max(),
                "off": results.worst_busy,
                "off_rarest": rarest,
                "rate": rate,
                "grid_end": results.grid[-1],
                "error": results.error,
            },
        ),
        claim(
            "A-s-stoch-heuristic",
            not results.is_closed_form and results.simulation_agrees,
            numbers={"law": results.law, "off": results.worst_busy},
        ),
        claim(
            "A-r-s7-indexable",
            monotone,
            proof="thm-random-indexable",
            numbers={"curves": len(every)},
        ),
        claim(
            "A-r-s7-indexable-proof",
            fall >= -1e-9 * results.source.state[-1],
            numbers={"fall": -fall},
        ),
        claim(
            "A-s-dev-indexability",
            monotone,
            proof="thm-random-indexable",
            numbers={"curves": len(every)},
        ),
        claim(
            "A-s-dev-numerics",
            outcome="agrees" if results.simulation_agrees else "differs",
            numbers={"error": results.error, "contents": len(results.check)},
        ),
        claim("A-s-dev-noexplicit"),
        claim("A-r-stoch-report2", monotone, condition=not results.is_closed_form),
    ]


# Figures


STYLES = ("-", "--", "-.", ":", "-")
MARKERS = ("o", "s", "^", "v", "D")


def draw_deviation(grid: Floats, deviation: dict[float, Floats], law: str) -> None:
    """Draw the deviation of the closed form of source 1 from its true index, by arrival rate."""
    first = {rate: values[0] for rate, values in deviation.items()}
    farthest = [f"{np.nanmax(abs(values)):.0%} at {rate:g}" for rate, values in first.items()]
    wide = [
        f"{rate:g}: {np.nanmin(values):.0%} to {np.nanmax(values):+.0%}"
        for rate, values in first.items()
    ]
    columns = {
        f"closed form over index, less 1, rate {rate:g}": values for rate, values in first.items()
    }

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, (rate, values) in zip(COLOURS, STYLES, first.items(), strict=False):
            label = f"{rate:g} per time unit"
            axis.plot(grid, 100 * values, style, color=colour, label=label)
        axis.axhline(0, color=ink(), linewidth=0.8)
        axis.axvline(1, color="grey", linewidth=0.8, linestyle=":")
        axis.set(
            xlabel="content of source 1 (units of u*)", ylabel="closed form above the index (%)"
        )
        add_legend(figure)
        return pd.DataFrame({"content (u*)": grid, **columns})

    save_figure(
        "stochastic-index-deviation",
        draw,
        caption="How far the deterministic closed form lies from the true index with random "
        f"content ({law} utilities), for source 1 alone and contents from "
        f"{grid[0]:.0%} of $u^*$ up. Farthest, by items per time unit: "
        f"{'; '.join(dict.fromkeys([farthest[0], farthest[-1]]))}.",
        alt="Curves of the relative deviation against the content, one an arrival rate. Range by "
        f"items per time unit: {'; '.join(wide)}.",
        height=3.8,
    )


def save_runs(plays: Mapping[float, Comparison]) -> None:
    """Save the reward of every run, before the control variate."""
    columns = {
        "rate": "items per time unit at each source",
        "replication": "number of the run; the policies of one rate share their arrivals",
        "policy": "policy",
        "reward": "reward per epoch, without control variate",
    }
    save_data(
        "stochastic-index-runs",
        tabulate_runs(plays, "rate")[list(columns)],
        "One row a run and policy with random arrivals, by arrival rate.",
        columns,
    )


def draw_rewards(table: pd.DataFrame, budget: int, law: str, replications: int) -> None:
    """Draw the distance of each policy to the relaxed bound, against the arrival rate."""
    policies = table.groupby("policy", sort=False)
    ends = [
        f"{name}: {rows.below.iloc[0]:.1f}%, {rows.below.iloc[-1]:.1f}%" for name, rows in policies
    ]
    rates = table.rate.unique()

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, marker, (name, rows) in zip(
            COLOURS, STYLES, MARKERS, policies, strict=False
        ):
            half = 100 * rows.half_width / rows.bound
            look = {"fmt": marker + style, "color": colour, "markersize": 4, "capsize": 2}
            axis.errorbar(rows.rate, rows.below, yerr=half, label=name, **look)
        axis.axhline(0, color=ink(), linewidth=0.8)
        axis.set(xscale="log", xlabel="items per time unit at each source")
        axis.set_ylabel("reward below the relaxed bound (%)")
        add_legend(figure)
        return table

    save_figure(
        "stochastic-index-rewards",
        draw,
        caption="What each policy earns, as a distance to the relaxed bound that holds for every "
        f"policy ($M = {budget}$, {law} utilities, 95% intervals over {replications} runs with "
        "greedy, whose reward is known exactly, as control variate). Lower is better; nearest to "
        f"the bound on average over the rates is *{policies['below'].mean().idxmin()}*.",
        alt="Curves of the distance to the bound against the arrival rate. At "
        f"{rates[0]:g} and at {rates[-1]:g}: {'; '.join(ends)}.",
        height=3.8,
    )
