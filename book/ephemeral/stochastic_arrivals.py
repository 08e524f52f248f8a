"""Random arrivals: the three rewards of the slides, and the state evolution of Figure 4.

The documents print neither the law of the utilities nor the form of the index nor the horizon
behind the reward 285 and behind "source 1 is crawled from time to time". What a policy earns that
does not observe the content does not depend on the law; all else does, and this page measures by
how much.

References: report 8702, sections 7 and 8; slides, stochastic setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.ephemeral.arrivals import Utility
from analysis.ephemeral.simulation import Trajectory
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.index import stochastic_bound, stochastic_index
from analysis.ephemeral.stochastic.simulation import Comparison
from analysis.results import Estimate, NotConverged
from book.ephemeral.shared import (
    SHOWN,
    describe_drawn_sources,
    draw_source,
    scan_averages,
    tabulate_runs,
    tabulate_trajectory,
)
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    clean_for_markdown,
    clean_text,
    format_change,
    format_plus_minus,
    ink,
    is_document_run,
    label_names,
    pluralise,
    save_data,
    save_figure,
)
from scorecard.prints import printed_number

#: How the two ways to play Theorem 1 are called, by their rule in `analysis.ephemeral.kernels`.
FORMS = {"whittle": "Theorem 1, x/C above u*", "remark": "the Remark's short form"}
RULES = ("round-robin", "greedy", "whittle", "theorem", "remark")


def simulate_items(
    sources: Sources, arm: int, epochs: int, rng: np.random.Generator, shift: float = 0.0
) -> pd.DataFrame:
    """Return the content before each crawl of one source, item by item and by the recursion (19).

    `shift`: added to the age of an item in U(k), to falsify it.
    """
    mu, period = float(sources.decay_rate[arm]), sources.period
    items = rng.poisson(float(sources.arrival_rate[arm]) * period * epochs)
    time = np.sort(rng.uniform(0, period * epochs, items))
    utility = sources.mean_utility[arm] * rng.standard_exponential(items)
    crawled = rng.random(epochs) < 0.3
    rows, last, state = [], 0.0, 0.0
    for k in range(1, epochs):
        age = k * period - time
        published = age > 0
        fresh = published & (age <= period)
        arrived = (utility * np.exp(-mu * (age + shift)))[fresh].sum()  # U(k)
        state = np.exp(-mu * period) * state + arrived
        rows.append(((utility * np.exp(-mu * age))[published & (time >= last)].sum(), state))
        if crawled[k]:
            state, last = 0.0, k * period
    return pd.DataFrame(rows, columns=["by items", "by recursion"])


def bound_reward_of_law(sources: Sources, utility: Utility, budget: int, tolerance: float) -> float:
    """Return the relaxed bound on policies that observe the content, under a law of the utilities.

    `tolerance`: largest estimated error of the index curves, in units of u*/C.
    """
    productive = sources.subset(
        np.flatnonzero(sources.u > 0)
    )  # others add nothing and are left alone
    curves = []
    for i, name in enumerate(productive.names or ()):
        try:
            curve = stochastic_index(productive, i, utility, tolerance=tolerance, points=100)
        except NotConverged:
            raise NotConverged(
                f"sources must forget faster: source {name!r} keeps "
                f"exp(-{productive.decay[i]:.3g}) of "
                f"its content in an epoch, and with {utility.law} values the error of its index "
                f"exceeds {tolerance:g}"
            ) from None
        curves.append(curve)
    return stochastic_bound(productive, curves, min(budget, len(productive)))[0]


def interpolate_crossing(
    variations: Sequence[float], rewards: Sequence[Estimate], at: float
) -> float:
    """Interpolate the variability at which a rising curve of rewards reaches a value."""
    values = np.maximum.accumulate([reward.value for reward in rewards])
    return float(np.interp(at, values, variations))


def find_needed_variability(
    variations: Sequence[float], rewards: Sequence[Estimate], at: float
) -> tuple[float, float, float]:
    """Return the variability at which a curve of rewards reaches a value, and its range.

    The ends are where it reaches the value less, and plus, the largest half-width.
    """
    half = max(reward.half_width for reward in rewards)
    least, needed, most = (
        interpolate_crossing(variations, rewards, at + change) for change in (-half, 0.0, half)
    )
    return least, needed, most


def average_short_runs(sources: Sources, budget: int, longest: int) -> pd.DataFrame:
    """Return all averages of fluid runs up to a length, with those of the other two policies."""
    scans = {r: scan_averages(sources, r, budget, longest) for r in ("whittle", *RULES[:2])}
    others = {rule: scans[rule]["average"] for rule in RULES[:2]}
    return scans["whittle"].assign(**others).rename(columns={"average": "index"})


@dataclass(frozen=True)
class Results:
    """Results of the page."""

    sources: Sources
    budget: int
    second_budget: int
    items: pd.DataFrame  # as `simulate_items` returns it
    round_robin: Floats  # expected reward of round robin at each epoch of one round; shape (N,)
    # The constraint's left side after some epochs, as printed and with a sum over time.
    constraint: tuple[float, float]
    exact: dict[str, float]  # long-run reward of round robin and greedy, whatever the law
    # Five policies with the first budget, by law; exponential among them.
    results: dict[str, Comparison]
    laws: dict[str, Utility]  # these laws
    wild: str  # the gamma law among them
    curve: Sequence[Estimate]  # reward of the index under gamma laws, by rising variability
    pairs: dict[str, Comparison]  # each of `FORMS` with the second budget, by law
    bounds: dict[str, float]  # most that any policy can earn under some of the laws

    def reward(self, law: str, rule: str = "whittle") -> Estimate:
        """Return the reward of a form of the index under a law, with greedy as control variate."""
        return self.results[law].controlled(rule, "greedy", self.exact["greedy"])


def evaluate_constraint(spent: Floats) -> tuple[float, float]:
    """Return the constraint of section 7 after a run, as printed and with a sum over time."""
    return float(spent[-1] / spent.size), float(spent.mean())


# Values and tables


def tabulate_rewards(results: dict[str, Comparison], greedy: float) -> pd.DataFrame:
    """Return the rewards and their differences under each law, as text with half-widths."""
    rows = {
        law: {
            "round robin": result.reward("round-robin"),
            "greedy": result.reward("greedy"),
            "index": result.controlled("whittle", "greedy", greedy),
            "index, less greedy": result.difference("whittle", "greedy"),
            "to the letter, less index": result.difference("theorem", "whittle"),
            "short form, less index": result.difference("remark", "whittle"),
        }
        for law, result in results.items()
    }
    return pd.DataFrame(rows).T.map(format_reward).rename_axis("law of the utilities")


def format_reward(estimate: Estimate) -> str:
    """Write an estimate with two decimals and its half-width, if the runs differ at all."""
    return format_plus_minus(estimate.value, estimate.half_width)


def collect_reward_values(
    results: Mapping[str, Comparison], exact: Mapping[str, float], wild: str
) -> dict[str, float]:
    """Return the page's numbers on the three rewards.

    ``held`` counts the intervals that hold the exact rewards of round robin and greedy;
    ``literal`` is Theorem 1 to the letter against the index.
    """
    blind = {rule: exact[rule] for rule in ("round-robin", "greedy")}
    held, intervals = count_exact_intervals(results.values(), blind)
    gain = results["exponential"].difference("whittle", "greedy")
    letter = {law: results[law].difference("theorem", "whittle") for law in ("exponential", wild)}
    return {
        "held": held,
        "intervals": intervals,
        "robin": exact["round-robin"],
        "greedy": exact["greedy"],
        "gain": gain.value,
        "gain-half": gain.half_width,
        "literal-loss": -letter[wild].value,
        "literal-gain": letter["exponential"].value,
    }


def collect_form_values(
    results: Mapping[str, Comparison], bounds: Mapping[str, float], greedy: float, wild: str
) -> dict[str, float]:
    """Return the page's numbers on the forms of the index: reward of the short form, and shares.

    Shares are of the bound with very variable utilities; `greedy` is the exact reward of the
    control variate.
    """
    short = results["exponential"].controlled("remark", "greedy", greedy)
    names = {"share": "whittle", "short-share": "remark", "letter-share": "theorem"}
    earned = {key: results[wild].controlled(rule, "greedy", greedy) for key, rule in names.items()}
    shares = {key: estimate.value / bounds[wild] for key, estimate in earned.items()}
    return {"short": short.value, "short-half": short.half_width, **shares}


def count_exact_intervals(
    results: Iterable[Comparison], exact: dict[str, float]
) -> tuple[int, int]:
    """Count the intervals of policies with a known reward, and those that hold it."""
    covered = [
        result.reward(rule).low <= reward <= result.reward(rule).high
        for result in results
        for rule, reward in exact.items()
    ]
    return sum(covered), len(covered)


def count_helpful_observations(gains: Mapping[str, Estimate]) -> dict[str, int]:
    """Count the sources of which the observation of one alone helps, and those that were tried."""
    alone = [gain for name, gain in gains.items() if name not in ("none", "all")]
    return {"one-helps": sum(gain.low > 0 for gain in alone), "one-tried": len(alone)}


# Claims


#: "Quite well": at least so much of the most that any policy can earn.
QUITE_WELL = 0.95


def claims(results: Results) -> list[Claim]:
    """Return the page's claims on section 7's model, Figure 4 and the slides' three rewards."""
    return [*_model(results), *_evolution(results), *_rewards(results)]


