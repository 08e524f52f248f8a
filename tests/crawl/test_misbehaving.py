"""A site that misbehaves in some sixty ways, each a test by name, and an honest feed beside them.

Every test is named by what its host does. All of it is one crawl over HTTP, in virtual time, of
`EPOCHS` epochs in which every source may be fetched.
"""

import re

import pytest

from analysis.crawl.frontier.state import FAILED, FORBIDDEN, FOUND, GONE
from analysis.crawl.local.transport import crawl_over_http, write_sources
from analysis.crawl.store import read_log
from tests.crawl.misbehaving import EPOCH, Answer, Misbehaving, ways
from tests.crawl.support import some_sources

pytestmark = pytest.mark.process

EPOCHS = 8
BACK_OFF = [0, 1, 3, 7]
"""Epochs in which a source that always fails is request."""
EVERY = list(range(EPOCHS))


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """Crawl all hosts; return their log by name and epoch, and the requests that each got."""
    folder = tmp_path_factory.mktemp("misbehaving")
    with Misbehaving(ways()) as site:
        for way in site.ways.values():
            way.feed, way.robots = (_aimed(f, site.ports) for f in (way.feed, way.robots))
        write_sources(
            folder / "sources.csv", some_sources(len(site.urls)), list(site.urls.values())
        )
        settings = {
            "CRAWL_SOURCES": str(folder / "sources.csv"),
            "CRAWL_BUDGET": len(site.urls),
            "CRAWL_EPOCHS": EPOCHS,
            "CRAWL_CLOCK": "virtual",
            "CRAWL_PERIOD": EPOCH,
            "CRAWL_POLICY": "analysis.crawl.policies.round_robin",
            "JOBDIR": str(folder / "state"),
            "DOWNLOAD_TIMEOUT": 4.0,
            "CONCURRENT_REQUESTS": 16,
            "LOG_LEVEL": "INFO",
            "LOG_FILE": str(folder / "log"),
        }
        crawl_over_http([settings], timeout=500)
    log = read_log(folder / "state")
    names = {url: name for name, url in site.urls.items()}
    log["name"] = log["source"].map(names)
    return log.set_index(["name", "epoch"]), site.ways, (folder / "log").read_text()


def _aimed(answers, ports):
    """Put the ports of hosts in place of their names in redirects."""

    def answer(request):
        given = answers(request)
        if given.headers and "location" in given.headers:
            location = re.sub(
                r"\{(.*?)\}", lambda name: str(ports[name[1]]), given.headers["location"]
            )
            given = given._replace(headers=given.headers | {"location": location})
        assert isinstance(given, Answer)
        return given

    return answer


@pytest.fixture
def kinds(crawled):
    """How the fetches of a host ended, by epoch."""
    return lambda name: crawled[0].loc[name, "kind"].to_dict()


@pytest.fixture
def items(crawled):
    """How many new items a host had, in all."""
    return lambda name: int(crawled[0].loc[name, "items"].sum())


def test_hosts_are_isolated(crawled, kinds, items):
    """The crawl comes to its last epoch, and an honest feed is fetched in each of them."""
    log, _, _ = crawled
    assert log.index.get_level_values("epoch").max() == EPOCHS - 1
    assert kinds("honest") == dict.fromkeys(EVERY, FOUND)
    assert items("honest") == EPOCHS


def test_epochs_are_logged(crawled):
    lines = re.findall(r"epoch (\d+): \d+ of \d+ fetches", crawled[2])
    assert [int(number) for number in lines] == EVERY


@pytest.mark.parametrize(
    "name",
    [
        "Atom",
        "RSS 1.0",
        "JSON Feed",
        "an unknown encoding",
        "an encoding that is none",
        "a whole body of another length",
        "a whole body without its last chunk",
        "a packed file",
    ],
)
def test_other_dialects_are_read(kinds, items, name):
    assert set(kinds(name).values()) == {FOUND}
    assert items(name) == 1


def test_maintenance_page_keeps_items(kinds, items):
    assert kinds("a page of maintenance")[1] == FAILED
    assert items("a page of maintenance") == 3


