"""Oddities of real feeds: for each the smallest feed that shows it, and what it should give.

What cannot be read right is named in the notes of the reading, or refused.
"""

import json

import pytest

from analysis.crawl import FeedReader, Reply, Unreadable

NOW = 1_781_524_800  # 15 June 2026, 12:00 UTC
ADDRESS = "https://site.example/feeds/all.xml"
ATOM = 'xmlns="http://www.w3.org/2005/Atom"'
MEDIA = 'xmlns:m="http://search.yahoo.com/mrss/"'
XHTML = 'xmlns="http://www.w3.org/1999/xhtml"'
JSON_FEED = "https://jsonfeed.org/version/1.1"


def rss(*items, channel="", head=""):
    listed = "".join(f"<item>{item}</item>" for item in items)
    return f'{head}<rss version="2.0"><channel>{channel}{listed}</channel></rss>'


def atom(*entries):
    return f"<feed {ATOM}>{''.join(f'<entry>{entry}</entry>' for entry in entries)}</feed>"


def json_feed(*items, **more):
    return json.dumps({"version": JSON_FEED, "items": list(items), **more})


def declared(encoding):
    return f'<?xml version="1.0" encoding="{encoding}"?>'


def read(body, memory="", kind="", time=NOW):
    body = body if isinstance(body, bytes) else body.encode()
    headers = {"content-type": kind} if kind else {}
    return FeedReader().read(Reply(200, headers, body, time=time, url=ADDRESS), memory)


def values(reading, field):
    return [item[field] for item in reading.items]


