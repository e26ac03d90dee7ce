"""Tables of TID-based routing against plain ones that keep every binding apart."""

from __future__ import annotations

import random

import pytest

from broker_service.routing.common.identifiers import split_id
from broker_service.routing.tid.routes import Route
from broker_service.routing.tid.tables import PublicationRoutingTable, SubscriptionRow

TREES = tuple(f"B{broker}.1.{number}" for broker in range(3) for number in range(2))


def row(id: str, *, local: bool = False) -> SubscriptionRow:
    home, number = split_id(id)
    return SubscriptionRow(id, b"", home, number, "S", local)


@pytest.mark.parametrize("seed", range(10))
def test_bindings_are_found_in_the_order_in_which_they_were_made(seed: int) -> None:
    rng = random.Random(seed)
    table = PublicationRoutingTable()
    naive: dict[str, dict[str, None]] = {tree: {} for tree in TREES}
    rows: dict[str, SubscriptionRow] = {}
    for _ in range(300):
        id = f"C{rng.randrange(4)}.1.{rng.randrange(3)}"
        trees = rng.sample(TREES, rng.randrange(1, 4))
        match rng.randrange(5):
            case 0 | 1:
                if id not in rows:
                    rows[id] = row(id, local=id.startswith("C0."))
                    table.add(rows[id])
                table.bind(rows[id], trees, None if rows[id].local else Route("N", rng.randrange(3)))
                for tree in trees:
                    naive[tree][id] = None
            case 2 | 3 if id in rows:
                table.unbind(rows[id], trees)
                for tree in trees:
                    naive[tree].pop(id, None)
            case 4 if id in rows:
                table.remove(rows.pop(id))
                for bound in naive.values():
                    bound.pop(id, None)
        assert {tree: [entry.id for entry in table.bound_to(tree)] for tree in TREES} == {
            tree: list(bound) for tree, bound in naive.items()
        }
        assert {entry.id: set(entry.tids) for entry in table} == {
            id: {tree for tree in TREES if id in naive[tree]} for id in rows
        }
        for broker in ("B0", "B1", "B2", "B9"):
            there = {tree for tree in TREES if naive[tree] and tree.startswith(f"{broker}.")}
            assert set(table.trees_of(broker)) == there
        for broker in ("C0", "C1", "C2", "C3", "C9"):
            assert {entry.id for entry in table.of_broker(broker)} == {id for id in rows if id.startswith(f"{broker}.")}
