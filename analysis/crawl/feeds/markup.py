"""The elements of a feed in XML, also of one that is not well formed.

lxml reads a feed without entities from files and without the network. One that is not well formed
is mended as text: what surrounds the root element is cut off, entities become characters, and tags
that are none become text. If that does not make it well formed, each item is read by
itself, so that an error in one does not reach the others. All of it is linear in the length of a
feed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from html import escape, unescape
from html.entities import html5
from typing import Any

from lxml import etree

from analysis.crawl.feeds.reply import Unreadable

ATOM = "http://www.w3.org/2005/Atom"
PREFIXES = {
    "atom": ATOM,
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "media": "http://search.yahoo.com/mrss/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "sy": "http://purl.org/rss/1.0/modules/syndication/",
}
"""Namespaces by the prefixes that feeds give them, also where they forget to declare them."""
MOST_RECOVERED = 10_000
"""Items of a feed that is not well formed: the first and last of more."""
MOST_NAMESPACES = 64
"""Namespaces of such a feed that are kept."""
_ROOTS = ("rss", "rdf", "feed", "entry")
_ROOT = re.compile(r"<((?:[\w.-]+:)?(?:rss|rdf|feed))(?=[\s/>])[^<>]*>", re.IGNORECASE)
_PAGE = re.compile(r"<(?:!doctype\s+html|html|body)\b", re.IGNORECASE)
_ITEM = re.compile(r"<(/?)((?:[\w.-]+:)?(?:item|entry))(?=[\s/>])[^<>]*>", re.IGNORECASE)
_FACTS = {
    "guid",
    "id",
    "link",
    "title",
    "pubdate",
    "published",
    "updated",
    "description",
    "summary",
}
_OPEN = re.compile(r"<!\[CDATA\[|<!--|<\?")
_CLOSE = {"<![CDATA[": "]]>", "<!--": "-->", "<?": "?>"}
# What XML 1.0 does not allow at all (section 2.2).
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_DECLARED = re.compile(r"""<!ENTITY\s+(\w+)\s+(?:"([^"<&%]*)"|'([^'<&%]*)')\s*>""")
_AMPERSAND = re.compile(
    r"&(?!(?:lt|gt|amp|quot|apos);)(#\d{1,7};|#[xX][\da-fA-F]{1,6};|\w{1,40};)?"
)
_NAME = r"[^\W\d][\w.-]*+(?::[\w.-]++)?"
_NO_TAG = re.compile(r"<(?!/?[^\W\d])|<(?=[^<>]*(?:<|\Z))")
_TAG = re.compile(rf"<(/?)({_NAME})[^<>]*>")
_VOID = re.compile(r"<(br|hr|img|wbr|input)\b([^<>]*?)/?>|</(?:br|hr|img|wbr|input)\s*>", re.I)
# A tag, quoted text in it taken as a whole, that is not of the form that XML asks for.
_BAD_TAG = re.compile(
    rf"""<(?!/?{_NAME}(?:\s++{_NAME}="[^"<]*+")*+\s*+/?>)"""
    r"""(/?)([^\s<>/]+)((?:[^<>"']|"[^"<]*"|'[^'<]*')*+|[^<>]*)>"""
)
_ATTRIBUTE = re.compile(r"""([^\s=<>"'/]++)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'<>]++))?""")
_PREFIX = re.compile(r"""</?([^\W\d][\w.-]*+):|\s([^\W\d][\w.-]*+):[\w.-]++=\"""")


@dataclass(frozen=True)
class Elements:
    """The elements of a feed.

    Attributes
    ----------
    channel : lxml.etree._Element
        That with the facts on the feed, which is the root in Atom.
    root : lxml.etree._Element
        Root element.
    items : list of lxml.etree._Element
        Its items, in its order.
    fault : str
        Why the feed is not well formed; empty if it is.
    """

    root: Any
    channel: Any
    items: list[Any]
    fault: str = ""


def feed_elements(text: str) -> Elements:
    """Return the elements of a feed in XML.

    Raises
    ------
    Unreadable
        If the text is no feed, if its end is missing, or if it is not well formed and has no items.
    """
    try:
        root = _parse(text)
    except etree.XMLSyntaxError as error:
        return _recovered(text, str(error.msg))
    if any(True for _ in root.iter(etree.Entity)):
        return _recovered(text, "")
    return _elements(root)


def local_name(node: Any) -> str:
    """Return the name of an element without its namespace, in lower case."""
    return qualified_name(node.tag)[1] if isinstance(node.tag, str) else ""


