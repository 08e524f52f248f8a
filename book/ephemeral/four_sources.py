"""Four sources: cycles of the policies, and a scan for the run behind the printed average.

A document that prints an average reward without saying from which state, over how many epochs and
divided by what leaves three choices. `scan_averages` tries all of them, so that a printed value can
be traced to the choices that give it, and `hit_chance` estimates how probable such a match is
by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.policies import Policy
from analysis.ephemeral.simulation import Cycle, simulate
from analysis.ephemeral.sources import Sources
from book.ephemeral.shared import SHOWN, describe_drawn_sources, draw_source, tabulate_trajectory
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    clean_for_markdown,
    clean_text,
    ink,
    is_document_run,
    join_words,
    label_names,
    pluralise,
    save_figure,
)
from scorecard.prints import printed_number


def select_matching_averages(
    averages: pd.DataFrame, printed: float, digits: int = 2
) -> pd.DataFrame:
    """Return the rows of a scan whose average rounds to a printed number."""
    near = (averages["average"] - printed).abs() <= 0.5 * 10.0**-digits
    return averages[near].reset_index(drop=True)


def hit_chance(averages: pd.DataFrame, printed: float, half_width: float, digits: int = 2) -> float:
    """Return the share of numbers within `half_width` of a print that some row rounds to."""
    unit = 10.0**-digits
    tried = np.rint(printed / unit) + np.arange(-np.rint(half_width / unit), half_width / unit + 1)
    return float(np.isin(tried, np.rint(averages["average"] / unit)).mean())


def greedy_rank(sources: Sources, utility: Floats, ages: Floats) -> Floats:
    """Return the rank of the slides' greedy policy as they print it, `utility` put for xi."""
    elapsed = ages * sources.period
    worth = sources.arrival_rate * utility / sources.decay_rate
    return np.asarray(worth * -np.expm1(-sources.decay_rate * elapsed))


def uncrawled_contents(sources: Sources, epochs: int) -> Floats:
    """Return the contents of sources at ages 1, 2, ..., by the recursion (2) from empty ones."""
    contents = [np.zeros(len(sources))]
    for _ in range(epochs):
        contents.append(sources.alpha * contents[-1] + sources.u)
    return np.array(contents[1:])


@dataclass(frozen=True)
class Results:
    """Results of the page: the sources, the cycles, and the scan behind the printed average."""

    sources: Sources
    budgets: tuple[int, int]  # the two budgets
    # Long run of the index policy with each budget.
    first: Cycle
    second: Cycle
    alone: Cycle  # long run of a crawler that stays with the source of largest u
    epoch_rewards: Floats  # reward of each epoch of the first cycle; shape (period,)
    fits: pd.DataFrame  # the rows of the scan that round to the printed average
    scanned: int  # number of averages in the scan
    chance: float  # share of the numbers within 1.5 of the print that the scan would have hit
    drawn: Floats  # utility of one random item of each source; shape (N,)
    # Largest long-run reward of all policies with the first budget, by a search over cycles.
    optimum: float


# Values and tables


_ROUNDING = 1e-9
#: Gaps that a cell of a table lists one by one.
_LISTED = 40


def collect_print_values(
    sources: Sources, alone: Policy, averages: pd.DataFrame, fit: pd.Series, printed: float
) -> dict[str, float]:
    """Return the page's numbers on the finite run that gives the printed average.

    ``same-recipe`` is the average of `alone` over the same epochs from the same state,
    ``literal-divisor`` the sum of the run divided by one epoch less.
    """
    epochs, initial_state = int(fit.epochs), fit.initial_state
    same_run = averages.epochs.eq(epochs) & averages.initial_state.eq(initial_state)
    other = averages[same_run & averages.divisor.eq("epochs - 1")]
    recipe = simulate(sources, alone, 1, epochs, initial_state=initial_state)
    return {
        "print-epochs": epochs,
        "same-recipe": recipe.average_reward,
        "literal-divisor": float(other.average.iloc[0]),
        "hit-chance": hit_chance(averages, printed, 1.5),
        "hit-chance-wide": hit_chance(averages, printed, 4.5),
    }


