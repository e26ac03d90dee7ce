"""Counts of two runs: messages by kind and broker, matching, deliveries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from msgspec import UNSET

from analysis.compare.model import CountPair, MessageComparison, count
from analysis.tables.delivery_figures import DeliveryFigures
from analysis.tables.summary import VariantSummary
from analysis.tables.traffic import BrokerMessages

WORST_BROKERS = 5
_Key = TypeVar("_Key", bound=Hashable)
_DELIVERY = (*DeliveryFigures.__struct_fields__, "optional")


def compare_messages(first: Sequence[BrokerMessages], second: Sequence[BrokerMessages]) -> MessageComparison:
    """Messages that brokers received from clients and neighbours, by kind and by broker."""
    kinds = [_received(rows, lambda row: row.kind) for rows in (first, second)]
    brokers = [_received(rows, lambda row: row.broker) for rows in (first, second)]
    cells = [_received(rows, lambda row: (row.broker, row.kind)) for rows in (first, second)]
    total = count("all", kinds[0].total(), kinds[1].total())
    differing = [count(name, brokers[0][name], brokers[1][name]) for name in sorted(brokers[0] | brokers[1])]
    differing.sort(key=lambda broker: -abs(broker.second - broker.first))
    misplaced = sum(abs(cells[0][cell] - cells[1][cell]) for cell in cells[0] | cells[1])
    return MessageComparison(
        total=total,
        kinds=[count(kind, kinds[0][kind], kinds[1][kind]) for kind in sorted(kinds[0] | kinds[1])],
        worst_brokers=[broker for broker in differing[:WORST_BROKERS] if broker.first != broker.second],
        misplaced=misplaced / (total.first + total.second) if total.first + total.second else 0.0,
    )


def compare_matching(first: VariantSummary, second: VariantSummary) -> CountPair | None:
    """Comparisons of content in both runs; None where brokers of one of them kept no logs."""
    if first.matching is UNSET or second.matching is UNSET:
        return None
    return count("matching operations", first.matching.operations, second.matching.operations)


def compare_delivery(first: VariantSummary, second: VariantSummary) -> list[CountPair]:
    return [count(name, getattr(first.delivery, name), getattr(second.delivery, name)) for name in _DELIVERY]


def _received(rows: Sequence[BrokerMessages], key: Callable[[BrokerMessages], _Key]) -> Counter[_Key]:
    """Messages received from clients and neighbours, by a key of their rows."""
    sums: Counter[_Key] = Counter()
    for row in rows:
        sums[key(row)] += row.from_clients + row.received
    return sums
