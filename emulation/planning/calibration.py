"""Calibration: the cost of a real broker's own work, charged to simulated ones. `brokerlab calibrate` measures it.

In the simulator a broker is one server. A frame that comes in occupies it for `frame`, and each message in it for the
`work` of its kind; both are processor time and bound what a broker carries. Everything else on a message's way besides
the links (threads that wake up, system calls, the host's scheduler, the error of the link driver) takes time but no
broker's work: it is drawn for each frame, from `submit` on the way from a client, `link` between brokers and `notify`
on the way to a client. For a broker at rest, the two together are the times that were measured.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

import msgspec

from broker_service.messages import KIND_WORDS
from record.errors import BadInputError
from record.files import replace_file
from record.host_speed import LoopTimes, factor_between, mean_of
from record.manifest import ChargedCosts

DEFAULT_FILE = "default-calibration.json"
"""In this package: what was measured on the host that its `origin` names."""
LARGEST_FILE = 1 << 20
"""Bytes of a calibration."""

GROUP_BITS = 7
GROUPS = 1 << GROUP_BITS
"""Values that stand for a distribution."""


class Latency(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A distribution of times."""

    groups: tuple[int, ...] = ()
    """Nanoseconds, ascending: the mean of each of `GROUPS` equally likely groups. Empty: no time at all.

    Means of groups, unlike quantiles, keep the mean of the whole, however long its tail is.
    """

    def __post_init__(self) -> None:
        if len(self.groups) not in (0, GROUPS):
            raise ValueError(f"groups: {GROUPS} values or none, not {len(self.groups)}")
        if any(time < 0 for time in self.groups):
            raise ValueError("groups: a time cannot be below 0")

    @classmethod
    def of(cls, times: Iterable[float]) -> Latency:
        """Groups of measured times, in nanoseconds; a time below 0 counts as 0. Raises `ValueError` without times."""
        ordered = sorted(max(0.0, time) for time in times)
        if not ordered:
            raise ValueError("no times were measured")
        if len(ordered) < GROUPS:
            ordered = [time for time in ordered for _ in range(-(-GROUPS // len(ordered)))]
        ends = [index * len(ordered) // GROUPS for index in range(GROUPS + 1)]
        slices = (ordered[begin:end] for begin, end in itertools.pairwise(ends))
        return cls(tuple(round(sum(part) / len(part)) for part in slices))

    @property
    def mean(self) -> float:
        """The mean of the groups, in nanoseconds."""
        return sum(self.groups) / GROUPS

    @property
    def excess(self) -> float:
        """Nanoseconds by which times are above the mean, on average over all of them."""
        return sum(max(0.0, time - self.mean) for time in self.groups) / GROUPS

    def less(self, time: int) -> Latency:
        """This distribution, each time shorter by that many nanoseconds."""
        return Latency(tuple(max(0, value - time) for value in self.groups))

    def times(self, factor: float) -> Latency:
        """This distribution, each time so many times as long."""
        return Latency(tuple(round(value * factor) for value in self.groups))


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Origin of a calibration."""

    created: str
    """ISO 8601, UTC."""
    method: str
    """The runtime and the links that were measured."""
    processor: str
    cpus: int
    system: str
    kernel: str
    versions: dict[str, str]
    git_revision: str | None
    load_average: float
    """Load average of the whole host in the last minute before the measurement."""
    loops: str = "timed"
    """The way in which the time of the reference loop is known."""

    def in_words(self) -> str:
        return f"measured {self.created} on {self.cpus} x {self.processor}, {self.system}: {self.method}"


class HostCosts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cost of a run on real brokers besides the work that `Calibration` charges. Plans alone use it.

    Processor time in nanoseconds, unless a field says otherwise; that of a second is taken without messages.
    """

    turn: int = 0
    """Time of a broker for a frame, beyond its charge, where brokers in containers share the host."""
    relayed_frame: int = 0
    """Time of the relay for a frame between brokers on a host at rest, acknowledgements included."""
    operation: int = 0
    """Time of a driver for an operation of a client on a host at rest."""
    notification: int = 0
    """Time of a driver for a notification on a host at rest."""
    broker_second: int = 0
    """Time of a broker in a second: its event loop, gauges and heartbeats."""
    second: int = 0
    """Time of emulator, relay, drivers, sampler and kernel in a second."""
    link_second: int = 0
    """Time of the relay for a link in a second: heartbeats and probes."""
    waking: int = 0
    """Waiting for a processor, as the kernel counts it, of a broker that a frame wakes up on a host at rest: idle
    processors take time to begin, and busy ones are the relay's first. Measured latencies hold it."""
    waking_beyond: int = 0
    """The part of `waking` that latencies no longer hold, once they were made shorter for a faster host; 0 as
    measured."""

    def on(self, factor: float) -> HostCosts:
        """These costs on a host of another speed.

        Processor time has the factor. Waiting stays as it is, because neither the kernel's choice of a processor nor
        the hypervisor that wakes it up is any faster where a loop is.
        """
        held = (self.waking - self.waking_beyond) * factor
        times = {name: round(getattr(self, name) * factor) for name in self.__struct_fields__}
        return HostCosts(**(times | {"waking": self.waking, "waking_beyond": max(0, round(self.waking - held))}))


class Calibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Costs of a broker besides its service time, charged as the module describes."""

    submit: Latency = Latency()
    """Time from a client's operation, as intended, to its broker."""
    link: Latency = Latency()
    """Time from an output queue to the neighbour, on top of the link's own delay."""
    notify: Latency = Latency()
    """Time from a broker to its client."""
    frame: int = 0
    """Nanoseconds of processor time to take a frame in and to send one out."""
    work: dict[str, int] = {}
    """Nanoseconds of processor time for a message of each kind, by the kind's word in the log."""
    host: HostCosts = HostCosts()
    """Costs of what surrounds brokers on a host."""
    loops: LoopTimes | None = None
    """The speed of the host of the measurement; None where it is not known, so that costs hold as they are anywhere."""
    origin: Origin | None = None
    """Host, day and way of the measurement; None for costs that were not measured."""

    def __post_init__(self) -> None:
        for kind, time in self.work.items():
            if kind not in KIND_WORDS.values():
                raise ValueError(f"work: there is no kind {kind!r}; there are {', '.join(KIND_WORDS.values())}")
            if time < 0:
                raise ValueError(f"work: {kind}: a time cannot be below 0")
        if self.frame < 0:
            raise ValueError("frame: a time cannot be below 0")

    @property
    def source(self) -> str:
        """The origin in words."""
        return "stated by hand, not measured" if self.origin is None else self.origin.in_words()

    def on(self, here: LoopTimes) -> Calibration:
        """The costs on a host whose reference loop takes this time."""
        if self.loops is None:
            return self
        factor = factor_between(self.loops, here)
        return Calibration(
            submit=self.submit.times(factor),
            link=self.link.times(factor),
            notify=self.notify.times(factor),
            frame=round(self.frame * factor),
            work={kind: round(time * factor) for kind, time in self.work.items()},
            host=self.host.on(factor),
            loops=here,
            origin=self.origin,
        )

    def on_hosts(self, speeds: Sequence[LoopTimes]) -> Calibration:
        """The mean costs on hosts whose reference loop takes these times; the costs as they are where none is known."""
        return self.on(mean_of(speeds)) if speeds else self

    @classmethod
    def free(cls) -> Calibration:
        """Brokers that take no time at all, beyond what the scenario gives them."""
        return cls()


def charged_costs(calibration: Calibration) -> ChargedCosts:
    """The costs as a manifest states them, of the host of the measurement."""
    submit, link, notify = (
        list(latency.groups) for latency in (calibration.submit, calibration.link, calibration.notify)
    )
    return ChargedCosts(frame=calibration.frame, work=dict(calibration.work), link=link, submit=submit, notify=notify)


def load_calibration(path: Path | None = None) -> Calibration:
    """Reads a file that `brokerlab calibrate` wrote; the shipped default without one.

    Raises `BadInputError` naming the file, the field and what is wrong with it.
    """
    try:
        with (files(__package__) / DEFAULT_FILE if path is None else path).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror}; `brokerlab calibrate --out {path}` makes one") from error
    if len(content) > LARGEST_FILE:
        raise BadInputError(f"{path}: larger than the {LARGEST_FILE >> 20} MiB that a calibration may have")
    try:
        return msgspec.json.decode(content, type=Calibration)
    except msgspec.DecodeError as error:
        raise BadInputError(f"{path}: no calibration: {error}; `brokerlab calibrate --out {path}` makes one") from error


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Replaces the file in one step. Raises `BadInputError` where that is impossible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, msgspec.json.format(msgspec.json.encode(calibration), indent=2) + b"\n")
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror}") from error