def collect_predicates(
    size: int, budgets: tuple[int, int], rewards: pd.DataFrame
) -> dict[str, float]:
    """Return the truth values and numbers that sentences of the page depend on.

    Greedy and the index policy are alike or apart where there is a choice of sources;
    ``over-greedy`` is relative to the index policy's own reward where greedy earns nothing.
    """
    first = rewards[f"M = {budgets[0]}"]
    index, greedy = float(first["whittle"]), float(first["greedy"])
    over = (index - greedy) / (greedy or index or 1.0)
    choice, alike = budgets[0] < size, abs(over) < _ROUNDING
    return {
        "two-budgets": budgets[0] != budgets[1],
        "all-crawled": not choice,
        "greedy-alike": choice and alike,
        "greedy-apart": choice and not alike,
        "over-greedy": 0.0 if alike else over,
    }


def describe_gaps(gaps: Sequence[int]) -> str:
    """Return a text that lists the gaps between crawls, or counts them where there are many."""
    if len(gaps) <= _LISTED:
        return ", ".join(map(str, gaps)) or "never crawled"
    lengths, often = np.unique(gaps, return_counts=True)
    if lengths.size <= _LISTED // 2:
        return ", ".join(f"{often[k]} of {lengths[k]}" for k in range(lengths.size))
    return f"{len(gaps)}, from {lengths[0]} to {lengths[-1]}"


# Claims


def claims(results: Results) -> list[Claim]:
    """Return the page's claims on the rows of section 8 and of the slides' example."""
    return [*_inputs(results), *_averages(results), *_figures(results), *_schedules(results)]


def _inputs(results: Results) -> list[Claim]:
    sources = results.sources
    columns = {"xi": "mean_utility", "mu": "decay_rate", "L": "arrival_rate"}
    cells = [
        claim(f"A-r-t1-{name}{i + 1}", entry)
        for name, column in columns.items()
        for i, entry in enumerate(getattr(sources, column)[:4])
    ]
    return [
        *cells,
        claim("A-r-T", sources.period),
        claim("A-r-M1", results.budgets[0]),
        claim("A-r-M2", results.budgets[1]),
        claim("A-s-four", len(sources) == 4),
        claim("A-r-intro-exp"),
        claim("A-r-ephemeral-interest"),
        claim("A-s-ephemeral-interest"),
    ]


def _averages(results: Results) -> list[Claim]:
    sources, first, alone = results.sources, results.first, results.alone
    only = results.fits.iloc[0]
    literal = float(results.epoch_rewards.max())
    rows = []
    for document in "rs":
        rows += [
            claim(f"A-{document}-17979", alone.average_reward),
            claim(
                f"A-{document}-25466",
                first.average_reward,
                explained=only.average,
                independent=results.optimum,
                numbers={
                    "epochs": only.epochs,
                    "initial_state": only.initial_state,
                    "readings": results.scanned,
                    "chance": results.chance,
                },
            ),
            claim(
                f"A-{document}-eq4",
                bool(np.isclose(literal, first.average_reward)),
                numbers={"largest": literal, "average": first.average_reward},
            ),
        ]
    ages = np.arange(1.0, 200.0)[:, None]
    contents = uncrawled_contents(sources, len(ages))
    by_mean, by_draw = (
        bool(np.allclose(greedy_rank(sources, utility, ages), contents))
        for utility in (sources.mean_utility, results.drawn)
    )
    two = int((first.frequency > 0).sum()) == 2
    return [
        *rows,
        claim("A-s-best1", int(np.argmax(sources.u)) == 0),
        claim(
            "A-r-greedy1",
            alone.average_reward < first.average_reward and two,
            numbers={"alone": alone.average_reward, "average": first.average_reward},
        ),
        claim("A-s-two-sources", two, numbers={"cycle": _list_crawls(first)}),
        claim(
            "A-s-greedy-def",
            by_mean,
            condition=not by_draw,
            numbers={"ages": len(ages), "drawn": results.drawn, "mean": sources.mean_utility},
        ),
    ]