def _model(results: Results) -> list[Claim]:
    items = results.items
    same = bool(np.allclose(items["by items"], items["by recursion"], rtol=1e-9))
    rounds = results.round_robin
    printed, with_sum = results.constraint
    return [
        *(claim(row, same, numbers={"epochs": len(items)}) for row in ("A-r-Uk", "A-r-eq19")),
        claim(
            "A-r-s7-objective",
            bool(np.isclose(rounds.max(), rounds.mean())),
            numbers={"largest": rounds.max(), "average": rounds.mean()},
        ),
        claim(
            "A-r-s7-constraint",
            abs(printed - results.second_budget) < 0.1,
            numbers={"printed": printed, "budget": results.second_budget, "with_sum": with_sum},
        ),
    ]


def _evolution(results: Results) -> list[Claim]:
    crawls = {
        name: {
            law: _value_and_half_width(run.frequency(rule, 0)) for law, run in results.pairs.items()
        }
        for name, rule in (("by_theorem", "whittle"), ("by_short_form", "remark"))
    }
    return [
        *(claim(row, numbers=crawls) for row in ("A-r-fig4-s1", "A-s-time-to-time")),
        *(
            claim(row, figure="stochastic-arrivals-states")
            for row in ("A-r-fig4", "A-s-fig-m2-stoch")
        ),
    ]


