"""Four sources: the report's worked example, and what its printed average is the average of.

A document that prints an average reward without saying from which state, over how many epochs and
divided by what leaves three choices. `scan_averages` lays them all out, so that a printed value can
be traced to the choices that give it, and `chance_of_a_hit` says what such a trace is worth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.checks import check_integer, check_number
from analysis.ephemeral.policies import Policy
from analysis.ephemeral.simulation import INITIAL_STATES, Cycle, simulate
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.studies.drawing import draw_source, trajectory_frame
from analysis.published import printed_number
from analysis.report import (
    COLOURS,
    Claim,
    as_markdown,
    as_mathtext,
    as_plain,
    figure,
    is_document_run,
    save_figure,
)

Floats = NDArray[np.float64]

_ROUNDING = 1e-9
#: What the sum of n terms is divided by: their number, or the last epoch as in (4) of the report.
DIVISORS = {"epochs": 0, "epochs - 1": -1}


def scan_averages(
    sources: Sources, policy: Policy | str, budget: int, longest: int
) -> pd.DataFrame:
    """Average reward over the first n epochs, for every initial state, n and divisor.

    Parameters
    ----------
    sources : Sources
        N sources.
    policy : Policy or str
        A policy or the name of a built-in one.
    budget : int
        Sources crawled at each epoch.
    longest : int
        Largest n, at least 2.

    Returns
    -------
    pandas.DataFrame
        Columns initial_state, epochs, divisor and average.
    """
    check_integer("longest", longest, 2)
    epochs = np.arange(2, longest + 1)
    parts = []
    for initial_state in INITIAL_STATES:
        run = simulate(sources, policy, budget, longest, initial_state=initial_state)
        sums = np.cumsum(run.reward)[1:]
        for divisor, shift in DIVISORS.items():
            columns = {"initial_state": initial_state, "epochs": epochs, "divisor": divisor}
            parts.append(pd.DataFrame(columns | {"average": sums / (epochs + shift)}))
    return pd.concat(parts, ignore_index=True)


def rounding_to(averages: pd.DataFrame, printed: float, digits: int = 2) -> pd.DataFrame:
    """Return the rows of a scan whose average rounds to a printed number.

    Parameters
    ----------
    averages : pandas.DataFrame
        As `scan_averages` returns it.
    printed : float
        The printed number.
    digits : int
        Its decimals.
    """
    near = (averages["average"] - printed).abs() <= 0.5 * 10.0**-digits
    return averages[near].reset_index(drop=True)


def chance_of_a_hit(
    averages: pd.DataFrame, printed: float, half_width: float, digits: int = 2
) -> float:
    """Return the share of numbers around a print that some row of a scan would have rounded to.

    Parameters
    ----------
    averages : pandas.DataFrame
        As `scan_averages` returns it.
    printed : float
        The printed number, centre of the numbers that are tried.
    half_width : float
        How far they reach on each side, above 0.
    digits : int
        Decimals of the numbers that are tried.
    """
    check_number("half_width", half_width, 0, low_open=True)
    unit = 10.0**-digits
    tried = np.rint(printed / unit) + np.arange(-np.rint(half_width / unit), half_width / unit + 1)
    return float(np.isin(tried, np.rint(averages["average"] / unit)).mean())


def greedy_content(sources: Sources, ages: Floats) -> Floats:
    """Return what the slides' greedy policy ranks by, as they print it, at ages in epochs.

    Parameters
    ----------
    sources : Sources
        N sources.
    ages : ndarray, shape (ages, 1)
        Epochs since the last crawl.
    """
    elapsed = ages * sources.period
    worth = sources.arrival_rate * sources.mean_utility / sources.decay_rate
    return np.asarray(worth * -np.expm1(-sources.decay_rate * elapsed))


def predicates(budgets: tuple[int, int], rewards: pd.DataFrame) -> dict[str, float]:
    """Return what sentences of the page rest on.

    Parameters
    ----------
    budgets : tuple of int
        The two budgets.
    rewards : pandas.DataFrame
        Long-run rewards, one row a policy and one column a budget, ``M = 1`` and so on.

    Returns
    -------
    dict
        ``two-budgets``, whether they differ; with the first of them ``greedy-alike``, whether
        greedy earns what the index policy earns, and ``over-greedy``, by how much that earns more.
    """
    first = rewards[f"M = {budgets[0]}"]
    over = float(first["whittle"] / first["greedy"] - 1)
    return {
        "two-budgets": budgets[0] != budgets[1],
        "greedy-alike": abs(over) < _ROUNDING,
        "over-greedy": over if abs(over) >= _ROUNDING else 0.0,
    }


@dataclass(frozen=True)
class Results:
    """What the page computes: the sources, the cycles, and the scan behind the printed average.

    Attributes
    ----------
    sources : Sources
    budgets : tuple of int
        The two budgets.
    first, second : Cycle
        Long run of the index policy with each budget.
    alone : Cycle
        Long run of a crawler that stays with the source of largest u.
    epoch_rewards : ndarray, shape (period,)
        Reward of each epoch of the first cycle.
    fits : pandas.DataFrame
        The rows of the scan that round to the printed average.
    greedy : callable
        The content by which the slides' greedy policy ranks.
    """

    sources: Sources
    budgets: tuple[int, int]
    first: Cycle
    second: Cycle
    alone: Cycle
    epoch_rewards: Floats
    fits: pd.DataFrame
    greedy: Callable[[Sources, Floats], Floats] = greedy_content


def claims(found: Results) -> list[Claim]:
    """Return what the page says to the rows of section 8 and of the slides' example."""
    return [*_inputs(found), *_averages(found), *_figures(found), *_schedules(found)]


