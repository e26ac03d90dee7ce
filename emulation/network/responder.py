"""Answers other hosts' questions (`echo`), and takes their probes at this host's ends of links that cross hosts.

    python -m emulation.network.responder ADDRESS PORT       (the token comes first on standard input, as hex digits)

A process of its own, so that the emulator's work is not in the measurements. Each further line on standard input is
`PROCESS ADDRESS`: from then on probes to `PROBE_PORT` of this address, in the network namespace of that process, are
noted. Every line is answered by one: `ok`, or what went wrong. The responder ends when its standard input does.
"""

from __future__ import annotations

import argparse
import contextlib
import select
import socket
import struct
import sys
import time
from collections import OrderedDict

from emulation.network.echo import (
    ARRIVAL,
    ARRIVALS_ANSWER,
    ARRIVALS_AT_ONCE,
    CLOCK_ANSWER,
    PROBE,
    PROBE_PORT,
    QUESTION,
    TOKEN_BYTES,
    Kind,
)
from emulation.network.model import NetworkError
from emulation.network.namespaces import in_namespace

_TIMESTAMP_OPTION = 35  # SO_TIMESTAMPNS
_TIMESPEC = struct.Struct("@qq")
_RECEIVE_BUFFER_FORCE, _BUFFER = 33, 4 << 20
_FIRST = struct.Struct("!I")
SESSIONS, ARRIVALS_KEPT = 32, 100_000
"""Probers whose packets are remembered, and packets of each; what is beyond counts as lost."""


class Responder:
    """See the module."""

    def __init__(self, address: str, port: int, token: bytes) -> None:
        """Raises `OSError` when the address or the port is not to be had."""
        self._token = token
        self._sessions: OrderedDict[int, list[tuple[int, int, int, int]]] = OrderedDict()
        self._underlay = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._underlay.bind((address, port))
        self._links: dict[int, socket.socket] = {}
        self._epoll = select.epoll()
        self._epoll.register(self._underlay, select.EPOLLIN)

    def listen(self, process: int, address: str) -> None:
        """Takes probes at an address in the namespace of a process. Raises `NetworkError` or `OSError`."""
        opened = in_namespace(process, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK))
        opened.setsockopt(socket.SOL_SOCKET, _TIMESTAMP_OPTION, 1)
        opened.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER_FORCE, _BUFFER)
        opened.bind((address, PROBE_PORT))
        self._links[opened.fileno()] = opened
        self._epoll.register(opened, select.EPOLLIN)

    def run(self) -> None:
        """Serves until standard input ends."""
        commands = sys.stdin.fileno()
        self._epoll.register(commands, select.EPOLLIN)
        while True:
            for descriptor, _ in self._epoll.poll():
                if descriptor == commands:
                    line = sys.stdin.readline()
                    if not line:
                        return
                    self._obey(line)
                elif descriptor == self._underlay.fileno():
                    self._answer()
                else:
                    self._take(self._links[descriptor])

    def _obey(self, line: str) -> None:
        process, address = line.split()
        try:
            self.listen(int(process), address)
        except (NetworkError, OSError) as error:
            print(f"cannot take probes at {address}: {error}", flush=True)
        else:
            print("ok", flush=True)

    def _answer(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                question, asker = self._underlay.recvfrom(2048)
                received = time.monotonic_ns(), time.time_ns()
                if len(question) < CLOCK_ANSWER.size or question[:TOKEN_BYTES] != self._token:
                    continue
                _, kind, number, subject = QUESTION.unpack_from(question)
                answer = b""
                if kind == Kind.CLOCK:
                    times = received[0], time.monotonic_ns(), received[1], time.time_ns()
                    answer = CLOCK_ANSWER.pack(self._token, kind, number, *times)
                elif kind == Kind.ARRIVALS:
                    answer = self._arrivals(number, subject, _FIRST.unpack_from(question, QUESTION.size)[0])
                with contextlib.suppress(OSError):  # the asker is gone
                    self._underlay.sendto(answer, asker)

    def _arrivals(self, number: int, session: int, first: int) -> bytes:
        found = self._sessions.get(session, [])
        told = b"".join(ARRIVAL.pack(*arrival) for arrival in found[first : first + ARRIVALS_AT_ONCE])
        return ARRIVALS_ANSWER.pack(self._token, Kind.ARRIVALS, number, len(found)) + told

    def _take(self, link: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                packet, ancillary, _, _ = link.recvmsg(PROBE.size, _TIMESPEC.size + 64)
                if len(packet) < PROBE.size:
                    continue
                session, index, sequence, sent = PROBE.unpack(packet)
                seconds, nanoseconds = _TIMESPEC.unpack(ancillary[0][2])
                if session not in self._sessions:
                    self._sessions[session] = []
                    if len(self._sessions) > SESSIONS:
                        self._sessions.popitem(last=False)
                if len(self._sessions[session]) < ARRIVALS_KEPT:
                    self._sessions[session].append((index, sequence, sent, seconds * 1_000_000_000 + nanoseconds))


def main() -> None:
    """The process."""
    parser = argparse.ArgumentParser(prog="python -m emulation.network.responder", description=__doc__)
    parser.add_argument("address", help="of the underlay, on which to answer")
    parser.add_argument("port", type=int)
    arguments = parser.parse_args()
    token = bytes.fromhex(sys.stdin.readline())
    try:
        responder = Responder(arguments.address, arguments.port, token)
    except OSError as error:
        print(f"cannot answer on UDP {arguments.address}:{arguments.port}: {error.strerror}", flush=True)
        return
    print("ok", flush=True)
    responder.run()


if __name__ == "__main__":
    main()
