"""The site is a function of the request, and holds what the model says."""

from xml.etree import ElementTree

import numpy as np
import pytest

from analysis.crawl import Site, random_faults, random_site, read_feed
from analysis.crawl.local.site import Fault
from analysis.ephemeral import Sources

ONE = Sources([1.0], [1.0], [0.5])


def worth(site, source, epoch):
    reply = site.reply(source, f"/feed/{source}.xml", {}, site.time(epoch))
    return read_feed(reply, "").reward


@pytest.mark.parametrize(("decay", "before"), [(1e-12, 3600.0), (40.0, 1.0), (0.5, 1e6)])
def test_site_serves_what_age_has_left(decay, before):
    """What a crawl finds is the sum over items of utility times what age has left of it."""
    times, utility = np.array([-before, 0.0, 900.0]), np.array([1e6, 1.0, 1e-6])
    site = Site(Sources([1.0], [1.0], [decay]), [times], [utility])
    for epoch in (0, 1, 5):
        now = site.time(epoch)
        there = times <= epoch * 3600
        left = utility * np.exp(-decay * (epoch * 3600 - times) / 3600)
        found = read_feed(site.reply(0, "/feed/0.xml", {}, now), "")
        assert found.reward == pytest.approx(left[there].sum(), rel=1e-12)


def test_feed_lists_newest_items():
    site = Site(ONE, [np.arange(10) * 60.0], [np.ones(10)], length=3)
    body = site.reply(0, "/feed/0.xml", {}, site.time(1)).body
    root = ElementTree.fromstring(body)
    assert root.tag == "rss"
    assert [item.findtext("guid") for item in root.iter("item")] == ["0-9", "0-8", "0-7"]
    assert root.find("channel/item/pubDate").text == "Mon, 01 Jan 2024 00:09:00 GMT"


def test_unchanged_feed_is_304():
    site = Site(ONE, [[600.0]], [[1.0]])
    tag = site.reply(0, "/feed/0.xml", {}, site.start).headers["etag"]
    asked = {"if-none-match": tag}
    assert site.reply(0, "/feed/0.xml", asked, site.start + 599).status == 304
    assert site.reply(0, "/feed/0.xml", asked, site.start + 600).status == 200


def test_replies_are_repeatable():
    site = random_site(ONE, 10, np.random.default_rng(0))
    first = site.reply(0, "/feed/0.xml", {}, site.time(3))
    site.reply(0, "/feed/0.xml", {}, site.time(9))
    assert site.reply(0, "/feed/0.xml", {}, site.time(3)) == first


def test_other_paths_are_missing():
    site = random_site(Sources([1, 1], [1, 1], [1, 1]), 2, np.random.default_rng(0))
    for path in ("/", "/feed/2.xml", "/feed/-1.xml", "/feed/0", "/robots.txt"):
        assert site.reply(0, path, {}, site.start).status == 404, path
    assert site.reply(1, "/feed/0.xml", {}, site.start).status == 404


def test_faults_are_what_they_are_called():
    faults = [[Fault.ERROR, Fault.SILENCE, Fault.CUT]]
    site = Site(ONE, [[-60.0]], [[1.0]], faults=faults)
    replies = [site.reply(0, "/feed/0.xml", {}, site.time(k)) for k in range(4)]
    assert [reply.status for reply in replies] == [503, 504, 200, 200]
    assert replies[1].delay == np.inf
    with pytest.raises(ValueError, match="not a feed"):
        read_feed(replies[2], "")
    assert read_feed(replies[3], "").items[0]["id"] == "0-0"


def test_random_content_has_model_mean():
    """u one epoch after a crawl, within four standard errors."""
    sources = Sources([2.0], [1.5], [0.7])
    rng = np.random.default_rng(3)
    found = [worth(random_site(sources, 1, rng), 0, 0) for _ in range(2000)]
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - sources.u[0]) < 4 * error


@pytest.mark.parametrize("last", [1, 7])
def test_faults_cover_their_share_in_spells(last):
    faults = random_faults(400, 210, 0.2, np.random.default_rng(0), last=last) > 0
    assert abs(faults.mean() - 0.2) < 0.02
    begins = np.count_nonzero(np.diff(faults.astype(int), axis=1) == 1)
    assert faults.sum() / begins == pytest.approx(last / 0.8, rel=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"published": [[2.0, 1.0]]}, r"published\[0\] must be ascending"),
        ({"utility": [[1.0]]}, r"as long as utility\[0\]"),
        ({"utility": [[1.0, -1.0]]}, r"utility\[0\]\[1\]"),
        ({"hosts": [-1]}, "hosts"),
        ({"faults": [0]}, "faults"),
        ({"delay": [1.0, 1.0]}, "delay"),
        ({"length": 0}, "length"),
        ({"seconds": 0}, "seconds"),
        ({"published": []}, "published must have 1 entries"),
    ],
)
def test_what_is_wrong_is_named(options, message):
    given = {"published": [[1.0, 2.0]], "utility": [[1.0, 1.0]]} | options
    with pytest.raises(ValueError, match=message):
        Site(ONE, **given)
