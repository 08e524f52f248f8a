"""What requests to the callback can cost: they are refused by their heads, and end in time."""

import pytest
from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransportWithDisconnection

from analysis.crawl.signals.server import LONGEST, MOST_BODY, MOST_CONNECTIONS, Server
from analysis.crawl.signals.service import Answer


class Talk:
    """One connection to a server that knows the path /known."""

    def __init__(self, server=None, clock=None):
        self.clock = clock or Clock()
        self.asked = []
        self.server = server or Server(lambda path: path == "/known", self.answer, self.clock)
        self.channel = self.server.buildProtocol(IPv4Address("TCP", "127.0.0.1", 1))
        self.transport = StringTransportWithDisconnection()
        self.transport.protocol = self.channel
        self.transport.abortConnection = self.transport.loseConnection
        self.transport.unregisterProducer = lambda: None  # this one minds being told twice
        self.channel.makeConnection(self.transport)

    def answer(self, asked):
        self.asked.append(asked)
        return Answer(200, b"fine")

    def send(self, data):
        if self.transport.connected:
            self.channel.dataReceived(data)
        self.clock.advance(0)

    @property
    def status(self):
        words = self.transport.value().split()
        return int(words[1]) if words else None


def head(method="POST", path="/known", **headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: a"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def test_known_path_is_answered():
    talk = Talk()
    talk.send(head("GET", "/known?a=1"))
    assert talk.status == 200
    assert talk.transport.value().endswith(b"\r\n\r\nfine")
    assert talk.asked[0][:3] == ("GET", "/known", "a=1")
    talk = Talk()
    talk.send(head(Content_Length=4, X_Hub_Signature="x") + b"body")
    assert (talk.asked[0].body, talk.asked[0].headers["x-hub-signature"]) == (b"body", "x")


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (head(path="/other", Content_Length=10**6), 404),
        (head("GET", "/other"), 404),
        (head("PUT", Content_Length=5), 405),
        (head("DELETE"), 405),
        (head(Content_Length=MOST_BODY + 1), 413),
        (head(Content_Length=10**15), 413),
        (head("GET", Content_Length=100), 413),
        (head(Transfer_Encoding="chunked"), 411),
        (head(Content_Length=-1), 400),
        (head("GET", "/known?hub.challenge=" + "c" * 10**6), None),
        (head("GET", **{f"x{i}": "y" * 1000 for i in range(1000)}), 400),
        (b"\x16\x03\x01" + b"\x00" * 500 + b"\r\n\r\n", 400),
    ],
)
def test_refused_by_its_head(request_head, status):
    """No body is waited for, and nothing of one is kept."""
    talk = Talk()
    talk.send(request_head)
    assert talk.status == status
    assert not talk.asked
    for _ in range(100):
        talk.send(b"x" * 10_000)
    assert not talk.transport.connected
    assert not talk.asked
    assert len(talk.transport.value()) < 100_000


def test_slow_request_ends_in_time():
    """A byte a second: the connection ends although it is never idle."""
    talk = Talk()
    talk.send(head(Content_Length=10_000))
    seconds = 0
    while talk.transport.connected and seconds < 1000:
        talk.send(b"x")
        talk.clock.advance(1.0)
        seconds += 1
    assert seconds <= LONGEST + 1
    assert not talk.asked
    assert not talk.clock.getDelayedCalls() or talk.server.connections == 0


def test_idle_connection_ends():
    talk = Talk()
    talk.send(b"GET /kno")
    talk.clock.pump([1.0] * 10)
    assert not talk.transport.connected
    assert talk.server.connections == 0


def test_connections_are_limited():
    first = Talk()
    others = [Talk(first.server, first.clock) for _ in range(MOST_CONNECTIONS + 20)]
    assert sum(talk.transport.connected for talk in [first, *others]) == MOST_CONNECTIONS
    others[0].transport.loseConnection()
    assert Talk(first.server, first.clock).transport.connected


def test_failing_answer_is_an_error(caplog):
    talk = Talk()
    talk.server.answer = lambda asked: 1 / 0
    talk.send(head("GET"))
    assert talk.status == 500
