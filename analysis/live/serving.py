"""Pages that show a run or a campaign while it goes on: on loopback alone, and only for who has the token in the
address.

1. A server runs at idle priority, in a process of its own, which nothing waits for: it reads files, and ends with its
   standard input, so also with the program that started it.
2. A page gets server-sent events. A browser that does not read gets the newest state when it does, because an event
   holds what has changed since the last one that was sent to it.
3. The first line on standard output is the page's address, or why there is none.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from record.errors import HostError

LOOPBACK = "127.0.0.1"
PORT = 5665
PORTS_TRIED = 20
HTML, JSON = "text/html; charset=utf-8", "application/json"
_POLICY = "default-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
_LAST_NEWS = 2.0
"""Seconds that browsers get for the last version."""
_SILENCE = 15.0
"""Seconds after which an empty comment is sent, so that a browser that is gone is noticed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request."""

    content_type: str
    body: bytes


class Pages(Protocol):
    """The pages of one run or campaign. Several threads ask for them at once, and none waits for another."""

    def answer(self, path: str, since: int, query: str) -> Answer | None:
        """The page at a path; None where there is none.

        `since` is the version that the browser has. `query` contains the token; the addresses of all further requests
        end with it.
        """

    def news(self, since: int) -> bytes:
        """The changes after a version, in one line. Changes made after the request may be among them."""


@dataclass(frozen=True, slots=True)
class OnePage:
    """A page that does not change."""

    text: str

    def answer(self, path: str, since: int, query: str) -> Answer | None:
        return Answer(HTML, self.text.encode()) if path == "/" else None

    def news(self, since: int) -> bytes:
        return b"null"


class Versions:
    """The versions of what is followed, which change while several browsers ask."""

    def __init__(self) -> None:
        self.now = 0
        self.over = False
        self.changed = threading.Condition()
        """Held while the version changes."""
        self._streams = 0

    def next(self, version: int, *, over: bool = False) -> None:
        """Tells those who wait that there is another version. To be called while `changed` is held."""
        self.now, self.over = version, over
        self.changed.notify_all()

    def stream(self, pages: Pages, since: int) -> Iterator[tuple[int, bytes | None]]:
        """Versions and what has changed up to each, until all is over; None where nothing has, for a while."""
        with self.changed:
            self._streams += 1
        try:
            while True:
                with self.changed:
                    while not self.over and self.now <= since and self.changed.wait(_SILENCE):
                        pass
                    version, over = self.now, self.over
                yield version, pages.news(since) if version > since else None
                since = version
                if over:
                    return
        finally:
            with self.changed:
                self._streams -= 1
                self.changed.notify_all()

    def close(self) -> None:
        """Waits until browsers that read have got the last version."""
        with self.changed:
            self.changed.wait_for(lambda: self._streams == 0, _LAST_NEWS)


class PageServer(ThreadingHTTPServer):
    """Serves pages."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, pages: Pages, versions: Versions, port: int = PORT) -> None:
        """Takes the port, or the next one that is free. Raises `HostError` where none of several is."""
        self.pages = pages
        self.versions = versions
        self.token = secrets.token_urlsafe(16)
        for tried in range(port, port + PORTS_TRIED):
            try:
                super().__init__((LOOPBACK, tried), _Handler)
                return
            except OSError as error:
                refusal = error
        raise HostError(
            f"ports {port} to {port + PORTS_TRIED - 1} of {LOOPBACK}: {refusal.strerror}; end what listens there, "
            "which `ss --listening --tcp --processes` shows"
        )

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/?token={self.token}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that went away is nobody's concern."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        given = parse_qs(asked.query)
        token = self.server.token
        if not hmac.compare_digest(given.get("token", [""])[0].encode(), token.encode()):
            self.send_error(HTTPStatus.FORBIDDEN, "the address that brokerlab printed has a token")
            return
        since = given.get("since", ["0"])[0]
        version = int(since) if since.isdecimal() else 0
        if asked.path == "/events":
            self._send_events(int(last) if (last := self.headers.get("Last-Event-ID", "")).isdecimal() else version)
            return
        answer = self.server.pages.answer(asked.path, version, f"token={token}")
        if answer is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self._send_head(answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing is printed beside the run's own lines."""

    def _send_head(self, content_type: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("Cache-Control", "no-store")

    def _send_events(self, version: int) -> None:
        self._send_head("text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number, news in self.server.versions.stream(self.server.pages, version):
            event = b": nothing new\n\n" if news is None else b"id: %d\ndata: %b\n\n" % (number, news)
            self.wfile.write(event)
            self.wfile.flush()


class LivePages(Pages, Protocol):
    """Pages of a run or a campaign that is still going on."""

    versions: Versions

    def follow(self, over: threading.Event) -> None:
        """Reads the files of the run or campaign again and again until it is `over`, and then once more."""


def serve_while_it_goes_on(pages: LivePages) -> None:
    """Prints the address, and serves until standard input ends."""
    with suppress(OSError):  # where a container does not let it, it runs as others do
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    try:
        server = PageServer(pages, pages.versions)
    except HostError as error:
        print(f"no page: {error}", flush=True)
        return
    print(server.address, flush=True)
    over = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    following = threading.Thread(target=pages.follow, args=(over,), daemon=True)
    following.start()
    with suppress(KeyboardInterrupt):
        sys.stdin.buffer.read()
    over.set()
    following.join()
    pages.versions.close()
