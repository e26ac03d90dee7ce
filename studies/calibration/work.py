"""Processor time of a broker: for a frame, and for a message of each kind.

The broker in the middle of a line of three passes everything on, so each of its messages comes in by one link and
leaves by the other. Publications come at two rates: at the low one each travels in a frame of its own, at the high one
many share a frame. What the broker used in both, less what it uses at rest, gives the two unknowns, the time of a frame
(in and out) and that of a publication. The other kinds of clients' messages follow, each in a phase of its own at a
high rate. Control messages, which no client makes, are measured in `studies.calibration.control`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from broker_service.language import Value
from emulation.planning.plan import PUBLISHERS, SUBSCRIBERS
from record.errors import HostError
from record.log import Event, PredicateRecord, TraceRecord
from record.time_units import SECOND
from scenario.workload.operations import OperationKind, PlannedOperation
from studies.calibration.loopback import LoopbackOverlay

LINE = (("B1", "B2"), ("B2", "B3"))
MIDDLE = "B2"

SETTLE = 0.6
"""Seconds between two phases."""
LOW_RATE, LOW_SECONDS = 800.0, 2.0
HIGH_RATE, HIGH_SECONDS = 8_000.0, 2.5
DECLARED: Mapping[OperationKind, tuple[float, int]] = {
    OperationKind.ADVERTISE: (1_000.0, 300),
    OperationKind.UNADVERTISE: (1_000.0, 260),
    OperationKind.SUBSCRIBE: (800.0, 400),
    OperationKind.UNSUBSCRIBE: (800.0, 400),
}
"""The rate and number of the other kinds, in this order. A new subscription is compared with every advertisement, so
only as many as an overlay usually has are left by then."""

_SAME_FRAME = 200_000
"""Nanoseconds; messages that leave for a neighbour closer to each other share a frame."""
_COMMON = "ALL"
_KEPT_UP = 0.9
"""Share of a phase's messages that must have come through in its time, or the measurement is refused."""


@dataclass(frozen=True, slots=True)
class LoadPhase:
    """A stretch of the workload in which messages of one kind arrive evenly."""

    name: str
    kind: OperationKind | None
    """Kind of the operations; None for a phase of rest."""
    begin: float
    """Seconds from the start of the workload."""
    seconds: float
    count: int = 0

    @property
    def end(self) -> float:
        return self.begin + self.seconds

    @property
    def observed(self) -> float:
        """Seconds from the start until the last message is surely through."""
        return self.seconds + SETTLE / 2

    @property
    def times(self) -> list[int]:
        """Times at which operations are due, in nanoseconds."""
        return [round((self.begin + n * self.seconds / self.count) * SECOND) for n in range(self.count)]


@dataclass(frozen=True, slots=True)
class Usage:
    """Work of the middle broker in a phase."""

    work: int
    """Nanoseconds of processor time."""
    messages: int
    frames: int


@dataclass(frozen=True, slots=True)
class MeasuredWork:
    """The result, in nanoseconds of processor time."""

    frame: int
    kinds: Mapping[str, int]


def phases() -> list[LoadPhase]:
    """The whole workload, one phase after another."""
    made = [LoadPhase("rest", None, 1.0, 1.5)]
    for name, kind, rate, count in (
        ("low", OperationKind.PUBLISH, LOW_RATE, round(LOW_RATE * LOW_SECONDS)),
        ("high", OperationKind.PUBLISH, HIGH_RATE, round(HIGH_RATE * HIGH_SECONDS)),
        *((kind.value, kind, *load) for kind, load in DECLARED.items()),
    ):
        made.append(LoadPhase(name, kind, made[-1].end + SETTLE, count / rate, count))
    return made


def measure_work(directory: Path, on_progress: Callable[[str], None]) -> MeasuredWork:
    """Takes about 16 seconds. Raises `HostError` when brokers do not start, or this host is too slow for the rates."""
    plan = phases()
    with LoopbackOverlay(LINE, directory) as line:
        on_progress("starting drivers")
        drivers = line.drive({PUBLISHERS: publishing(plan), SUBSCRIBERS: subscribing(plan)})
        try:
            begin = line.begin(drivers)
            spent = [_observe(line, begin, phase, on_progress) for phase in plan]
            drivers.check()
        finally:
            drivers.end(5.0)
        logs = [line.log(name) for name in line.names]
        start = round(begin * SECOND)
    return solve(plan, [_usage(logs, start, phase, work) for phase, work in zip(plan, spent, strict=True)])


def solve(plan: Sequence[LoadPhase], usages: Sequence[Usage]) -> MeasuredWork:
    """Costs of frames and messages, from the processor time used in each phase.

    A publication is only decoded, looked up and passed on here, so nothing costs less; a smaller remainder of the few
    messages of another kind is the error of what their frames cost.
    """
    found = {phase.name: (phase, usage) for phase, usage in zip(plan, usages, strict=True)}
    rest, at_rest = found["rest"]
    busy: dict[str, tuple[float, Usage]] = {}
    for name, (phase, usage) in found.items():
        if phase.kind is None:
            continue
        if usage.messages < phase.count * _KEPT_UP:
            raise HostError(
                f"this host is too slow or too busy to be measured: {usage.messages} of {phase.count} messages "
                f"({phase.kind}) came through in time; end what else runs here and try again"
            )
        busy[name] = max(0.0, usage.work - at_rest.work * phase.observed / rest.observed), usage
    (low_work, low), (high_work, high) = busy["low"], busy["high"]
    determinant = low.frames * high.messages - high.frames * low.messages
    if determinant <= 0:
        raise HostError(
            "frames were as full at a low rate as at a high one, so their cost is not measurable; try again"
        )
    frame = (low_work * high.messages - high_work * low.messages) / determinant
    publish = (high_work - frame * high.frames) / high.messages
    kinds = {OperationKind.PUBLISH.value: publish}
    for kind in DECLARED:
        work, usage = busy[kind.value]
        kinds[kind.value] = max(publish, (work - frame * usage.frames) / usage.messages)
    return MeasuredWork(max(0, round(frame)), {kind: max(0, round(cost)) for kind, cost in kinds.items()})


