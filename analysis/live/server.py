"""The server of a run's page, on loopback alone and for those who have its token.

    python -m analysis.live.server RUN_DIRECTORY

1. It runs at idle priority, in a process of its own, which nothing waits for: it reads logs, asks no node anything, and
   ends with its standard input, so also with the program that started it.
2. The page gets server-sent events. A browser that does not read gets the newest state when it does, because an event
   holds what has changed since the last one that was sent to it.
3. Its first line on standard output is the page's address.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec

from analysis.live.follower import Follower
from analysis.live.frames import State
from analysis.live.page import live_page

LOOPBACK = "127.0.0.1"
PORT = 5665
PORTS_TRIED = 20
LOOK_EVERY = 0.5
"""Seconds between two looks at the logs."""
_POLICY = "default-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
_LAST_NEWS = 2.0
"""Seconds that browsers get for the last version."""
_SILENCE = 15.0
"""Seconds after which an empty comment is sent, so that a browser that is gone is noticed."""


class Feed:
    """A follower that several browsers may ask. It looks by itself while the run goes on."""

    def __init__(self, follower: Follower, draw: Callable[[State], str]) -> None:
        """`draw` makes the page from a state."""
        self._follower = follower
        self._draw = draw
        self._changed = threading.Condition()
        self._over = False
        self._streams = 0

    def follow(self, over: threading.Event) -> None:
        """Looks at the logs until the run is over, and then once more."""
        while not over.wait(LOOK_EVERY):
            with self._changed:
                self._follower.look()
                self._changed.notify_all()
        self.finish()

    def finish(self) -> None:
        """Reads the logs to their end."""
        with self._changed:
            self._follower.finish()
            self._over = True
            self._changed.notify_all()

    def page(self) -> bytes:
        with self._changed:
            return self._draw(self._follower.state()).encode()

    def state(self, since: int) -> bytes:
        with self._changed:
            return msgspec.json.encode(self._follower.state(since))

    def news(self, since: int) -> Iterator[tuple[int, bytes | None]]:
        """Versions and what has changed up to each, until the run is over; None where nothing has, for a while."""
        with self._changed:
            self._streams += 1
        try:
            while True:
                with self._changed:
                    while not self._over and self._follower.version <= since and self._changed.wait(_SILENCE):
                        pass
                    version, over = self._follower.version, self._over
                    news = msgspec.json.encode(self._follower.state(since)) if version > since else None
                yield version, news
                since = version
                if over:
                    return
        finally:
            with self._changed:
                self._streams -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Waits until browsers that read have got the last version."""
        with self._changed:
            self._changed.wait_for(lambda: self._streams == 0, _LAST_NEWS)


class PageServer(ThreadingHTTPServer):
    """Serves one run's page."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, feed: Feed, port: int) -> None:
        """Takes the port, or the next one that is free. Raises `OSError` where none of several is."""
        self.feed = feed
        self.token = secrets.token_urlsafe(16)
        for tried in range(port, port + PORTS_TRIED):
            try:
                super().__init__((LOOPBACK, tried), _Handler)
                return
            except OSError:
                if tried == port + PORTS_TRIED - 1:
                    raise

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/?token={self.token}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that went away is none of the run's concern."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        given = parse_qs(asked.query)
        if not hmac.compare_digest(given.get("token", [""])[0].encode(), self.server.token.encode()):
            self.send_error(HTTPStatus.FORBIDDEN, "the address that brokerlab printed has a token")
            return
        since = given.get("since", ["0"])[0]
        version = int(since) if since.isdecimal() else 0
        if asked.path == "/":
            self._answer("text/html; charset=utf-8", self.server.feed.page())
        elif asked.path == "/state":
            self._answer("application/json", self.server.feed.state(version))
        elif asked.path == "/events":
            self._send_events(int(last) if (last := self.headers.get("Last-Event-ID", "")).isdecimal() else version)
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing is printed beside the run's own lines."""

    def _answer(self, content_type: str, body: bytes) -> None:
        self._send_head(content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_head(self, content_type: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("Cache-Control", "no-store")

    def _send_events(self, version: int) -> None:
        self._send_head("text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number, news in self.server.feed.news(version):
            event = b": nothing new\n\n" if news is None else b"id: %d\ndata: %b\n\n" % (number, news)
            self.wfile.write(event)
            self.wfile.flush()


def main() -> None:
    with suppress(OSError):  # where a container does not let it, it runs as others do
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    feed = Feed(Follower(Path(sys.argv[1])), live_page)
    server = PageServer(feed, PORT)
    print(server.address, flush=True)
    over = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    following = threading.Thread(target=feed.follow, args=(over,), daemon=True)
    following.start()
    with suppress(KeyboardInterrupt):
        sys.stdin.buffer.read()
    over.set()
    following.join()
    feed.close()


if __name__ == "__main__":
    main()
