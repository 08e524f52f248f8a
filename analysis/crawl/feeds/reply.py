"""An HTTP reply, from a crawler of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from analysis.checks import check_integer, check_kind, check_number, set_fields

SPACE = "urn:which-source-next"
"""Namespace of the element that states an item's present value."""


@dataclass(frozen=True)
class Reply:
    """An HTTP reply.

    Attributes
    ----------
    status : int
        HTTP status.
    headers : dict
        Names in lower case.
    body : bytes
        Content.
    delay : float
        Seconds before the answer; ``inf`` if there is no answer.
    time : float or None
        Unix time of the answer by the crawler's clock, None if unknown.

    Examples
    --------
    >>> from analysis.crawl import Reply
    >>> Reply(304, {"etag": "x"}).status
    304
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay: float = 0.0
    time: float | None = None

    def __post_init__(self) -> None:
        check_kind("headers", self.headers, Mapping)
        check_kind("body", self.body, bytes)
        set_fields(
            self,
            status=check_integer("status", self.status, 100, 999),
            delay=check_number("delay", self.delay, 0),
        )
        if self.time is not None:
            set_fields(self, time=check_number("time", self.time, low_open=True, high_open=True))