@lru_cache(maxsize=1024)
def qualified_name(tag: str) -> tuple[str | None, str]:
    """Return the namespace of a tag, None without one, and its name in lower case."""
    space, _, name = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
    return space or None, name.lower()


def plain_text(text: str) -> str:
    """Return a text without the characters that XML does not allow."""
    return _CONTROL.sub("", text)


def _elements(root: Any, fault: str = "") -> Elements:
    name = local_name(root)
    if name not in _ROOTS:
        raise Unreadable(f"not a feed: <{name:.80}>")
    if name == "entry":  # an Atom entry by itself (RFC 4287, section 2)
        return Elements(root, root, [root], fault)
    channel = next((node for node in root if local_name(node) == "channel"), None)
    items = [
        node
        for parent in (root, *(node for node in root if local_name(node) == "channel"))
        for node in parent
        if local_name(node) in ("item", "entry")
    ]
    if name == "rdf" and channel is None and not items:
        raise Unreadable("not a feed: RDF without channel and items")
    return Elements(root, root if channel is None else channel, items, fault)


def _parse(text: str, *, recover: bool = False) -> Any:
    """Return the root element of a text; its encoding is that of `text`, whatever it declares."""
    parser = etree.XMLParser(
        recover=recover, resolve_entities=False, no_network=True, load_dtd=False, encoding="utf-8",
        remove_comments=True, remove_pis=True, huge_tree=False,
    )  # fmt: skip
    return etree.fromstring(text.encode(errors="replace"), parser)


def _recovered(text: str, fault: str) -> Elements:
    """Return the elements of a feed that is not well formed, or has entities of its own."""
    text, name = _repair_root(text)
    try:
        return _elements(_parse(text), fault and f"not well formed: {fault}")
    except etree.XMLSyntaxError as error:
        fault = fault or str(error.msg)
    outside, items = _split(text)
    # Names have their namespaces from the root's tag, whose other attributes may be many.
    spaces = re.findall(r"""\sxmlns(?::[\w.-]+)?\s*=\s*"[^"<]*\"""", text[: text.index(">")])
    opened = f"<{name}{''.join(spaces[:MOST_NAMESPACES])}>"
    nodes: list[Any] = []
    damaged = 0
    for item in items:
        try:
            root = _parse(f"{opened}{item}</{name}>")
        except etree.XMLSyntaxError:
            root = _parse(f"{opened}{_balanced(item)}</{name}>", recover=True)
            damaged += 1
        nodes.extend([] if root is None else root[:1])
    feed = _parse(outside, recover=True)
    if feed is None or not nodes:
        raise Unreadable(f"not a feed: not well formed, and without items: {fault}")
    elements = _elements(feed)
    told = f"not well formed: {fault}: {damaged} of {len(items)} items are damaged"
    return Elements(elements.root, elements.channel, nodes, told)


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the pieces of a text, and of each whether it has tags and entities.

    CDATA sections, comments and instructions have none; one without an end is the rest of the text.
    """
    done = 0
    for match in _OPEN.finditer(text):
        if match.start() < done:
            continue
        yield True, text[done : match.start()]
        end = text.find(_CLOSE[match[0]], match.end())
        done = len(text) if end < 0 else end + len(_CLOSE[match[0]])
        yield False, text[match.start() : done]
    yield True, text[done:]


def _repair_root(text: str) -> tuple[str, str]:
    """Return a text from the start of its root element to its end, mended, and the root's name."""
    pieces = list(_pieces(plain_text(text)))
    first = last = None
    before: list[str] = []
    for position, (markup, piece) in enumerate(pieces):
        if not markup:
            continue
        if first is None:
            match = _ROOT.search(piece)
            before.append(piece[: match.start()] if match else piece)
            if match:
                first, name, closing = position, match[1], f"</{match[1]}"
                if match[0].endswith("/>"):
                    return _repair_tags(match[0]), name
                piece = piece[match.start() :]
                pieces[position] = (True, piece)
        if first is not None and closing in piece:
            last = position
    prologue = "".join(before)
    if first is None or _PAGE.search(prologue):
        raise Unreadable("not a feed")
    if last is None:
        raise Unreadable("not a feed: it is truncated")
    end = pieces[last][1].rindex(closing)
    pieces[last] = (True, pieces[last][1][:end])
    entities = {
        name: first_name or other for name, first_name, other in _DECLARED.findall(prologue)
    }
    budget = [len(text)]  # letters that entities of the feed's own may add in all

    def character(match: re.Match[str]) -> str:
        reference = match[1] or ""
        value = entities.get(reference[:-1], "")
        if value and budget[0] >= len(value):
            budget[0] -= len(value)
            return escape(value)
        plain = unescape(match[0]) if reference[:1] == "#" else html5.get(reference)
        return f"&amp;{reference}" if plain is None else escape(plain)

    mended = "".join(
        _repair_tags(_AMPERSAND.sub(character, piece)) if markup else piece
        for markup, piece in pieces[first : last + 1]
        if markup or piece.startswith("<![")
    )
    used = dict.fromkeys(first_name or other for first_name, other in _PREFIX.findall(mended))
    declared = set(re.findall(r"\sxmlns:([\w.-]+)\s*=", mended)) | {"xml", "xmlns"}
    missing = [prefix for prefix in used if prefix not in declared][:MOST_NAMESPACES]
    spaces = "".join(f' xmlns:{p}="{PREFIXES.get(p, f"urn:undeclared:{p}")}"' for p in missing)
    start = 1 + len(name)
    return f"{mended[:start]}{spaces}{mended[start:]}{closing}>", name


