"""The hold on a run: requests of users, from threads that read them, to the run, which answers them between two looks.

A run that is held ends when its holder asks for it, at its time limit, or when its logs reach their quota.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field

import msgspec

from emulation.held.requests import Answer, Ended, EndRequest, Refused, Request, Status, StatusRequest

_NOT_YET = Refused("the run is still starting; `brokerlab status` shows how far it is")
_TOO_LATE = Refused("the run is ending; nothing more can be done to it")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to a held run, and the future that receives the run's answer."""

    request: Request
    answer: Future[Answer] = field(default_factory=Future)


class Hold:
    """The hold on one run. `ask` may be called from any thread, everything else belongs to the run's."""

    def __init__(self, limit: float, log_quota: int) -> None:
        """`limit` is the number of seconds from the begin of the workload after which the run ends by itself;
        `log_quota` the number of bytes of logs."""
        self.limit = limit
        self.log_quota = log_quota
        self.status = Status(phase="start", left=limit, log_quota=log_quota)
        """The latest state of the run."""
        self.end_asked = threading.Event()
        self._waiting: queue.SimpleQueue[Asked] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._refusal: Refused | None = _NOT_YET
        self._ended: Future[Answer] = Future()

    def ask(self, request: Request) -> Answer:
        """Returns the answer once there is one."""
        if isinstance(request, StatusRequest):
            return self.status
        if isinstance(request, EndRequest):
            self.end_asked.set()
            return self._ended.result()
        with self._lock:
            if self._refusal is not None:
                return self._refusal
            asked = Asked(request)
            self._waiting.put(asked)
        return asked.answer.result()

    def begin(self) -> None:
        """All clients have joined: requests are taken from now on."""
        with self._lock:
            self._refusal = None

    def take(self) -> Iterator[Asked]:
        """The requests that wait now."""
        while True:
            try:
                yield self._waiting.get_nowait()
            except queue.Empty:
                return

    def finish(self) -> None:
        """Ends the hold: refuses all waiting and all later requests."""
        with self._lock:
            self._refusal = _TOO_LATE
        self.status = msgspec.structs.replace(self.status, phase="ending", brokers=[])
        for asked in self.take():
            asked.answer.set_result(_TOO_LATE)

    def judged(self, exit_code: int) -> None:
        """The run is over, in whatever way: answers those who asked for its end."""
        self.finish()
        self._ended.set_result(Ended(exit_code))
