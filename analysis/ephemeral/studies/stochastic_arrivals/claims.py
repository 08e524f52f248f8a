"""What the page on random arrivals says to section 7, Figure 4 and the slides' three rewards."""

from __future__ import annotations

import numpy as np

from analysis.ephemeral.studies.stochastic_arrivals.experiment import Results
from analysis.report import Claim, claim
from analysis.results import Estimate

#: "Quite well": at least so much of the most that any policy can earn.
QUITE_WELL = 0.95


def claims(found: Results) -> list[Claim]:
    """Return what the page says to section 7's model, Figure 4 and the slides' three rewards."""
    return [*_model(found), *_evolution(found), *_rewards(found)]


def _model(found: Results) -> list[Claim]:
    items = found.items
    same = bool(np.allclose(items["by items"], items["by recursion"], rtol=1e-9))
    rounds = found.round_robin
    printed, with_sum = found.constraint
    return [
        *(claim(row, same, numbers={"epochs": len(items)}) for row in ("A-r-Uk", "A-r-eq19")),
        claim(
            "A-r-s7-objective",
            bool(np.isclose(rounds.max(), rounds.mean())),
            numbers={"largest": rounds.max(), "average": rounds.mean()},
        ),
        claim(
            "A-r-s7-constraint",
            abs(printed - found.second_budget) < 0.1,
            numbers={"printed": printed, "budget": found.second_budget, "with_sum": with_sum},
        ),
    ]


def _evolution(found: Results) -> list[Claim]:
    crawls = {
        name: {law: _pair(run.frequency(rule, 0)) for law, run in found.pairs.items()}
        for name, rule in (("by_theorem", "whittle"), ("by_short_form", "remark"))
    }
    return [
        *(claim(row, numbers=crawls) for row in ("A-r-fig4-s1", "A-s-time-to-time")),
        *(
            claim(row, figure="stochastic-arrivals-states")
            for row in ("A-r-fig4", "A-s-fig-m2-stoch")
        ),
    ]


def _pair(estimate: Estimate, unit: float = 1.0) -> tuple[float, float]:
    """Return an estimate and its half-width in a unit."""
    return estimate.value / unit, estimate.half_width / unit


def _rewards(found: Results) -> list[Claim]:
    index = found.reward("exponential")
    return [
        claim("A-s-stoch-M1", found.budget),
        claim("A-s-208", found.exact["round-robin"]),
        claim("A-s-260", found.exact["greedy"]),
        claim(
            "A-s-285",
            index.value,
            interval=index.interval,
            replications=index.replications,
            numbers={
                "lowest": found.curve[0].value,
                "highest": found.curve[-1].value,
                "short": _pair(found.reward("exponential", "remark")),
                "short_wild": _pair(found.reward(found.wild, "remark")),
                "wild": found.wild,
            },
        ),
        _order(found),
        claim("A-s-stoch-det-index"),
        _quality(found),
    ]


def _quality(found: Results) -> Claim:
    """Compare what each form of the index earns with the most that any policy can earn."""
    shares = {
        rule: {
            law: _pair(found.reward(law, rule), bound / 100) for law, bound in found.bounds.items()
        }
        for rule in ("whittle", "remark", "theorem")
    }
    rewards = [
        {"law": law, "reward": _pair(found.reward(law)), "bound": bound}
        for law, bound in found.bounds.items()
    ]
    least = min(found.reward(law).low / bound for law, bound in found.bounds.items())
    return claim(
        "A-s-stoch-well",
        least > QUITE_WELL,
        numbers={
            "cut": QUITE_WELL,
            "laws": list(found.bounds),
            "rewards": rewards,
            "shares": shares["whittle"],
            "short": shares["remark"],
            "letter": shares["theorem"],
        },
    )


def _order(found: Results) -> Claim:
    """Index before greedy before round robin, law by law."""
    gains = {law: run.difference("whittle", "greedy") for law, run in found.results.items()}
    short = {law: run.difference("remark", "greedy") for law, run in found.results.items()}
    holds = [law for law, gain in gains.items() if gain.low > 0]
    worse = [law for law, gain in gains.items() if gain.high < 0]
    tied = [law for law in gains if law not in holds + worse]
    exponential = found.laws["exponential"].second_moment
    wanted = [law for law, one in found.laws.items() if one.second_moment >= exponential]
    greedy_first = found.exact["greedy"] > found.exact["round-robin"]
    forms_differ = any(gain.high < 0 for gain in short.values())
    outcomes = {(True, True): "both", (True, False): "worse", (False, True): "tied"}
    return claim(
        "A-s-order",
        greedy_first and set(wanted) <= set(holds),
        outcome=outcomes.get((bool(worse), bool(tied)), "form"),
        condition=bool(worse or tied or forms_differ),
        numbers={
            "worse": worse,
            "tied": tied,
            "gains": {law: _pair(gain) for law, gain in gains.items()},
            "short": {law: _pair(gain) for law, gain in short.items()},
            "greedy": found.exact["greedy"],
            "round_robin": found.exact["round-robin"],
        },
    )
