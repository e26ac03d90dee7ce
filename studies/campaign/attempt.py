"""One attempt at a cell on some host: the request, the outcome, and whether another attempt is worthwhile."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import msgspec

from emulation.fidelity import thresholds
from record.fidelity import Fidelity, FidelityVerdict
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
"""Checks that fail on a busy host and may pass in another attempt. The check of CPU quotas is not one: a quota
stays."""


def host_was_busy(fidelity: Fidelity) -> bool:
    """True if a run is not VALID and a check failed that fails on a busy host."""
    return any(
        check.name in _OF_A_BUSY_HOST and check.verdict is not FidelityVerdict.VALID
        for variant in fidelity.variants
        for check in variant.checks
    )


class Keep(enum.StrEnum):
    """The cells whose run directories stay, with their logs."""

    NONE = "none"
    FAILED = "failed"
    """Cells whose delivery is not correct, or whose fidelity is INVALID."""
    ALL = "all"

    def keeps(self, result: CellResult) -> bool:
        failed = not result.correct or result.fidelity == FidelityVerdict.INVALID
        return self is Keep.ALL or (self is Keep.FAILED and failed)


class CellRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request to run a cell, as a host gets it."""

    campaign: str
    """Identifies the campaign; the same after it was resumed."""
    command: str
    """Identifies the command that made the request; a resumed campaign has another one."""
    cell: Cell
    runtime: str
    keep: Keep

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, content: bytes) -> CellRequest:
        """Raises `msgspec.DecodeError`."""
        return msgspec.json.decode(content, type=cls)


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one attempt at a cell."""

    host: str
    began: str
    """ISO 8601, UTC."""
    seconds: float
    """Wall-clock time from planning to the verdicts."""
    result: CellResult
    busy: bool = False
    """True if the run is not VALID because its host was busy."""
    run: str | None = None
    """The run's id, if its directory was kept."""
    versions: dict[str, str] = {}
    git_revision: str | None = None
    kernel: str = ""

    def is_final(self, tried: int, retries: int) -> bool:
        """True if the cell is done after this attempt, which is number `tried`, from 1.

        A violated delivery is a finding, also on a busy host: no further attempt may hide it.
        """
        return not (self.busy and self.result.correct) or tried > retries


class CellManifest(msgspec.Struct, frozen=True, kw_only=True):
    """`cells/<key>/manifest.json`: the cell that was run, and every attempt at it."""

    key: str
    factors: dict[str, Any]
    schedule: str
    seed: int
    fingerprint: str
    attempts: list[Attempt] = []


def counted_attempt(attempts: Sequence[Attempt]) -> Attempt:
    """The attempt that gives a cell its result: the last one if its delivery is violated, because that is a finding;
    else the one with the best fidelity, of equal ones the last."""
    last = attempts[-1]
    if not last.result.correct:
        return last
    return min(reversed(attempts), key=lambda attempt: FidelityVerdict(attempt.result.fidelity).severity)
