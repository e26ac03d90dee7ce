"""Coverage of behaviour: what a run showed that others may not have shown.

A *feature* is a sentence on one run: a kind of record or of drop, two records that followed each other at one broker, a
record while a fault held, and the size of a routing table, by its magnitude.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import chain

from emulation.live_overlay import Tables
from record.log import EMULATOR, FAULT_CHANGES, Event, TraceRecord
from studies.exploration.judged_run import JudgedRun

_UNTOLD = frozenset({Event.QUEUE, Event.BUFFER, Event.LOAD, Event.LAG, Event.MATCHED})
"""Records that are gauges, or that always follow another one."""
_NAMED = frozenset({Event.DROPPED, Event.REJECTED, Event.REFUSED, Event.DISTURBED})
"""Records whose text is a reason."""
_PARTICULARS = re.compile(r"[A-Z]+\d+|\d[\d.,]*|'[^']*'")
"""Names of brokers and clients, and numbers."""
_Name = tuple[str, str | None, str | None]
"""The event of a record, the label or kind of its message, and the reason that it states."""
_START: _Name = "start", None, None


def features_of(run: JudgedRun) -> frozenset[str]:
    """The features of a run."""
    return frozenset((*_of_records(run.records), *_of_tables(run.tables)))


def _of_records(records: Iterable[TraceRecord]) -> Iterator[str]:
    last: dict[str, _Name] = {}
    following: Counter[tuple[_Name, _Name]] = Counter()
    during: set[tuple[_Name, str]] = set()
    holding: list[str] = []
    for record in records:
        event, node = record.event, record.node
        if event in _UNTOLD:
            continue
        if node == EMULATOR:
            if event in FAULT_CHANGES and record.text:
                handover = f", {record.kind}" if record.kind else ""
                yield f"{'fault' if event == Event.FAULT else 'healed by'} {record.text}{handover}"
                holding = [record.text] if event == Event.FAULT else []
            continue
        name: _Name = event, record.label or record.kind, record.text if event in _NAMED else None
        following[last.get(node, _START), name] += 1
        if holding:
            during.add((name, holding[0]))
        last[node] = name
    words_of = {name: _in_words(name) for name in dict.fromkeys(chain.from_iterable(following))}
    counts: Counter[str] = Counter()
    for (before, name), number in following.items():
        counts[words_of[name]] += number
        yield f"{words_of[before]}, then {words_of[name]}"
    for name, fault in during:
        yield f"{words_of[name]} after {fault}"
    for words, number in counts.items():
        yield f"{words}, up to {1 << number.bit_length()} times"


def _in_words(name: _Name) -> str:
    event, kind, reason = name
    if reason:
        reason = _PARTICULARS.sub("_", reason)
    return " ".join(filter(None, (event, kind, reason)))


def _of_tables(tables: Tables) -> Iterator[str]:
    for of_broker in tables.values():
        for name, table in of_broker.items():
            yield f"table {name}, up to {1 << _size(table).bit_length()} rows"


def _size(table: object) -> int:
    if isinstance(table, Mapping | list | tuple) and isinstance(table, Sized):
        return len(table)
    return table if isinstance(table, int) else 0
