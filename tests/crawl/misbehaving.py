"""A site on this machine that misbehaves, one host (port) for each way in which it does."""

import gzip
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import NamedTuple

from analysis.crawl.clock import START

EPOCH = 3600
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom">{}</feed>'
RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns="http://purl.org/rss/1.0/"><channel><title>c</title></channel>{}</rdf:RDF>'
)


class Request(NamedTuple):
    """One request that a host got; `before` are those for the same path."""

    path: str
    epoch: int
    headers: dict[str, str]
    before: int
    time: float


class Answer(NamedTuple):
    """What a host answers; `act` writes to the socket itself."""

    status: int = 200
    headers: dict[str, str] | None = None
    body: bytes | str = b""
    act: Callable | None = None


def rss(*ids, more="", channel=""):
    items = "".join(f"<item><guid>{id}</guid>{more}</item>" for id in ids)
    return f"<rss version='2.0'><channel>{channel}{items}</channel></rss>"


def one_an_epoch(request):
    """An honest feed: the items of all epochs so far, the newest first."""
    return Answer(body=rss(*range(request.epoch, -1, -1)))


def no_robots(request):
    return Answer(404)


def says(text):
    """A robots.txt of so many words."""
    return lambda request: Answer(body=text)


def always(*answer, **named):
    return lambda request: Answer(*answer, **named)


def to(url, status=302):
    """A redirect, of the first path only."""

    def feed(request):
        if request.path == "/feed":
            return Answer(status, {"location": url})
        return one_an_epoch(request)

    return feed


@dataclass
class Way:
    """One way to misbehave: what a host answers for feeds and for robots.txt."""

    feed: Callable[[Request], Answer]
    robots: Callable[[Request], Answer] = no_robots
    requests: list[Request] = field(default_factory=list)

    def paths(self):
        """The paths that were requested, in order, robots.txt apart."""
        return [r.path for r in self.requests if not r.path.startswith("/robots.txt")]

    def epochs(self):
        """The epochs in which feeds were requested."""
        return [r.epoch for r in self.requests if not r.path.startswith("/robots.txt")]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """A crawler that goes away is none of its business."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    way: Way

    def do_GET(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        epoch = int((float(headers.get("x-time", START)) - START) // EPOCH)
        before = sum(request.path == self.path for request in self.way.requests)
        request = Request(self.path, epoch, headers, before, time.monotonic())
        self.way.requests.append(request)
        answer = (self.way.robots if self.path.startswith("/robots.txt") else self.way.feed)(
            request
        )
        if answer.act:
            answer.act(self)
            self.close_connection = True
            return
        body = answer.body.encode() if isinstance(answer.body, str) else answer.body
        self.send_response(answer.status)
        for name, value in (answer.headers or {}).items():
            self.send_header(name, value)
        if answer.status not in (204, 304):
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Misbehaving:
    """Serves ways to misbehave until the block ends; `urls` are their feeds, by name."""

    def __init__(self, ways):
        self.ways = ways
        self._servers = []

    def __enter__(self):
        for way in self.ways.values():
            server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"way": way}))
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            self._servers.append(server)
        self.ports = {
            name: server.server_port for name, server in zip(self.ways, self._servers, strict=True)
        }
        self.urls = {name: f"http://127.0.0.1:{port}/feed" for name, port in self.ports.items()}
        return self

    def __exit__(self, *error):
        for server in self._servers:
            server.shutdown()
            server.server_close()


def silence(handler):
    time.sleep(600)


def drip(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    for _ in range(3000):
        handler.wfile.write(b"<")
        time.sleep(0.2)


def reset(handler):
    linger = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.connection.close()


def half_a_body(handler):
    body = rss(*range(99)).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    handler.wfile.write(head + body[: len(body) // 2])


def wrong_length(handler):
    """A whole feed, of which the header says that it is longer."""
    body = rss("a").encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body) + 100}\r\n\r\n".encode()
    handler.wfile.write(head + body)


def no_last_chunk(handler):
    body = rss("a").encode()
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    handler.wfile.write(head + b"%x\r\n%b\r\n" % (len(body), body))


def many_headers(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(4000):
        handler.wfile.write(f"x-{number}: {'x' * 50}\r\n".encode())
    handler.wfile.write(b"content-length: 0\r\n\r\n")


def no_http(handler):
    handler.wfile.write(b"220 ftp.example.org ready\r\n")


def gzip_bomb(request):
    """A hundred kilobytes that unpack to a hundred megabytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = b" " * 2**20
    body = b"".join(packer.compress(zeros) for _ in range(100)) + packer.flush()
    return Answer(headers={"content-encoding": "gzip"}, body=body)


