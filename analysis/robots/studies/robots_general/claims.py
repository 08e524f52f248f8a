"""Claims of the page `robots-general` on rows of the robot study."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.report import Claim, claim


@dataclass(frozen=True)
class Checks:
    """How far the page's models are from what they have to agree with."""

    # As `largest_errors` returns them.
    closed: float
    balance: float
    # Simulated 95% intervals without the exact cost, of how many.
    misses: int
    cases: int
    alike: float  # as `alike_error` returns it
    neighbours: float  # as `fleet_neighbours` returns it
    placement: float  # as `placement_gap` returns it


def claims(found: Checks) -> list[Claim]:
    """Return the page\'s claims on the work that the draft announces."""
    agree = found.closed < 1e-09 and found.balance < 1e-06 and 3 * found.misses <= found.cases
    simulated = {"cases": found.cases, "misses": found.misses}
    return [
        claim("D-fut-general", agree, numbers=simulated),
        claim("D-fut-alike", found.alike < 1e-9, numbers={"alike": found.alike}),
        claim("D-fut-hetero", abs(found.placement) < 1e-12),
        claim("D-fut-open", found.alike < 1e-9 and abs(found.placement) < 1e-12),
        claim("D-fut-area", found.neighbours >= 0 and abs(found.placement) < 1e-12),
        claim("D-concl-mg1k", False, basis="judged"),
        claim("D-concl-companion"),
    ]
