"""A site of feeds with hubs of WebSub on this machine: honest, refusing, silent and broken ones."""

import hashlib
import hmac
import socket
import threading
import urllib.error
import urllib.parse
import urllib.request
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class HubSite:
    """Feeds at ``/feed/NAME``, each with a hub at ``/hub/KIND``.

    `kinds` has the kind of each feed's hub: ``honest`` verifies and sends; ``refusing`` answers
    410, ``silent`` accepts and never verifies, ``broken`` closes the connection, ``mute`` verifies
    and never sends. Names that end in ``-header`` have their links in the header.
    """

    def __init__(self, kinds, lease=3600):
        self.kinds, self.lease = kinds, lease
        self.items = {name: [] for name in kinds}
        self.asked, self.subscribers, self.left = [], {}, []
        self.requests = []
        self._lock = threading.Lock()

    def __enter__(self):
        handler = type("Handler", (_Handler,), {"site": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error):
        self._server.shutdown()
        self._server.server_close()

    def urls(self):
        return [f"{self.address}/feed/{name}" for name in self.kinds]

    def hub(self, name):
        return f"{self.address}/hub/{self.kinds[name]}"

    def publish(self, name, number, when, listed=True):
        """Add an item to a feed, at a Unix time."""
        item = (
            f"<item><guid>{name}-{number}</guid><title>{number}</title>"
            f"<pubDate>{formatdate(when)}</pubDate></item>"
        )
        if listed:
            self.items[name].insert(0, item)
        return item

    def send(self, name, items, secret=None, topic=None):
        """Send items to the subscriber of a feed; return the status of its answer."""
        callback, own, own_topic = self.subscribers[name]
        body = feed(items).encode()
        signature = hmac.new((secret or own).encode(), body, hashlib.sha256).hexdigest()
        link = f'<{topic or own_topic}>; rel="self"'
        headers = {"X-Hub-Signature": f"sha256={signature}", "Link": link}
        return post(callback, body, headers | {"Content-Type": "application/rss+xml"})

    def answer_hub(self, kind, form):
        self.asked.append((kind, form))
        if kind == "refusing":
            return 410
        if kind != "silent":
            threading.Thread(target=self._verify, args=(form,), daemon=True).start()
        return 202

    def _verify(self, form):
        topic = form["hub.topic"]
        query = {
            "hub.mode": form["hub.mode"],
            "hub.topic": topic,
            "hub.challenge": "c" * 40,
            "hub.lease_seconds": str(self.lease),
        }
        status, body = get(f"{form['hub.callback']}?{urllib.parse.urlencode(query)}")
        name = topic.rpartition("/")[2]
        if (status, body) == (200, b"c" * 40):
            with self._lock:
                if form["hub.mode"] == "subscribe":
                    self.subscribers[name] = form["hub.callback"], form["hub.secret"], topic
                else:
                    self.subscribers.pop(name, None)
                    self.left.append(name)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.site.requests.append(self.path)
        _, folder, name = [*self.path.split("/"), "", ""][:3]
        if folder != "feed" or name not in self.site.kinds:
            return self._reply(404, b"")
        own, hub = f"{self.site.address}/feed/{name}", self.site.hub(name)
        links = f'<{own}>; rel="self", <{hub}>; rel=hub'
        inside = f'<atom:link rel="self" href="{own}"/><atom:link rel="hub" href="{hub}"/>'
        in_header = name.endswith("-header")
        body = feed(self.site.items[name], "" if in_header else inside).encode()
        return self._reply(200, body, {"Link": links} if in_header else {})

    def do_POST(self):
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        kind = self.path.rpartition("/")[2]
        if kind == "broken":
            self.close_connection = True
            return
        fields = dict(urllib.parse.parse_qsl(form))
        self._reply(self.site.answer_hub(kind, fields), b"")

    def _reply(self, status, body, headers=()):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def feed(items, links=""):
    return (
        '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>'
        f"<title>Feed</title>{links}{''.join(items)}</channel></rss>"
    )


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def get(url):
    return _status(urllib.request.Request(url))


def post(url, body, headers=()):
    return _status(urllib.request.Request(url, data=body, headers=dict(headers)))[0]


def _status(request):
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return 0, b""
