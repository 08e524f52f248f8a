"""Values and tables of the page `how-good`."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from analysis.arrays import Floats
from analysis.ephemeral.studies.how_good.experiment import EXACT, STARTS, is_optimal
from analysis.report import save_data, save_table, save_value, save_values
from analysis.results import Estimate

#: Sets in the table of cycles.
SHOWN = 8
#: Relative difference from which two rewards count as two.
APART = 1e-6


def predicates_of_policies(table: pd.DataFrame) -> dict[str, bool]:
    """Return whether the fluid frequencies, played as a list, earn less than the relaxed ones."""
    worse = table.loc["list, fluid"] < table.loc["list, relaxed"] * (1 - EXACT)
    return {"fluid-list-below": bool(worse.all())}


def count_trivial(instances: pd.DataFrame) -> dict[str, float]:
    """Count the sets with an interval of multipliers and without, and their trivial cycles.

    Keys: ``with-interval`` and ``with-single``, sets; ``trivial-interval`` and ``trivial-single``,
    trivial cycles among them; ``trivial-met``, those of the latter that reach the bound; ``odd``,
    cycles that are not trivial in spite of an interval, and ``odd-misfit``, those of them where no
    constant gaps reach the bound; ``some-nontrivial``.
    """
    interval, constant = instances["interval"], instances["constant"]
    met = instances["whittle"] > instances["bound"] * (1 - EXACT)
    misfit = instances["periodic"] < instances["bound"] * (1 - EXACT)
    return {
        "with-interval": int(interval.sum()),
        "with-single": int((~interval).sum()),
        "trivial-interval": int((interval & constant).sum()),
        "trivial-single": int((~interval & constant).sum()),
        "trivial-met": int((met & constant & ~interval).sum()),
        "odd": int((interval & ~constant).sum()),
        "odd-misfit": int((interval & ~constant & misfit).sum()),
        "some-nontrivial": not constant.all(),
    }


def of_random_sets(instances: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the policies on random sets, rows of `optimality_row`."""
    loss, optimal = 1 - instances["whittle"], is_optimal(instances)
    bound = instances["bound"]
    return {
        "instances": len(instances),
        "redrawn": int(instances["redrawn"].sum()),
        "optimal-share": float(optimal.mean()),
        "worst": float(loss.max()),
        "mean-loss": float(loss.mean()),
        "list-loss": float((1 - instances["spread"]).mean()),
        "suboptimal": not optimal.all(),
        "bound-met": float((bound < 1 + EXACT).mean()),
        "fluid-above": float((instances["fluid"] > bound * (1 + EXACT)).mean()),
        "list-better": int((instances["spread"] > instances["whittle"] * (1 + EXACT)).sum()),
    }


def of_joint_ages(three: float, five: float) -> dict[str, float]:
    """Return the joint ages of three and five sources, and what they make for ten, in 10^9."""
    growth = (five / three) ** 0.5
    return {
        "states-three": three,
        "states-five": five,
        "growth": growth,
        "states-ten": five * growth**5 / 1e9,
    }


def of_visits(visits: Floats) -> dict[str, float]:
    """Return visits elsewhere while the principal sources hold least and most."""
    least, most = float(visits[0]), float(visits[-1])
    return {"visits-least": least, "visits-most": most, "goes-elsewhere": least > most}


def save_cycles(found: pd.DataFrame) -> None:
    """Save the sets on which the index policy has several cycles, with the worst and the best."""
    several = found[found.spread > APART]
    mean = Estimate.of((found.best / found.start - 1).to_numpy())
    save_value("how-good-better-cycle", mean.value, interval=mean.interval, replications=len(found))
    values = {
        "cycle-sets": len(found),
        "cycle-starts": STARTS,
        "several-cycles": len(several),
        "some-several-cycles": len(several) > 0,
        "cycle-spread": float(found.spread.max()),
    }
    save_values("how-good", values)
    save_table(
        "how-good-entered",
        found.sort_values("spread", ascending=False).set_index("set").head(SHOWN),
        f"Rewards per epoch of cycles that the index policy enters from {STARTS} random ages and "
        "from empty sources, at $M = 1$: the sets on which they differ most.",
        formats={"start": ".3f", "worst": ".3f", "best": ".3f", "spread": ".3%"},
        labels={"start": "from empty sources"},
    )


def save_sets(instances: pd.DataFrame) -> None:
    """Save the random sets, one row each."""
    optimum = "in units of the exact optimum"
    columns = {
        "sources": "sources in the set",
        "budget": "sources crawled at each epoch",
        "whittle": f"reward of the index policy, {optimum}",
        "myopic": f"reward of the myopic policy, {optimum}",
        "round-robin": f"reward of round robin, {optimum}",
        "spread": f"reward of the list that spreads the relaxed frequencies, {optimum}",
        "periodic": f"reward of the best list with constant gaps, {optimum}",
        "draws": f"reward of the best independent draws, {optimum}",
        "fluid": f"value of the fluid formula, {optimum}",
        "bound": f"relaxed bound, {optimum}",
        "period": "period of the index policy's cycle in epochs",
        "constant": "whether each source has one constant gap in it, or is never crawled",
        "interval": "whether the relaxed problem has an interval of multipliers",
        "redrawn": "how often the set was drawn again because its optimum takes too long",
    }
    save_data(
        "how-good-sets",
        instances[list(columns)],
        "One row a random set of sources, all policies in it against the exact optimum.",
        columns,
    )


def save_tuned(
    rewards: Mapping[str, Floats], frequencies: Mapping[str, Floats], drift: float
) -> None:
    """Save what policies earn that believe Table 1 of changed sources, and every run behind it."""
    columns = {
        "policy": "what the policy observes, or is told",
        "replication": "number of the run; all policies share its content",
        "reward": "reward per epoch",
        "crawls": "crawls of source 3 per epoch",
    }
    runs = pd.concat(
        pd.DataFrame({"reward": earned, "crawls": frequencies[name][:, 2]})
        .rename_axis("replication")
        .reset_index()
        .assign(policy=name)
        for name, earned in rewards.items()
    ).reset_index(drop=True)
    save_data(
        "how-good-tuned-runs",
        runs[list(columns)],
        f"One row a run and policy while source 3 gets {drift:g} times its items.",
        columns,
    )
    estimates = {name: Estimate.of(earned) for name, earned in rewards.items()}
    shown = {
        "reward per epoch": [f"{e.value:.2f} ± {e.half_width:.2f}" for e in estimates.values()],
        "crawls of source 3 per epoch": [f"{f[:, 2].mean():.3f}" for f in frequencies.values()],
    }
    count = next(iter(rewards.values())).size
    save_table(
        "how-good-tuned",
        pd.DataFrame(shown, index=pd.Index(list(estimates), name="policy")),
        f"Policies that believe Table 1 while source 3 gets {drift:g} times its items, by what "
        f"they observe, and one that is told the truth ($M = 1$, 95% intervals over {count} runs).",
        instances="how-good-tuned-runs",
    )