def _inputs(found: Results) -> list[Claim]:
    sources = found.sources
    columns = {"xi": "mean_utility", "mu": "decay_rate", "L": "arrival_rate"}
    cells = [
        Claim(f"A-r-t1-{name}{i + 1}", entry, evidence="an input of this page")
        for name, column in columns.items()
        for i, entry in enumerate(getattr(sources, column)[:4])
    ]
    return [
        *cells,
        Claim("A-r-T", sources.period, evidence="an input of this page"),
        Claim("A-r-M1", found.budgets[0], evidence="sources crawled at each epoch"),
        Claim("A-r-M2", found.budgets[1], evidence="sources crawled at each epoch"),
        Claim("A-s-four", len(sources) == 4, evidence="the data are in Table 1 of the report"),
        Claim(
            "A-r-intro-exp",
            context="a premise that the report takes from three cited studies; see The model",
        ),
        Claim(
            "A-s-ephemeral-interest",
            context="a premise without data; it enters through the decay rate times the period",
        ),
        Claim(
            "A-r-fut-adaptive",
            True,
            basis="judged",
            evidence="part III has learners that estimate rates and decay while they crawl",
        ),
        *(
            Claim(
                row,
                False,
                basis="judged",
                evidence="crawler and indexing engine are studied apart, in parts I and IV",
            )
            for row in ("A-r-intro-engine", "A-r-fut-engine")
        ),
    ]


def _averages(found: Results) -> list[Claim]:
    sources, first, alone = found.sources, found.first, found.alone
    only = found.fits.iloc[0]
    cause = (
        f"equals the mean of {only.epochs} epochs from {only.initial_state} sources, the only one "
        "of the scanned combinations that does"
    )
    literal = float(found.epoch_rewards.max())
    letter = (
        "read to the letter, the summand does not depend on m, and the limit superior is the "
        f"largest reward of one epoch, {literal:.2f}, not the average {first.average_reward:.2f}"
    )
    rows = []
    for document in "rs":
        rows += [
            Claim(f"A-{document}-17979", alone.average_reward),
            Claim(
                f"A-{document}-25466", first.average_reward, explained=only.average, because=cause
            ),
            Claim(
                f"A-{document}-eq4",
                bool(np.isclose(literal, first.average_reward)),
                evidence=letter,
            ),
        ]
    ages = np.arange(1.0, 200.0)[:, None]
    agree = np.allclose(found.greedy(sources, ages), sources.state_at_age(ages))
    return [
        *rows,
        Claim(
            "A-s-best1",
            int(np.argmax(sources.u)) == 0,
            evidence="u_1 is the largest of the four rewards from crawling one source alone",
        ),
        Claim(
            "A-r-greedy1",
            alone.average_reward < first.average_reward,
            evidence=f"{alone.average_reward:.2f} against {first.average_reward:.2f}, long run",
        ),
        Claim(
            "A-s-greedy-def",
            bool(agree),
            evidence=f"equal to the expected content at ages up to {len(ages)}; xi stands for its "
            "mean",
        ),
    ]


