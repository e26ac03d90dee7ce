"""`manifest.json`: what a run was asked to do, on what, and when each of its phases was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec


class Phase(msgspec.Struct, kw_only=True):
    """A stretch of a variant's time, in nanoseconds of the run's clock."""

    name: str
    """start, join, run, drain or stop."""
    start: int
    end: int


class VariantRecord(msgspec.Struct, kw_only=True):
    """One variant as it went."""

    name: str
    settings: dict[str, Any] = {}
    """Path in the scenario to the value this variant gives it."""
    topology: str = "topology.json"
    """The file of its overlay, in the run directory; variants over the same overlay share one."""
    time_dilation: float = 1.0
    """How many times slower than the scenario it ran. Phases, as the logs, have the time that really passed."""
    phases: list[Phase] = []
    interrupted: bool = False
    keeps_order: bool = False
    """Whether routing promises that publications of one publisher on one advertisement do not overtake each other."""
    recovery: float = 0.0
    """Seconds that the overlay may take to be itself again once a fault is healed: until a dead peer is noticed, the
    link is open again, and tables are reconciled."""


class Choice(msgspec.Struct, frozen=True):
    """A rung of the capability ladder and why it was taken."""

    name: str
    reason: str


MODELLED = Choice("modelled", "simulated brokers have simulated links")


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine that ran it."""

    cpus: int
    """Those this process may use."""
    memory: int
    """Bytes."""
    processor: str
    system: str


class ClockOffset(msgspec.Struct, frozen=True, kw_only=True):
    """How far a host's clock was from the run's at one moment. Nanoseconds."""

    at: int
    """By the host's clock."""
    offset: int
    """What is to be added to the host's time to have the run's."""
    error: int
    """By how much `offset` may be wrong at most."""


class HostRecord(msgspec.Struct, kw_only=True):
    """One of several hosts that shared a run."""

    name: str
    """As the inventory has it."""
    address: str
    """On the network that carried the links between hosts."""
    kernel: str
    host: Host
    logs: list[str] = []
    """Names of the log files whose times are of this host's clock."""
    offsets: list[ClockOffset] = []
    """In the order of time; none for the host that keeps the run's clock."""


class Manifest(msgspec.Struct, kw_only=True):
    """Everything needed to understand a run directory, and to repeat the run."""

    run_id: str
    created: str
    """ISO 8601, UTC."""
    scenario: dict[str, Any]
    """As resolved: defaults filled in, in base units."""
    seed: int
    runtime: Choice
    links: Choice
    versions: dict[str, str]
    image: str | None
    """The broker image's id; None where no image was used."""
    kernel: str
    git_revision: str | None
    clock: str
    """The clock domain of all times in the logs."""
    host: Host
    interrupted: bool = False
    variants: list[VariantRecord] = []
    hosts: list[HostRecord] = []
    """Those that shared the run, the first of which kept its clock; none where one host had all of it."""


def write(manifest: Manifest, directory: Path) -> None:
    """Replaces `manifest.json` in one step, so that a reader sees either the old one or the new one."""
    replace(directory / "manifest.json", msgspec.json.format(msgspec.json.encode(manifest), indent=2))


def read(directory: Path) -> Manifest:
    """Reads a run directory's manifest. Raises `OSError` or `msgspec.ValidationError`."""
    return msgspec.json.decode((directory / "manifest.json").read_bytes(), type=Manifest)


def replace(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
