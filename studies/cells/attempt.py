"""One attempt at a cell on some host: the request, the outcome, and whether another attempt is worthwhile."""

from __future__ import annotations

import base64
import enum
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias

import msgspec

from emulation.fidelity import thresholds
from emulation.runtimes.ladder import SIMULATED
from record.errors import BadInputError, UserError
from record.exit_codes import ExitCode
from record.fidelity import Fidelity, FidelityVerdict, VariantFidelity
from record.slower_run import others_took_much
from studies.cells.cell import AnyCell, CellResult, Result, Result_co, SomeCell

_FROM_OUTSIDE = frozenset(
    threshold.name for threshold in (thresholds.CPU_STEAL, thresholds.RELAY_MISSED, thresholds.CLOCK_DOMAIN)
)
"""Checks that fail for causes outside of the run, and may pass in another attempt."""


def was_disturbed(fidelity: Fidelity) -> bool:
    """True if something outside of the run disturbed it: other programs on its host, its hypervisor, lost frames, or
    another clock.

    The figures of the run do not matter. Attempts that are repeated for what they measured would select lucky ones.
    """
    return any(_was_disturbed(variant) for variant in fidelity.variants)


def _was_disturbed(variant: VariantFidelity) -> bool:
    return others_took_much(variant.processors) or any(
        check.name in _FROM_OUTSIDE and check.verdict is not FidelityVerdict.VALID for check in variant.checks
    )


class Keep(enum.StrEnum):
    """The cells whose run directories stay, with their logs."""

    NONE = "none"
    FAILED = "failed"
    """Cells whose delivery is not correct, that missed a limit, or whose fidelity is INVALID."""
    ALL = "all"

    def keeps(self, result: CellResult) -> bool:
        failed = not result.passed or result.fidelity == FidelityVerdict.INVALID
        return self is Keep.ALL or (self is Keep.FAILED and failed)


class CellRequest(msgspec.Struct, Generic[SomeCell], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The request to run a cell, as a host gets it."""

    cell: SomeCell
    runtime: str
    keep: Keep
    study: str = ""
    """Identifies the directory of the cells; the same after it was resumed. Empty for simulated cells, as the next."""
    command: str = ""
    """Identifies the command that made the request; one that resumes has another one."""

    @classmethod
    def simulated(cls, cell: SomeCell, keep: Keep) -> CellRequest[SomeCell]:
        return cls(cell=cell, runtime=SIMULATED, keep=keep)

    def encode(self) -> bytes:
        """The request as JSON, in base64 so that nothing on its way takes a part of it for a template."""
        return base64.b64encode(msgspec.json.encode(self))

    @classmethod
    def decode(cls, content: bytes, cell_type: type[SomeCell]) -> CellRequest[SomeCell]:
        """The request for a cell of this type. Raises `BadInputError` where another version of brokerlab wrote it."""
        try:
            return msgspec.json.decode(base64.b64decode(content), type=CellRequest[cell_type])  # type: ignore[valid-type]
        except (msgspec.DecodeError, ValueError) as error:
            raise BadInputError(
                f"the request to run a cell is not one of this version of brokerlab ({error}); "
                "have the same version on this host as where the study was started"
            ) from error


class Attempt(msgspec.Struct, Generic[Result_co], frozen=True, kw_only=True):
    """The outcome of one attempt at a cell."""

    host: str
    began: str
    """ISO 8601, UTC."""
    seconds: float
    """Wall-clock time from planning to the verdicts."""
    cpu_seconds: float = 0.0
    """Processor time of the process that ran the cell."""
    memory_mb: float = 0.0
    """The most memory that this process held, in 10^6 bytes."""
    result: Result_co
    busy: bool = False
    """True if something outside of the run disturbed it, as a host that is busy with other programs does."""
    run: str | None = None
    """The run's id, if its directory was kept."""
    versions: dict[str, str] = {}
    git_revision: str | None = None
    kernel: str = ""

    def is_final(self, tried: int, retries: int) -> bool:
        """True if the cell is done after this attempt, which is number `tried`, from 1.

        A violated delivery or a missed limit is a finding, also of a run that was disturbed: no further attempt may
        hide it.
        """
        return not (self.busy and self.result.passed) or tried > retries


AnyRequest: TypeAlias = CellRequest[AnyCell]
AnyAttempt: TypeAlias = Attempt[CellResult]


class CellFailure(msgspec.Struct, frozen=True, kw_only=True):
    """The reason why a cell has no result."""

    message: str
    exit_code: int
    """The exit code that a command has for it."""

    @classmethod
    def of(cls, error: Exception) -> CellFailure:
        """The failure that an error makes of a cell. A defect of brokerlab prints its stack trace."""
        if isinstance(error, UserError):
            return cls(message=str(error), exit_code=error.exit_code)
        traceback.print_exception(error)
        return cls(message=f"{type(error).__name__}: {error}", exit_code=ExitCode.DEFECT)

    def error(self, key: str) -> UserError:
        """The failure of the cell of this key as an error."""
        error = UserError(f"{key}: {self.message}")
        error.exit_code = self.exit_code
        return error


class CellOutcome(msgspec.Struct, Generic[Result_co], frozen=True, kw_only=True):
    """The outcome of an attempt, as the process that ran the cell tells it to the one that asked."""

    attempt: Attempt[Result_co] | None = None
    failure: CellFailure | None = None
    """The reason why there is no attempt."""
    packed: bytes = b""
    """The packed run directory, if it is kept and the two processes share no files."""
    too_large: int = 0
    """The size in bytes of a packed run directory above the limit, which was removed."""

    def encode(self) -> bytes:
        return msgspec.msgpack.encode(self)

    @classmethod
    def decode(cls, content: bytes, result_type: type[Result]) -> CellOutcome[Result]:
        return msgspec.msgpack.decode(content, type=CellOutcome[result_type])  # type: ignore[valid-type]

    @property
    def told(self) -> Attempt[Result_co] | CellFailure:
        """The attempt, or the reason why there is none."""
        found = self.attempt or self.failure
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class AttemptedCell:
    """A cell and the result of the latest attempt at it, or the reason why it can have none."""

    cell: AnyCell
    attempt: AnyAttempt | CellFailure


class CellManifest(msgspec.Struct, Generic[Result], frozen=True, kw_only=True):
    """`cells/<key>/manifest.json`: the cell that was run, and every attempt at it."""

    key: str
    fingerprint: str
    attempts: list[Attempt[Result]] = []


def counted_attempt(attempts: Sequence[Attempt[Result]]) -> Attempt[Result]:
    """The attempt that gives a cell its result: the last one if its delivery is violated, because that is a finding;
    else the first that nothing disturbed; else the last."""
    last = attempts[-1]
    if not last.result.correct:
        return last
    return next((attempt for attempt in attempts if not attempt.busy), last)
