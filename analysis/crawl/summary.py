"""The summary of one epoch of a crawl, as numbers and as one line for the log."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from analysis.crawl.frontier.frontier import Frontier
from analysis.crawl.frontier.state import FAILED, FORBIDDEN, FOUND, GONE


@dataclass(frozen=True)
class Summary:
    """Summary of one epoch of a crawl, after its end."""

    epoch: int  # number of the epoch
    # Fetches that ended in it, and the number allowed.
    spent: int
    budget: int
    # Fetches by outcome; those with status 304 are also counted as found.
    found: int
    not_modified: int
    failed: int
    forbidden: int
    gone: int
    items: int  # new items
    reward: float  # value of the new items
    late: int  # unfinished fetches
    age: tuple[float, ...]  # median, 90% quantile and maximum of the ages of all sources
    index: tuple[float, ...]  # the same of the finite indices; empty if the policy has no index

    @classmethod
    def of(cls, frontier: Frontier) -> Summary:
        """Summarise the last epoch of a frontier."""
        ended = frontier.outcomes
        kinds = [outcome.kind for outcome in ended]
        index = getattr(frontier.policy, "index", None)
        return cls(
            epoch=frontier.epoch - 1,
            spent=len(ended),
            budget=frontier.budget,
            found=kinds.count(FOUND),
            not_modified=sum(outcome.status == 304 for outcome in ended),
            failed=kinds.count(FAILED),
            forbidden=kinds.count(FORBIDDEN),
            gone=kinds.count(GONE),
            items=sum(outcome.items for outcome in ended),
            reward=float(sum(outcome.reward for outcome in ended)),
            late=len(frontier.late),
            age=_quantiles(frontier.age),
            index=_quantiles(index(frontier.age)) if index else (),
        )

    def line(self) -> str:
        """Return one line for a log."""
        return (
            f"epoch {self.epoch}: {self.spent} of {self.budget} fetches: {self.found} found a feed "
            f"({self.not_modified} unchanged), {self.failed} failed, {self.forbidden} forbidden by "
            f"robots.txt, {self.gone} gone (HTTP 410), {self.late} not ended yet; {self.items} new "
            f"items of total value {self.reward:.4g}; last fetches of all sources: {self.age[0]:g} "
            f"epochs ago (median), {self.age[2]:g} at most"
        )

    def stats(self) -> dict[str, float]:
        """Return the numbers by name, for Scrapy's statistics."""
        numbers = {name: value for name, value in asdict(self).items() if name not in _QUANTILES}
        for name in _QUANTILES:
            parts = zip(("median", "p90", "max"), getattr(self, name), strict=False)
            numbers |= {f"{name}/{statistic}": value for statistic, value in parts}
        return numbers


_QUANTILES = ("age", "index")


def _quantiles(values: np.ndarray) -> tuple[float, ...]:
    """Return the quantiles of the finite values; empty if there are none."""
    finite = values[np.isfinite(values)]
    return tuple(np.quantile(finite, [0.5, 0.9, 1.0]).tolist()) if finite.size else ()
