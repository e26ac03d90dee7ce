"""Dynamic routing, forced to borrow a tree that ends while publications are on it."""

from __future__ import annotations

import pytest

from studies.conformance.model import Case
from tests.properties import checks
from tests.properties.trial import forced_tid_changes, run

EVERYTHING = "[class,eq,'A'],[price,>=,0],[price,<=,5]"
PUBLICATIONS = [f"p{number}" for number in range(12)]


def case() -> Case:
    """P's tree leads over B2, Q's over B3 by a slow link, which news of Q's end overtakes on the other way round."""
    declaration = {"broker": "B1", "id": "x", "text": EVERYTHING}
    steps = [
        {**declaration, "op": "subscribe", "client": "S", "broker": "B4"},
        {"op": "link_down", "link": ["B1", "B3"]},
        {**declaration, "op": "advertise", "client": "P"},
        {"op": "link_up", "link": ["B1", "B3"]},
        {"op": "link_down", "link": ["B1", "B2"]},
        {**declaration, "op": "advertise", "client": "Q"},
        {"op": "link_up", "link": ["B1", "B2"]},
    ]
    for id in PUBLICATIONS:
        text = "[class,'A'],[price,3]"
        steps.append({"op": "publish", "client": "P", "broker": "B1", "id": id, "text": text, "wait": "0s"})
    steps.append({"op": "unadvertise", "client": "Q", "broker": "B1", "id": "x"})
    delays = {("B1", "B2"): "1ms", ("B2", "B4"): "1ms", ("B1", "B3"): "50ms", ("B3", "B4"): "1ms"}
    links = [{"between": pair, "delay": delay} for pair, delay in delays.items()]
    brokers = ["B1", "B2", "B3", "B4"]
    data = {"id": "borrowed-tree-ends", "brokers": brokers, "links": links, "steps": steps, "expect": {}}
    return Case.model_validate(data)


@pytest.mark.parametrize("protocol", checks.BOTH)
def test_publications_on_a_borrowed_tree_arrive_though_it_ends(protocol: str) -> None:
    with forced_tid_changes(1):
        outcome = run(case(), protocol)
    assert sorted(outcome.got["S"]) == sorted(PUBLICATIONS)
    assert outcome.arrivals["B2"].publications, "some went over P's own tree"
    assert bool(outcome.arrivals["B3"].publications) == (protocol == checks.DYNAMIC), "and some over Q's"