SAME = '<guid isPermaLink="false">all</guid>'
RELATED = '<a:link xmlns:a="http://www.w3.org/2005/Atom" rel="{}" href="https://hub.example/"/>'
#: name: (feed, number of items that are told apart)
IDENTITIES = {
    "one guid, links differ": (rss(*(f"{SAME}<link>/{i}</link>" for i in range(5))), 5),
    "one guid, titles differ": (rss(*(f"{SAME}<title>{i}</title>" for i in range(3))), 3),
    "one guid, dates differ": (
        rss(*(f"{SAME}<pubDate>0{i} Jun 2026 10:00:00 GMT</pubDate>" for i in (1, 2))),
        2,
    ),
    "one guid and title, texts differ": (
        rss(*(f"{SAME}<title>t</title><description>{i}</description>" for i in range(3))),
        3,
    ),
    "one guid for some": (
        rss(SAME + "<title>a</title>", SAME + "<title>b</title>", "<guid>c</guid>"),
        3,
    ),
    "no guid, one link": (rss(*(f"<link>/</link><title>{i}</title>" for i in range(3))), 3),
    "a description and nothing else": (
        rss(*(f"<description>note {i}</description>" for i in range(4))),
        4,
    ),
    "equal titles, texts differ": (
        rss(*(f"<title>Update</title><description>{i}</description>" for i in range(2))),
        2,
    ),
    "copies": (rss(*["<title>Update</title>"] * 3), 3),
    "one id in Atom": (atom(*(f"<id>x</id><title>{i}</title>" for i in range(3))), 3),
    "one id in JSON": (json_feed(*({"id": "x", "title": str(i)} for i in range(3))), 3),
    "JSON with external addresses": (
        json_feed(*({"external_url": f"https://a.example/{i}"} for i in range(2))),
        2,
    ),
    "JSON with texts alone": (json_feed({"content_text": "a"}, {"content_html": "b"}), 2),
    "JSON ids that are numbers": (json_feed({"id": 0}, {"id": 1}), 2),
    "JSON with null among the items": (json_feed({"id": "1"}, None, {"id": "2"}), 2),
    "a link of another kind first": (
        rss(*(RELATED.format("related") + f"<link>/{i}</link><title>t</title>" for i in range(4))),
        4,
    ),
    "a link to replies in Atom first": (
        atom(
            *(f'<link rel="replies" href="/r"/><link href="/{i}"/><title>t</title>' for i in "ab")
        ),
        2,
    ),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_items_are_told_apart(name):
    feed, count = IDENTITIES[name]
    first = read(feed)
    assert len(first.items) == count
    again = read(feed, first.memory)
    assert (len(again.items), again.known) == (0, count)


def test_new_item_keeps_names_of_others():
    """Also where it has the id of items that were told apart before."""
    items = [f"{SAME}<link>/{i}</link><title>{i}</title>" for i in "ab"]
    first = read(rss(*items))
    again = read(rss(f"{SAME}<link>/c</link>", *items), first.memory)
    assert (values(again, "link"), again.known) == (["https://site.example/c"], 2)


def test_shared_ids_are_noted_once():
    feed = rss(*(f"{SAME}<link>/{i}</link>" for i in range(5)))
    first = read(feed)
    assert "5 items" in first.notes[0]
    assert "links" in first.notes[0]
    assert read(feed, first.memory).notes == ()
    assert read(rss("<guid>1</guid>", "<guid>2</guid>")).notes == ()


def dated(ids):
    return rss(
        *(
            f"<guid>{id}</guid><title>{i}</title><pubDate>0{9 - i} Jun 2026 10:00:00 GMT</pubDate>"
            for i, id in enumerate(ids)
        )
    )


def test_ids_that_change_are_not_used():
    first = read(dated("abc"))
    again = read(dated("xyz"), first.memory)
    assert (again.items, again.known, again.reward) == ((), 3, 0.0)
    assert "ids" in again.notes[0]
    third = read(dated("rstuv"), again.memory)
    assert (values(third, "title"), third.known) == (["3", "4"], 3)
    undated = [rss(f"<guid>{i}</guid><title>t</title><link>/1</link>") for i in "ab"]
    assert read(undated[1], read(undated[0]).memory).known == 1


def test_replaced_listing_is_new():
    feeds = [rss(f"<guid>{i}</guid><title>Update</title>") for i in "ab"]
    again = read(feeds[1], read(feeds[0]).memory)
    assert (len(again.items), again.known) == (1, 0)


@pytest.mark.parametrize("count", [501, 520, 800])
def test_oldest_first_feed_is_read_whole(count):
    first = read(rss(*(f"<guid>{i}</guid>" for i in range(count))))
    assert len(first.items) == count
    again = read(rss(*(f"<guid>{i}</guid>" for i in range(count + 3))), first.memory)
    assert values(again, "id") == [str(count + i) for i in range(3)]


AMPERSAND = "https://forum.example/view?t=1&post=0"
#: name: (feed, field of its first item, value)
FIELDS = {
    # Entities and ampersands.
    "& in a link": (rss(f"<link>{AMPERSAND}</link>"), "link", AMPERSAND),
    "& in an attribute": (atom(f'<id>1</id><link href="{AMPERSAND}"/>'), "link", AMPERSAND),
    "& in a guid": (rss("<guid>a&b=1</guid>"), "id", "a&b=1"),
    "named entities": (
        rss("<title>Caf&eacute; M&uuml;nchen &ndash; AT&T</title>"),
        "title",
        "Café München – AT&T",
    ),
    "named entity between digits": (rss("<title>2018&ndash;2019</title>"), "title", "2018–2019"),
    "named entity in a feed with a DTD": (
        rss("<title>&eacute;</title>", head='<!DOCTYPE rss SYSTEM "rss.dtd">'),
        "title",
        "é",
    ),
    "entity of its own": (
        rss("<title>&co; news</title>", head='<!DOCTYPE rss [<!ENTITY co "Sample">]>'),
        "title",
        "Sample news",
    ),
    "unknown entity": (rss("<title>a &nosuch; b</title>"), "title", "a &nosuch; b"),
    "entity without semicolon": (rss("<title>a &copy b</title>"), "title", "a &copy b"),
    "numeric reference with X": (rss("<title>&#X41;</title>"), "title", "A"),
    "numeric reference of windows-1252": (
        rss("<title>a &#151; b & c</title>"),
        "title",
        "a — b & c",
    ),
    "entity escaped twice": (rss("<title>Caf&amp;eacute;</title>"), "title", "Café"),
    "& in CDATA": (rss("<title><![CDATA[AT&T]]></title>"), "title", "AT&T"),
    "& beside CDATA": (rss("<title>a & <![CDATA[b & c]]></title>"), "title", "a & b & c"),
    "< in a title": (rss("<title>3 < 4 holds</title>"), "title", "3 < 4 holds"),
    "< before a letter": (rss("<title>if a<b then</title>"), "title", "if a<b then"),
    "<3": (rss("<title>I <3 cats</title>"), "title", "I <3 cats"),
    "]]> in a title": (rss("<title>a ]]> b</title>"), "title", "a ]]> b"),
    "control characters": (rss("<title>a \x01b</title>"), "title", "a b"),
    # Namespaces.
    "itunes:title first": (
        rss(
            '<i:title xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd">Short</i:title>'
            "<title>12: Long</title>"
        ),
        "title",
        "12: Long",
    ),
    "media:title first": (
        rss('<m:title xmlns:m="http://search.yahoo.com/mrss/">x</m:title><title>y</title>'),
        "title",
        "y",
    ),
    "prefix that is not declared": (
        rss("<dc:date>2026-06-15T10:00:00Z</dc:date>"),
        "published",
        "2026-06-15T10:00:00Z",
    ),
    "namespace of this project in a text": (
        rss("<title>urn:which-source-next</title><link>/1</link>"),
        "link",
        "https://site.example/1",
    ),
    "element of another vocabulary": (
        rss('<f:guid xmlns:f="urn:f">x</f:guid><guid>y</guid>'),
        "id",
        "y",
    ),
    "empty element first": (rss("<title/><title>T</title>"), "title", "T"),
    "wrong namespace of Atom": (
        '<feed xmlns="http://www.w3.org/2005/ATOM/"><entry><id>1</id></entry></feed>',
        "id",
        "1",
    ),
    "names in capitals": (rss("<GUID>1</GUID>").replace("item", "ITEM"), "id", "1"),
    "Atom entry by itself": (f"<entry {ATOM}><id>1</id></entry>", "id", "1"),
    # Not well formed.
    "attribute without quotation marks": (rss("<guid isPermaLink=false>1</guid>"), "id", "1"),
    "tag not closed": (rss("<guid>1</guid><title>A"), "title", "A"),
    "tag closed by another": (rss("<title>A</titel><guid>1</guid>"), "id", "1"),
    "HTML in a description": (
        rss("<description>x<br>y <p>z</description><title>T</title>"),
        "title",
        "T",
    ),
    "warning before the feed": (
        "<br />\n<b>Warning</b>: something in file.php<br />\n"
        + declared("utf-8")
        + rss("<guid>1</guid>"),
        "id",
        "1",
    ),
    "text after the feed": (rss("<guid>1</guid>") + "<script>x</script>", "id", "1"),
    "attribute twice": (rss('<link href="/a" href="/b">/c</link><guid>1</guid>'), "id", "1"),
    "end of the feed in a text": (
        rss("<guid>1</guid><title><![CDATA[</rss>]]> & more</title>"),
        "title",
        "</rss> & more",
    ),
    # Dates.
    "zone by its name": (
        rss("<pubDate>Mon, 15 Jun 2026 10:00:00 CEST</pubDate>"),
        "published",
        "2026-06-15T08:00:00Z",
    ),
    "month in French": (
        rss("<pubDate>lun., 15 juin 2026 10:00:00 +0200</pubDate>"),
        "published",
        "2026-06-15T08:00:00Z",
    ),
    "date of mail in JSON": (
        json_feed({"id": "1", "date_published": "Mon, 15 Jun 2026 10:00:00 +0000"}),
        "published",
        "2026-06-15T10:00:00Z",
    ),
    "date that is none before one that is": (
        atom("<id>1</id><published>soon</published><updated>2026-06-15T10:00:00Z</updated>"),
        "published",
        "2026-06-15T10:00:00Z",
    ),
    # Fields.
    "relative link": (rss("<link>/1</link>"), "link", "https://site.example/1"),
    "relative link with a base": (
        f'<feed {ATOM} xml:base="/blog/"><entry><id>1</id><link href="1"/></entry></feed>',
        "link",
        "https://site.example/blog/1",
    ),
    "guid that is the link": (
        rss("<guid>https://a.example/1</guid>"),
        "link",
        "https://a.example/1",
    ),
    "guid that is no link": (
        rss('<guid isPermaLink="false">1</guid><link>/1</link>'),
        "link",
        "https://site.example/1",
    ),
    "text with a script": (
        rss("<description>&lt;p onclick='x'>a&lt;script>b()&lt;/script>&lt;/p></description>"),
        "text",
        "<p>a</p>",
    ),
    "text with a relative link": (
        rss("<description>&lt;a href='/x'>y&lt;/a></description>"),
        "text",
        '<a href="https://site.example/x">y</a>',
    ),
    "content rather than description": (
        rss(
            '<description>short</description><c:encoded xmlns:c="http://purl.org/rss/1.0/modules/content/">long</c:encoded>'
        ),
        "text",
        "long",
    ),
    "content in XHTML": (
        atom(f'<id>1</id><content type="xhtml"><div {XHTML}>a &amp; <b>c</b></div></content>'),
        "text",
        "a &amp; <b>c</b>",
    ),
    "text that is no HTML": (json_feed({"id": "1", "content_text": "a < b"}), "text", "a &lt; b"),
    "text of JSON in HTML": (
        json_feed({"id": "1", "content_html": "<b>a</b><script>b</script>"}),
        "text",
        "<b>a</b>",
    ),
    "title in HTML": (rss("<title>&lt;b>Bold&lt;/b> news</title>"), "title", "Bold news"),
    "title in XHTML": (
        atom(f'<id>1</id><title type="xhtml"><div {XHTML}>a <b>c</b></div></title>'),
        "title",
        "a c",
    ),
    "text of Media RSS": (
        rss(f"<m:group {MEDIA}><m:description>long</m:description></m:group>"),
        "text",
        "long",
    ),
    "title with a script": (
        atom('<title type="html">&lt;script>a()&lt;/script>&lt;b>Bold&lt;/b> news</title>'),
        "title",
        "Bold news",
    ),
    "two authors": (
        atom("<author><name>Ann</name></author><author><name>Bob</name></author><id>1</id>"),
        "author",
        "Ann, Bob",
    ),
    "author of Atom": (atom("<id>1</id><author><name>Ann</name></author>"), "author", "Ann"),
    "author of Dublin Core": (
        rss('<dc:creator xmlns:dc="http://purl.org/dc/elements/1.1/">Ann</dc:creator>'),
        "author",
        "Ann",
    ),
    "author of the whole feed": (
        f"<feed {ATOM}><author><name>Ann</name></author><entry><id>1</id></entry></feed>",
        "author",
        "Ann",
    ),
    "authors in JSON": (
        json_feed({"id": "1", "authors": [{"name": "Ann"}, {"name": "Bob"}]}),
        "author",
        "Ann, Bob",
    ),
    "author in JSON Feed 1": (json_feed({"id": "1"}, author={"name": "Ann"}), "author", "Ann"),
    "name of the feed": (
        rss("<guid>1</guid>", channel="<title>Daily &amp; more</title>"),
        "feed",
        "Daily & more",
    ),
    "first seen": (rss("<guid>1</guid>"), "seen", "2026-06-15T12:00:00Z"),
    "enclosure": (
        rss('<enclosure url="https://a.example/1.mp3" type="audio/mpeg" length="9"/>'),
        "enclosures",
        [{"url": "https://a.example/1.mp3", "type": "audio/mpeg", "length": 9}],
    ),
    "attachment": (
        json_feed(
            {
                "id": "1",
                "attachments": [
                    {
                        "url": "https://a.example/1.mp3",
                        "mime_type": "audio/mpeg",
                        "size_in_bytes": 9,
                    }
                ],
            }
        ),
        "enclosures",
        [{"url": "https://a.example/1.mp3", "type": "audio/mpeg", "length": 9}],
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_field_is_read(name):
    feed, field, value = FIELDS[name]
    assert read(feed).items[0][field] == value


PRIVET = "<rss><channel><item><guid>1</guid><title>Привет</title></item></channel></rss>"
CAFE = "<rss><channel><item><guid>1</guid><title>Café</title></item></channel></rss>"
#: name: (body, content type, title)
ENCODINGS = {
    "header latin-1, body UTF-8": (PRIVET.encode(), "text/xml; charset=ISO-8859-1", "Привет"),
    "header UTF-8, body as declared": (
        (declared("windows-1251") + PRIVET).encode("cp1251"),
        "text/xml; charset=utf-8",
        "Привет",
    ),
    "declared UTF-8, body latin-1": ((declared("utf-8") + CAFE).encode("latin-1"), "", "Café"),
    "declared UTF-8, body of the header": (
        (declared("utf-8") + PRIVET).encode("koi8-r"),
        "text/xml; charset=koi8-r",
        "Привет",
    ),
    "declared windows-1251, body UTF-8": (
        (declared("windows-1251") + PRIVET).encode(),
        "",
        "Привет",
    ),
    "declared UTF-16, body UTF-8": ((declared("utf-16") + PRIVET).encode(), "", "Привет"),
    "UTF-16 without a mark": ((declared("utf-16") + PRIVET).encode("utf-16-le"), "", "Привет"),
    "UTF-16 the other way": ((declared("utf-16") + PRIVET).encode("utf-16-be"), "", "Привет"),
    "UTF-16 with a mark": (PRIVET.encode("utf-16"), "text/xml; charset=utf-8", "Привет"),
    "UTF-32 without a mark": (PRIVET.encode("utf-32-le"), "", "Привет"),
    "label with a hyphen": ((declared("cp-1251") + PRIVET).encode("cp1251"), "", "Привет"),
    "label of nothing": ((declared("x-none") + CAFE).encode("cp1252"), "", "Café"),
    "escapes in ASCII": (
        (declared("iso-2022-jp") + CAFE.replace("Café", "日本")).encode("iso-2022-jp"),
        "",
        "日本",
    ),
    "one broken letter of UTF-8": (
        PRIVET.replace("1<", "ю<").encode().replace(b"\xd1\x8e", b"\xd1"),
        "",
        "Привет",
    ),
    "meta in a JSON Feed": (
        json_feed(
            {"id": "1", "title": "Привет", "content_html": "<meta charset='iso-8859-1'>"}
        ).encode(),
        "",
        "Привет",
    ),
    "JSON Feed in UTF-16": (
        json_feed({"id": "1", "title": "Привет"}).encode("utf-16-be"),
        "",
        "Привет",
    ),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_letters_are_read(name):
    body, kind, title = ENCODINGS[name]
    assert values(read(body, kind=kind), "title") == [title]


def test_undecodable_letters_keep_ids_apart():
    body = (declared("utf-8") + rss(*(f"<guid>caf{e}</guid>" for e in "éèê"))).encode("latin-1")
    assert values(read(body), "id") == ["café", "cafè", "cafê"]
    body = rss(*(f"<guid>{i}</guid>" for i in "ABC")).encode()
    for letter, byte in zip(b"ABC", b"\x81\x8d\x8f", strict=True):
        body = body.replace(b">%c<" % letter, b">%c<" % byte)
    assert len(set(values(read(body), "id"))) == 3


#: name: (feed, its items, words of the note)
RECOVERED = {
    "root's attribute without quotation marks": (
        "<rss version=2.0><channel><item><guid>1</guid></item><item/></channel></rss>",
        2,
        "not well formed",
    ),
    "item not closed": (
        rss("<guid>1</guid><title>A</title><item><guid>2</guid>"),
        2,
        "not well formed",
    ),
    "damaged item between others": (
        rss("<guid>1</guid>", "<guid>2</guid><b><i></b>", "<guid>3</guid>"),
        3,
        "1 of 3 items",
    ),
    "item nested too deeply": (
        rss("<guid>1</guid>", "<a>" * 300 + "</a>" * 300),
        2,
        "1 of 2 items",
    ),
    "null in a JSON Feed": (json_feed({"id": "1"}, None), 1, "1 items"),
}


@pytest.mark.parametrize("name", RECOVERED)
def test_recovery_is_noted(name):
    feed, count, words = RECOVERED[name]
    reading = read(feed)
    assert len(reading.items) == count
    assert any(words in note for note in reading.notes)
    assert read(feed, reading.memory).notes == ()


REFUSED = {
    "cut off, with its end in a text": rss("<title><![CDATA[</rss>]]></title>")[:-6],
    "cut off in a text": rss("<title><![CDATA[</channel></rss>"),
    "page that shows a feed": "<!DOCTYPE html><html><body><pre>"
    + rss("<guid>1</guid>")
    + "</pre></html>",
    "no items, not well formed": "<rss><channel><title>a</channel></rss>",
    "JSON Feed with numbers for items": json_feed(1, 2),
    "JSON Feed with a text for items": json.dumps({"version": JSON_FEED, "items": "x"}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_damage_that_loses_items_is_refused(name):
    with pytest.raises(Unreadable):
        read(REFUSED[name])


@pytest.mark.parametrize(
    ("channel", "rest"),
    [
        ("<skipHours><hour>12</hour><hour>13</hour></skipHours>", 7200),
        ("<skipHours><hour>13</hour></skipHours>", 0),
        ("<skipHours><hour>24</hour></skipHours>", 0),
        ("<skipDays><day>Monday</day></skipDays>", 12 * 3600),
        (f"<skipHours>{''.join(f'<hour>{h}</hour>' for h in range(24))}</skipHours>", 7 * 86_400),
        ("<skipHours><hour>noon</hour></skipHours>", 0),
    ],
)
def test_feed_names_hours_of_rest(channel, rest):
    reading = read(rss("<guid>1</guid>", channel=channel))
    assert reading.rest == rest
    later = FeedReader().read(Reply(304, time=NOW + 1800), reading.memory).rest
    assert later == (max(rest - 1800, 0) if rest < 7 * 86_400 else rest)


def test_memory_of_earlier_version_is_read():
    memory = json.dumps({"ids": [], "rest": 0.0})
    assert len(read(rss("<guid>1</guid>"), memory).items) == 1


@pytest.mark.parametrize("place", ["rss", "item", "guid"])
def test_attributes_cost_no_square(place):
    """The time of feedparser alone grows with the square of the attributes of an element."""
    many = " ".join(f'a{i}=""' for i in range(40_000))
    feed = rss("<guid>1</guid>").replace(f"<{place}", f"<{place} {many}", 1)
    assert values(read(feed), "id") == ["1"]
