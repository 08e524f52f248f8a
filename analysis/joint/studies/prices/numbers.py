"""Numbers in the prose of the page `prices`."""

from __future__ import annotations

from analysis.joint import PricedSolution
from analysis.joint.studies.prices.experiment import Checks
from analysis.report import save_value


def save_solutions(whole: PricedSolution, fresh: PricedSolution, free: float) -> None:
    """Save what the relaxed problems give at the page's budget and pages."""
    for name, found in (("all", whole), ("fresh", fresh)):
        save_value(f"prices-{name}-bound", found.bound)
        save_value(f"prices-{name}-price", found.price)
        save_value(f"prices-{name}-subsidy", found.subsidy)
        save_value(f"prices-{name}-crawled", int((found.frequency > 1e-9).sum()))
    save_value("prices-free-bound", free)
    save_value("prices-free-share", fresh.bound / free)


def save_checks(found: Checks, stale: tuple[float, float, float]) -> None:
    """Save how far independent methods differ, and the example against the smaller bound."""
    for name in ("instances", "nested"):
        save_value(f"prices-{name}", getattr(found, name))
    for name in ("index_error", "bound_error"):
        # Rounding differs from one processor to the next: it is given to a power of ten.
        size = getattr(found, name)
        save_value(
            f"prices-{name.replace('_', '-')}",
            next(10.0**-d for d in (12, 10, 8, 6, 0) if size <= 10.0**-d),
        )
    for name, value in zip(("whole", "fresh", "earned"), stale, strict=True):
        save_value(f"prices-stale-{name}", value)
