"""Delivery in order, without gap and without duplicate (Gryphon, sections 1, 3.1, 4 and 7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.verdict import Measurement
from analysis.tables.deliveries import Expectation
from analysis.tables.results import read_table
from analysis.tables.timeline import Fault
from analysis.tables.traffic import LabelledMessages
from record.faults import FaultKind
from record.files import RESULTS
from record.log import Event

_BREAKING = (FaultKind.KILL, FaultKind.LINK_DOWN)
"""Faults that cut paths while they last."""


def guarantee(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Violations: publications that a client did not get although it had to, or got twice, out of order, or without a
    right to them. Checked: pairs of a subscriber and a publisher of which it was notified.

    The arguments are numbers of retransmissions and of subscriptions made while brokers or links were down; a run with
    fewer of them tests too little, and checks nothing.
    """
    pairs, defects, example = set(), 0, ""
    for row in read_table(run.directory / RESULTS, Expectation):
        if row.notifications:
            pairs.add((row.variant, row.client, row.publisher))
        if row.defect is not None:
            defects += 1
            example = example or f"{row.variant}: {row.publication} to {row.client}: {row.defect} ({row.cause})"
    found = retransmissions(run), _starts_in_faults(run)
    enough = all(number >= least for number, least in zip(found, recipe.arguments, strict=True))
    return Measurement(values=(defects,), checked=len(pairs) if enough else 0, example=example)


def retransmissions(run: MeasuredRun) -> int:
    """Publications sent in answer to a negative acknowledgement, over all links."""
    rows = read_table(run.directory / RESULTS, LabelledMessages)
    return sum(row.sent for row in rows if row.label == "retransmission")


def equal_sequences(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Violations: pairs of a subscriber and a publisher whose sequence of publications differs from that in the first
    variant, which has no faults, except that one of the two may begin earlier. The argument is the place of the other
    variant, from 0."""
    (place,) = recipe.arguments
    if not 0 < place < len(run.variants):
        raise ClaimsError(f"{run.directory}: {len(run.variants)} variants; none has the place {place:g}")
    calm, faulty = (_sequences(run.variants[number]) for number in (0, round(place)))
    pairs = sorted(calm.keys() | faulty.keys())
    unequal = [pair for pair in pairs if not _end_alike(calm.get(pair, ()), faulty.get(pair, ()))]
    example = f"{unequal[0][0]} from {unequal[0][1]}" if unequal else ""
    return Measurement(values=(len(unequal),), checked=len(pairs), example=example)


def _end_alike(first: Sequence[str], second: Sequence[str]) -> bool:
    length = min(len(first), len(second))
    return length > 0 and first[-length:] == second[-length:]


def _sequences(variant: MeasuredVariant) -> Mapping[tuple[str, str], Sequence[str]]:
    """Publications by client and publisher, in the order in which the client was notified."""
    found: dict[tuple[str, str], list[tuple[int, int, str]]] = defaultdict(list)
    for row in variant.notifications:
        found[row.client, row.publisher or ""].append((row.notified_ns, row.published_ns or 0, row.publication))
    return {pair: [publication for _, _, publication in sorted(rows)] for pair, rows in found.items()}


def _starts_in_faults(run: MeasuredRun) -> int:
    """Subscriptions that clients made while a broker or a link was down."""
    down: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for fault in read_table(run.directory / RESULTS, Fault):
        if fault.kind in _BREAKING:
            down[fault.variant].append((fault.began_ns, fault.healed_ns or 2**63))
    return sum(
        any(begin <= record.time <= end for begin, end in down[record.variant])
        for record in run.client_records(b'"event":"subscribe"')
        if record.event is Event.SUBSCRIBE
    )
