"""What the page on four sources says to the rows of the report's section 8 and of the slides."""

from __future__ import annotations

import numpy as np

from analysis.ephemeral.studies.four_sources import Results, greedy_content
from analysis.report import Claim


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
        f"equals the mean of {only.epochs} epochs from {only.initial_state} sources, one of "
        f"{found.scanned} readings, which would have hit {found.chance:.0%} of the numbers within "
        "1.5 of the print; the long-run value is that of the best policy, found by a search over "
        "all cycles"
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
                f"A-{document}-25466",
                first.average_reward,
                explained=only.average,
                because=cause,
                independent=found.optimum,
            ),
            Claim(
                f"A-{document}-eq4",
                bool(np.isclose(literal, first.average_reward)),
                evidence=letter,
            ),
        ]
    ages = np.arange(1.0, 200.0)[:, None]
    agree = np.allclose(greedy_content(sources, ages), sources.state_at_age(ages))
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
