"""Coverage of behaviour: what a run showed that others may not have shown.

A *feature* is a sentence on one run: a kind of record or of drop, two records that followed each other at one broker, a
record while a fault held, and the size of a routing table, by its magnitude.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sized

from emulation.live_overlay import Tables
from record.log import EMULATOR, FAULT_CHANGES, Event, TraceRecord
from studies.exploration.judged_run import JudgedRun

_UNTOLD = frozenset({Event.QUEUE, Event.BUFFER, Event.LOAD, Event.LAG, Event.MATCHED})
"""Records that are gauges, or that always follow another one."""
_NAMED = frozenset({Event.DROPPED, Event.REJECTED, Event.REFUSED, Event.DISTURBED})
"""Records whose text is a reason."""
_PARTICULARS = re.compile(r"[A-Z]+\d+|\d[\d.,]*|'[^']*'")
"""Names of brokers and clients, and numbers."""


def features_of(run: JudgedRun) -> frozenset[str]:
    """The features of a run."""
    return frozenset((*_of_records(run.records), *_of_tables(run.tables)))


def _of_records(records: Iterable[TraceRecord]) -> Iterator[str]:
    last: dict[str, str] = {}
    counts: Counter[str] = Counter()
    following: set[tuple[str, str]] = set()
    during: set[tuple[str, str]] = set()
    holding: list[str] = []
    for record in records:
        if record.event in _UNTOLD:
            continue
        if record.node == EMULATOR:
            if record.event in FAULT_CHANGES and record.text:
                handover = f", {record.kind}" if record.kind else ""
                yield f"{'fault' if record.event == Event.FAULT else 'healed by'} {record.text}{handover}"
                holding = [record.text] if record.event == Event.FAULT else []
            continue
        name = _name(record)
        counts[name] += 1
        following.add((last.get(record.node, "start"), name))
        if holding:
            during.add((name, holding[0]))
        last[record.node] = name
    for before, name in following:
        yield f"{before}, then {name}"
    for name, fault in during:
        yield f"{name} after {fault}"
    for name, number in counts.items():
        yield f"{name}, up to {1 << number.bit_length()} times"


def _name(record: TraceRecord) -> str:
    what = record.label or record.kind
    name = f"{record.event} {what}" if what else record.event
    return f"{name} {_PARTICULARS.sub('_', record.text)}" if record.event in _NAMED and record.text else name


def _of_tables(tables: Tables) -> Iterator[str]:
    for of_broker in tables.values():
        for name, table in of_broker.items():
            yield f"table {name}, up to {1 << _size(table).bit_length()} rows"


def _size(table: object) -> int:
    if isinstance(table, Mapping | list | tuple) and isinstance(table, Sized):
        return len(table)
    return table if isinstance(table, int) else 0
