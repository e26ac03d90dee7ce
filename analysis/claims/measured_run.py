"""A run as input of measures: its variants with their tables, typed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from analysis.claims.model import ClaimsError
from analysis.claims.stored_rows import StoredRows
from analysis.run_files.logs import BLOCK_BYTES, Dilations, bring_to_scenario_time
from analysis.run_files.run_directory import read_manifest
from analysis.tables.broker_work import BrokerLoad
from analysis.tables.deliveries import DeliveryOverTime, Notification
from analysis.tables.detections import Detection, DetectionFigures
from analysis.tables.results import read_table, table_file
from analysis.tables.summary import BestEffort, Delivery, Matching, VariantSummary, read_summary
from analysis.tables.timeline import PhaseTimes
from analysis.tables.traffic import BrokerMessages, LabelledMessages, RouteLength
from record.files import LOGS, RESULTS, log_file, log_files, open_log
from record.log import Event, TraceRecord
from record.manifest import PhaseName, VariantRecord
from topology.files import load
from topology.link_properties import BrokerId
from topology.model import Overlay
from topology.underlays.underlay import Underlay
from topology.underlays.underlay_files import load_underlay

_PUBLICATIONS = "routing.publications"

_Row = TypeVar(
    "_Row",
    Detection,
    DeliveryOverTime,
    BrokerMessages,
    LabelledMessages,
    RouteLength,
    BrokerLoad,
    PhaseTimes,
)


class MessageRecord(msgspec.Struct, frozen=True, gc=False):
    """The part of a record that measures of messages need. Logs are decoded faster into it than into whole records."""

    variant: str
    event: Event
    id: str = ""
    peer: str | None = None
    bytes: int = 0


_Record = TypeVar("_Record", TraceRecord, MessageRecord)


@dataclass(frozen=True)
class MeasuredVariant:
    """One variant of an analysed run."""

    name: str
    settings: Mapping[str, Any]
    overlay: Overlay
    matching: Matching
    run_seconds: float
    """Duration of the phase `run`, in which publishers publish."""
    notifications: Sequence[Notification]
    """First notifications of each publication and client whose delay is known."""
    messages: tuple[BrokerMessages, ...]
    published: int = 0
    """Publications that clients made."""
    delivery_ratio: float | None = None
    """Share of the due notifications that came; None without best-effort routing, and where nothing was due."""
    delivery_over_time: tuple[DeliveryOverTime, ...] = ()
    """The delivery ratio of best-effort routing in each second, in order of time."""
    labels: tuple[LabelledMessages, ...] = ()
    """Messages that carry a label."""
    routes: tuple[RouteLength, ...] = ()
    """Copies by links travelled, in a run with best-effort routing."""
    loads: tuple[BrokerLoad, ...] = ()
    """Processor time and memory of each broker in each second of the phase `run`."""
    detections: tuple[Detection, ...] = ()
    """First notifications of each set of publications that completes a composite subscription."""
    detection_figures: DetectionFigures | msgspec.UnsetType = msgspec.UNSET
    """The oracle's findings on detections, where clients made composite subscriptions."""
    run_began_ns: int = 0
    """Start of the phase `run`, by the clock of the records."""
    underlay: Underlay | None = None
    """The network of routers under the overlay; None for a topology without one."""

    @property
    def others(self) -> frozenset[tuple[str, str]]:
        """All settings except fixed or dynamic publication routing; two variants that agree in them form a pair."""
        return frozenset((path, repr(value)) for path, value in self.settings.items() if path != _PUBLICATIONS)

    @property
    def mean_route(self) -> float | None:
        """Mean links travelled by the copies that ended at a broker which had the publication; None without any."""
        ended = sum(row.repeated for row in self.routes)
        return sum(row.hops * row.repeated for row in self.routes) / ended if ended else None

    def between(self, begin: float, end: float) -> tuple[Notification, ...]:
        """Notifications of publications that were due in this interval, in seconds of the phase `run`."""
        return tuple(row for row in self.notifications if row.second is not None and begin <= row.second < end)


_Computed = TypeVar("_Computed")


