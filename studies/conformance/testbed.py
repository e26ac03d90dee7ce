"""The contract between a case and whatever it runs on.

One contract for virtual and for real time: what passes on one testbed must pass on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from broker_service.config import Limits
from broker_service.messages import BrokerId, ClientEvent, ClientId, Operation
from studies.conformance.model import Case
from studies.conformance.protocols import ConformanceProtocol

LIMITS = Limits(heartbeat=0.15, reconnect_last=0.15)
"""Brokers and links that fail are noticed within a second, and found again as soon, so that cases are quick."""

Tables = Mapping[BrokerId, Mapping[str, object]]
"""What each living broker shows of its routing tables."""


class UnsettledError(Exception):
    """Messages still move, or something that should have come up has not; the text says what, and after how long."""


class Session(Protocol):
    """One session with one broker, which all its clients share. It outlives the broker."""

    def submit(self, client: ClientId, operation: Operation, id: str = "", body: bytes = b"") -> int:
        """As `broker_service.client_library.client_requests.ClientRequests.submit`."""


class RunningOverlay(Protocol):
    """An overlay whose brokers all run and are connected, with tables that are empty to begin with."""

    def open_session(self, broker: BrokerId, on_event: Callable[[ClientEvent], None]) -> Session:
        """To be called while the broker lives."""

    def hand_over(self) -> None:
        """Lets every living broker take what its clients have asked of it so far."""

    def settle(self) -> None:
        """Waits until nothing moves and all that came has been told to clients. Raises `UnsettledError`."""

    def let_pass(self, seconds: float) -> None:
        """Lets so much time go by."""

    def kill(self, broker: BrokerId) -> None: ...

    def restart(self, broker: BrokerId) -> None: ...

    def cut(self, a: BrokerId, b: BrokerId) -> None: ...

    def restore(self, a: BrokerId, b: BrokerId) -> None: ...

    def tables(self) -> Tables: ...


class Testbed(Protocol):
    """Runs overlays, one at a time."""

    @property
    def runtime(self) -> str: ...

    def run(self, case: Case, protocol: ConformanceProtocol) -> AbstractContextManager[RunningOverlay]:
        """The overlay of a case, for as long as the case runs. Raises `UnsettledError` when it does not come up."""