def entity_bomb(request):
    names = "abcdefghij"
    entities = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise(names))
    head = f'<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa">{entities}]>'
    return Answer(body=head + rss(1, more="<title>&j;</title>"))


def maintenance(request):
    """A page of the host in the second epoch, in place of the feed."""
    if request.epoch != 1:
        return Answer(body=rss("a", "b", "c"))
    return Answer(body="<html xmlns='http://www.w3.org/1999/xhtml'><body>Back soon.</body></html>")


def coming_and_going(request):
    return Answer(body=rss("a", "b") if request.epoch % 2 else rss("b", "c"))


def not_modified_unasked(request):
    return Answer(304) if request.before == 0 else one_an_epoch(request)


def conditional(request):
    """A feed that never changes, with an entity tag and a date."""
    if request.headers.get("if-none-match") == '"t"':
        return Answer(304)
    date = "Mon, 01 Jan 2024 00:00:00 GMT"
    return Answer(headers={"etag": '"t"', "last-modified": date}, body=rss("a"))


def dated_only(request):
    """The same with a date alone."""
    date = "Mon, 01 Jan 2024 00:00:00 GMT"
    if request.headers.get("if-modified-since") == date:
        return Answer(304)
    return Answer(headers={"last-modified": date}, body=rss("a"))


def other_status_each_time(request):
    statuses = [204, 403, 404, 418, 500, 502, 505, 999]
    return Answer(statuses[request.before % len(statuses)])


def loop(request):
    return Answer(302, {"location": "/feed" if request.path == "/a" else "/a"})


def on_and_on(path):
    """A chain of redirects to ever new addresses."""

    def answer(request):
        number = int(request.path.partition("?")[2] or 0)
        return Answer(302, {"location": f"{path}?{number + 1}"})

    return answer


def away_from_http(request):
    targets = ["file:///etc/hosts", "data:text/xml,<rss/>", "ftp://127.0.0.1/f", "javascript:1", ""]
    return Answer(302, {"location": targets[request.before % len(targets)]})


def broken_gzip(request):
    return Answer(headers={"content-encoding": "gzip"}, body=gzip.compress(b"x" * 999)[:40])


def stated(value):
    more = f'<w:value xmlns:w="urn:which-source-next">{value}</w:value>'
    return always(body=rss(1, 2, 3, more=more))


def meta_refresh(request):
    page = '<html><head><meta http-equiv="refresh" content="0; url=/private"></head></html>'
    return Answer(headers={"content-type": "text/html"}, body=page)


def cookies(request):
    answer = one_an_epoch(request)
    return answer._replace(headers={"set-cookie": "a=b; Domain=example.co.uk; Path=/"})


def large_robots(request):
    """Two megabytes; what matters stands at the beginning."""
    rules = "User-agent: *\nDisallow: /private\n" + "".join(
        f"Disallow: /{number}\n" for number in range(150_000)
    )
    return Answer(body=rules)


def then(first, later):
    """One answer for the first request for a path, another for all others."""
    return lambda request: (later if request.before else first)(request)


