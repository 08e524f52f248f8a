"""Values and tables of the page `model-and-index`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.ephemeral.sources import Sources
from analysis.ephemeral.studies.model_and_index.experiment import ROOM
from analysis.ephemeral.theory import relaxation

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
    """Return the least margin of each statement of `STATEMENTS`, in words where it is rounding."""
    least = checks[list(STATEMENTS)].min()
    words = ["0 up to rounding" if abs(m) < ROOM else f"{m:.1e}" for m in least]
    return pd.DataFrame({"statement": STATEMENTS.values(), "least margin": words}).set_index(
        "statement"
    )


def reading_table(runs: relaxation.Runs, run: relaxation.Discounted) -> pd.DataFrame:
    """Return what each display with a misplaced index is to the letter, as meant, and in truth."""
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


def of_age_two(source: Sources) -> dict[str, float]:
    """Return the decay of one source, its content two epochs after a crawl, and the share of u*."""
    content = float(source.state_at_age([2])[0])
    return {
        "decay": float(source.decay[0]),
        "content": content,
        "share": content / float(source.u_star[0]),
    }


def of_grid(checks: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the lemmas on a grid."""
    return {
        "grid": len(checks),
        "low-decay": checks["decay"].min(),
        "high-decay": checks["decay"].max(),
        "constant-fails": float((checks["printed_constant"] < 0).mean()),
    }
