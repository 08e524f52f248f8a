"""Switching curves as Young diagrams of started boxes, and how one grows into the next."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.checks import check_choice
from analysis.robots.curve.reduced import Box, ReducedQueue

Curve = tuple[int, ...]
FAMILIES = ("all", "gentle")


def curves(queue: ReducedQueue, family: str = "all") -> Iterator[Curve]:
    """Yield the curves of a family.

    "all" are the switching curves that start early and leave the last robot off at a full queue,
    "gentle" those among them that fall by 0 or 1 from row to row.
    """
    check_choice("family", family, FAMILIES)
    lowest = queue.lossless_curve()

    def extend(head: Curve) -> Iterator[Curve]:
        row = len(head)
        if row == queue.robots:
            if head[-1] < queue.top:
                yield head
            return
        highest = head[-1] if head else queue.top
        least = max(lowest[row], highest - 1 if family == "gentle" and head else -1)
        for height in range(least, highest + 1):
            yield from extend((*head, height))

    yield from extend(())


def addable(queue: ReducedQueue, curve: Curve, family: str = "all") -> list[Box]:
    """Return the boxes (q, r) whose addition to a curve gives a curve of the family."""
    found = []
    for r, height in enumerate(curve):
        after = height + 1
        fits = after <= (curve[r - 1] if r else queue.top)
        if family == "gentle" and fits and r + 1 < len(curve):
            fits = curve[r + 1] >= after - 1
        if fits and (after, r) != (queue.top, queue.robots - 1):
            found.append((after, r))
    return found


def add(curve: Curve, box: Box) -> Curve:
    """Return the curve with the next box of a row added."""
    q, r = box
    return (*curve[:r], q, *curve[r + 1 :])