def test_items_that_come_back_count_once(items):
    assert items("items that come back") == 3


@pytest.mark.parametrize(
    "name",
    [
        "half a body",
        "half a feed",
        "a gzip bomb",
        "broken gzip",
        "a body without end",
        "values that overflow",
        "values that are none",
        "silence",
        "a drip",
        "reset",
        "no HTTP",
        "headers without end",
        "another status each time",
        "redirect in a circle",
        "redirect on and on",
        "redirect out of HTTP",
        "refresh to what is forbidden",
        "robots.txt fails",
        "robots.txt is silent",
    ],
)
def test_non_feed_backs_off(kinds, items, name):
    assert kinds(name) == dict.fromkeys(BACK_OFF, FAILED)
    assert items(name) == 0


def test_an_entity_bomb_harms_nobody(kinds):
    assert set(kinds("an entity bomb").values()) <= {FOUND, FAILED}


def test_huge_guid_is_one_item(items):
    assert items("a guid of a megabyte") == 1


def test_unrequested_304_is_no_feed(kinds, items):
    found = kinds("304 that nobody asked for")
    assert (found.pop(0), set(found.values())) == (FAILED, {FOUND})
    assert items("304 that nobody asked for") == EPOCHS


@pytest.mark.parametrize(("name", "sources"), [("entity tag and date", 2), ("a date alone", 1)])
def test_last_modified_is_sent(crawled, items, name, sources):
    """RFC 9110, sections 13.1.2 and 13.1.3; the first host is the target of a redirect, too."""
    log, sites, _ = crawled
    feeds = [one for one in sites[name].requests if one.path == "/feed"]
    own = [one for one in feeds if "if-modified-since" in one.headers]
    assert (len(feeds), len(own)) == (sources * EPOCHS, sources * (EPOCHS - 1))
    assert {one.headers["if-modified-since"] for one in own} == {"Mon, 01 Jan 2024 00:00:00 GMT"}
    tag = '"t"' if name == "entity tag and date" else None
    assert {one.headers.get("if-none-match") for one in own} == {tag}
    assert log.loc[name, "status"].tolist() == [200] + [304] * (EPOCHS - 1)
    assert items(name) == 1


def test_etag_stays_with_its_address(crawled, kinds):
    _, sites, _ = crawled
    assert kinds("another host's tag") == dict.fromkeys(EVERY, FOUND)
    assert all("if-none-match" not in a.headers for a in sites["another host's tag"].requests)


def test_gone_is_asked_once(crawled, kinds):
    _, sites, _ = crawled
    assert kinds("gone") == {0: GONE}
    assert sites["gone"].paths() == ["/feed"]


@pytest.mark.parametrize(
    "name",
    [
        "gone for robots",
        "robots.txt forbids others",
        "robots.txt is garbage",
        "robots.txt leads in a circle",
        "robots.txt leads on and on",
    ],
)
def test_unusable_robots_txt_allows(kinds, name):
    """RFC 9309, sections 2.2.1, 2.3.1.2 and 2.3.1.3."""
    assert kinds(name) == dict.fromkeys(EVERY, FOUND)


def test_five_redirects_of_robots_are_followed(crawled):
    assert len(robots_of(crawled[1]["robots.txt leads on and on"])) == 6
    assert len(robots_of(crawled[1]["robots.txt leads in a circle"])) == 1


def robots_of(way):
    return [request for request in way.requests if request.path.startswith("/robots.txt")]


def test_redirect_circles_are_noticed_at_once(crawled):
    """RFC 9110, section 15.4; a chain of new addresses ends with Scrapy's limit."""
    _, sites, _ = crawled
    assert sites["redirect in a circle"].paths() == ["/feed", "/a"] * len(BACK_OFF)
    assert len(sites["redirect on and on"].paths()) == 21 * len(BACK_OFF)


@pytest.mark.parametrize("name", ["robots.txt forbids", "robots.txt is elsewhere"])
def test_forbidden_path_is_not_asked(crawled, kinds, name):
    """RFC 9309, section 2.2.2, and 2.3.1.2 where the rules lie on another host."""
    assert kinds(name) == {0: FORBIDDEN}
    assert crawled[1][name].paths() == []