# The workload: P1 at the first broker, S1 at the last


def publishing(plan: Sequence[LoadPhase]) -> list[PlannedOperation]:
    """One advertisement for all publications, and those that only the phases of declarations need."""
    made = [_operation(0, "P1", OperationKind.ADVERTISE, "all", predicates=_wanted(_COMMON))]
    number = 0
    for phase in plan:
        if phase.kind is OperationKind.PUBLISH:
            for at in phase.times:
                number += 1
                made.append(_operation(at, "P1", OperationKind.PUBLISH, f"P1:{number}", attributes=_quote(number)))
        elif phase.kind in (OperationKind.ADVERTISE, OperationKind.UNADVERTISE):
            made += _each(phase, "P1", "a")
    return made


def subscribing(plan: Sequence[LoadPhase]) -> list[PlannedOperation]:
    """One subscription for all publications, and further ones, each to an advertisement of its own."""
    made = [_operation(SECOND // 2, "S1", OperationKind.SUBSCRIBE, "all", predicates=_wanted(_COMMON))]
    for phase in plan:
        if phase.kind in (OperationKind.SUBSCRIBE, OperationKind.UNSUBSCRIBE):
            made += _each(phase, "S1", "s")
    return made


def _each(phase: LoadPhase, client: str, prefix: str) -> Iterator[PlannedOperation]:
    assert phase.kind is not None
    (_, made), (_, withdrawn) = DECLARED[OperationKind.ADVERTISE], DECLARED[OperationKind.UNADVERTISE]
    for number, at in enumerate(phase.times):
        predicates = None
        if phase.kind is OperationKind.ADVERTISE:
            predicates = _wanted(f"SYM{number}")
        elif phase.kind is OperationKind.SUBSCRIBE:  # to an advertisement that is left
            predicates = _wanted(f"SYM{withdrawn + number % (made - withdrawn)}")
        yield _operation(at, client, phase.kind, f"{prefix}{number}", predicates=predicates)


def _operation(
    at: int,
    client: str,
    kind: OperationKind,
    id: str,
    *,
    attributes: dict[str, Value] | None = None,
    predicates: list[PredicateRecord] | None = None,
) -> PlannedOperation:
    broker = "B1" if client == "P1" else "B3"
    return PlannedOperation(
        at=at, client=client, broker=broker, operation=kind, id=id, attributes=attributes, predicates=predicates
    )


def _wanted(symbol: str) -> list[PredicateRecord]:
    return [
        PredicateRecord(attribute="class", operator="eq", string="STOCK"),
        PredicateRecord(attribute="symbol", operator="eq", string=symbol),
        *(
            PredicateRecord(attribute=name, operator=">=", number=0)
            for name in ("open", "high", "low", "close", "volume")
        ),
    ]


def _quote(number: int) -> dict[str, Value]:
    price = 50 + number % 97 / 4
    return {
        "class": "STOCK", "symbol": _COMMON, "open": price, "high": price + 1.25, "low": price - 1.5,
        "close": price + 0.5, "volume": 1_000_000 + number,
    }  # fmt: skip


# What is read off


def _observe(line: LoopbackOverlay, begin: float, phase: LoadPhase, on_progress: Callable[[str], None]) -> int:
    """Waits for the phase to pass; the processor time that the middle broker used in it."""
    time.sleep(max(0.0, begin + phase.begin - time.monotonic()))
    on_progress(f"a broker's work: {phase.name}" if phase.kind is None else f"a broker's work: {phase.kind} messages")
    before = line.work_time(MIDDLE)
    time.sleep(max(0.0, begin + phase.begin + phase.observed - time.monotonic()))
    return line.work_time(MIDDLE) - before


def _usage(logs: Sequence[Path], start: int, phase: LoadPhase, work: int) -> Usage:
    """Messages of the phase that the middle broker received, and the frames in which its neighbours sent them."""
    begin, end = (start + round(at * SECOND) for at in (phase.begin, phase.begin + phase.observed))
    decoder = msgspec.json.Decoder(TraceRecord)
    messages = frames = 0
    for log in logs:
        last = -_SAME_FRAME
        for line in log.read_bytes().splitlines():
            record = decoder.decode(line)
            if not begin <= record.time < end or record.kind is None or record.peer is None:
                continue
            if record.node == MIDDLE and record.event is Event.RECEIVED:
                messages += 1
            elif record.peer == MIDDLE and record.event is Event.SENT:
                frames += record.time - last >= _SAME_FRAME
                last = record.time
    return Usage(work, messages, frames)
