"""The model and its index: equations of the report and the slides, measured.

The equations of the report and the slides are measured by `theory.model` (sections 2 to 4),
`theory.equations` (sections 4 to 6) and `theory.formula` (section 6); `Results` holds what they
find on the page's sources.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.ephemeral.simulation import Cycle
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.theory import model as theory
from analysis.ephemeral.theory.equations import EquationResiduals, ends_of_interval
from analysis.ephemeral.theory.formula import IndexChecks
from analysis.ephemeral.theory.model import (
    Discounted,
    ModelChecks,
    RelaxationChecks,
    Runs,
    TransientChecks,
)
from scorecard import Claim, claim

#: What still counts as rounding, and the room that a margin has for it.
ROUNDING = 1e-9
ROOM = 1e-6
#: Three kinds of content: near empty, below u*, above u*.
KINDS = ("near empty", "below u*", "above u*")


@dataclass(frozen=True)
class Results:
    """Results of the page."""

    sources: Sources
    model: ModelChecks
    transients: TransientChecks
    # Late reward of a run that begins at u*, with the index above u* by "definition" and as
    # "printed".
    late: dict[str, float]
    cycles: dict[int, Cycle]  # long run of the index policy, by M
    bounds: dict[int, float]  # relaxed bound, by M
    relaxed: RelaxationChecks
    runs: Runs
    discounted: Discounted
    equations: EquationResiduals
    checks: pd.DataFrame  # as `lemma_checks` returns it
    finite: tuple[float, float, float]  # as `finite_horizon_checks` returns it
    solved: pd.DataFrame  # as `constant_policies` returns it
    fall: float  # least slope of V in the subsidy, at one content
    index: IndexChecks
    definition: float  # largest relative difference of the closed form from the definition
    # Share of wrong ceilings in floating point; largest error of the short form.
    flips: float
    short_worst: float


@dataclass(frozen=True)
class Cases:
    """Random sources in random states."""

    sources: Sources  # decay from 1e-10 to 50 an epoch, rates over six decades, costs from 0.2 to 5
    state: Floats  # one content each; shape (N,)
    kind: NDArray[np.int64]  # place of its kind in `KINDS`; shape (N,)


def sample_cases(instances: int, rng: np.random.Generator) -> Cases:
    """Draw sources and states for a comparison of the index with its definition."""
    decay = 10 ** rng.uniform(-10, np.log10(50), instances)
    rate = 10 ** rng.uniform(-3, 3, instances)
    sources = Sources(rate, np.ones(instances), decay, cost=rng.uniform(0.2, 5, instances))
    kind = rng.integers(0, 3, instances)
    shares = [
        10 ** rng.uniform(-12, 0, instances),
        rng.uniform(0, 1, instances),
        rng.uniform(1, 3, instances),
    ]
    return Cases(sources, np.choose(kind.astype(np.intp), shares) * sources.u_star, kind)


# Values and tables


#: Statements of `lemma_checks`, in the order of the page's table.
STATEMENTS = {
    "lipschitz": "Lemma 1 (2): 1 less the steepest slope of the discounted value",
    "printed_constant": "Lemma 1 (2): printed constant - true slope",
    "printed_control": "Lemma 1 (2): bound by a control optimal from x - slope",
    "discounted_monotone": "Lemma 1 (3): least slope of the discounted value",
    "discounted_convex": "Lemma 1 (3): least second difference of the discounted value",
    "vanishing_discount": "limit: 0.001 less the distance of discounted values from V",
    "monotone": "Lemma 2 (1): least slope of V",
    "convex": "Lemma 2 (1): least second difference of V",
    "nested": "Lemma 4: fall of D to the next subsidy",
    "threshold": "Lemma 5: - number of changes from active to passive",
    "slope": "Corollary 1: least slope of x - V(ax+u), less 1-a",
    "gain": "after (14): gain - max(C lambda, u)",
}


def tabulate_margins(checks: pd.DataFrame) -> pd.DataFrame:
    """Return the least margin of each statement of `STATEMENTS`, in words where it is rounding."""
    least = checks[list(STATEMENTS)].min()
    margins = ["0 up to rounding" if abs(m) < ROOM else f"{m:.1e}" for m in least]
    return pd.DataFrame({"statement": STATEMENTS.values(), "least margin": margins}).set_index(
        "statement"
    )


def tabulate_readings(runs: Runs, run: Discounted) -> pd.DataFrame:
    """Return the value of each display with a misplaced index: literal, as meant, and true."""
    once = np.ones(runs.bursts.size)
    pairs = {
        "(5): cost of four sources at every fourth epoch": (runs.bursts, once),
        "section 3: reward of the index policy, M = 1": (runs.rewards, once),
        "(6): reward of source 1 at ages 3 and 1 by turns": (runs.content, runs.crawls),
    }
    rows = {
        name: (
            theory.as_printed(*pair),
            theory.as_meant(*pair),
            float(np.prod(pair, 0).mean()),
        )
        for name, pair in pairs.items()
    }
    rows["section 4: discounted reward from u, in u*"] = (run.letter, run.meant, run.value)
    rows["(9), right side, in u*"] = (run.higher, run.lower, run.lower)
    columns = ["to the letter", "as it is meant", "what it is to be"]
    return pd.DataFrame(rows, index=columns).T.rename_axis("display of the report")


def collect_age_two_values(source: Sources) -> dict[str, float]:
    """Return the decay of one source, its content two epochs after a crawl, and the share of u*."""
    content = float(source.state_at_age([2])[0])
    return {
        "decay": float(source.decay[0]),
        "content": content,
        "share": content / float(source.u_star[0]),
    }


def collect_grid_values(checks: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the lemmas on a grid."""
    return {
        "grid": len(checks),
        "low-decay": checks["decay"].min(),
        "high-decay": checks["decay"].max(),
        "constant-fails": float((checks["printed_constant"] < 0).mean()),
    }