def ways():
    """All ways, by name; `{name}` in a redirect stands for the host of another one."""
    private = says("User-agent: *\nDisallow: /private\n")
    encoding = '<?xml version="1.0" encoding="{}"?>'
    return {
        "honest": Way(one_an_epoch),
        "Atom": Way(always(body=ATOM.format("<entry><id>1</id></entry>"))),
        "RSS 1.0": Way(always(body=RDF.format("<item><link>http://a/1</link></item>"))),
        "JSON Feed": Way(
            always(body='{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": 1}]}')
        ),
        "a page of maintenance": Way(maintenance),
        "items that come back": Way(coming_and_going),
        "an unknown encoding": Way(always(body=encoding.format("foo") + rss(1))),
        "an encoding that is none": Way(always(body=encoding.format("rot13") + rss(1))),
        "half a body": Way(always(act=half_a_body)),
        "a whole body of another length": Way(always(act=wrong_length)),
        "a whole body without its last chunk": Way(always(act=no_last_chunk)),
        "a packed file": Way(always(body=gzip.compress(rss("a").encode()))),
        "half a feed": Way(always(body=rss(*range(99))[:500])),
        "an entity bomb": Way(entity_bomb),
        "a gzip bomb": Way(gzip_bomb),
        "broken gzip": Way(broken_gzip),
        "a body without end": Way(always(body=b"<rss>" + b" " * (11 * 2**20))),
        "a guid of a megabyte": Way(always(body=rss("x" * 2**20))),
        "values that overflow": Way(stated("1e308")),
        "values that are none": Way(stated("many")),
        "304 that nobody asked for": Way(not_modified_unasked),
        "entity tag and date": Way(conditional),
        "a date alone": Way(dated_only),
        "silence": Way(always(act=silence)),
        "a drip": Way(always(act=drip)),
        "reset": Way(always(act=reset)),
        "no HTTP": Way(always(act=no_http)),
        "headers without end": Way(always(act=many_headers)),
        "another status each time": Way(other_status_each_time),
        "gone": Way(always(410)),
        "gone for robots": Way(one_an_epoch, always(410)),
        "robots.txt forbids": Way(one_an_epoch, says("User-agent: *\nDisallow: /\n")),
        "robots.txt forbids others": Way(one_an_epoch, says("User-agent: other\nDisallow: /\n")),
        "robots.txt fails": Way(one_an_epoch, always(503)),
        "robots.txt is silent": Way(one_an_epoch, always(act=silence)),
        "robots.txt is garbage": Way(one_an_epoch, always(body=bytes(range(256)) * 40)),
        "robots.txt of two megabytes": Way(to("/private"), large_robots),
        "robots.txt is elsewhere": Way(
            one_an_epoch,
            always(301, {"location": "http://127.0.0.1:{robots.txt forbids}/robots.txt"}),
        ),
        "robots.txt leads in a circle": Way(one_an_epoch, always(302, {"location": "/robots.txt"})),
        "robots.txt leads on and on": Way(one_an_epoch, on_and_on("/robots.txt")),
        "a crawl delay of 1e300": Way(one_an_epoch, says("User-agent: *\nCrawl-delay: 1e300\n")),
        "a crawl delay of 1e20": Way(one_an_epoch, says("User-agent: *\nCrawl-delay: 1e20\n")),
        "a crawl delay of three epochs": Way(
            one_an_epoch, says(f"User-agent: *\nCrawl-delay: {3 * EPOCH}\n")
        ),
        "redirect to what is forbidden": Way(to("/private"), private),
        "redirect to a host that forbids": Way(to("http://127.0.0.1:{robots.txt forbids}/x")),
        "refresh to what is forbidden": Way(meta_refresh, private),
        "redirect in a circle": Way(loop),
        "redirect on and on": Way(on_and_on("/feed")),
        "redirect out of HTTP": Way(away_from_http),
        "moved for good (301)": Way(to("/new", 301)),
        "moved for good (308)": Way(to("/new", 308)),
        "moved for now": Way(to("/new", 302)),
        "moved for good, then for now": Way(
            lambda request: {
                "/feed": Answer(301, {"location": "/b"}),
                "/b": Answer(302, {"location": "/c"}),
            }.get(request.path, one_an_epoch(request))
        ),
        "moved to what fails": Way(
            lambda request: (
                Answer(301, {"location": "/new"})
                if request.path == "/feed"
                else (one_an_epoch(request) if request.epoch < 2 else Answer(404))
            )
        ),
        "another host's tag": Way(to("http://127.0.0.1:{entity tag and date}/feed")),
        "429 with seconds": Way(then(always(429, {"retry-after": str(3 * EPOCH)}), one_an_epoch)),
        "503 with a date": Way(
            then(always(503, {"retry-after": "Mon, 01 Jan 2024 04:00:00 GMT"}), one_an_epoch)
        ),
        "Retry-After of 1e30": Way(always(503, {"retry-after": "1" + "0" * 30})),
        "Retry-After that is none": Way(then(always(429, {"retry-after": "soon"}), one_an_epoch)),
        "Cache-Control": Way(
            lambda request: one_an_epoch(request)._replace(
                headers={"cache-control": f"public, max-age={2 * EPOCH}"}
            )
        ),
        "Expires": Way(
            lambda request: one_an_epoch(request)._replace(
                headers={
                    "date": "Mon, 01 Jan 2024 00:00:00 GMT",
                    "expires": "Mon, 01 Jan 2024 02:00:00 GMT",
                }
            )
        ),
        "ttl": Way(lambda request: Answer(body=rss(request.epoch, channel="<ttl>120</ttl>"))),
        "cookies": Way(cookies),
    }
