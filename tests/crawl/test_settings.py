"""Settings of a crawl and its list of sources."""

import pytest
from scrapy.settings import Settings

from analysis.crawl import policies
from analysis.crawl.local.transport import write_sources
from analysis.crawl.settings import crawl_settings, read_sources
from tests.crawl.support import some_sources


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://user:secret@news.example/feed", "user and password"),
        ("http://news.example:99999/feed", "[Pp]ort"),
        ("http://news.example:0/feed", "port"),
        ("http://[::1/feed", "IPv6"),
        ("http://\u3002/feed", "Label"),
        ("http://a b.example/feed", "host"),
        ("ftp://news.example/feed", "url"),
        ("http:///feed", "url"),
    ],
)
def test_impossible_addresses_are_refused_by_row(tmp_path, url, words):
    write_sources(tmp_path / "s.csv", some_sources(1), [url])
    with pytest.raises(ValueError, match=rf"row 1 .*{words}") as refused:
        read_sources(tmp_path / "s.csv")
    assert "secret" not in str(refused.value)


def test_duplicate_addresses_are_refused(tmp_path):
    urls = ["http://a.example/feed", "HTTP://A.example:80/feed#top"]
    write_sources(tmp_path / "s.csv", some_sources(2), urls)
    with pytest.raises(ValueError, match=r"row 2 .* got that of row 1"):
        read_sources(tmp_path / "s.csv")


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("1h,30m", "max_interval"),
        ("often,", "min_interval"),
        ("nan,", "min_interval"),
        (",-1h", "max_interval"),
        (",400d", "max_interval"),
        ("0s,", "min_interval"),
        ("3600,", "min_interval"),
    ],
)
def test_wrong_bounds_are_named(tmp_path, row, name):
    path = tmp_path / "s.csv"
    path.write_text(f"url,min_interval,max_interval\nhttp://a/,,\nhttp://b/,{row}\n")
    with pytest.raises(ValueError, match=f"row 2 .*{name}"):
        read_sources(path, rates=False)


def test_bounds_are_converted_to_epochs(tmp_path):
    path = tmp_path / "s.csv"
    bounds = [",", "90m,", ",90m", "90m,100m", ",1m", "9d,", "1h,1h"]
    rows = [f"http://a/{i},{row}\n" for i, row in enumerate(bounds)]
    path.write_text("url,min_interval,max_interval\n" + "".join(rows))
    least, most = read_sources(path, rates=False).ages(3600.0, 3, 168)
    assert least.tolist() == [3, 2, 1, 2, 1, 216, 1]
    assert most.tolist() == [168, 168, 1, 2, 1, 216, 1]


def test_rates_are_optional(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("url\nhttp://a/\nhttp://b/\n")
    assert read_sources(path, rates=False).urls == ["http://a/", "http://b/"]
    with pytest.raises(ValueError, match="arrival_rate"):
        read_sources(path)
    path.write_text("url,arrival_rate\nhttp://a/,many\n")
    with pytest.raises(ValueError, match="arrival_rate"):
        read_sources(path, rates=False)


def test_the_default_policy_knows_its_rates():
    """No learner is anybody's default; numbers may be text, as on Scrapy's command line."""
    given = crawl_settings(Settings({"CRAWL_BUDGET": "1"}))
    assert given.policy is policies.index
    assert given.budget == 1


def test_there_are_two_clocks():
    with pytest.raises(ValueError, match="CRAWL_CLOCK"):
        crawl_settings(Settings({"CRAWL_BUDGET": 1, "CRAWL_CLOCK": "wall"}))
