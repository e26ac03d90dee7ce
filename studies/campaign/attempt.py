"""One try at a cell on some host: what it needs, what it says, and whether it is worth another try."""

from __future__ import annotations

import enum
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from emulation.fidelity import Fidelity, Verdict, thresholds
from studies.campaign.cell import Cell
from studies.campaign.result import CellResult

_OF_A_BUSY_HOST = frozenset(
    threshold.name
    for threshold in (
        thresholds.RELAY_LATENESS,
        thresholds.RELAY_HELD_UP,
        thresholds.RELAY_MISSED,
        thresholds.BROKER_LAG,
        thresholds.WORKLOAD_LATENESS,
        thresholds.CPU_BUSY,
        thresholds.CPU_STEAL,
        thresholds.CPU_PRESSURE,
        thresholds.MEMORY_PRESSURE,
    )
)
"""Checks that a neighbour can fail, and that may come out well another time. A quota is no such thing: it stays."""


def host_was_busy(fidelity: Fidelity) -> bool:
    """Whether a run is not VALID and something of it waited for the host."""
    return any(
        check.name in _OF_A_BUSY_HOST and check.verdict is not Verdict.VALID
        for variant in fidelity.variants
        for check in variant.checks
    )


class Keep(enum.StrEnum):
    """Whose run directories stay, logs and all."""

    NONE = "none"
    FAILED = "failed"
    """Those of cells that are not both correct and VALID or DEGRADED."""
    ALL = "all"

    def keeps(self, result: CellResult) -> bool:
        failed = not result.correct or result.fidelity == Verdict.INVALID
        return self is Keep.ALL or (self is Keep.FAILED and failed)


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a host is told to run."""

    campaign: str
    """Which campaign this is of; the same for one that was resumed."""
    command: str
    """Which of its commands ordered it; another one for one that was resumed."""
    cell: Cell
    runtime: str
    keep: Keep

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, content: bytes) -> Order:
        """Raises `msgspec.DecodeError`."""
        return msgspec.json.decode(content, type=cls)


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """How one try went."""

    host: str
    began: str
    """ISO 8601, UTC."""
    seconds: float
    """Wall-clock, from the start of the brokers' host to the verdicts."""
    result: CellResult
    busy: bool = False
    """Not VALID, and something waited for the host."""
    run: str | None = None
    """The run's id, if its directory was kept."""
    versions: dict[str, str] = {}
    git_revision: str | None = None
    kernel: str = ""

    def is_final(self, tried: int, retries: int) -> bool:
        """Whether the cell is done with this as its attempt number `tried`, from 1.

        A violated delivery is a finding, also on a busy host: it is never tried away.
        """
        return not (self.busy and self.result.correct) or tried > retries


class CellManifest(msgspec.Struct, frozen=True, kw_only=True):
    """`cells/<key>/manifest.json`: what was run, and every attempt at it."""

    key: str
    factors: dict[str, Any]
    schedule: str
    seed: int
    fingerprint: str
    attempts: list[Attempt] = []

    @property
    def counted(self) -> Attempt:
        """The attempt that the cell's result is of: a violated delivery, for a finding is a finding; else the one whose
        emulation held best, of equal ones the last."""
        last = self.attempts[-1]
        if not last.result.correct:
            return last
        return min(reversed(self.attempts), key=lambda attempt: Verdict(attempt.result.fidelity).severity)


@dataclass(frozen=True, slots=True)
class Attempted:
    """A cell and how the last try at it went."""

    cell: Cell
    attempt: Attempt


RunCells = Callable[[Sequence[Cell]], Generator[Attempted, None, None]]
"""Runs cells and yields every try at each of them, as they come."""
