"""An HTTP reply, from a crawler of any kind, and the text of its body.

Feeds of the web are mostly UTF-8, whatever they or their servers declare, and other texts are
hardly ever valid UTF-8 by chance. So bytes that are valid UTF-8 come before what is declared, and
the declaration in the XML, written by the author, before the header, which is the server's default.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from w3lib.encoding import http_content_type_encoding, read_bom, resolve_encoding

from analysis.checks import check_integer, check_kind, check_number, set_fields

SPACE = "urn:which-source-next"
"""Namespace of the element that states an item's present value."""
BROKEN = 0.5
"""Largest share of broken bytes in the letters beyond ASCII of a text that is UTF-8."""
_DECLARED = re.compile(rb"""\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)""")
# By which of the first four bytes are zero (XML 1.0, appendix F; RFC 4627, section 3).
_ZEROS = {
    (1, 0, 1, 0): "utf-16-be",
    (0, 1, 0, 1): "utf-16-le",
    (1, 1, 1, 0): "utf-32-be",
    (0, 1, 1, 1): "utf-32-le",
}
# Letters of windows-1252; the five bytes that stand for none are control characters there, so that
# no two texts become one.
_LETTERS = "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256))
_BYTES = {0xDC00 + byte: _LETTERS[byte] for byte in range(128, 256)}  # of "surrogateescape"


class Unreadable(ValueError):
    """A reply without information on the source."""


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
    url : str
        Address that answered, to which the links of a feed are relative; empty if unknown.
    pushed : bool
        Whether a hub sent it, so that items that it does not list may still be in the feed.

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
    url: str = ""
    pushed: bool = False

    def __post_init__(self) -> None:
        check_kind("headers", self.headers, Mapping)
        check_kind("body", self.body, bytes)
        check_kind("url", self.url, str)
        check_kind("pushed", self.pushed, bool)
        set_fields(
            self,
            status=check_integer("status", self.status, 100, 999),
            delay=check_number("delay", self.delay, 0),
        )
        if self.time is not None:
            set_fields(self, time=check_number("time", self.time, low_open=True, high_open=True))

    @property
    def text(self) -> str:
        """The body as text.

        Its encoding is the first of these that fits all bytes: that of a byte order mark, UTF-16 or
        UTF-32 without one, UTF-8, the declared one (XML), that of the header. If none does, it is
        windows-1252; of a text that is UTF-8 for the most part, the broken bytes alone are.
        """
        encoding, mark = read_bom(self.body)
        body = self.body[len(mark or b"") :]
        if encoding:
            return body.decode(encoding, "replace")
        zeros = tuple(int(byte == 0) for byte in body[:4])
        if zeros in _ZEROS:
            return body.decode(_ZEROS[zeros], "replace")
        match = _DECLARED.match(body)
        header = self.headers.get("content-type", "")
        declared = [match[1].decode() if match else None, http_content_type_encoding(header)]
        encodings = [encoding for label in declared if label and (encoding := _codec(label))]
        # Its escapes are ASCII, and so would be valid UTF-8 without being it.
        if b"\x1b" in body and encodings and encodings[0].startswith("iso2022"):
            return body.decode(encodings[0], "replace")
        try:
            return body.decode()
        except UnicodeDecodeError:
            text = body.decode("utf-8", "surrogateescape")
        broken = len(re.findall(r"[\udc80-\udcff]", text))
        if broken <= BROKEN * len(re.findall(r"[^\x00-\x7f]", text)):
            return text.translate(_BYTES)
        for encoding in encodings:
            try:
                return body.decode(encoding)
            except (UnicodeError, LookupError):  # also codecs that are not for text
                continue
        return codecs.charmap_decode(body, "strict", _LETTERS)[0]


def _codec(label: str) -> str | None:
    """Return Python's name of an encoding, None for UTF-8 or an unknown one."""
    code_page = re.fullmatch(r"(?:cp|win|windows|ms|x-cp)[-_ ]?(\d{3,4})", label, re.IGNORECASE)
    name = resolve_encoding(f"cp{code_page[1]}" if code_page else label)
    return None if name == "utf-8" else name
