"""The socket of a supervisor: in a directory that only its user enters, one request and one answer a connection."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from emulation.held.hold import Hold
from emulation.held.requests import MOST_REQUEST_BYTES, Refused, encoded, read_request

_FOLDER, _SOCKET = "held", "socket"


def socket_of(run: Path) -> Path:
    """The path of the socket, given the directory of the run's sockets."""
    return run / _FOLDER / _SOCKET


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = False
    """False, so that the process does not end before every answer is sent."""
    block_on_close = False
    """False, because whoever asked for the end of the run waits until it has been judged, longer than the socket."""

    def __init__(self, path: Path, hold: Hold) -> None:
        self.hold = hold
        super().__init__(str(path), _Connection)


class _Connection(socketserver.StreamRequestHandler):
    timeout = 10
    """Seconds that a request may take to arrive."""
    server: _Server

    def handle(self) -> None:
        with suppress(OSError):  # whoever asked has gone, or sends nothing
            request = read_request(self.rfile.readline(MOST_REQUEST_BYTES + 1))
            answer = request if isinstance(request, Refused) else self.server.hold.ask(request)
            self.connection.settimeout(self.timeout)
            self.wfile.write(encoded(answer))


@contextmanager
def served(hold: Hold, run: Path) -> Iterator[None]:
    """Answers requests on the socket of a run that is registered."""
    path = socket_of(run)
    path.parent.mkdir(mode=0o700)
    with _Server(path, hold) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.2,), name="held run", daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
