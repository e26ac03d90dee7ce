"""`fidelity.json`: whether the emulation kept what it promised about links, CPU and logs."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from pathlib import Path

import msgspec

from record.manifest import replace


class Verdict(enum.StrEnum):
    """VALID: measurements may be used as they are. DEGRADED: usable with care, the reasons say which care. INVALID: the
    numbers describe this host, not the overlay that was asked for."""

    VALID = "VALID"
    DEGRADED = "DEGRADED"
    INVALID = "INVALID"

    @property
    def severity(self) -> int:
        """0 of VALID; the severer the verdict, the more."""
        return list(Verdict).index(self)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The severest of several verdicts; VALID of none."""
    return max(verdicts, key=lambda verdict: verdict.severity, default=Verdict.VALID)


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One promise, measured."""

    name: str
    value: float | None
    """In `unit`; None when it could not be measured here, which is no verdict on the run."""
    unit: str
    limit: float | None
    """Beyond this the run is DEGRADED; None for a check that only informs."""
    verdict: Verdict
    detail: str
    """For people: what was measured, where it was worst, and what it means."""


class LinkCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One direction of one link, from `a` to `b`, probed. Delays in seconds, rates in bit/s, loss as a share; all in
    the scenario's time."""

    a: str
    b: str
    phase: str
    """before or during (the load)."""
    delay_asked: float
    delay_measured: float | None
    rate_asked: float | None
    rate_measured: float | None
    loss_asked: float
    loss_measured: float | None
    ok: bool
    detail: str = ""
    second: float | None = None
    """When it was probed, counted from the begin of the run phase; None before the load."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of the run phase, about a second of real time. Seconds are the scenario's; shares are from 0 to 1; None
    is what was not measured."""

    begin: float
    """Seconds from the begin of the run phase, as `end`."""
    end: float
    cpu_busy: float | None = None
    cpu_steal: float | None = None
    cpu_pressure: float | None = None
    memory_pressure: float | None = None
    relay_lateness: float | None = None
    """Seconds by which 99 of 100 frames missed their time at most; 0 of no frames."""
    relay_held_up: float | None = None
    """Share of the stretch in which the relay did nothing though it should have."""
    loop_lag: float | None = None
    """The longest wait of any node's event loop that was logged."""
    workload_lateness: float | None = None
    """How late the latest publication was handed over."""


class VariantFidelity(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    verdict: Verdict
    checks: list[Check]
    links: list[LinkCheck]
    samples: list[Sample] = []
    """The run phase from its begin to its end."""
    advice: str = ""
    """What would help, where it is not VALID."""

    @property
    def reasons(self) -> list[str]:
        """Why it is not VALID, worst first."""
        failed = [check for check in self.checks if check.verdict is not Verdict.VALID]
        failed.sort(key=lambda check: -check.verdict.severity)
        return [f"{check.name}: {check.detail}" for check in failed]


class Fidelity(msgspec.Struct, frozen=True, kw_only=True):
    """The whole run."""

    verdict: Verdict
    variants: list[VariantFidelity]


def write(fidelity: Fidelity, directory: Path) -> None:
    """Writes `fidelity.json` into a run directory."""
    replace(directory / "fidelity.json", msgspec.json.format(msgspec.json.encode(fidelity), indent=2))


def read(directory: Path) -> Fidelity:
    """Reads a run directory's `fidelity.json`. Raises `OSError` or `msgspec.ValidationError`."""
    return msgspec.json.decode((directory / "fidelity.json").read_bytes(), type=Fidelity)