def _figures(found: Results) -> list[Claim]:
    open_choices = "initial state and number of epochs"
    redrawn = {
        "A-r-fig1": ("four-sources-content-value", "range of the time axis"),
        "A-s-fig-value": ("four-sources-content-value", "range of the time axis"),
        "A-r-fig2": ("four-sources-states", open_choices),
        "A-s-fig-m1": ("four-sources-states", open_choices),
        "A-r-fig3": ("four-sources-states-second", open_choices),
        "A-s-fig-m2": ("four-sources-states-second", open_choices),
    }
    utility, decay = found.sources.mean_utility, found.sources.decay_rate
    return [
        *(Claim(row, figure=id, leaves_open=what) for row, (id, what) in redrawn.items()),
        Claim(
            "A-r-fig1-initial",
            bool(utility[:2].min() > 2 * utility[2:].max()),
            evidence="the smaller of the first two is more than twice the larger of the others",
        ),
        Claim(
            "A-r-fig1-decay",
            bool(decay[[0, 2]].min() > decay[[1, 3]].max()),
            evidence="sources 1 and 3 decay faster than either of the others",
        ),
    ]


def _schedules(found: Results) -> list[Claim]:
    first, second = found.first, found.second
    exact = "the cycle of the exact run on ages"
    uneven = [len(set(second.gaps(i))) > 1 for i in (1, 2)]
    irregular = second.period > first.period and any(uneven)
    return [
        Claim("A-r-fig2-period", first.crawls == ((0,), (1,)), evidence=exact),
        Claim("A-r-fig2-never", bool((first.frequency[2:] == 0).all()), evidence=exact),
        Claim("A-s-two-sources", int((first.frequency > 0).sum()) == 2, evidence=exact),
        Claim("A-r-fig3-s1", bool(second.frequency[0] == 1), evidence=exact),
        *(
            Claim(
                row,
                irregular,
                evidence=f"period {second.period} instead of {first.period}, and uneven gaps",
            )
            for row in ("A-r-fig3-less", "A-s-irregular")
        ),
        Claim(
            "A-r-fig3-s23",
            all(uneven),
            evidence=f"gaps {second.gaps(1)} of source 2, {second.gaps(2)} of source 3, repeated",
        ),
        Claim(
            "A-r-fig3-s4",
            second.gaps(3) == (second.period,),
            evidence=f"once in a period of {second.period} epochs, the longest gap of all",
        ),
    ]


def _redraws(of: str) -> str:
    """Say which of a document's figures this is, where it has the document's parameters."""
    return f" Redraws {of}." if is_document_run() else ""


def _labels(sources: Sources) -> list[str]:
    return [f"source {name}" for name in sources.names or ()]


def save_content_value(sources: Sources) -> None:
    """Draw the value of one item of each source against its age (the report's Figure 1)."""
    times = np.linspace(0, 10 * sources.period, 201)
    value = sources.mean_utility[:, None] * np.exp(-np.outer(sources.decay_rate, times))
    labels = _labels(sources)
    fig, axis = figure(height=3.4)
    for i, label in enumerate(labels):
        style = ["-", "--", "-.", ":"][i % 4]
        axis.plot(times, value[i], color=COLOURS[i % 7], linestyle=style, label=as_mathtext(label))
    axis.set(xlabel="time since publication (time units)", ylabel="value of an item")
    axis.set_xlim(0, times[-1])
    axis.legend()
    order = [labels[i] for i in np.argsort(-sources.mean_utility)]
    slowest = labels[int(np.argmin(sources.decay_rate))]
    save_figure(
        "four-sources-content-value",
        fig,
        pd.DataFrame({"time": times, **dict(zip(labels, value, strict=True))}),
        caption="The value of one item of each source against its age. An item of "
        f"{as_markdown(order[0])} starts highest; interest in {as_markdown(slowest)} lasts "
        f"longest.{_redraws('Figure 1 of the report')}",
        alt=f"Exponentially falling curves, one a source. At publication {as_plain(order[0])} is "
        f"highest and {as_plain(order[-1])} lowest; {as_plain(slowest)} falls most slowly.",
    )


