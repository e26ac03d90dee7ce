"""`manifest.json`: what a run was asked to do, what it ran on, and when each of its phases was.

The structs serve the writer and the reader. A field without which a run can still be analysed has a default, so that a
run directory written by an older version, or cut short, can be read.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from record.contract import ForeignBrokers
from record.figures import LIMITS, Figure
from record.files import MANIFEST, TOPOLOGY, replace_file
from record.handover import Absence, AbsenceCost, PlannedMoves
from record.host_speed import HostSpeed
from record.limits import Limit, RelativeLimit
from record.promises import Order, Promises
from record.sample import NOTHING_LOGGED, PublicationSample
from record.service_time import SendingOrder
from record.unread import SlowReaders

FORMAT = 2
"""Version of run directories that this code writes and analyses: manifest, logs and their meaning."""
RECOVERY_SECONDS = 9.0
"""`VariantRecord.recovery` of a manifest that does not state it: three missed heartbeats, a reconnection and the
reconciliation of routing tables, by their defaults."""


class PhaseName(enum.StrEnum):
    """Phases of a variant, in the order in which they follow each other."""

    START = "start"
    """Brokers and links come up."""
    JOIN = "join"
    """Clients advertise and subscribe."""
    RUN = "run"
    """Publishers publish."""
    DRAIN = "drain"
    """Publications in flight arrive."""
    STOP = "stop"
    """Clients leave, brokers stop."""


class PhaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One phase of a variant, in nanoseconds of the run's clock."""

    name: PhaseName
    start: int
    end: int


class PlannedPublications(msgspec.Struct, frozen=True, kw_only=True):
    """The publications that a client is to make."""

    publications: int
    mean_time: float
    """Nanoseconds from the begin of the workload, in the time that really passes."""
    contents: int | msgspec.UnsetType = msgspec.UNSET
    """The sum of the digests of their identifiers and contents (`record.digests`); not set by older versions."""


class PlannedOperations(msgspec.Struct, frozen=True, kw_only=True):
    """The subscriptions, advertisements, composite subscriptions and withdrawals that a client is to make."""

    operations: int
    contents: int
    """The sum of the digests of their kinds, identifiers and contents (`record.digests`)."""
    places: int | msgspec.UnsetType = msgspec.UNSET
    """The sum of the digests of their identifiers, brokers and windows."""


class ProtocolCode(msgspec.Struct, frozen=True, kw_only=True):
    """The code of a protocol from outside as it ran."""

    digest: str
    requirements: dict[str, str] = {}
    """Versions of the packages that it needs, by name."""


