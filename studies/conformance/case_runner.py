"""The contract between a case and its runtime: a live overlay, and client sessions with its brokers.

One contract for virtual and for real time: what passes on one runtime must pass on the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from broker_service.config import Limits
from broker_service.language import Advertisement, Subscription
from broker_service.language.composite_subscription import parts_of, relaxed
from broker_service.language.notation import parse_advertisement, parse_composite, parse_subscription
from broker_service.messages import BrokerId, ClientEvent, ClientId
from emulation.drivers.clients import Session
from emulation.live_overlay import BrokerSettings, LiveOverlay
from emulation.live_overlay.preparation import Declarations, prepared_by
from record.log import TraceRecord
from studies.conformance.model import LONGEST_WAIT, Case, CaseAccess, ClientFaultOp, Declaration, Departure
from studies.conformance.protocols import ConformanceProtocol

LIMITS = Limits(heartbeat=0.15, reconnect_last=0.15, detection_window=LONGEST_WAIT, detection_lateness=5.0)
"""Neighbours notice the failure of a broker or link within a second, and its return as soon, to keep cases short. A
composite subscription without a window detects publications however far apart a case makes them. No publication of a
case is as late as the lateness, so that a former join point ends while a case can wait for it."""


class CaseRun(Protocol):
    """One case in progress: its overlay, with tables that are empty to begin with, and its clients' sessions."""

    @property
    def overlay(self) -> LiveOverlay: ...

    @property
    def settle_within(self) -> float:
        """Seconds of the overlay's time after which a case whose messages still move has failed."""

    def open_session(self, broker: BrokerId, on_event: Callable[[ClientEvent], None]) -> Session:
        """Opens a session with a running broker, which all its clients share. The session outlives the broker."""

    def open_own(
        self, client: ClientId, broker: BrokerId, on_event: Callable[[ClientEvent], None], access: CaseAccess
    ) -> Session:
        """Opens a session with a broker that a client shares with nobody, over an access link. It continues the latest
        one that the client had, whether or not the client has left that."""

    def leave(self, client: ClientId, broker: BrokerId, how: Departure) -> None:
        """Ends the session of a client's own with a broker."""

    def strike(self, client: ClientId, broker: BrokerId, op: ClientFaultOp) -> None:
        """Has a fault strike a client that has a session of its own with a broker, or ends one."""

    def break_session(self, broker: BrokerId) -> None:
        """Breaks the stream of the session with a running broker; the session opens another one soon."""

    def hand_over(self) -> None:
        """Returns when running brokers have taken what clients asked of them, and clients what brokers sent them."""

    def pass_time(self, seconds: float) -> None:
        """Returns after that many seconds of the overlay's time, in which clients send and receive."""

    def losses(self) -> Sequence[TraceRecord]:
        """Records of the messages that brokers have dropped in this case, and of the publications that they refused."""


class CaseRunner(Protocol):
    """Runs cases, one at a time."""

    @property
    def runtime(self) -> str: ...

    def obstacle(self, case: Case) -> str:
        """Reason why the runtime cannot run a case; empty when it can."""

    def run(self, case: Case, protocol: ConformanceProtocol) -> AbstractContextManager[CaseRun]:
        """The overlay of a case, for as long as the case runs. Raises `UnsettledError` when it does not come up."""


def settings(case: Case, protocol: ConformanceProtocol) -> BrokerSettings:
    """Settings of the brokers of a case."""
    return BrokerSettings(
        protocol=protocol.protocol,
        options=protocol.options,
        seed=case.seed,
        limits=LIMITS,
        prepared=prepared_by(protocol.protocol, protocol.options, case.overlay(), case.seed, lambda: _declared(case)),
    )


def _declared(case: Case) -> Declarations:
    """The declarations of all steps."""
    advertisements: dict[BrokerId, list[Advertisement]] = defaultdict(list)
    subscriptions: dict[BrokerId, list[Subscription]] = defaultdict(list)
    for step in case.steps:
        if isinstance(step, Declaration) and step.op == "advertise":
            advertisements[step.broker].append(parse_advertisement(step.text))
        elif isinstance(step, Declaration) and step.op == "subscribe":
            subscriptions[step.broker].append(parse_subscription(step.text))
        elif isinstance(step, Declaration) and step.op == "composite":
            subscriptions[step.broker] += map(relaxed, parts_of(parse_composite(step.text)))
    return Declarations(advertisements, subscriptions)


def settle(run: CaseRun) -> None:
    """Waits until nothing moves and clients have received whatever brokers sent. Raises `UnsettledError`."""
    run.hand_over()
    run.overlay.settle(run.settle_within)
    run.hand_over()
