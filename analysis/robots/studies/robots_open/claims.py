"""Claims of the page `robots-open` on rows of the robot study."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.report import Claim, claim


def claims(checks: dict[str, bool], capacities: Sequence[int]) -> list[Claim]:
    """Return the page\'s claims on the question that the draft leaves to its readers."""
    numbers = {"capacities": list(capacities), "steps": len(checks) - 1}
    holds = all(checks.values())
    return [claim("D-lem2-open", holds, proof="open-lemma2", numbers=numbers)]
