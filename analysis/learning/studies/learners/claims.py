"""What the page `learners` says to the row on the adaptive version."""

from __future__ import annotations

from analysis.learning.studies.learners.experiment import SHORT, Runs
from analysis.report import Claim, claim

#: Share of the index policy's reward up to which a learner passes for an adaptive version of it.
LOST = 0.01


def claims(few_runs: Runs) -> list[Claim]:
    """Return what the page says to the row on the adaptive version."""
    losses = {budget: runs[SHORT["ce"]].loss for budget, runs in few_runs.items()}
    epochs = next(iter(few_runs.values()))[SHORT["ce"]].reference.size
    shares = [
        {"loss": (100 * loss.value, 100 * loss.half_width), "budget": budget}
        for budget, loss in losses.items()
    ]
    return [
        claim(
            "A-r-fut-adaptive",
            max(loss.high for loss in losses.values()) < LOST,
            numbers={"losses": shares, "epochs": epochs, "cut": LOST},
        )
    ]