@dataclass(frozen=True)
class MeasuredRun:
    """An analysed run directory."""

    directory: Path
    variants: tuple[MeasuredVariant, ...]
    dilations: Dilations = field(default_factory=dict)
    """Time dilation by variant: the factor by which the variant ran slower than its scenario."""
    _computed: dict[Callable[[MeasuredRun], Any], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def once(self, compute: Callable[[MeasuredRun], _Computed]) -> _Computed:
        """The result of a function of this run, computed the first time alone, because several measures need what takes
        long to read from logs. The measures must not change it."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        result: _Computed = self._computed[compute]
        return result

    @property
    def brokers(self) -> tuple[BrokerId, ...]:
        """Identifiers of the brokers of all variants, each once, in the order of the overlays."""
        return tuple(dict.fromkeys(broker.id for variant in self.variants for broker in variant.overlay.brokers))

    @cached_property
    def _by_routing(self) -> Mapping[str, tuple[MeasuredVariant, ...]]:
        names = {_routing(variant) for variant in self.variants}
        return {name: tuple(variant for variant in self.variants if _routing(variant) == name) for name in names}

    def of(self, routing: str) -> MeasuredVariant:
        """The one variant with this publication routing. Raises `ClaimsError` when there is not exactly one."""
        found = self._by_routing.get(routing, ())
        if len(found) != 1:
            raise ClaimsError(f"{self.directory}: {len(found)} variants with {routing} routing; one is needed")
        return found[0]

    def pairs(self) -> Iterator[tuple[MeasuredVariant, MeasuredVariant]]:
        """Pairs of variants with fixed and with dynamic publication routing that agree in all other settings."""
        dynamic = {variant.others: variant for variant in self._by_routing.get("dynamic", ())}
        for fixed in self._by_routing.get("fixed", ()):
            if fixed.others in dynamic:
                yield fixed, dynamic[fixed.others]

    def records(self, broker: BrokerId, containing: bytes = b"") -> Iterator[TraceRecord]:
        """Records of a broker's log, of all variants, without a torn last line.

        Only lines that contain `containing`, such as `"event":"sent"`, are decoded, because decoding takes most of the
        time.
        """
        return self._read(log_file(self.directory / LOGS, broker), containing)

    def message_records(self, broker: BrokerId, containing: bytes = b"") -> Iterator[MessageRecord]:
        """The part of each of these records that concerns its message. Which records, `records` states."""
        for block in _blocks(log_file(self.directory / LOGS, broker), containing, MessageRecord):
            yield from block

    def client_records(self, containing: bytes = b"") -> Iterator[TraceRecord]:
        """Records of all logs that are not a broker's, among them those of all clients; as `records` gives them."""
        brokers = {broker.id for variant in self.variants for broker in variant.overlay.brokers}
        for path in log_files(self.directory / LOGS):
            if path.stem not in brokers:
                yield from self._read(path, containing)

    def _read(self, path: Path, containing: bytes) -> Iterator[TraceRecord]:
        for block in _blocks(path, containing, TraceRecord):
            if self.dilations:
                bring_to_scenario_time(block, self.dilations)
            yield from block


def _blocks(path: Path, containing: bytes, kind: type[_Record]) -> Iterator[list[_Record]]:
    """The records in the lines of a log that contain some bytes. Lines that are no records are left out."""
    decoder = msgspec.json.Decoder(kind)
    with open_log(path) as file:
        while lines := file.readlines(BLOCK_BYTES):
            chosen = [line for line in lines if containing in line]
            try:
                yield decoder.decode_lines(b"".join(chosen))
            except msgspec.DecodeError:
                yield list(_undamaged(chosen, decoder))


def _undamaged(lines: Iterable[bytes], decoder: msgspec.json.Decoder[_Record]) -> Iterator[_Record]:
    for line in lines:
        with contextlib.suppress(msgspec.DecodeError):
            yield decoder.decode(line)


def _routing(variant: MeasuredVariant) -> str:
    return str(variant.settings.get(_PUBLICATIONS, variant.name))


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables of a run that measures read, each by variant."""

    results: Path
    """The directory of the tables. That of notifications is read when a measure needs it, because it is the largest."""
    detections: Mapping[str, Sequence[Detection]]
    """Empty for a run without composite subscriptions."""
    messages: Mapping[str, Sequence[BrokerMessages]]
    labels: Mapping[str, Sequence[LabelledMessages]]
    delivery: Mapping[str, Sequence[DeliveryOverTime]]
    routes: Mapping[str, Sequence[RouteLength]]
    """Empty for a run without best-effort routing."""
    loads: Mapping[str, Sequence[BrokerLoad]]
    run_phases: Mapping[str, Sequence[PhaseTimes]]
    """The rows of the phase `run`; none for a variant that did not reach it."""


def open_measured(directory: Path) -> MeasuredRun:
    """Reads an analysed run. Raises `UserError` when it was not analysed."""
    manifest = read_manifest(directory)
    summaries = {summary.name: summary for summary in read_summary(directory).variants}
    tables = _read_tables(directory / RESULTS, summaries.values())
    overlays = {file: load(directory / file) for file in sorted({variant.topology for variant in manifest.variants})}
    files = {variant.underlay for variant in manifest.variants if variant.underlay is not msgspec.UNSET}
    underlays = {file: load_underlay(directory / file) for file in sorted(files)}
    return MeasuredRun(
        directory,
        tuple(
            _measured_variant(
                variant,
                summaries[variant.name],
                tables,
                overlays[variant.topology],
                underlays[variant.underlay] if variant.underlay is not msgspec.UNSET else None,
            )
            for variant in manifest.variants
        ),
        {variant.name: variant.time_dilation for variant in manifest.variants if variant.time_dilation != 1},
    )


def _read_tables(results: Path, summaries: Iterable[VariantSummary]) -> _Tables:
    """The tables of a run. Those that its kind of run does not have are not read."""
    composed = any(summary.delivery.detections is not msgspec.UNSET for summary in summaries)
    routed = (results / table_file(RouteLength)).exists()
    running = [row for row in read_table(results, PhaseTimes) if row.phase == PhaseName.RUN]
    return _Tables(
        results=results,
        detections=_by_variant(read_table(results, Detection) if composed else ()),
        messages=_by_variant(read_table(results, BrokerMessages)),
        labels=_by_variant(read_table(results, LabelledMessages)),
        delivery=_by_variant(read_table(results, DeliveryOverTime)),
        routes=_by_variant(read_table(results, RouteLength) if routed else ()),
        loads=_by_variant(read_table(results, BrokerLoad)),
        run_phases=_by_variant(running),
    )


def _measured_variant(
    variant: VariantRecord, summary: VariantSummary, tables: _Tables, overlay: Overlay, underlay: Underlay | None
) -> MeasuredVariant:
    name, running = variant.name, tables.run_phases.get(variant.name, ())
    run_seconds = sum(row.end_s - row.start_s for row in running)
    return MeasuredVariant(
        name=name,
        settings=variant.settings,
        overlay=overlay,
        matching=summary.matching,  # type: ignore[arg-type]  # brokers of others, which do not tell it, have no claims
        run_seconds=run_seconds,
        notifications=StoredRows(tables.results, Notification, name, _is_first_with_delay),
        messages=tuple(tables.messages.get(name, ())),
        published=summary.delivery.published,
        delivery_ratio=_ratio(summary.delivery),
        delivery_over_time=tuple(sorted(tables.delivery.get(name, ()), key=lambda row: row.second)),
        labels=tuple(tables.labels.get(name, ())),
        routes=tuple(tables.routes.get(name, ())),
        loads=tuple(row for row in tables.loads.get(name, ()) if 0 <= row.second < run_seconds),
        detections=tuple(filter(_is_first_with_delay, tables.detections.get(name, ()))),
        detection_figures=summary.delivery.detections,
        run_began_ns=min((row.start_ns for row in running), default=0),
        underlay=underlay,
    )


def _is_first_with_delay(row: Notification | Detection) -> bool:
    """True for a first notification whose delay and whose second of the run phase are known."""
    return row.repeat == 0 and row.delay_ms is not None and row.second is not None


def _ratio(delivery: Delivery) -> float | None:
    return delivery.best_effort.ratio if isinstance(delivery.best_effort, BestEffort) else None


def _by_variant(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    grouped: dict[str, list[_Row]] = {}
    for row in rows:
        grouped.setdefault(row.variant, []).append(row)
    return grouped