def _figures(results: Results) -> list[Claim]:
    redrawn = {
        "A-r-fig1": "four-sources-content-value",
        "A-s-fig-value": "four-sources-content-value",
        "A-r-fig2": "four-sources-states",
        "A-s-fig-m1": "four-sources-states",
        "A-r-fig3": "four-sources-states-second",
        "A-s-fig-m2": "four-sources-states-second",
    }
    utility, decay = results.sources.mean_utility, results.sources.decay_rate
    return [
        *(claim(row, figure=id) for row, id in redrawn.items()),
        claim("A-r-fig1-initial", bool(utility[:2].min() > 2 * utility[2:].max())),
        claim("A-r-fig1-decay", bool(decay[[0, 2]].min() > decay[[1, 3]].max())),
    ]


def _list_crawls(cycle: Cycle) -> list[int]:
    """Return the numbers of the sources that a cycle crawls, epoch by epoch."""
    return [source + 1 for crawled in cycle.crawls for source in crawled]


def _schedules(results: Results) -> list[Claim]:
    sources, first, second = results.sources, results.first, results.second
    uneven = [len(set(second.gaps(i))) > 1 for i in (1, 2)]
    irregular = second.period > first.period and any(uneven)
    crawled = first.frequency > 0
    ages = np.array([max(first.gaps(i), default=1) for i in range(len(sources))])
    least = float(whittle_index_at_age(sources, ages)[crawled].min())
    limit = float((sources.u_star / sources.cost)[~crawled].max(initial=0))
    return [
        claim(
            "A-r-fig2-period",
            first.crawls == ((0,), (1,)),
            numbers={"cycle": _list_crawls(first)},
        ),
        claim(
            "A-r-fig2-never",
            bool((first.frequency[2:] == 0).all()),
            numbers={"cycle": _list_crawls(first), "limit": limit, "least": least},
        ),
        claim("A-r-fig3-s1", bool(second.frequency[0] == 1), numbers={"period": second.period}),
        *(
            claim(row, irregular, numbers={"period": second.period, "first_period": first.period})
            for row in ("A-r-fig3-less", "A-s-irregular")
        ),
        claim(
            "A-r-fig3-s23",
            all(uneven),
            numbers={"gaps_of_two": second.gaps(1), "gaps_of_three": second.gaps(2)},
        ),
        claim("A-r-fig3-s4", second.gaps(3) == (second.period,), numbers={"period": second.period}),
    ]


# Figures


def _describe_redrawn(of: str) -> str:
    """Return a text on the document's figure that this one redraws, in a run of the document."""
    return f" Redraws {of}." if is_document_run() else ""


def _labels(sources: Sources) -> list[str]:
    return [f"source {name}" for name in sources.names or ()]


def draw_content_value(sources: Sources) -> None:
    """Draw the value of one item of each source against its age (the report's Figure 1)."""
    times = np.linspace(0, 10 * sources.period, 201)
    value = sources.mean_utility[:, None] * np.exp(-np.outer(sources.decay_rate, times))
    labels = _labels(sources)
    drawn, numbers = label_names(sources.names or ())
    names = {"caption": list(map(clean_for_markdown, labels)), "alt": list(map(clean_text, labels))}
    sentences = {use: describe_values(sources, spelling) for use, spelling in names.items()}

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for i, name in enumerate(drawn):
            look = {"color": COLOURS[i % 7], "linestyle": ("-", "--", "-.", ":")[i % 4]}
            axis.plot(times, value[i], label=f"source {name}", **look)
        axis.set(xlabel="time since publication (time units)", ylabel="value of an item")
        axis.set_xlim(0, times[-1])
        add_legend(figure)
        return pd.DataFrame({"time": times, **dict(zip(labels, value, strict=True))})

    save_figure(
        "four-sources-content-value",
        draw,
        caption=f"The value of one item of each source against its age. {sentences['caption']}"
        f"{numbers}{_describe_redrawn('Figure 1 of the report')}",
        alt=f"Exponentially falling curves, one a source. {sentences['alt']}",
        height=3.4,
    )


def describe_values(sources: Sources, labels: Sequence[str]) -> str:
    """Return a text on the items of highest and lowest utility and of slowest decay."""
    utility, decay = sources.mean_utility, sources.decay_rate
    if len(sources) == 1:
        half = np.log(2) / decay[0]
        return f"An item is worth {utility[0]:g} at first, and half of it after {half:.3g}."
    if np.ptp(utility) == 0:
        start = "The items of all sources start alike"
    else:
        high, low = (
            join_words([label for label, at in zip(labels, utility == end, strict=True) if at])
            for end in (utility.max(), utility.min())
        )
        start = f"An item of {high} starts highest, one of {low} lowest"
    if np.ptp(decay) == 0:
        return f"{start}; interest lasts equally long in all."
    long = [label for label, at in zip(labels, decay == decay.min(), strict=True) if at]
    return f"{start}; interest in {join_words(long)} lasts longest."


