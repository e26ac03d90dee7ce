"""Looks at restarted brokers from outside, until they listen for clients.

A broker binds its socket once it can serve sessions (docs/broker-contract.md, R-1). A container or a process is up
before that: a virtual machine or an interpreter has to start in it, on a host that may be busy.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Mapping
from typing import NamedTuple

from broker_service.transport.methods import UNIX
from broker_service.transport.socket_files import SocketFile
from topology.link_properties import BrokerId

_AGAIN = 0.02
"""Seconds between two looks."""


class Listening(NamedTuple):
    """A restarted broker listens. Times are nanoseconds of the host's monotonic clock."""

    broker: BrokerId
    not_before: int
    """The begin of the last look that found nobody listening; the restart where no look did."""
    seen: int
    """The end of the look that found it listening."""


def knock(address: str) -> bool:
    """Opens a connection to a broker's socket and closes it; false where nobody listens there."""
    try:
        with SocketFile(address.removeprefix(UNIX)) as file, socket.socket(socket.AF_UNIX) as knocking:
            knocking.setblocking(False)
            knocking.connect(file.address)
    except BlockingIOError:
        return True  # as many wait there already as can
    except OSError:
        return False
    return True


class ListeningWatch:
    """Looks at each restarted broker until it listens."""

    def __init__(self, addresses: Mapping[BrokerId, str]) -> None:
        """`addresses` are those of the brokers' sockets."""
        self._addresses = addresses
        self._watched: dict[BrokerId, threading.Event] = {}
        """Brokers that are looked at, or were found and not yet taken; the event ends that."""
        self._found: queue.SimpleQueue[tuple[threading.Event, Listening]] = queue.SimpleQueue()

    def begin(self, broker: BrokerId) -> None:
        """Looks at a broker that has been restarted just now."""
        self.end(broker)
        over = self._watched[broker] = threading.Event()
        threading.Thread(target=self._look, args=(broker, over), name=f"start of {broker}", daemon=True).start()

    def end(self, broker: BrokerId) -> None:
        """Looks at a broker no more, because it is down."""
        if (over := self._watched.pop(broker, None)) is not None:
            over.set()

    def close(self) -> None:
        """Looks at no broker any more."""
        for broker in list(self._watched):
            self.end(broker)

    def taken(self) -> list[Listening]:
        """The brokers that were found listening since the last call, but for those that are looked at no more."""
        taken: list[Listening] = []
        while not self._found.empty():
            over, found = self._found.get()
            if self._watched.get(found.broker) is over:
                del self._watched[found.broker]
                taken.append(found)
        return taken

    def _look(self, broker: BrokerId, over: threading.Event) -> None:
        not_before = time.monotonic_ns()
        while not over.is_set():
            begin = time.monotonic_ns()
            if knock(self._addresses[broker]):
                self._found.put((over, Listening(broker, not_before, time.monotonic_ns())))
                return
            not_before = begin
            over.wait(_AGAIN)
