"""One batch after another: what is new in the logs, through the stages, into the summary so far."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from analysis.engines.interface import Workers
from analysis.judging.faults import fault_spans
from analysis.judging.histories import histories_of, log_stage_of
from analysis.live.counting import LiveJudging, LiveTally, Open, Settled
from analysis.live.growth import last_line
from analysis.live.state import Mark, Moved, State, load_state, save_state
from analysis.live.summary import LiveDelay, LiveFault, LiveSummary, LiveVariant, write_live_summary
from analysis.reading.intervals import FOREVER
from analysis.reading.lifetimes import Lifetime, lifetimes
from analysis.reading.log_stage import LogStage, LogTally
from analysis.reading.traffic import TrafficTables
from analysis.run_files.logs import Piece
from analysis.run_files.run_directory import RunDirectory, open_run
from analysis.run_files.time_units import MILLISECOND
from analysis.tables.histogram import DurationHistogram
from analysis.tables.structs import struct_from
from analysis.tables.summary import KindMessages
from record.manifest import Phase, PhaseName, VariantRecord

_NEXT = {PhaseName.START: PhaseName.JOIN, PhaseName.JOIN: PhaseName.RUN, PhaseName.RUN: PhaseName.DRAIN}
"""The phase under way, by the last that ended and so stands in the manifest."""
DONE = "done"


class Batches:
    """Follows one run. `directory` is where it keeps what it knows."""

    def __init__(self, run: Path, directory: Path, workers: Workers) -> None:
        self.summary: LiveSummary | None = None
        """The last one."""
        self._run = run
        self._directory = directory
        self._workers = workers
        self._state = load_state(directory, 2 * workers.parallelism)

    def take(self, pieces: Sequence[Piece], batch: int) -> None:
        """Takes what is new in the logs, once: a batch that was taken before is left."""
        state = self._state
        if batch <= state.batch:
            return
        run = _as_it_goes_on(open_run(self._run))
        names = [variant.name for variant in run.manifest.variants]
        shares = _shares(pieces, self._workers.parallelism)
        reading = log_stage_of(run, state.buckets)
        reads = self._workers.run(shares, reading, state.buckets)
        for read in reads.tallies(_silence):
            _add(state, read, names)
        _add_marks(state, pieces, reading)
        lives = lifetimes(state.declared)
        judging = LiveJudging(
            histories=histories_of(run, lives, state.outages),
            heard_until=[_heard_until(number, lives, state) for number in range(len(run.manifest.variants))],
            waiting=str(self._directory.resolve()),
            before=dict(state.judged_in),
            batch=batch,
        )
        for tally in reads.then(judging, 1).tallies(_silence):
            _settle(state, tally, batch)
        state.batch = batch
        save_state(state, self._directory)
        self.summary = _summary(state, run)
        write_live_summary(self.summary, self._run)


def _silence(_finished: int, _of: int) -> None:
    """A batch takes seconds."""


def _as_it_goes_on(run: RunDirectory) -> RunDirectory:
    """The manifest knows of phases that ended; here the one under way is added, which has no end yet."""
    variants = list(run.manifest.variants)
    last = variants[-1]
    begun = _NEXT.get(last.phases[-1].name) if last.phases and not last.interrupted else None
    if begun is not None:
        open_phase = Phase(name=begun, start=last.phases[-1].end, end=FOREVER)
        variants[-1] = msgspec.structs.replace(last, phases=[*last.phases, open_phase])
    return dataclasses.replace(run, manifest=msgspec.structs.replace(run.manifest, variants=variants))


def _shares(pieces: Sequence[Piece], count: int) -> list[list[Piece]]:
    """As many shares of about the same number of bytes."""
    shares: list[list[Piece]] = [[] for _ in range(count)]
    sizes = [0] * count
    for piece in sorted(pieces, key=lambda piece: piece.start - piece.end):
        smallest = sizes.index(min(sizes))
        shares[smallest].append(piece)
        sizes[smallest] += piece.end - piece.start
    return [share for share in shares if share]


def _add(state: State, read: LogTally, variants: Sequence[str]) -> None:
    state.records += read.records
    state.torn += read.torn
    state.malformed += read.malformed
    state.declared += read.operations
    state.outages += read.outages
    for row in TrafficTables(read.traffic, variants).messages():
        moved = state.moved.setdefault(row.variant, {}).setdefault(row.kind, Moved())
        moved.from_clients += row.from_clients
        moved.received += row.received
        moved.sent += row.sent
        moved.sent_bytes += row.sent_bytes


def _add_marks(state: State, pieces: Iterable[Piece], reading: LogStage) -> None:
    """How far each node's log was read. A damaged last line says nothing: the one before it did, the next one will."""
    for piece in pieces:
        for block in reading.blocks(last_line(piece)):
            for record in block.records:
                if (number := reading.variants.get(record.variant)) is not None:
                    state.marks[record.node] = Mark(number, record.time)


def _heard_until(variant: int, lives: Iterable[Lifetime], state: State) -> int:
    """Up to when every client's log was read. A log that is in a later variant has all of this one."""
    nodes = {life.node for life in lives if life.variant == variant}
    marks = [state.marks[node] for node in nodes if node in state.marks]
    times = [mark.time for mark in marks if mark.variant == variant]
    return min(times) if times else FOREVER if marks else 0


def _settle(state: State, tally: LiveTally, batch: int) -> None:
    for variant, settled in tally.settled.items():
        state.settled.setdefault(variant, Settled()).merge(settled)
    state.open |= tally.open
    state.judged_in |= dict.fromkeys(tally.open, batch)


def _summary(state: State, run: RunDirectory) -> LiveSummary:
    variants = run.manifest.variants
    return LiveSummary(
        run_id=run.manifest.run_id,
        batch=state.batch,
        records=state.records,
        torn=state.torn,
        malformed=state.malformed,
        variants=[
            _variant_summary(state, number, variant, run, last=number == len(variants) - 1)
            for number, variant in enumerate(variants)
        ],
    )


def _variant_summary(
    state: State, number: int, variant: VariantRecord, run: RunDirectory, *, last: bool
) -> LiveVariant:
    settled = state.settled.get(number, Settled())
    open_ = [by_variant.get(number, Open()) for by_variant in state.open.values()]
    moved = state.moved.get(variant.name, {})
    return struct_from(
        LiveVariant,
        settled,
        settled.counts,
        name=variant.name,
        phase=variant.phases[-1].name if last and variant.phases else DONE,
        under_way=sum(one.under_way for one in open_),
        missing=sum(one.missing for one in open_),
        delay=_delay(settled.delays),
        messages=[struct_from(KindMessages, one, kind=kind) for kind, one in sorted(moved.items())],
        faults=_faults(state, number, run),
    )


def _delay(delays: DurationHistogram) -> LiveDelay | None:
    if not delays.count:
        return None
    return LiveDelay(
        notifications=delays.count,
        mean_ms=delays.mean / MILLISECOND,
        p50_ms=delays.quantile(0.5) / MILLISECOND,
        p95_ms=delays.quantile(0.95) / MILLISECOND,
        p99_ms=delays.quantile(0.99) / MILLISECOND,
        max_ms=delays.largest / MILLISECOND,
    )


def _faults(state: State, variant: int, run: RunDirectory) -> list[LiveFault]:
    struck = [one for one in state.outages if one.variant == variant and not one.node]
    return [
        LiveFault(
            kind=span.kind,
            what=list(span.what),
            began_ns=span.begin,
            healed_ns=None if span.healed == FOREVER else span.healed,
        )
        for span in fault_spans(struck, 0, run.brokers)
    ]
