"""State that routing tables still hold after all clients have left.

Once every subscription and advertisement is withdrawn, each broker's tables should be what they were before the first
client joined. A row beyond that is a leak: an unsubscription that was not passed on, a subscription left in the
matching index. It changes no delivery of the run, and costs memory and traffic for ever after.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from broker_service.core.broker import MATCHING_INDEX
from emulation.live_overlay import Tables

_ROWS = 5
"""Rows of one broker that are listed."""
_LONGEST = 200
"""Characters of one row."""


def remaining_state(before: Tables, after: Tables, counting: Collection[str]) -> dict[str, list[str]]:
    """Differences between tables, a line each, by broker; brokers without any are left out.

    `before` are the tables when no client had joined yet, `after` those when all had left. Those named in `counting`
    count what has happened, and stand for no client, so they are not compared.
    """
    found: dict[str, list[str]] = {}
    for broker in before:
        lines = list(_differences(before[broker], after[broker], counting)) if broker in after else ["no answer"]
        if lines:
            more = [f"and {len(lines) - _ROWS} more"] if len(lines) > _ROWS else []
            found[broker] = lines[:_ROWS] + more
    return found


def remaining_subscriptions(tables: Tables) -> dict[str, list[str]]:
    """Matching indexes that are not empty, a line each, by broker. `tables` are those when all subscribers had left."""
    return {
        broker: [f"matching_index still holds {size} without a subscriber"]
        for broker, of_broker in tables.items()
        if (size := of_broker.get(MATCHING_INDEX))
    }


def _differences(before: Mapping[str, object], after: Mapping[str, object], counting: Collection[str]) -> Iterator[str]:
    for name in dict.fromkeys((*before, *after)):
        if name in counting:
            continue
        old, new = _rows(before.get(name)), _rows(after.get(name))
        yield from (f"{name} still holds {row}"[:_LONGEST] for row in new if row not in old)
        yield from (f"{name} lacks {row}"[:_LONGEST] for row in old if row not in new)


def _rows(table: object) -> list[str]:
    match table:
        case None:
            return []
        case Mapping():
            return [f"{key}: {value}" for key, value in table.items()]
        case list() | tuple():
            return [str(row) for row in table]
    return [str(table)]