def save_states(
    id: str, sources: Sources, budget: int, horizon: int, initial_state: str, cycle: Cycle, of: str
) -> None:
    """Draw the content of the first six sources under the index policy, and its crawls.

    Parameters
    ----------
    id : str
        Id of the figure.
    sources : Sources
    budget, horizon : int
        Sources crawled at each epoch; epochs shown.
    initial_state : str
        Content at epoch 0.
    cycle : Cycle
        Long run of the policy.
    of : str
        The document's figure.
    """
    labels, shown = _labels(sources), range(min(len(sources), 6))
    run = simulate(sources, "whittle", budget, horizon, initial_state=initial_state)
    shares = [
        f"crawled at {f:.0%} of the epochs" if f else "never crawled" for f in cycle.frequency
    ]
    fig, axes = figure(len(shown), 1, height=1 + 1.25 * len(shown), sharex=True, squeeze=False)
    for i in shown:
        draw_source(axes[i, 0], sources, run, i, COLOURS[i % 7])
        axes[i, 0].set_title(f"{as_mathtext(labels[i])}: {shares[i]}", fontsize="small")
    axes[-1, 0].set_xlabel("epoch")
    fig.supylabel("expected content (value units)", fontsize="medium")
    said = "; ".join(
        f"{as_plain(label)} {share}" for label, share in zip(labels, shares, strict=True)
    )
    save_figure(
        id,
        fig,
        trajectory_frame(sources, run),
        caption="Content of each source and crawls (dots) under the index policy with "
        f"$M = {budget}$, from {initial_state} sources. The crawls repeat with period "
        f"{cycle.period}; the dotted line is $u^*$.{_redraws(of)}",
        alt=f"Saw-tooth curves of the content of {len(shown)} sources over {horizon} epochs with "
        f"{budget} crawled at each. In the long run the crawls repeat every {cycle.period} epochs: "
        f"{said}.",
    )


def save_running_average(
    sources: Sources, budget: int, running: dict[str, Floats], cycle: Cycle, *, document: bool
) -> None:
    """Draw the running average of the reward from each initial state, and the long run.

    Parameters
    ----------
    sources : Sources
    budget : int
        Sources crawled at each epoch.
    running : dict of str to ndarray, shape (epochs,)
        Average over the first n epochs, by initial state.
    cycle : Cycle
        Long run of the policy.
    document : bool
        Mark the printed average, which belongs to the document's own parameters.
    """
    long_run = cycle.average_reward
    fig, axis = figure(height=3.6)
    for colour, style, (state, average) in zip(
        COLOURS, ("-", "--", "-."), running.items(), strict=False
    ):
        epochs = np.arange(1, average.size + 1)
        name = f"from {state} sources"
        axis.plot(epochs[3:], average[3:], color=colour, linestyle=style, label=name)
    axis.axhline(long_run, color="black", linewidth=1)
    note = {"textcoords": "offset points"}
    axis.annotate(f"long run {long_run:.2f}", (200, long_run), xytext=(0, -12), ha="right", **note)
    if document:
        point = (61, printed_number("A-r-25466"))
        axis.plot(*point, "o", color="black", markersize=6)
        axis.annotate(f"printed: {point[1]}", point, xytext=(8, -12), **note)
    axis.set(xlabel="epochs averaged over", ylabel="average reward per epoch (value units)")
    axis.set_xlim(0, 203)
    axis.legend(loc="lower right")
    save_figure(
        "four-sources-running-average",
        fig,
        pd.DataFrame({"epochs": epochs, **{f"from {k}": v for k, v in running.items()}}),
        caption=f"Average reward of the index policy over the first $n$ epochs, $M = {budget}$, "
        f"from three initial states. All tend to {long_run:.2f}; after {epochs[-1]} epochs they "
        f"still differ by {np.ptp([v[-1] for v in running.values()]):.2f}.",
        alt="Three curves of the running average, from empty, fresh and full sources, approach the "
        f"long-run value {long_run:.2f}.",
    )
