"""Claims of the page `restart-myopic` on rows of the slides."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.report import Claim, claim
from analysis.restarts.studies.restart_myopic.experiment import BIN, losses_of_the_index


def claims(
    as_printed: pd.DataFrame,
    replications: tuple[int, int],
    cells: pd.DataFrame,
    cell_paths: int,
    large: pd.DataFrame,
    small: pd.DataFrame,
    alike: pd.DataFrame,
    drawn: tuple[Sequence[float], Sequence[float]],
    states: int,
) -> list[Claim]:
    """Return the page's claims on the rows of slides 18, 20 and 21.

    `as_printed`: systems simulated with the slides' own counts; `cells`: systems of all
    generators, sizes and budgets; `cell_paths`: paths of each of them; `large`: systems of one
    size; `small`: small systems solved exactly; `alike`: systems of identical arms; `drawn`: the
    ticks of both axes of the histogram.
    """
    ticks, counts = drawn
    paths, epochs = replications
    half = float((as_printed.high - as_printed.low).mean() / 2)
    used = {"systems": len(as_printed), "half": half}
    by = cells.groupby("kernel", sort=False).eps
    ranges = [{"generator": name, "least": eps.min(), "most": eps.max()} for name, eps in by]
    each = cells.groupby(["kernel", "arms", "budget"]).size().max()
    ranked = cells.sort_values("eps")
    ends = {"C-e34-lo": ranked.iloc[0], "C-e34-hi": ranked.iloc[-1]}
    counts_of = large.kernel.value_counts()
    drawn_of = {"often": counts_of.index[0], "least": int(counts_of.min())}
    return [
        claim("C-mc-5000", paths, numbers=used),
        claim("C-mc-250", epochs, numbers=used),
        claim("C-eps-def"),
        claim("C-e34-X", states),
        claim("C-e34-n", sorted(cells.arms.unique())),
        claim("C-e34-m", sorted(cells.budget.unique())),
        *(
            claim(
                row,
                end.eps,
                interval=(end.low, end.high),
                replications=cell_paths,
                numbers={"each": each, "paths": cell_paths, "ranges": ranges},
            )
            for row, end in ends.items()
        ),
        claim(
            "C-e34-fig",
            figure="restart-myopic-histogram",
            numbers={"width": BIN, "most": int(counts_of.max()), **drawn_of},
        ),
        claim("C-e34-100", int(counts_of.max()), numbers=drawn_of),
        claim("C-e34-xaxis", ticks),
        claim("C-e34-yaxis", counts),
        claim("C-e34-split"),
        _conclusion(cells, small, alike),
    ]


def _conclusion(cells: pd.DataFrame, small: pd.DataFrame, alike: pd.DataFrame) -> Claim:
    numbers = {
        "systems": len(cells),
        "better": int((cells.low > 0).sum()),
        "worse": int((cells.high < 0).sum()),
        "lost": len(losses_of_the_index(small)),
        "small": len(small),
    }
    equal = bool((alike.eps == 0).all())
    return claim("C-concl-myopic", outcome="equal" if equal else "unequal", numbers=numbers)
