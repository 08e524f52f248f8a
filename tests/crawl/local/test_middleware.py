"""Nothing but this machine is ever contacted."""

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from analysis.crawl import check_local
from analysis.crawl.local.middleware import LocalOnly

AWAY = [
    "http://192.0.2.1/feed",
    "http://example.org/",
    "http://localhost/",
    "http://127.0.0.1.example.org/",
    "http://127.0.0.1@192.0.2.1/",
    "http://[2001:db8::1]/",
    "http://2130706433.example/",
    "file:///etc/hosts",
]


@pytest.mark.parametrize("url", AWAY)
def test_other_addresses_and_names_are_refused(url):
    with pytest.raises(ValueError, match="loopback"):
        check_local(url)
    with pytest.raises(IgnoreRequest):
        LocalOnly().process_request(Request(url))


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/a", "http://127.9.9.9/", "http://[::1]/"])
def test_addresses_of_this_machine_pass(url):
    assert check_local(url) == url
    assert LocalOnly().process_request(Request(url)) is None
