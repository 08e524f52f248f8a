"""Picture of the losses with many copies."""

from __future__ import annotations

import pandas as pd

from analysis.ephemeral.studies.many_copies.experiment import EXACT
from analysis.report import COLOURS, figure, save_figure

_FLOOR = 1e-7


def save_losses(frame: pd.DataFrame) -> None:
    """Draw mean and largest loss of both policies against the number of copies."""
    groups = frame.groupby("copies")
    fig, axis = figure(height=3.8)
    for colour, name in zip(COLOURS, ("two-level", "index"), strict=False):
        for how, style, marker in (("mean", "-", "o"), ("max", "--", "^")):
            loss = 100 * getattr(groups[name], how)().clip(lower=_FLOOR)
            label = f"{name}, {'mean' if how == 'mean' else 'largest'}"
            axis.loglog(loss.index, loss, style, marker=marker, color=colour, label=label)
    axis.axhline(100 * _FLOOR, color="black", linewidth=0.8, linestyle=":")
    axis.set(xlabel="copies of each source, R", ylabel="loss (% of the bound)")
    fig.legend(loc="outside lower center", ncols=2)
    last = frame[frame.copies == frame.copies.max()]
    exact = int((last["two-level"] < EXACT).sum())
    save_figure(
        "many-copies-losses",
        fig,
        frame,
        caption=f"Loss against the relaxed bound on {frame.instance.nunique()} random sets of four "
        f"sources with R copies each. With {int(last.copies.iloc[0])} copies two levels earn the "
        f"bound itself on {exact} sets, and the index policy loses up to {last['index'].max():.2%}."
        " Losses below the dotted line are drawn on it.",
        alt="Four curves of loss against the number of copies on logarithmic axes. Those of the "
        f"two-level policy fall to {last['two-level'].max():.0e}; the index policy's mean stays "
        f"at {last['index'].mean():.3%} and its largest at {last['index'].max():.2%}.",
    )
