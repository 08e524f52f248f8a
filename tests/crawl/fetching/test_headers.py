"""What headers say of freshness, waiting and redirects."""

import pytest
from scrapy.http import Headers, Response

from analysis.crawl.fetching.headers import (
    Memory,
    fresh_for,
    plain_headers,
    redirect_target,
    retry_after,
)

NEW_YEAR = 1_704_067_200.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"cache-control": "max-age=600"}, 600),
        ({"cache-control": 'private, Max-Age="600"'}, 600),
        ({"cache-control": "max-age=600", "age": "60"}, 540),
        ({"cache-control": "max-age=60", "age": "600"}, 0),
        ({"cache-control": "s-maxage=600"}, 0),  # for caches that many share
        ({"cache-control": "max-age=600, no-cache"}, 0),
        ({"cache-control": "no-store, max-age=600"}, 0),
        ({"cache-control": "max-age=-1"}, 0),
        ({"cache-control": "max-age=soon"}, 0),
        ({"cache-control": "max-age"}, 0),
        ({"cache-control": "max-age=" + "9" * 400}, 1e18),
        ({"cache-control": 'no-cache="set-cookie", max-age=600'}, 600),
        ({"cache-control": 'private="a, max-age=9", max-age=600'}, 600),
        ({"cache-control": "max-age=600, max-age=60"}, 600),
        ({"expires": "Mon, 01 Jan 2024 02:00:00 GMT"}, 7200),
        ({"expires": "Sun, 31 Dec 2023 02:00:00 GMT"}, 0),
        ({"expires": "0"}, 0),
        (
            {
                "expires": "Mon, 01 Jan 2024 02:00:00 GMT",
                "date": "Mon, 01 Jan 2024 01:00:00 GMT",
            },
            3600,
        ),
        ({"expires": "Mon, 01 Jan 2024 02:00:00 GMT", "cache-control": "max-age=60"}, 60),
    ],
)
def test_how_long_an_answer_is_fresh(headers, seconds):
    """RFC 9111, sections 4.2.1, 4.2.3, 5.2.2 and 5.3."""
    assert fresh_for(headers, NEW_YEAR) == seconds


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("Mon, 01 Jan 2024 00:02:00 GMT", 120),
        ("Monday, 01-Jan-24 00:02:00 GMT", 120),
        ("Sun, 31 Dec 2023 00:00:00 GMT", 0),
        ("-5", 0),
        ("soon", 0),
        ("٣", 0),
        ("1" + "0" * 400, 1e18),
    ],
)
def test_when_to_try_again(said, seconds):
    """RFC 9110, section 10.2.3."""
    assert retry_after({"retry-after": said}, NEW_YEAR) == seconds
    assert retry_after({}, NEW_YEAR) == 0


def test_what_is_remembered_comes_back():
    memory = Memory("reader's own", "http://a/", '"t"', "", "http://b/")
    assert Memory.read(memory.text()) == memory
    assert Memory.read("") == Memory()
    assert memory.conditions("http://a/") == {"If-None-Match": '"t"'}
    assert memory.conditions("http://b/") == {}


def test_headers_in_several_lines_are_joined():
    """RFC 9110, section 5.3; of headers with one value the last line counts."""
    lines = {"Cache-Control": ["max-age=600", "public"], "Retry-After": ["60", "120"], "X": ["a"]}
    headers = plain_headers(Headers(lines))
    assert headers == {"cache-control": "max-age=600, public", "retry-after": "120", "x": "a"}
    assert fresh_for(headers, NEW_YEAR) == 600


@pytest.mark.parametrize("coded", ["utf-8", "latin-1"])
def test_location_may_be_utf8_or_latin1(coded):
    headers = {"location": "/café".encode(coded)}
    assert redirect_target(Response("http://a.example/", 302, headers)) == (
        "http://a.example/caf%C3%A9"
    )


@pytest.mark.parametrize(
    "location",
    [
        *(
            b"http://\xe3\x80\x82",
            b"http://a.example:99999/",
            b"http://a.example:0/",
            b"http://:9/",
        ),
        *(b"http://[::1/", b"http://a b/", b"file:///etc/hosts", b"javascript:1", b"http://%00/"),
    ],
)
def test_odd_locations_lead_nowhere(location):
    assert redirect_target(Response("http://a.example/", 302, {"location": location})) is None