class VariantRecord(msgspec.Struct, kw_only=True):
    """One variant as it ran."""

    name: str
    settings: dict[str, Any] = {}
    """Path in the scenario to the value this variant gives it."""
    topology: str = TOPOLOGY
    """The file of its overlay, in the run directory; variants over the same overlay share one."""
    underlay: str | msgspec.UnsetType = msgspec.UNSET
    """The file of the routers' network under its overlay; not set for a topology without one."""
    movements: str | msgspec.UnsetType = msgspec.UNSET
    """The file of its brokers' movements, in seconds of the scenario since the start of the join phase; not set where
    they stay in place."""
    sites: str | msgspec.UnsetType = msgspec.UNSET
    """The file of the sites that its clients are on; not set where all are beside their brokers."""
    time_dilation: float = 1.0
    """The factor by which it ran slower than the scenario. Phases and logs are in the time that really passed."""
    phases: list[PhaseRecord] = []
    drivers: list[str] | msgspec.UnsetType = msgspec.UNSET
    """The driver processes that acted for its clients, which log as brokers do; not set before they are connected."""
    event_logs: list[str] | msgspec.UnsetType = msgspec.UNSET
    """The nodes that log faults and changes of the overlay, one a host; not set where none are planned."""
    programs: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Clients that are programs of their own, whose operations nobody planned; not set without any."""
    planned: dict[str, PlannedPublications] | msgspec.UnsetType = msgspec.UNSET
    """The publications that the workload has, by client; not set before the workload begins."""
    planned_operations: dict[str, PlannedOperations] | msgspec.UnsetType = msgspec.UNSET
    """The other operations that the workload has, by client; not set before the workload begins."""
    undrained: bool = False
    """True where messages were still on their way when the drain phase ended."""
    interrupted: bool = False
    unsettled: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Brokers that still passed on subscriptions and advertisements when the run phase began; not set without any."""
    promises: Promises = Promises()
    """The promises of its routing, by which deliveries are judged."""
    foreign: ForeignBrokers | msgspec.UnsetType = msgspec.UNSET
    """The variant's brokers that are not brokerlab's own; not set where all are."""
    protocol_code: ProtocolCode | msgspec.UnsetType = msgspec.UNSET
    """The code of its protocol; not set for one of brokerlab's own, and for a program."""
    keeps_order: bool | msgspec.UnsetType = msgspec.UNSET
    """Read from manifests that state no `promises`: true for `Order.ADVERTISEMENT`. It is not set afterwards."""
    expected_delivery: float | msgspec.UnsetType = msgspec.UNSET
    """The delivery ratio that the scenario expects at least (`expect.delivery`); not set where it expects none."""
    expected_judged: float | msgspec.UnsetType = msgspec.UNSET
    """The share of the owed notifications that the scenario expects to be judged at least (`expect.judged`); not set
    where it expects none."""
    expected_valid: list[Figure] | msgspec.UnsetType = msgspec.UNSET
    """The figures of delays that the scenario expects to be VALID, besides the mean (`expect.valid`); not set where it
    expects none."""
    limits: list[Limit] | msgspec.UnsetType = msgspec.UNSET
    """The limits on its figures (`expect.p95` and others); not set where the scenario gives none."""
    relative_limits: list[RelativeLimit] | msgspec.UnsetType = msgspec.UNSET
    """The limits on its figures relative to other variants (`expect.faster`, `expect.fewer`); not set without any."""
    follows_load: bool | msgspec.UnsetType = msgspec.UNSET
    """True where routers decide by how busy links or brokers were; not set otherwise."""
    sample: PublicationSample | msgspec.UnsetType = msgspec.UNSET
    """The publications whose whole lives brokers logged (the scenario's `logs.publications`); not set for all."""
    recovery: float = RECOVERY_SECONDS
    """Seconds that the overlay may take to recover once a fault is healed: until a failed neighbour is detected, the
    link is open again, and routing tables are reconciled."""
    reconnects_within: float | msgspec.UnsetType = msgspec.UNSET
    """Seconds after which a broken session, or the stream of a link, is tried again at the latest
    (`brokers.limits.reconnect_last`); not set by older versions."""
    settles_within: float | msgspec.UnsetType = msgspec.UNSET
    """Seconds for which a client's operation may wait at brokers on its way through the overlay, by the intervals that
    the routing declares; not set where it declares none."""
    service_time: float | msgspec.UnsetType = msgspec.UNSET
    """Mean seconds of modelled work of a broker on each message; not set without any."""
    window: int | msgspec.UnsetType = msgspec.UNSET
    """Most messages that a link has in flight, acknowledged by the neighbour; not set for the default."""
    slow_readers: SlowReaders | msgspec.UnsetType = msgspec.UNSET
    """The bounds of what brokers keep for clients; not set where none reads at a rate."""
    moves: PlannedMoves | msgspec.UnsetType = msgspec.UNSET
    """The terms of its clients' moves; not set where none is planned."""
    absences: dict[Absence, AbsenceCost] | msgspec.UnsetType = msgspec.UNSET
    """The terms of its clients' absences; not set where no client or site is to crash or to vanish."""
    sending: SendingOrder | msgspec.UnsetType = msgspec.UNSET
    """Order in which a broker sends over its links where that takes time; not set where links send side by side."""

    remaining_state: dict[str, list[str]] | msgspec.UnsetType = msgspec.UNSET
    """Rows that brokers' routing tables held after all clients had left, by broker, and did not hold before the first
    one joined; not set where the scenario did not ask for it (`timeline.withdraw`)."""

    @property
    def sending_order(self) -> SendingOrder:
        """Order in which a broker sends over its links where that takes time."""
        return SendingOrder.SIDE_BY_SIDE if self.sending is msgspec.UNSET else self.sending

    @property
    def logged(self) -> PublicationSample | None:
        """The publications whose whole lives brokers logged, as far as is known; None: all."""
        if not self.brokers_log:
            return NOTHING_LOGGED
        return None if self.sample is msgspec.UNSET else self.sample

    @property
    def brokers_log(self) -> bool:
        """False for brokers that are not brokerlab's and keep no logs."""
        return self.foreign is msgspec.UNSET or self.foreign.logs

    def __post_init__(self) -> None:
        if self.keeps_order is True:
            self.promises = Promises(order=Order.ADVERTISEMENT)
        self.keeps_order = msgspec.UNSET

    def phase(self, name: PhaseName) -> PhaseRecord | None:
        """The phase of this name; None when the variant did not reach it."""
        return next((phase for phase in self.phases if phase.name == name), None)

    @property
    def end(self) -> int | None:
        """The time at which brokers began to stop, or the end of the last phase on record; None without phases."""
        return max((phase.end for phase in self.phases if phase.name != PhaseName.STOP), default=None)

    @property
    def stop(self) -> int | None:
        """The time at which clients began to leave; None when the variant did not come so far."""
        return None if self.phase(PhaseName.STOP) is None else self.end

    @property
    def run_start(self) -> int | None:
        """The time at which publishers began; `end` when the variant did not reach the phase `run`."""
        run = self.phase(PhaseName.RUN)
        return self.end if run is None else run.start


