"""Matching delay and path-selection time: measured alike under every routing, and undisturbed by logging."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import pytest

from broker_service.matching import MatchIndex
from record.log import Event
from tests.broker_service.overlay import CoreOverlay
from tests.broker_service.routing.stocks import above, quote

LINE = [("a0", "b0"), ("b0", "c0")]
PLACES = {broker: {"region": broker[0], "cluster": 0} for broker in ("a0", "b0", "c0")}
LOOK = 1_000
"""Nanoseconds that reading the clock of a `CoreOverlay` takes."""
LOGGING, READING, COMPARING = 5_000_000, 700_000, 30_000
"""Nanoseconds that a log record, decoding and a comparison take here."""


ROUTINGS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "SPR": ("octopia", {"publications": "static"}),
    "IDR": ("octopia", {"publications": "inter-cluster-dynamic"}),
    "TID-S": ("tid", {"publications": "fixed"}),
    "TID-D": ("tid", {"publications": "dynamic", "load": "congestion"}),
}


class SlowOverlay(CoreOverlay):
    """An overlay in which logging, decoding and comparing take a set time."""

    slower = 0

    def clock(self) -> int:
        return super().clock() + self.slower

    def slowly(self, what: Callable[..., Any], takes: int) -> Callable[..., Any]:
        def done(*arguments: Any) -> Any:
            self.slower += takes
            return what(*arguments)

        return done


def one_publication(protocol: str, options: Mapping[str, str]) -> SlowOverlay:
    """From a publisher at a0 to subscribers at b0 and c0."""
    overlay = SlowOverlay(LINE, options=options, protocol=protocol, attributes=PLACES)
    for client, broker in {"P": "a0", "S": "b0", "T": "c0"}.items():
        overlay.attach(client, broker)
    overlay.advertise("P", "a", above(0))
    overlay.settle()
    for client in "S", "T":
        overlay.subscribe(client, "s", above(0))
    overlay.settle()
    for core in overlay.brokers.values():
        recorder, comparisons = core._surroundings.recorder, core._surroundings.comparisons
        recorder._write = overlay.slowly(recorder._write, LOGGING)
        comparisons._decode = overlay.slowly(comparisons._decode, READING)
    with mock.patch.object(MatchIndex, "match", overlay.slowly(MatchIndex.match, COMPARING)):
        overlay.publish("P", "P:1", quote(5))
        overlay.settle()
    assert overlay.notified == {"S": ["P:1"], "T": ["P:1"]}
    return overlay


@pytest.mark.parametrize("routing", ROUTINGS)
def test_each_tells_of_comparing_and_of_choosing_paths_and_of_nothing_else(routing: str) -> None:
    """Only OctopiA compares content at every broker, and it must decode it there; that is neither. So is logging."""
    overlay = one_publication(*ROUTINGS[routing])
    worked = {
        record.node: record.duration or 0 for record in overlay.records(Event.RECEIVED) if record.kind == "publish"
    }
    compared = {record.node: record.duration or 0 for record in overlay.records(Event.MATCHED)}
    assert worked.keys() == {"a0", "b0", "c0"}
    assert compared.keys() == ({"a0"} if routing.startswith("TID") else worked.keys())
    assert set(compared.values()) == {COMPARING + LOOK}
    choosing = {node: took - compared.get(node, 0) for node, took in worked.items()}
    looks = {node: 2 if node in compared else 1 for node in worked}
    assert choosing == {node: LOOK * looks[node] for node in worked}, "what remains are looks at the clock"


def test_what_was_compared_is_logged_right_after_the_publication_it_was_of() -> None:
    overlay = one_publication(*ROUTINGS["SPR"])
    for trace in overlay.traces.values():
        logged = [record.event for record in trace.records if record.id == "P:1"]
        assert logged[:2] == [Event.RECEIVED, Event.MATCHED]
