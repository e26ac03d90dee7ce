"""Replies to the requests of other hosts (`echo`) and receives their probes at this host's ends of links between hosts.

    python -m emulation.network.probing.responder ADDRESS PORT

It is a process of its own, so that measurements do not include the emulator's work. The first line on standard input is
the token, as hex digits; each further line is a command:

    listen PROCESS ADDRESS   Record probes to `PROBE_PORT` of this address, in the network namespace of that process.
    reached STAGE VALUE      Reply from now on that this host has reached the stage of this number, with this value.

It prints one line for each: `ok`, or the error. The responder ends when its standard input does.
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

from emulation.network.model import NetworkError
from emulation.network.namespaces import in_namespace
from emulation.network.probing.echo import (
    ARRIVAL,
    ARRIVALS_AT_ONCE,
    ARRIVALS_REPLY,
    CLOCK_REPLY,
    PROBE,
    PROBE_PORT,
    REQUEST,
    STAGE_REPLY,
    TOKEN_BYTES,
    EchoKind,
)

_TIMESTAMP_OPTION = 35  # SO_TIMESTAMPNS
_TIMESPEC = struct.Struct("@qq")
_RECEIVE_BUFFER_FORCE, _BUFFER = 33, 4 << 20
_FIRST = struct.Struct("!I")
SESSIONS, ARRIVALS_KEPT = 32, 100_000
"""Sessions of probers that are kept, and packets of each; packets beyond that count as lost."""


class Responder:
    """The responder of one host."""

    def __init__(self, address: str, port: int, token: bytes) -> None:
        """Raises `OSError` if the address or the port cannot be bound."""
        self._token = token
        self._sessions: OrderedDict[int, list[tuple[int, int, int, int]]] = OrderedDict()
        self._requests = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._requests.bind((address, port))
        self._stages: dict[int, int] = {}
        """Value of each stage that this host has reached."""
        self._links: dict[int, socket.socket] = {}
        self._epoll = select.epoll()
        self._epoll.register(self._requests, select.EPOLLIN)

    def listen(self, process: int, address: str) -> None:
        """Receives probes at an address in the namespace of a process. Raises `NetworkError` or `OSError`."""
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
                    print(self._obey(line), flush=True)
                elif descriptor == self._requests.fileno():
                    self._reply()
                else:
                    self._receive(self._links[descriptor])

    def _obey(self, line: str) -> str:
        """Carries out a command; returns the line to print."""
        match line.split():
            case ["listen", process, address]:
                try:
                    self.listen(int(process), address)
                except (NetworkError, OSError) as error:
                    return f"cannot receive probes at {address}: {error}"
            case ["reached", stage, value]:
                self._stages[int(stage)] = int(value)
            case _:
                return f"not a command: {line.strip()}"
        return "ok"

    def _reply(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                request, sender = self._requests.recvfrom(2048)
                received = time.monotonic_ns(), time.time_ns()
                if len(request) < CLOCK_REPLY.size or request[:TOKEN_BYTES] != self._token:
                    continue
                _, kind, number, subject = REQUEST.unpack_from(request)
                reply = b""
                if kind == EchoKind.CLOCK:
                    times = received[0], time.monotonic_ns(), received[1], time.time_ns()
                    reply = CLOCK_REPLY.pack(self._token, kind, number, *times)
                elif kind == EchoKind.ARRIVALS:
                    reply = self._arrivals(number, subject, _FIRST.unpack_from(request, REQUEST.size)[0])
                elif kind == EchoKind.STAGE:
                    reply = self._stage(number, subject)
                with contextlib.suppress(OSError):  # the sender has ended
                    self._requests.sendto(reply, sender)

    def _stage(self, number: int, stage: int) -> bytes:
        reached = stage in self._stages
        return STAGE_REPLY.pack(self._token, EchoKind.STAGE, number, reached, self._stages.get(stage, 0))

    def _arrivals(self, number: int, session: int, first: int) -> bytes:
        found = self._sessions.get(session, [])
        arrivals = b"".join(ARRIVAL.pack(*arrival) for arrival in found[first : first + ARRIVALS_AT_ONCE])
        return ARRIVALS_REPLY.pack(self._token, EchoKind.ARRIVALS, number, len(found)) + arrivals

    def _receive(self, link: socket.socket) -> None:
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
    """Runs the responder."""
    parser = argparse.ArgumentParser(prog="python -m emulation.network.probing.responder", description=__doc__)
    parser.add_argument("address", help="IPv4 address on which to reply")
    parser.add_argument("port", type=int)
    arguments = parser.parse_args()
    token = bytes.fromhex(sys.stdin.readline())
    try:
        responder = Responder(arguments.address, arguments.port, token)
    except OSError as error:
        print(f"cannot reply on UDP {arguments.address}:{arguments.port}: {error.strerror}", flush=True)
        return
    print("ok", flush=True)
    responder.run()


if __name__ == "__main__":
    main()