def _value_and_half_width(estimate: Estimate, unit: float = 1.0) -> tuple[float, float]:
    """Return an estimate and its half-width in a unit."""
    return estimate.value / unit, estimate.half_width / unit


def _rewards(results: Results) -> list[Claim]:
    index = results.reward("exponential")
    return [
        claim("A-s-stoch-M1", results.budget),
        claim("A-s-208", results.exact["round-robin"]),
        claim("A-s-260", results.exact["greedy"]),
        claim(
            "A-s-285",
            index.value,
            interval=index.interval,
            replications=index.replications,
            numbers={
                "lowest": results.curve[0].value,
                "highest": results.curve[-1].value,
                "short": _value_and_half_width(results.reward("exponential", "remark")),
                "short_wild": _value_and_half_width(results.reward(results.wild, "remark")),
                "wild": results.wild,
            },
        ),
        _order(results),
        claim("A-s-stoch-det-index"),
        _quality(results),
    ]


def _quality(results: Results) -> Claim:
    """Compare the reward of each form of the index with the bound on all policies."""
    shares = {
        rule: {
            law: _value_and_half_width(results.reward(law, rule), bound / 100)
            for law, bound in results.bounds.items()
        }
        for rule in ("whittle", "remark", "theorem")
    }
    rewards = [
        {"law": law, "reward": _value_and_half_width(results.reward(law)), "bound": bound}
        for law, bound in results.bounds.items()
    ]
    least = min(results.reward(law).low / bound for law, bound in results.bounds.items())
    return claim(
        "A-s-stoch-well",
        least > QUITE_WELL,
        numbers={
            "cut": QUITE_WELL,
            "laws": list(results.bounds),
            "rewards": rewards,
            "shares": shares["whittle"],
            "short": shares["remark"],
            "letter": shares["theorem"],
        },
    )


