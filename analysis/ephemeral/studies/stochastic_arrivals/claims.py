"""What the page on random arrivals says to section 7, Figure 4 and the slides' three rewards."""

from __future__ import annotations

import numpy as np

from analysis.ephemeral.studies.stochastic_arrivals.experiment import Results
from analysis.report import Claim, claim

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
    names = {"by_theorem": "whittle", "by_remark": "remark", "wildest": "wildest"}
    shares = {name: found.frequency[rule].value for name, rule in names.items()}
    return [
        *(claim(row, numbers=shares) for row in ("A-r-fig4-s1", "A-s-time-to-time")),
        *(
            claim(row, figure="stochastic-arrivals-states")
            for row in ("A-r-fig4", "A-s-fig-m2-stoch")
        ),
    ]


def _rewards(found: Results) -> list[Claim]:
    index = found.index_reward("exponential")
    lowest, highest = found.curve[0].value, found.curve[-1].value
    letter = found.results[found.wild].difference("theorem", "whittle")
    shares = {law: found.index_reward(law).low / bound for law, bound in found.bounds.items()}
    rewards = [
        {"law": law, "reward": found.index_reward(law).value, "bound": bound}
        for law, bound in found.bounds.items()
    ]
    return [
        claim("A-s-stoch-M1", found.budget),
        claim("A-s-208", found.exact["round-robin"]),
        claim("A-s-260", found.exact["greedy"]),
        claim(
            "A-s-285",
            index.value,
            interval=index.interval,
            replications=index.replications,
            numbers={"lowest": lowest, "highest": highest},
        ),
        _order(found),
        claim(
            "A-s-stoch-det-index",
            True,
            basis="judged",
            numbers={"difference": (letter.value, letter.half_width), "law": found.wild},
        ),
        claim(
            "A-s-stoch-well",
            min(shares.values()) > QUITE_WELL,
            numbers={"cut": QUITE_WELL, "laws": list(shares), "rewards": rewards},
        ),
    ]


def _order(found: Results) -> Claim:
    """Index before greedy before round robin, law by law."""
    gains = {law: run.difference("whittle", "greedy") for law, run in found.results.items()}
    holds = [law for law, gain in gains.items() if gain.low > 0]
    against = [law for law in gains if law not in holds]
    exponential = found.laws["exponential"].second_moment
    wanted = [law for law, one in found.laws.items() if one.second_moment >= exponential]
    greedy_first = found.exact["greedy"] > found.exact["round-robin"]
    return claim(
        "A-s-order",
        greedy_first and set(wanted) <= set(holds),
        condition=bool(against),
        numbers={
            "against": against,
            "gains": {law: (gain.value, gain.half_width) for law, gain in gains.items()},
            "greedy": found.exact["greedy"],
            "round_robin": found.exact["round-robin"],
        },
    )
