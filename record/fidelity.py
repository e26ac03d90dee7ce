"""`fidelity.json`: whether the emulation kept its promises about links, CPUs, clocks and logs.

The structs serve the writer and the reader; fields that a reader can do without have defaults.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from pathlib import Path

import msgspec

from record.files import FIDELITY, replace_file

OF_A_STARVED_HOST = frozenset(
    {
        "relay held up",
        "frames the relay missed",
        "CPU stolen by the hypervisor",
        "memory pressure",
        "periods in which a CPU quota held the emulation back",
    }
)
"""Names of the checks that fail where programs did not run when they had work."""
_ON_HOST = " ("


class FidelityVerdict(enum.StrEnum):
    """VALID: measurements may be used as they are. DEGRADED: usable with the care that the reasons name. INVALID: the
    numbers describe this host, not the overlay that was asked for."""

    VALID = "VALID"
    DEGRADED = "DEGRADED"
    INVALID = "INVALID"

    @property
    def severity(self) -> int:
        """0 for VALID; a severer verdict has a larger number."""
        return list(FidelityVerdict).index(self)


def worst(verdicts: Iterable[FidelityVerdict]) -> FidelityVerdict:
    """The severest of several verdicts; VALID when there is none."""
    return max(verdicts, key=lambda verdict: verdict.severity, default=FidelityVerdict.VALID)


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One promise, measured."""

    name: str
    value: float | None
    """In `unit`; None when this host could not measure it, which does not count against the run."""
    unit: str
    limit: float | None
    """Value beyond which the run is DEGRADED, in `unit`; None for a check that only informs."""
    verdict: FidelityVerdict
    detail: str
    """Text for people: what was measured, where it was worst, and what it means."""


def check_on(host: str, name: str) -> str:
    """The name of a check of one of several hosts that shared a run."""
    return f"{name}{_ON_HOST}{host})"


def is_of_a_starved_host(check: str) -> bool:
    """True for the name of a check, perhaps of one of several hosts, that fails where programs did not run when they
    had work."""
    return check.partition(_ON_HOST)[0] in OF_A_STARVED_HOST


class LinkCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One probe of one direction of a link, from `a` to `b`. Delays in seconds, rates in bit/s, loss as a share; all in
    the scenario's time."""

    a: str
    b: str
    phase: str
    """Phase of the probe, `before` or `during` the load."""
    delay_asked: float
    delay_measured: float | None
    rate_asked: float | None
    rate_measured: float | None
    loss_asked: float
    loss_measured: float | None
    ok: bool
    detail: str = ""
    jitter_asked: float = 0.0
    """In seconds; `jitter_measured` is the one by the middle half of the delays, None where too few arrived."""
    jitter_measured: float | None = None
    second: float | None = None
    """Time of the probe, counted from the start of the run phase; None before the load."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """Measurements over an interval of the run phase, about a second of real time. Seconds are the scenario's; shares
    are from 0 to 1; None stands for a quantity that was not measured."""

    begin: float
    """Seconds from the start of the run phase, as `end`."""
    end: float
    cpu_busy: float | None = None
    cpu_steal: float | None = None
    cpu_pressure: float | None = None
    memory_pressure: float | None = None
    relay_lateness: float | None = None
    """The 99th percentile, over frames, of the seconds by which the relay forwarded a frame late; 0 without frames."""
    relay_held_up: float | None = None
    """Share of the interval in which the relay had work and did not run."""
    loop_lag: float | None = None
    """The longest wait of any node's event loop that was logged."""
    workload_lateness: float | None = None
    """Seconds by which the latest publication was handed over late."""


class LinkBytes(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that one broker sent to a neighbour from the begin of the run phase until the messages had arrived."""

    source: str
    target: str
    sent: int
    """All frames with their headers, those by which links are probed included, as the kernel counts them."""


class ProcessorUse(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the host's processors in the run phase, from 0 to 1."""

    busy: float
    own: float | None
    """The share that the run itself took; None where it is not known."""

    @property
    def share(self) -> float:
        """The run's own, at most."""
        return self.busy if self.own is None else min(self.own, self.busy)

    @property
    def others(self) -> float:
        """The share that other programs took, at least."""
        return self.busy - self.share


class VariantFidelity(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one variant, with the measurements it rests on."""

    name: str
    verdict: FidelityVerdict
    checks: list[Check] = []
    links: list[LinkCheck] = []
    samples: list[Sample] = []
    """The run phase from its start to its end."""
    advice: str = ""
    """The remedy, where the verdict is not VALID."""
    processors: ProcessorUse | None = None
    """The use of the host; None where it was not measured, as in simulated runs."""

    sent: list[LinkBytes] | msgspec.UnsetType = msgspec.UNSET
    """Bytes on each link and direction; not set where nobody counted them, as in simulated runs."""

    @property
    def reasons(self) -> list[str]:
        """The failed checks, severest first."""
        failed = [check for check in self.checks if check.verdict is not FidelityVerdict.VALID]
        failed.sort(key=lambda check: -check.verdict.severity)
        return [f"{check.name}: {check.detail}" for check in failed]


class Fidelity(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a whole run: the worst of its variants'."""

    verdict: FidelityVerdict
    variants: list[VariantFidelity] = []

    def of(self, variant: str) -> VariantFidelity | None:
        """The verdict on a variant; None for a variant that was not judged."""
        return next((judged for judged in self.variants if judged.name == variant), None)


def write(fidelity: Fidelity, directory: Path) -> None:
    """Replaces `fidelity.json` of a run directory in one step."""
    replace_file(directory / FIDELITY, msgspec.json.format(msgspec.json.encode(fidelity), indent=2))


def read(directory: Path) -> Fidelity:
    """Reads `fidelity.json` of a run directory. Raises `OSError` or `msgspec.DecodeError`."""
    return msgspec.json.decode((directory / FIDELITY).read_bytes(), type=Fidelity)
