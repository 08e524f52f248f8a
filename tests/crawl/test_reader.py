"""Feeds of this and of other makers."""

import pytest

from analysis.crawl import Reply, Unreadable, read_feed
from analysis.crawl.reader import conditions

PLAIN = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>A</title>
<item><title>first</title><link>/1</link><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate></item>
<item><title>second</title></item></channel></rss>"""


def test_items_without_a_value_count_one_and_are_known_by_link_or_title():
    reading = read_feed(Reply(200, {}, PLAIN), "")
    assert reading.reward == 2.0
    assert [item["id"] for item in reading.items] == ["/1", "second"]
    again = read_feed(Reply(200, {}, PLAIN), reading.memory)
    assert (again.reward, again.items) == (0.0, ())


def test_a_304_finds_nothing_and_forgets_nothing():
    memory = read_feed(Reply(200, {"etag": '"7"'}, PLAIN), "").memory
    assert conditions(memory) == {"If-None-Match": '"7"'}
    assert read_feed(Reply(304), memory).memory == memory
    assert conditions("") == {}


@pytest.mark.parametrize("status", [199, 301, 404, 410, 500, 503])
def test_other_statuses_say_nothing_about_the_source(status):
    with pytest.raises(Unreadable, match=str(status)):
        read_feed(Reply(status, {}, PLAIN), "")


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "many"])
def test_a_value_that_is_none_is_refused(value):
    item = (
        f'<item><title>a</title><w:value xmlns:w="urn:which-source-next">{value}</w:value></item>'
    )
    with pytest.raises(Unreadable):
        read_feed(Reply(200, {}, f"<rss><channel>{item}</channel></rss>".encode()), "")


def test_half_a_feed_is_refused():
    with pytest.raises(Unreadable, match="not a feed"):
        read_feed(Reply(200, {}, PLAIN[: len(PLAIN) // 2]), "")