# Claims


#: Distance from V, in units of u*, that still counts as its limit: that of `lemma_checks`.
NEAR_LIMIT = 1e-3


def claims(results: Results) -> list[Claim]:
    """Return the page's claims on the rows of sections 2 to 6 and of the slides' first half."""
    return [
        *_in_context(),
        *_model(results),
        *_letter(results),
        *_relaxation(results),
        *_policies(results),
        *_grid(results),
        *_average(results),
        *_ends(results),
        *_cycle(results),
        *_formula(results),
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
        "A-r-model-decay",
        "A-s-model-assump",
        "A-r-applications",
        "A-r-constrained",
        "A-s-constrained",
        "A-r-alpha",
        "A-s-alpha",
        "A-r-B-lambda",
        "A-s-B-lambda",
        "A-r-def-indexable",
        "A-s-def-indexable",
        "A-r-def-index",
        "A-s-def-index",
        "A-r-xref",
        "A-s-fig-lefortier",
        "A-s-fig-ephemeral2",
    )
    return [claim(row) for row in rows]


def _model(results: Results) -> list[Claim]:
    model, transients, late = results.model, results.transients, results.late
    exact = abs(model.lacks[1.0] - 1) < ROUNDING
    others = {period: ratio for period, ratio in model.lacks.items() if abs(ratio - 1) > ROUNDING}
    outcome = (
        "both"
        if transients.empty == transients.as_free
        else "empty"
        if transients.empty
        else "uncrawled"
    )
    lacks = [{"ratio": ratio, "period": period} for period, ratio in others.items()]
    long_run = results.cycles[1].average_reward
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
        *(
            claim(
                row,
                model.fresh_growth < 1e-7,
                condition=bool((np.abs(model.aged[1:] - 1) > 1e-7).any()),
                numbers={"aged": model.aged * results.sources.u[0]},
            )
            for row in ("A-r-reward", "A-s-reward")
        ),
        claim("A-r-T-one", model.rescaled < ROUNDING, numbers={"periods": list(model.lacks)}),
        claim("A-r-ustar", model.above and model.limit < ROUNDING),
        claim(
            "A-r-transient-low",
            transients.stays_below,
            outcome=outcome,
            condition=transients.empty or transients.as_free,
            numbers={"runs": transients.runs, "epochs": transients.epochs},
        ),
        claim(
            "A-r-transient-high",
            transients.falls and transients.drops,
            numbers={"runs": transients.runs, "epochs": transients.epochs},
        ),
        claim(
            "A-r-state-space",
            abs(late["definition"] / long_run - 1) < ROUNDING,
            numbers={"by_definition": late["definition"], "as_printed": late["printed"]},
        ),
    ]


def _letter(results: Results) -> list[Claim]:
    """Judge the formulas whose summand has another index than their sum."""
    runs, once = results.runs, np.ones(results.runs.bursts.size)
    read = theory.as_printed
    spent, spent_on_average = read(runs.bursts, once), float(runs.bursts.mean())
    reward, reward_on_average = read(runs.rewards, once), results.cycles[1].average_reward
    worth = read(runs.content, runs.crawls)
    brought = float((runs.content * runs.crawls).mean())
    run = results.discounted
    over_time = theory.as_meant(runs.bursts, once)
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
            and all(np.isclose(m, spent) for m, spent in results.relaxed.average.items()),
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
        claim(
            "A-r-lem5-proof",
            float(results.checks["threshold"].min()) > -ROOM,
            basis="judged",
            numbers={"points": len(results.checks)},
        ),
    ]


def _near(value: float, truth: float, tolerance: float = 1e-2) -> bool:
    return bool(abs(value / truth - 1) < tolerance)