def _repair_tags(piece: str) -> str:
    """Return markup in which all tags have the form that XML asks for, and all else is text."""
    piece = _NO_TAG.sub("&lt;", piece.replace("]]>", "]]&gt;"))
    piece = _VOID.sub(lambda match: f"<{match[1]}{match[2]}/>" if match[1] else "", piece)
    return _BAD_TAG.sub(_tag, piece)


def _tag(match: re.Match[str]) -> str:
    """Return a tag with its attributes in quotation marks, each once; text if it has no name."""
    slash, name, content = match[1], match[2], match[3].rstrip()
    if not re.fullmatch(_NAME, name):
        return "&lt;" + match[0][1:]
    if slash:
        return f"</{name}>"
    closed = content.endswith("/")
    values: dict[str, str] = {}
    for key, value in _ATTRIBUTE.findall(content[:-1] if closed else content):
        if re.fullmatch(_NAME, key):
            bare = value[1:-1] if value[:1] in "\"'" and value else value
            values.setdefault(key, bare.replace('"', "&quot;").replace("<", "&lt;"))
    attributes = "".join(f' {key}="{value}"' for key, value in values.items())
    return f"<{name}{attributes}{'/' * closed}>"


def _balanced(item: str) -> str:
    """Return an item in which each tag is closed where what is around it is."""
    result: list[str] = []
    names: list[str] = []
    counts: Counter[str] = Counter()
    depth = 0  # open elements that are facts
    for markup, piece in _pieces(item):
        done = 0
        for match in _TAG.finditer(piece) if markup else ():
            result.append(piece[done : match.start()])
            done, name = match.end(), match[2]
            keep = len(names)
            if match[1] and counts[name]:
                keep -= 1
                while names[keep] != name:
                    keep -= 1
            elif not match[1] and depth and name.lower() in _FACTS:
                keep = 1  # no fact is in another one: that was not closed
            for last in reversed(names[keep:]):
                counts[last] -= 1
                depth -= last.lower() in _FACTS
                result.append(f"</{last}>")
            del names[keep:]
            if not match[1]:
                result.append(match[0])
                if not match[0].endswith("/>"):
                    names.append(name)
                    counts[name] += 1
                    depth += name.lower() in _FACTS
        result.append(piece[done:])
    return "".join([*result, *(f"</{name}>" for name in reversed(names))])


def _split(text: str) -> tuple[str, list[str]]:
    """Return what is outside the items of a feed, and each item; one ends where the next begins."""
    marks, done, name = [], 0, ""
    for markup, piece in _pieces(text):
        for match in _ITEM.finditer(piece) if markup else ():
            name = name or match[2]
            if match[2] == name:
                marks.append((done + match.start(), done + match.end(), bool(match[1])))
        done += len(piece)
    spans: list[tuple[int, int, str]] = []
    begun = None
    for start, end, closing in [*marks, (text.rindex("</"), 0, False)]:
        if begun is not None:
            spans.append((begun, end, "") if closing else (begun, start, f"</{name}>"))
        begun = None if closing else start
        if text[start:end].endswith("/>"):
            spans.append((start, end, ""))
            begun = None
    if len(spans) > MOST_RECOVERED:
        spans = spans[: MOST_RECOVERED // 2] + spans[-MOST_RECOVERED // 2 :]
    borders = [0, *(border for start, end, _ in spans for border in (start, end)), len(text)]
    outside = "".join(text[a:b] for a, b in zip(borders[::2], borders[1::2], strict=True))
    return outside, [text[start:end] + missing for start, end, missing in spans]