@pytest.mark.parametrize("name", ["robots.txt fails", "robots.txt is silent"])
def test_unreachable_robots_txt_forbids(crawled, name):
    """RFC 9309, section 2.3.1.4."""
    assert crawled[1][name].paths() == []


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("redirect to what is forbidden", None),
        ("redirect to a host that forbids", "robots.txt forbids"),
        ("robots.txt of two megabytes", None),
    ],
)
def test_redirect_obeys_robots_txt(crawled, kinds, name, target):
    """RFC 9309, section 2.2.2, and 2.5: half a megabyte of rules is read."""
    _, sites, _ = crawled
    assert kinds(name) == {0: FORBIDDEN}
    assert sites[name].paths() == ["/feed"]
    if target:
        assert sites[target].paths() == []
        assert any(request.path == "/robots.txt" for request in sites[target].requests)


def test_a_refresh_leads_nowhere(crawled):
    assert set(crawled[1]["refresh to what is forbidden"].paths()) == {"/feed"}


def test_robots_txt_once_a_day(crawled):
    """RFC 9309, section 2.4; the crawl is over before a day is."""
    for name in ("honest", "Atom", "robots.txt forbids others", "cookies"):
        paths = [request.path for request in crawled[1][name].requests]
        assert paths.count("/robots.txt") == 1, name


@pytest.mark.parametrize("name", ["a crawl delay of 1e300", "a crawl delay of 1e20"])
def test_excessive_crawl_delay_is_harmless(kinds, name):
    assert kinds(name) == {0: FOUND}


def test_crawl_delay_of_three_epochs(crawled):
    assert crawled[1]["a crawl delay of three epochs"].epochs() == [0, 3, 6]


@pytest.mark.parametrize("name", ["moved for good (301)", "moved for good (308)"])
def test_permanent_redirect_is_remembered(crawled, items, name):
    """RFC 9110, sections 15.4.2 and 15.4.9."""
    assert crawled[1][name].paths() == ["/feed", *["/new"] * EPOCHS]
    assert items(name) == EPOCHS


def test_temporary_redirect_is_not_remembered(crawled):
    assert crawled[1]["moved for now"].paths() == ["/feed", "/new"] * EPOCHS


def test_permanent_then_temporary_redirect(crawled):
    assert crawled[1]["moved for good, then for now"].paths() == [
        "/feed",
        *["/b", "/c"] * EPOCHS,
    ]


def test_failing_new_address_is_dropped(crawled, kinds):
    assert crawled[1]["moved to what fails"].paths()[:6] == [
        *["/feed", "/new"],
        *["/new"],
        *["/new"],
        *["/feed", "/new"],
    ]
    assert kinds("moved to what fails")[2] == FAILED


@pytest.mark.parametrize(
    ("name", "epochs"),
    [
        ("429 with seconds", [0, *range(3, EPOCHS)]),
        ("503 with a date", [0, *range(4, EPOCHS)]),
        ("Retry-After of 1e30", [0]),
        ("Retry-After that is none", EVERY),
    ],
)
def test_retry_after_is_kept(crawled, name, epochs):
    """RFC 9110, section 10.2.3; RFC 6585, section 4."""
    assert crawled[1][name].epochs() == epochs


@pytest.mark.parametrize("name", ["Cache-Control", "Expires", "ttl"])
def test_feed_interval_is_minimum(crawled, name):
    """RFC 9111, section 4.2.1; <ttl> of RSS 2.0."""
    assert crawled[1][name].epochs() == [0, 2, 4, 6]


def test_cookies_are_ignored(crawled):
    assert all("cookie" not in request.headers for request in crawled[1]["cookies"].requests)
    assert "tldextract" not in crawled[2]


def test_statistics_describe_crawl(crawled):
    said = crawled[2].rpartition("Dumping Scrapy stats")[2]
    for name in ("spent", "budget", "found", "failed", "forbidden", "gone", "not_modified", "late"):
        assert f"'crawl/{name}': " in said
    for part in ("median", "p90", "max"):
        assert f"'crawl/age/{part}': " in said
