"""What the page on four sources says to the rows of the report's section 8 and of the slides."""

from __future__ import annotations

import numpy as np

from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.simulation import Cycle
from analysis.ephemeral.studies.four_sources.experiment import (
    Results,
    greedy_rank,
    uncrawled_contents,
)
from analysis.report import Claim, claim


def claims(found: Results) -> list[Claim]:
    """Return what the page says to the rows of section 8 and of the slides' example."""
    return [*_inputs(found), *_averages(found), *_figures(found), *_schedules(found)]


def _inputs(found: Results) -> list[Claim]:
    sources = found.sources
    columns = {"xi": "mean_utility", "mu": "decay_rate", "L": "arrival_rate"}
    cells = [
        claim(f"A-r-t1-{name}{i + 1}", entry)
        for name, column in columns.items()
        for i, entry in enumerate(getattr(sources, column)[:4])
    ]
    return [
        *cells,
        claim("A-r-T", sources.period),
        claim("A-r-M1", found.budgets[0]),
        claim("A-r-M2", found.budgets[1]),
        claim("A-s-four", len(sources) == 4),
        claim("A-r-intro-exp"),
        claim("A-r-ephemeral-interest"),
        claim("A-s-ephemeral-interest"),
    ]


def _averages(found: Results) -> list[Claim]:
    sources, first, alone = found.sources, found.first, found.alone
    only = found.fits.iloc[0]
    literal = float(found.epoch_rewards.max())
    rows = []
    for document in "rs":
        rows += [
            claim(f"A-{document}-17979", alone.average_reward),
            claim(
                f"A-{document}-25466",
                first.average_reward,
                explained=only.average,
                independent=found.optimum,
                numbers={
                    "epochs": only.epochs,
                    "initial_state": only.initial_state,
                    "readings": found.scanned,
                    "chance": found.chance,
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
        for utility in (sources.mean_utility, found.drawn)
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
        claim("A-s-two-sources", two, numbers={"cycle": _in_order(first)}),
        claim(
            "A-s-greedy-def",
            by_mean,
            condition=not by_draw,
            numbers={"ages": len(ages), "drawn": found.drawn, "mean": sources.mean_utility},
        ),
    ]


def _figures(found: Results) -> list[Claim]:
    redrawn = {
        "A-r-fig1": "four-sources-content-value",
        "A-s-fig-value": "four-sources-content-value",
        "A-r-fig2": "four-sources-states",
        "A-s-fig-m1": "four-sources-states",
        "A-r-fig3": "four-sources-states-second",
        "A-s-fig-m2": "four-sources-states-second",
    }
    utility, decay = found.sources.mean_utility, found.sources.decay_rate
    return [
        *(claim(row, figure=id) for row, id in redrawn.items()),
        claim("A-r-fig1-initial", bool(utility[:2].min() > 2 * utility[2:].max())),
        claim("A-r-fig1-decay", bool(decay[[0, 2]].min() > decay[[1, 3]].max())),
    ]


def _in_order(cycle: Cycle) -> list[int]:
    """Return the numbers of the sources that a cycle crawls, epoch by epoch."""
    return [source + 1 for crawled in cycle.crawls for source in crawled]


def _schedules(found: Results) -> list[Claim]:
    sources, first, second = found.sources, found.first, found.second
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
            numbers={"cycle": _in_order(first)},
        ),
        claim(
            "A-r-fig2-never",
            bool((first.frequency[2:] == 0).all()),
            numbers={"cycle": _in_order(first), "limit": limit, "least": least},
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
