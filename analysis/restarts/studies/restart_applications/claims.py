"""Claims of the page `restart-applications` on rows of the slides."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.report import Claim, claim
from analysis.restarts.studies.restart_applications.experiment import loss


def claims(mended: Mapping[str, float], emptied: Mapping[str, float]) -> list[Claim]:
    """Return the page's claims on the rows of slide 3, which name applications."""
    machines, queues = _losses(mended), _losses(emptied)
    return [
        *(claim(row, numbers=machines) for row in ("C-app-machine", "C-app-repair")),
        *(claim(row, numbers=queues) for row in ("C-app-queue", "C-app-channel", "C-app-data")),
        claim("C-app-clinical"),
    ]


def _losses(costs: Mapping[str, float]) -> dict[str, float]:
    return {"index": loss(costs, "index policy"), "worst_first": loss(costs, "worst state first")}