def _order(results: Results) -> Claim:
    """Index before greedy before round robin, law by law."""
    gains = {law: run.difference("whittle", "greedy") for law, run in results.results.items()}
    short = {law: run.difference("remark", "greedy") for law, run in results.results.items()}
    holds = [law for law, gain in gains.items() if gain.low > 0]
    worse = [law for law, gain in gains.items() if gain.high < 0]
    tied = [law for law in gains if law not in holds + worse]
    exponential = results.laws["exponential"].second_moment
    variable = [
        law for law, utility in results.laws.items() if utility.second_moment >= exponential
    ]
    greedy_first = results.exact["greedy"] > results.exact["round-robin"]
    forms_differ = any(gain.high < 0 for gain in short.values())
    outcomes = {(True, True): "both", (True, False): "worse", (False, True): "tied"}
    return claim(
        "A-s-order",
        greedy_first and set(variable) <= set(holds),
        outcome=outcomes.get((bool(worse), bool(tied)), "form"),
        condition=bool(worse or tied or forms_differ),
        numbers={
            "worse": worse,
            "tied": tied,
            "gains": {law: _value_and_half_width(gain) for law, gain in gains.items()},
            "short": {law: _value_and_half_width(gain) for law, gain in short.items()},
            "greedy": results.exact["greedy"],
            "round_robin": results.exact["round-robin"],
        },
    )


# Figures


VARIABILITY = "variability of one item's utility (squared coefficient of variation)"


def printed_rewards() -> dict[str, float]:
    """Return the rewards that the documents print for the index, by the document's name."""
    return {
        "slides": printed_number("A-s-285"),
        "2019 paper": printed_number("B-283"),
    }


def draw_states(sources: Sources, run: Trajectory, budget: int, *, short: bool) -> None:
    """Draw the content and the crawls of the first six sources in one random run."""
    labels = [f"source {name}" for name in sources.names or ()]
    drawn, numbers = label_names((sources.names or ())[:SHOWN])
    panels = range(min(len(sources), SHOWN))
    shares = run.crawled.mean(axis=1)
    theorem = "the index of Theorem 1 (and x/C above u*)"
    how = f"{FORMS['remark']}, off the orbit" if short else theorem
    shares_text = "; ".join(f"{clean_text(labels[i])} at {shares[i]:.0%}" for i in panels)
    instead = " It stands for Figure 4 of the report, whose picture is lost."

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, len(panels), 1, sharex=True)
        for i in panels:
            draw_source(axes[i], sources, run, i, COLOURS[i % 7])
            title = f"source {drawn[i]}: crawled at {shares[i]:.0%} of these epochs"
            axes[i].set_title(title)
        axes[-1].set_xlabel("epoch")
        figure.supylabel("content (value units)")
        return tabulate_trajectory(sources, run)

    save_figure(
        f"stochastic-arrivals-states{'-short' if short else ''}",
        draw,
        caption=f"Content of {describe_drawn_sources(sources)} and crawls (dots) with random "
        "arrivals, "
        f"exponential utilities and $M = {budget}$, by {how}. The dotted line is $u^*$.{numbers}"
        + (" The arrivals are those of the figure before." if short else "")
        + (instead if is_document_run() and not short else ""),
        alt=f"Ragged saw-tooth curves of the content of {pluralise(len(panels), 'source')} over "
        f"{run.reward.size} epochs, {budget} crawled at each. Share of epochs with a crawl: "
        f"{shares_text}.",
        height=1 + 1.25 * len(panels),
    )


def save_runs(results: Mapping[str, Comparison]) -> None:
    """Save the reward of every run behind the table of rewards."""
    columns = {
        "law": "law of the utilities; a number behind it is its variability",
        "replication": "number of the run; the policies of one law share their arrivals",
        "policy": "policy; theorem is Theorem 1 to the letter, remark the Remark's short form",
        "reward": "reward per epoch",
    }
    save_data(
        "stochastic-arrivals-runs",
        tabulate_runs(results, "law")[list(columns)],
        "One row a run and policy with random arrivals, by law of the utilities.",
        columns,
    )


