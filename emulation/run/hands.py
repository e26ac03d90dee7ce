"""Operations by hand on a held run: publications, subscriptions and faults that a user asks for while the run goes
on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from emulation.held.hold import Asked, Hold
from emulation.held.requests import BrokerPlace, LinkPlace, Refused, TimeRequest
from emulation.host.processes import ProcessIdentity
from emulation.network.network import EmulatedNetwork
from emulation.planning.plan import PUBLISHERS, SUBSCRIBERS
from emulation.run.drivers import Drivers
from record.files import log_files
from record.time_units import MILLISECOND, SECOND
from scenario.workload.operations import OperationKind, PlannedOperation
from topology.link_properties import BrokerId

_TICK = round(0.25 * SECOND)
"""Nanoseconds between two looks at what users ask for."""
SUBSCRIBING = frozenset({OperationKind.SUBSCRIBE, OperationKind.UNSUBSCRIBE, OperationKind.COMPOSE})


class Passing(Protocol):
    """The way in which time passes while a run is held. Times are nanoseconds of the deployment's clock."""

    lead: int
    """Nanoseconds from a request to its operation, in which the operation reaches whoever issues it."""
    grain: int
    """Nanoseconds of which the times of what is done by hand are multiples."""

    def begin(self, start: int) -> None:
        """The run is held from now on; its workload began at `start`."""

    def stop(self, now: int, limit: int) -> int:
        """The time until which the run may go on in one go, `limit` at most."""

    def passed(self, now: int) -> bool:
        """Called after that: waits where time is to pass more slowly; true where requests are to be answered now."""

    def control(self, asked: Asked, request: TimeRequest, now: int) -> None:
        """Answers a request about time itself, at once or when it has passed."""

    @property
    def arrived(self) -> bool:
        """True where somebody waited for a time that has come."""

    def answer(self, now: int) -> None:
        """Answers whoever waited for a time that has come."""

    def over(self) -> str:
        """The reason for which the run is to end, in words; empty where there is none."""

    def end(self, now: int) -> None:
        """The run ends now: whoever waits for a time is answered."""

    @property
    def pace(self) -> str:
        """The pace of virtual time, in words; empty where time is real."""


class RealTime:
    """A `Passing` of time that passes by itself."""

    lead = round(0.2 * SECOND)
    grain = MILLISECOND
    pace = ""
    arrived = False

    def begin(self, start: int) -> None:
        """Needs no beginning."""

    def stop(self, now: int, limit: int) -> int:
        return min(limit, now + _TICK)

    def passed(self, now: int) -> bool:
        return True

    def control(self, asked: Asked, request: TimeRequest, now: int) -> None:
        asked.answer.set_result(
            Refused("the time of real brokers passes by itself; a run of --runtime simulated takes such requests")
        )

    def answer(self, now: int) -> None:
        """Nobody waits."""

    def over(self) -> str:
        return ""

    def end(self, now: int) -> None:
        """Nobody waits."""


class Hands(Protocol):
    """Acts on one variant for whoever holds it."""

    @property
    def hold(self) -> Hold: ...

    @property
    def passing(self) -> Passing: ...

    def issue(self, operation: PlannedOperation) -> None:
        """Has a client do something at its time, which is ahead."""

    def end_workload(self, at: int) -> None:
        """Has clients do nothing more from this time on, nanoseconds since the begin of the workload."""

    def places(self) -> list[BrokerPlace]:
        """The brokers, and the processes by which their surroundings are entered."""

    def log_bytes(self) -> int:
        """The size of all logs."""


class HostHands:
    """`Hands` on a variant that runs on this host."""

    def __init__(
        self,
        hold: Hold,
        *,
        drivers: Drivers,
        network: EmulatedNetwork,
        processes: Callable[[], Mapping[BrokerId, ProcessIdentity]],
        logs: Path,
        brokers: list[BrokerId],
    ) -> None:
        """`processes` gives those of the brokers that run."""
        self.hold = hold
        self.passing = RealTime()
        self._drivers = drivers
        self._network = network
        self._processes = processes
        self._logs = logs
        self._brokers = brokers

    def issue(self, operation: PlannedOperation) -> None:
        self._drivers.issue(SUBSCRIBERS if operation.operation in SUBSCRIBING else PUBLISHERS, operation)

    def end_workload(self, at: int) -> None:
        self._drivers.end_workload(at)

    def places(self) -> list[BrokerPlace]:
        running = self._processes()
        return [
            BrokerPlace(
                name=broker,
                runs=broker in running and running[broker].alive,
                namespace=self._network.pid(broker),
                process=running[broker].pid if broker in running and running[broker].alive else None,
                links=[LinkPlace(end.neighbour, end.interface) for end in self._network.ends(broker)],
            )
            for broker in self._brokers
        ]

    def log_bytes(self) -> int:
        return sum(path.stat().st_size for path in log_files(self._logs))
