"""The model and its index: what the page says to each row of the report and of the slides.

The measurements are made in four companions: `model` (sections 2 and 4 of the
report), `relaxation` (sections 2 and 3), `equations` (sections 4
and 5) and `formula` (section 6). `results` gathers them; here and
in `theory` they are turned into verdicts, and `pictures` draws.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.ephemeral.studies.model_and_index import relaxation as relaxation
from analysis.ephemeral.studies.model_and_index.results import ROOM, ROUNDING, Results
from analysis.ephemeral.studies.model_and_index.theory import theory_claims
from analysis.report import Claim, claim

#: Statements of `lemma_checks`, in the order of the page's table.
STATEMENTS = {
    "lipschitz": "Lemma 1 (2): 1 - steepest slope of V_d",
    "printed_constant": "Lemma 1 (2): printed constant - true slope",
    "printed_control": "Lemma 1 (2): bound by a control optimal from x - slope",
    "discounted_monotone": "Lemma 1 (3): least slope of V_d",
    "discounted_convex": "Lemma 1 (3): least second difference of V_d",
    "vanishing_discount": "limit: 0.001 - |V_d - V_d(u) - V|",
    "monotone": "Lemma 2 (1): least slope of V",
    "convex": "Lemma 2 (1): least second difference of V",
    "nested": "Lemma 4: fall of D to the next subsidy",
    "threshold": "Lemma 5: - number of changes from active to passive",
    "slope": "Corollary 1: least slope of x - V(ax+u), less 1-a",
    "gain": "after (14): gain - max(C lambda, u)",
}


def margin_table(checks: pd.DataFrame) -> pd.DataFrame:
    """Return the least margin of each statement of `STATEMENTS`, in words where it is rounding.

    Parameters
    ----------
    checks : pandas.DataFrame
        As `lemma_checks` returns it.
    """
    least = checks[list(STATEMENTS)].min()
    words = ["0 up to rounding" if abs(m) < ROOM else f"{m:.1e}" for m in least]
    return pd.DataFrame({"statement": STATEMENTS.values(), "least margin": words}).set_index(
        "statement"
    )


def reading_table(runs: relaxation.Runs, run: relaxation.Discounted) -> pd.DataFrame:
    """Return what each display with a misplaced index is to the letter, as meant, and in truth.

    Parameters
    ----------
    runs : Runs
        Runs of the average problem.
    run : Discounted
        A run of the discounted one.
    """
    once = np.ones(runs.bursts.size)
    pairs = {
        "(5): cost of four sources at every fourth epoch": (runs.bursts, once),
        "section 3: reward of the index policy, M = 1": (runs.rewards, once),
        "(6): reward of source 1 at ages 3 and 1 by turns": (runs.content, runs.crawls),
    }
    rows = {
        name: (
            relaxation.as_printed(*pair),
            relaxation.as_meant(*pair),
            float(np.prod(pair, 0).mean()),
        )
        for name, pair in pairs.items()
    }
    rows["section 4: discounted reward from u, in u*"] = (run.letter, run.meant, run.value)
    rows["(9), right side, in u*"] = (run.higher, run.lower, run.lower)
    columns = ["to the letter", "as it is meant", "what it is to be"]
    return pd.DataFrame(rows, index=columns).T.rename_axis("display of the report")


def claims(found: Results) -> list[Claim]:
    """Return what the page says to the rows of sections 2 to 6 and of the slides' first half."""
    return [
        *_in_context(),
        *_model(found),
        *_letter(found),
        *_relaxation(found),
        *_policies(found),
        *theory_claims(found),
    ]


def _in_context() -> list[Claim]:
    rows = (
        "A-r-model-assump",
        "A-s-model-decay",
        "A-s-model-poisson",
        "A-r-model-poisson",
        "A-r-meta",
        "A-s-meta",
        "A-r-refs",
        "A-s-fresh",
        "A-s-applications",
        "A-r-kernels",
        "A-r-lagrange",
        "A-s-fig-lefortier",
        "A-s-fig-ephemeral2",
    )
    return [claim(row) for row in rows]


def _model(found: Results) -> list[Claim]:
    model, seen, late = found.model, found.transients, found.late
    exact = abs(model.lacks[1.0] - 1) < ROUNDING
    others = {period: ratio for period, ratio in model.lacks.items() if abs(ratio - 1) > ROUNDING}
    wanted = "both" if seen.empty == seen.as_free else "empty" if seen.empty else "uncrawled"
    lacks = [{"ratio": ratio, "period": period} for period, ratio in others.items()]
    long_run = found.cycles[1].average_reward
    rows = [
        claim(f"A-{document}-eq1", exact, condition=bool(others), numbers={"others": lacks})
        for document in "rs"
    ]
    for document in "rs":
        rows += [
            claim(f"A-{document}-eq2", model.growth < 1e-7),
            claim(f"A-{document}-eq3", model.fresh_growth < 1e-7),
        ]
    return [
        *rows,
        *(claim(row, model.left < 1e-7) for row in ("A-r-alpha", "A-s-alpha")),
        claim("A-r-ustar", model.above and model.limit < ROUNDING),
        claim(
            "A-r-transient-low",
            seen.stays_below,
            outcome=wanted,
            condition=seen.empty or seen.as_free,
            numbers={"runs": seen.runs, "epochs": seen.epochs},
        ),
        claim(
            "A-r-transient-high",
            seen.falls and seen.drops,
            numbers={"runs": seen.runs, "epochs": seen.epochs},
        ),
        claim(
            "A-r-state-space",
            abs(late["definition"] / long_run - 1) < ROUNDING,
            numbers={"by_definition": late["definition"], "as_printed": late["printed"]},
        ),
    ]