def draw_frequency(
    variations: Sequence[float],
    frequencies: Mapping[str, Sequence[Estimate]],
    label: str,
    budget: int,
) -> None:
    """Draw how often the first source is crawled, by either form of the index."""
    ends = [(frequencies[rule][0].value, frequencies[rule][-1].value) for rule in FORMS]
    replications = frequencies["whittle"][0].replications

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        columns: dict[str, Sequence[float]] = {"squared coefficient of variation": variations}
        for colour, style, (rule, text) in zip(COLOURS, ("-o", "--s"), FORMS.items(), strict=False):
            columns |= _band(axis, variations, frequencies[rule], colour, style, text)
        axis.set(xscale="log", ylim=(0, 1.05), xlabel=VARIABILITY)
        axis.set_ylabel("crawls per epoch")
        add_legend(figure)
        return pd.DataFrame(columns)

    save_figure(
        "stochastic-arrivals-frequency",
        draw,
        caption=f"How often {clean_for_markdown(label)} is crawled at $M = {budget}$ when "
        "utilities have gamma laws of growing variability (1 is the exponential law). By the index "
        f"of Theorem 1 it {format_change(ends[0][0], ends[0][1], '.2f')}, by the short form it "
        f"{format_change(ends[1][0], ends[1][1], '.2f')}. Bands: 95% over {replications} runs.",
        height=3.4,
        alt="Two curves against variability on a logarithmic axis. By Theorem 1 the frequency "
        f"{format_change(ends[0][0], ends[0][1], '.2f')}, by the short form it "
        f"{format_change(ends[1][0], ends[1][1], '.2f')}.",
    )


def draw_variation(
    variations: Mapping[str, Sequence[float]],
    rewards: Mapping[str, Sequence[Estimate]],
    greedy: float,
    budget: int,
) -> None:
    """Draw the reward of the index against the variability of the utilities."""
    frames, sentences = [], []
    for family, values in rewards.items():
        columns = {"law": family, "squared coefficient of variation": variations[family]}
        mean, half = [e.value for e in values], [e.half_width for e in values]
        frames.append(pd.DataFrame({**columns, "mean": mean, "half width": half}))
        sentences.append(f"with {family} utilities it {format_change(mean[0], mean[-1], '.1f')}")
    data = pd.concat(frames)
    replications = next(iter(rewards.values()))[0].replications

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, (family, values) in zip(
            COLOURS, ("-o", "--s"), rewards.items(), strict=False
        ):
            label = f"index, {family} utilities"
            _band(axis, variations[family], values, colour, style, label)
        axis.axhline(greedy, color=ink(), linewidth=1, linestyle=":", label="greedy, any law")
        if is_document_run():
            for (name, reward), height in zip(printed_rewards().items(), (4, -11), strict=True):
                axis.axhline(reward, color="grey", linewidth=1)
                axis.annotate(
                    f"printed {reward:g} ({name})",
                    (min(variations["gamma"]), reward),
                    xytext=(0, height),
                    textcoords="offset points",
                )
        axis.set(xscale="log", xlabel=VARIABILITY, ylabel="average reward per epoch (value units)")
        axis.set_ylim(top=max(300.0 if is_document_run() else greedy, 1.02 * data["mean"].max()))
        add_legend(figure)
        return data

    save_figure(
        "stochastic-arrivals-variation",
        draw,
        caption=f"Average reward of the index policy at $M = {budget}$ against the variability of "
        f"the utilities (1 is the exponential law): {'; '.join(sentences)}. Greedy earns "
        f"{greedy:.1f} "
        f"whatever the law. Bands: 95% over {replications} runs, with greedy as control variate.",
        alt=f"Two curves on a logarithmic axis: {'; '.join(sentences)}. Greedy is a horizontal "
        f"line at {greedy:.1f}.",
        height=3.8,
    )


def _band(axis, x, estimates, colour, style, text):  # type: ignore[no-untyped-def]
    """Draw a curve with its band; return its columns."""
    mean = np.array([estimate.value for estimate in estimates])
    half = np.array([estimate.half_width for estimate in estimates])
    axis.plot(x, mean, style, color=colour, markersize=4, label=text)
    axis.fill_between(x, mean - half, mean + half, color=colour, alpha=0.25, linewidth=0)
    return {text: mean, f"{text}, half width": half}