def _relaxation(results: Results) -> list[Claim]:
    relaxed = results.relaxed
    plus = abs(relaxed.plus / relaxed.occupation - 1)
    minus = abs(relaxed.minus / relaxed.occupation - 1)
    return [
        claim(
            "A-r-lagrange",
            outcome="closed" if relaxed.duality < ROUNDING else "open",
            numbers={"sets": relaxed.sets},
        ),
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
            condition=abs(relaxed.costless / relaxed.costly - 1) >= ROUNDING,
            numbers={"lagrangian": relaxed.costless, "optimum": relaxed.costly},
        ),
        *(
            claim(
                row,
                results.equations.shifted < ROUNDING,
                condition=results.equations.shift >= ROUNDING,
                numbers={"most": results.equations.shift},
            )
            for row in ("A-r-eq7-of-eq6", "A-s-eq8-of-eq7")
        ),
        claim(
            "A-s-whittle-decomp",
            abs(relaxed.split / relaxed.occupation - 1) < ROUNDING,
            numbers={"optimum": relaxed.occupation},
        ),
    ]


def _policies(results: Results) -> list[Claim]:
    relaxed = results.relaxed
    every_epoch = all(np.allclose(list(costs), m) for m, costs in relaxed.spent.items())
    carried_out = every_epoch and relaxed.ordered
    # Ages by which a source holds 99% of its limit.
    joint = float(np.ceil(np.log(0.01) / np.log(results.sources.alpha)).prod())
    shares = [results.cycles[m].average_reward / results.bounds[m] for m in sorted(results.bounds)]
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
        claim(
            "A-s-curse",
            joint**3 > 1e12,
            basis="judged",
            numbers={"joint": joint, "joint_of_twelve": joint**3},
        ),
        claim("A-r-abs-simple", min(shares) > 0.99, numbers={"shares": shares}),
    ]


def _never_crawled(results: Results) -> pd.Series:
    """Return at which solved subsidies waiting is best at u*."""
    return results.solved.u_star < results.solved.subsidy - ROUNDING


def _margin(
    results: Results, id: str, columns: list[str], proof: str = "", condition: bool = True
) -> Claim:
    least = float(results.checks[columns].min().min())
    rounding = abs(least) <= ROOM
    numbers = {"points": len(results.checks), "least": least}
    outcome = "rounding" if rounding else "margin"
    return claim(
        id, least > -ROOM, proof=proof, outcome=outcome, condition=condition, numbers=numbers
    )


def _grid(results: Results) -> list[Claim]:
    """Judge the statements of `lemma_checks`, those of the discounted problem, and two proofs."""
    start, excess, bend = results.finite
    printed, control = results.checks["printed_constant"], results.checks["printed_control"]
    nested = float(results.checks["nested"].min())
    near = NEAR_LIMIT - float(results.checks["vanishing_discount"].min())
    rising = results.index.rise > 0 and nested > 0
    shape = ["discounted_monotone", "discounted_convex"]
    return [
        claim("A-r-eq8", results.equations.discounted < ROUNDING),
        claim("A-r-vbar-dp", results.equations.relative < ROUNDING),
        claim("A-r-lem1-1", excess < 1e-12),
        claim(
            "A-r-finite-dp",
            start < ROUNDING and excess < 1e-12 and (bend > -1e-12),
            numbers={"start": start},
        ),
        _margin(results, "A-r-lem1-2", ["lipschitz"]),
        claim(
            "A-r-lem1-2const",
            float(printed.min()) >= -ROOM,
            numbers={"share": (printed < 0).mean(), "worst": -printed.min()},
        ),
        claim(
            "A-r-lem1-2former",
            float(control.min()) >= -ROOM,
            numbers={"share": (control < 0).mean(), "worst": -control.min()},
        ),
        claim("A-r-lem1-2sum", False, basis="judged"),
        _margin(results, "A-r-lem1-3", shape),
        _margin(results, "A-r-vbar", ["vanishing_discount", *shape]),
        claim(
            "A-s-proof-discount",
            near <= NEAR_LIMIT,
            numbers={"near": near, "points": len(results.checks)},
        ),
        _margin(results, "A-r-lem2-1", ["monotone", "convex"], "lem-mi-lines"),
        claim(
            "A-r-lem4",
            nested > 0,
            proof="thm-mi-indexable",
            numbers={"fall": -results.fall, "nested": nested},
        ),
        claim("A-r-lem4-proof", results.fall >= -ROOM, numbers={"fall": -results.fall}),
        claim(
            "A-s-thm-indexable", nested > 0, proof="thm-mi-indexable", numbers={"nested": nested}
        ),
        _margin(results, "A-r-lem5", ["threshold"], "thm-mi-threshold"),
        _margin(
            results,
            "A-s-proof-threshold",
            ["threshold"],
            "thm-mi-threshold",
            condition=bool(_never_crawled(results).any()),
        ),
        _margin(results, "A-r-cor1", ["slope"], "thm-mi-threshold"),
        *(
            claim(row, rising, proof="thm-mi-index")
            for row in ("A-r-a-increasing", "A-s-proof-mono")
        ),
    ]