class RungChoice(msgspec.Struct, frozen=True):
    """A rung of the capability ladder and the reason for taking it."""

    name: str = "unknown"
    reason: str = "not recorded"


MODELLED = RungChoice("modelled", "simulated brokers have simulated links")


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine that ran it."""

    cpus: int = 0
    """The number of CPUs that the emulator may use."""
    memory: int = 0
    """Memory of the machine, in bytes."""
    processor: str = ""
    system: str = "unknown"


class ClockOffset(msgspec.Struct, frozen=True, kw_only=True):
    """The difference between a host's clock and the run's clock at one moment, in nanoseconds."""

    at: int
    """Time by the host's clock."""
    offset: int
    """Nanoseconds to add to the host's time to obtain the run's."""
    error: int
    """The largest possible error of `offset`."""


class HostRecord(msgspec.Struct, kw_only=True):
    """One of several hosts that shared a run."""

    name: str
    """Name of the host in the inventory."""
    address: str = ""
    """Address on the network that carried the links between hosts."""
    kernel: str = ""
    host: Host = Host()
    speed: HostSpeed | msgspec.UnsetType = msgspec.UNSET
    """The host's speed beside that of the calibrated host; not set where either is not known."""
    logs: list[str] = []
    """Names of the log files whose times are of this host's clock; empty until the host has sent them."""
    offsets: list[ClockOffset] = []
    """Offsets of the host's clock, in order of time; empty for the host that keeps the run's clock."""


class ChargedCosts(msgspec.Struct, frozen=True, kw_only=True):
    """The costs, in nanoseconds, that a run charges by its calibration."""

    frame: int
    """Processor time of a broker without a service time for each frame."""
    work: dict[str, int]
    """Processor time for a message, by its kind."""
    link: list[int]
    """Times that a frame takes between two brokers in addition to its link, each equally likely."""
    submit: list[int] = []
    """Times from a publication's intended time to its arrival at the client's broker, each equally likely."""
    notify: list[int] = []
    """Times of a notification from a broker to its client, each equally likely."""


