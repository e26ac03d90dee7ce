"""Operations by hand on a held run that is simulated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from emulation.held.hold import Hold
from emulation.held.requests import BrokerPlace, LinkPlace
from emulation.run.hands import Passing
from emulation.simulation.overlay import SimulatedOverlay
from record.files import log_files
from scenario.workload.operations import PlannedOperation


class SimulatedHands:
    """Operations that a user does by hand on a held run in virtual time (`emulation.run.hands.Hands`)."""

    def __init__(
        self,
        hold: Hold,
        passing: Passing,
        overlay: SimulatedOverlay,
        *,
        issue: Callable[[PlannedOperation], None],
        end_workload: Callable[[int], None],
        logs: Path,
    ) -> None:
        self.hold = hold
        self.passing = passing
        self._overlay = overlay
        self._issue = issue
        self._end_workload = end_workload
        self._logs = logs

    def issue(self, operation: PlannedOperation) -> None:
        self._issue(operation)

    def end_workload(self, at: int) -> None:
        self._end_workload(at)

    def places(self) -> list[BrokerPlace]:
        overlay = self._overlay.overlay
        return [
            BrokerPlace(
                name=broker.id,
                runs=self._overlay.brokers.runs(broker.id),
                links=[LinkPlace(neighbour) for neighbour in overlay.neighbours(broker.id)],
            )
            for broker in overlay.brokers
        ]

    def log_bytes(self) -> int:
        return sum(path.stat().st_size for path in log_files(self._logs))