def draw_states(
    id: str, sources: Sources, budget: int, horizon: int, initial_state: str, cycle: Cycle, of: str
) -> None:
    """Draw the content of the first six sources under the index policy, and its crawls."""
    labels, panels = _labels(sources), range(min(len(sources), SHOWN))
    drawn, numbers = label_names((sources.names or ())[:SHOWN])
    run = simulate(sources, "whittle", budget, horizon, initial_state=initial_state)
    shares = [
        f"crawled at {f:.0%} of the epochs" if f else "never crawled" for f in cycle.frequency
    ]
    shares_text = "; ".join(f"{clean_text(labels[i])} {shares[i]}" for i in panels)

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, len(panels), 1, sharex=True)
        for i in panels:
            draw_source(axes[i], sources, run, i, COLOURS[i % 7])
            axes[i].set_title(f"source {drawn[i]}: {shares[i]}")
        axes[-1].set_xlabel("epoch")
        figure.supylabel("expected content (value units)")
        return tabulate_trajectory(sources, run)

    save_figure(
        id,
        draw,
        caption=f"Content of {describe_drawn_sources(sources)} and crawls (dots) under the index "
        "policy "
        f"with $M = {budget}$, from {initial_state} sources. {describe_rhythm(cycle)}; the dotted "
        f"line is $u^*$.{numbers}{_describe_redrawn(of)}",
        alt=f"Saw-tooth curves of the content of {pluralise(len(panels), 'source')} over "
        f"{pluralise(horizon, 'epoch')} with {budget} crawled at each. In the long run: "
        f"{shares_text}. "
        f"{describe_rhythm(cycle)}.",
        height=1 + 1.25 * len(panels),
    )


def describe_rhythm(cycle: Cycle) -> str:
    """Return a text on how the crawls of a cycle repeat."""
    if not cycle.repeats:
        return "No ages come twice in the longest run that is tried"
    if cycle.period == 1:
        return "The crawls are the same at every epoch"
    return f"The crawls repeat with period {cycle.period}"


def draw_running_average(
    sources: Sources, budget: int, running: dict[str, Floats], cycle: Cycle, *, document: bool
) -> None:
    """Draw the running average of the reward from each initial state, and the long run."""
    long_run = cycle.average_reward
    epochs = np.arange(1, next(iter(running.values())).size + 1)

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        looks = zip(COLOURS, ("-", "--", "-."), running.items(), strict=False)
        for colour, style, (state, average) in looks:
            name = f"from {state} sources"
            axis.plot(epochs[3:], average[3:], color=colour, linestyle=style, label=name)
        axis.axhline(long_run, color=ink(), linewidth=1, label=f"long run: {long_run:.2f}")
        if document:
            point = (61, printed_number("A-r-25466"))
            axis.plot(*point, "o", color=ink(), markersize=6, label=f"printed: {point[1]}")
        axis.set(xlabel="epochs averaged over", ylabel="average reward per epoch (value units)")
        axis.set_xlim(0, 203)
        add_legend(figure)
        return pd.DataFrame({"epochs": epochs, **{f"from {k}": v for k, v in running.items()}})

    save_figure(
        "four-sources-running-average",
        draw,
        caption=f"Average reward of the index policy over the first $n$ epochs, $M = {budget}$, "
        f"from three initial states. All tend to {long_run:.2f}; after {epochs[-1]} epochs they "
        f"{describe_spread([v[-1] for v in running.values()])}.",
        alt="Three curves of the running average, from empty, fresh and full sources, approach the "
        f"long-run value {long_run:.2f}.",
    )


def describe_spread(averages: Sequence[float]) -> str:
    """Return a text on how much averages differ, to two decimals."""
    apart = float(np.ptp(averages))
    return f"still differ by {apart:.2f}" if apart >= 0.005 else "differ by less than 0.01"