class HostShare(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a figure of delays that is the host's and not the overlay's, by the budget of the delays."""

    figure: Figure
    share: float
    """A share of the figure: waiting for processors or what nothing explains, whichever is more."""

    @property
    def strain(self) -> float:
        """The share in shares of the limit beyond which the figure is DEGRADED."""
        return self.share / LIMITS[self.figure].degraded

    def in_words(self) -> str:
        return f"{self.share:.1%} of the {self.figure.in_words} is this host's"


class DilationRehearsal(msgspec.Struct, frozen=True, kw_only=True):
    """A rehearsal of a variant on the run's own host, whose logs were thrown away."""

    dilation: float
    found: HostShare | None = None
    """The part of the figure that the host brings closest to its limit; null where it could not be measured."""
    seconds: float
    """Time that it took."""

    def in_words(self) -> str:
        return f"{self.dilation:g}: {'not measured' if self.found is None else self.found.in_words()}"


class ChosenDilation(msgspec.Struct, frozen=True, kw_only=True):
    """The time dilation that rehearsals chose for all variants of a run."""

    factor: float
    variant: str
    """The variant that was rehearsed, which needs the largest one."""
    planned: float
    """The factor of the planner, at which rehearsals begin."""
    rehearsals: list[DilationRehearsal] = []
    kept: bool
    """True where the last rehearsal, at this factor, left half of every limit free."""

    def in_words(self) -> str:
        """The factor, its reason and its cost in time."""
        found = ", ".join(each.in_words() for each in self.rehearsals)
        took = sum(each.seconds for each in self.rehearsals)
        doubt = "" if self.kept else "; not confirmed by a rehearsal, so look at the verdict"
        return (
            f"{self.factor:g}, chosen for all variants by rehearsals of {self.variant} ({found}), which took "
            f"{took:.0f} s{doubt}"
        )


class Manifest(msgspec.Struct, kw_only=True):
    """Everything needed to understand a run directory, and to repeat the run."""

    format: int = FORMAT
    """Version of the run directory. A manifest that does not state it is of the first."""
    run_id: str
    created: str = ""
    """ISO 8601, UTC."""
    scenario: dict[str, Any] = {}
    """The resolved scenario: defaults filled in, in base units."""
    seed: int = 0
    runtime: RungChoice = RungChoice()
    links: RungChoice = RungChoice()
    versions: dict[str, str] = {}
    image: str | None = None
    """The broker image's id; None where no image was used."""
    foreign_images: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    """Identifiers of the images of brokers that are not brokerlab's, by name; not set without any."""
    program: str | msgspec.UnsetType = msgspec.UNSET
    """The digest of the sources of brokers and drivers (`record.program`); not set for simulated ones, which run inside
    of the process that writes this."""
    kernel: str = ""
    git_revision: str | None = None
    clock: str = ""
    """The clock domain of all times in the logs."""
    host: Host = Host()
    interrupted: bool = False
    variants: list[VariantRecord] = []
    dilation: ChosenDilation | msgspec.UnsetType = msgspec.UNSET
    """The time dilation of all variants, where the scenario leaves it to rehearsals (`time_dilation: auto`)."""
    calibration: ChargedCosts | msgspec.UnsetType = msgspec.UNSET
    """Costs charged to simulated brokers; not set for other runs."""
    at_rest: ChargedCosts | msgspec.UnsetType = msgspec.UNSET
    """The calibration by which the analysis models what a message takes where nothing else goes on; of real brokers
    only. Times are those of the host that was calibrated."""
    host_speed: HostSpeed | msgspec.UnsetType = msgspec.UNSET
    """The speed of this host beside that of the calibrated one, by which `at_rest` is scaled; not set where either is
    not known, and where several hosts shared the run, each of which has its own (`hosts`)."""
    calibration_origin: str | msgspec.UnsetType = msgspec.UNSET
    """The host and the day on which the calibration was measured, in words. It is stated and judged by nobody: a
    simulated run means the same on every host, and on real brokers costs are scaled by the speed of their host."""
    hosts: list[HostRecord] = []
    """The hosts that shared the run, the first of which kept its clock; empty when one host ran all of it."""

    @property
    def speeds(self) -> Mapping[str, HostSpeed]:
        """The speeds that are known, by the name of the host, which is empty for one that ran all of it."""
        of_hosts = {host.name: host.speed for host in self.hosts} or {"": self.host_speed}
        return {name: speed for name, speed in of_hosts.items() if speed is not msgspec.UNSET}


def write(manifest: Manifest, directory: Path) -> None:
    """Replaces `manifest.json` of a run directory in one step."""
    replace_file(directory / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=2))


def read(directory: Path) -> Manifest:
    """Reads `manifest.json` of a run directory. Raises `OSError` or `msgspec.DecodeError`."""
    return msgspec.json.decode((directory / MANIFEST).read_bytes(), type=Manifest)