def _letter(found: Results) -> list[Claim]:
    """Judge the displays whose summand carries another index than their sum."""
    runs, once = found.runs, np.ones(found.runs.bursts.size)
    read = relaxation.as_printed
    spent, spent_on_average = read(runs.bursts, once), float(runs.bursts.mean())
    reward, reward_on_average = read(runs.rewards, once), found.cycles[1].average_reward
    worth = read(runs.content, runs.crawls)
    brought = float((runs.content * runs.crawls).mean())
    run = found.discounted
    over_time = relaxation.as_meant(runs.bursts, once)
    return [
        *(
            claim(
                row,
                _near(spent, spent_on_average),
                numbers={"largest": spent, "average": spent_on_average},
            )
            for row in ("A-r-eq5", "A-s-eq6")
        ),
        claim(
            "A-r-sec3-objective",
            _near(reward, reward_on_average),
            numbers={"largest": reward, "average": reward_on_average},
        ),
        claim(
            "A-r-sec3-constraint",
            _near(over_time, spent_on_average)
            and all(np.isclose(m, spent) for m, spent in found.relaxed.average.items()),
        ),
        *(
            claim(row, _near(worth, brought), numbers={"worth": worth, "brought": brought})
            for row in ("A-r-eq6", "A-s-eq7-index")
        ),
        claim(
            "A-r-discounted",
            False,
            basis="judged",
            numbers={"to_the_letter": run.letter, "as_meant": run.meant, "value": run.value},
        ),
        claim(
            "A-r-eq9", True, basis="judged", numbers={"larger": run.higher, "smaller": run.lower}
        ),
        claim("A-r-lem5-proof", False, basis="judged"),
    ]


def _near(value: float, truth: float, tolerance: float = 1e-2) -> bool:
    return bool(abs(value / truth - 1) < tolerance)


def _relaxation(found: Results) -> list[Claim]:
    relaxed = found.relaxed
    plus = abs(relaxed.plus / relaxed.occupation - 1)
    minus = abs(relaxed.minus / relaxed.occupation - 1)
    return [
        claim("A-r-relax", plus < ROUNDING, numbers={"optimum": relaxed.occupation}),
        claim(
            "A-s-eq7",
            plus < ROUNDING,
            condition=minus >= ROUNDING,
            numbers={"optimum": relaxed.occupation, "lagrangian": relaxed.minus},
        ),
        claim(
            "A-s-eq7-cost",
            plus < ROUNDING,
            condition=abs(relaxed.costless / relaxed.dear - 1) >= ROUNDING,
            numbers={"lagrangian": relaxed.costless, "optimum": relaxed.dear},
        ),
        claim(
            "A-r-eq7-of-eq6",
            found.equations.shifted < ROUNDING,
            condition=found.equations.shift >= ROUNDING,
            numbers={"most": found.equations.shift},
        ),
        claim(
            "A-s-whittle-decomp",
            abs(relaxed.split / relaxed.occupation - 1) < ROUNDING,
            numbers={"optimum": relaxed.occupation},
        ),
    ]


def _policies(found: Results) -> list[Claim]:
    relaxed = found.relaxed
    every_epoch = all(np.allclose(list(costs), m) for m, costs in relaxed.spent.items())
    carried_out = every_epoch and relaxed.ordered
    # Ages by which a source holds 99% of its limit.
    joint = float(np.ceil(np.log(0.01) / np.log(found.sources.alpha)).prod())
    budgets = sorted(found.states)
    shares = [found.cycles[m].average_reward / found.bounds[m] for m in sorted(found.bounds)]
    counts = [{"states": found.states[m], "budget": m} for m in budgets]
    return [
        claim("A-s-eq5", every_epoch, condition=not relaxed.exact, numbers={"sets": relaxed.exact}),
        claim(
            "A-r-unit-costs",
            every_epoch,
            condition=not relaxed.broken,
            numbers={"sets": relaxed.broken},
        ),
        *(claim(row, carried_out) for row in ("A-r-policy", "A-s-policy")),
        claim(
            "A-r-abs-curse",
            joint**3 > 1e12,
            numbers={"joint": joint, "joint_of_twelve": joint**3},
        ),
        claim("A-s-curse", False, basis="judged", numbers={"counts": counts}),
        claim("A-r-abs-simple", min(shares) > 0.99, numbers={"shares": shares}),
    ]