def _average(results: Results) -> list[Claim]:
    """Judge the dynamic program of the average reward."""
    worst, halves = results.equations, results.index.halves < ROUNDING
    fits = worst.average < ROUNDING
    gain = worst.solver < ROUNDING
    return [
        *(claim(row, fits) for row in ("A-r-eq7", "A-s-eq8", "A-r-eq10")),
        claim("A-s-eq9-10", fits, condition=worst.any_gain < ROUNDING),
        claim(
            "A-r-eq11",
            fits and halves,
            condition=worst.literal > 0.01,
            numbers={"most": worst.literal},
        ),
        claim("A-r-B", worst.threshold < ROUNDING),
        claim("A-r-lem2-2", gain),
        claim("A-r-eq12", fits),
        claim("A-r-V-explicit", fits and gain, proof="lem-mi-lines"),
        claim("A-r-lem3", fits and gain, condition=worst.any_gain < ROUNDING),
    ]


def _ends(results: Results) -> list[Claim]:
    """Judge the subsidies at which one action is best everywhere, (13) and (14)."""
    solved, slack = results.solved, ROUNDING
    never = _never_crawled(results)  # u* in B
    always = solved.u >= solved.subsidy - slack  # u in B^c
    rests = np.isclose(solved.gain, solved.subsidy, rtol=0, atol=slack)
    works = np.isclose(solved.gain, solved.fresh, rtol=0, atol=slack)
    passive = solved.high < solved.subsidy - slack
    active = solved.low >= solved.subsidy - slack
    ends = ends_of_interval(solved)
    empty = bool((ends.lambda_M < ends.lambda_m).all())  # the interval as printed
    low, high = (solved.decay.map(ends.agg(f, axis=1)) for f in ("min", "max"))
    between = (solved.subsidy > low + slack) & (solved.subsidy < high - slack)
    moves = bool((solved.groupby("decay").high.nunique() > 1).any())
    least = solved[["subsidy", "fresh"]].max(axis=1)
    beats = solved.gain > least + slack
    mixed = (solved.u < solved.subsidy - slack) & (solved.u_star > solved.subsidy + slack)
    return [
        claim(
            "A-r-case1",
            bool(never.any() and (rests & passive)[never].all()),
            numbers={"at": int(never.sum()), "subsidies": len(solved)},
        ),
        claim(
            "A-r-eq13",
            bool(never.any() and not never.all() and (never == passive).all()),
            condition=moves,
        ),
        claim(
            "A-r-case2",
            bool(always.any() and not always.all() and (works & active)[always].all()),
            numbers={"at": int(always.sum()), "subsidies": len(solved)},
        ),
        claim(
            "A-r-eq14",
            bool(always.any() and not always.all() and (always == active).all()),
            condition=moves,
        ),
        claim("A-r-gain-least", bool((solved.gain >= least - slack).all())),
        claim(
            "A-r-interval",
            bool(between.any() and (beats & mixed)[between].all()),
            condition=empty,
            numbers={"rates": len(ends)},
        ),
    ]


def _cycle(results: Results) -> list[Claim]:
    """Judge (15) to (18)."""
    index = results.index
    return [
        claim("A-r-eq16", index.clock == 1, condition=index.late < 1),
        claim("A-r-eq15", index.content < ROUNDING, condition=index.late < 1),
        claim("A-r-X0u", index.late == 1, numbers={"share": index.one_less}),
        *(claim(row, index.gain < ROUNDING) for row in ("A-r-eq17", "A-r-betatilde")),
        claim("A-r-eq18", index.tie < ROUNDING),
        claim("A-r-proof-step", results.equations.active < ROUNDING),
        claim("A-r-periodic", index.gaps == 1),
    ]


def _formula(results: Results) -> list[Claim]:
    """Judge Theorem 1, its Remark, and the slides' theorem."""
    index = results.index
    off = index.missed > 1
    short = {"uncrawled": index.missed, "elsewhere": results.short_worst, "flips": results.flips}
    exact = index.short < ROUNDING and index.short_above < ROUNDING
    return [
        claim(
            "A-r-thm1",
            index.theorem < ROUNDING and index.above < ROUNDING and (results.definition < ROUNDING),
            proof="thm-mi-index",
            condition=index.zero == 0,
        ),
        claim("A-r-remark-discrete", index.visited < ROUNDING),
        claim("A-r-remark-never", index.never < ROUNDING),
        claim("A-r-remark-form", exact, condition=off, numbers=short),
        claim("A-s-thm", exact, condition=off, numbers=short),
    ]
