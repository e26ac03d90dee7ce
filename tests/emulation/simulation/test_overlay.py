"""The simulated overlay: the real broker core, links with properties, and what happens when brokers and links fail."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import msgspec
import pytest

from broker_service.client_library.client_requests import TooLargeError
from broker_service.config import Limits
from broker_service.language import Operator, Predicate, Publication
from broker_service.language.content import decode_publication, encode_predicates, encode_publication
from broker_service.links.frames import MessageFrame
from broker_service.messages import (
    ACKNOWLEDGE_WITHIN,
    ACKNOWLEDGED_AT_ONCE,
    MOST_IN_DOUBT,
    ClientEvent,
    Operation,
    Outcome,
)
from broker_service.transport.wire import encode_link_frame
from emulation.live_overlay import BrokerSettings
from emulation.planning.calibration import GROUPS, Calibration, Latency
from emulation.simulation import SimulatedOverlay, SimulatedSession
from record.log import Event
from tests.broker_service.overlay import ListTrace
from topology.link_properties import Link, LinkDirection, LinkProperties
from topology.model import Broker, Overlay

MILLISECOND = 1_000_000
B12 = LinkDirection("B1", "B2")
STOCKS = encode_predicates(
    (Predicate("class", Operator.STRING_EQUAL, "STOCK"), Predicate("price", Operator.GREATER, 0))
)
DEAR = encode_predicates((Predicate("class", Operator.STRING_EQUAL, "STOCK"), Predicate("price", Operator.GREATER, 80)))


class Trial:
    """An overlay and the sessions of its clients, and what they were told when."""

    def __init__(
        self, links: dict[tuple[str, str], LinkProperties], calibration: Calibration | None = None, **settings: Any
    ) -> None:
        names = sorted({end for pair in links for end in pair})
        brokers = tuple(Broker(name, {"region": name, "cluster": 0}) for name in names)
        overlay = Overlay("trial", brokers, tuple(Link(a, b, p, p) for (a, b), p in links.items()))
        self.traces = {name: ListTrace(name) for name in names}
        self.overlay = SimulatedOverlay(
            overlay, BrokerSettings(**{"protocol": "tid", **settings}), self.traces.__getitem__, calibration=calibration
        )
        self.sessions: dict[str, SimulatedSession] = {}
        self.notified: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self.overlay.start()
        self.overlay.settle()

    def attach(self, client: str, broker: str) -> None:
        self.sessions[client] = self.overlay.sessions.open(broker, self.on_event)
        self.sessions[client].submit(client, Operation.ATTACH)

    def ask(self, client: str, operation: Operation, id: str, body: bytes = b"") -> None:
        self.sessions[client].submit(client, operation, id, body)
        self.overlay.settle()

    def publish(self, client: str, id: str, price: float = 100.0) -> int:
        """Returns the moment."""
        body = encode_publication(Publication({"class": "STOCK", "price": price}))
        self.sessions[client].submit(client, Operation.PUBLISH, id, body)
        return self.overlay.events.now

    def on_event(self, event: ClientEvent) -> None:
        if event.outcome is Outcome.NOTIFIED:
            for client in event.clients:
                self.notified[client].append((event.id, self.overlay.events.now))

    def ids(self, client: str) -> list[str]:
        return [id for id, _ in self.notified[client]]

    def one_publisher_one_subscriber(self, publisher: str, subscriber: str) -> None:
        self.attach("P", publisher)
        self.attach("S", subscriber)
        self.ask("P", Operation.ADVERTISE, "a1", STOCKS)
        self.ask("S", Operation.SUBSCRIBE, "s1", DEAR)


def cut(trial: Trial) -> None:
    for direction in (B12, B12.reverse):
        trial.overlay.links.cut(direction)


def restore(trial: Trial) -> None:
    for direction in (B12, B12.reverse):
        trial.overlay.links.restore(direction)


def line(**properties: Any) -> dict[tuple[str, str], LinkProperties]:
    return {("B1", "B2"): LinkProperties(**properties), ("B2", "B3"): LinkProperties(**properties)}


def ring(**properties: Any) -> dict[tuple[str, str], LinkProperties]:
    return {**line(**properties), ("B1", "B3"): LinkProperties(**properties)}


def test_a_publication_takes_the_delay_of_its_links() -> None:
    trial = Trial(line(delay=0.005))
    trial.one_publisher_one_subscriber("B1", "B3")
    published = trial.publish("P", "p1")
    trial.overlay.settle()
    assert trial.notified["S"] == [("p1", published + 10 * MILLISECOND)]


def test_both_ends_of_a_link_measure_its_round_trip() -> None:
    trial = Trial(line(delay=0.005))
    trial.overlay.pass_time(0.1)
    links = [link for broker in trial.overlay.brokers.cores.values() for link in broker.links.values()]
    assert [link.round_trip for link in links] == [0.010] * 4


def test_a_first_beat_that_jitter_lets_frames_overtake_acknowledges_nothing_anew() -> None:
    """Frames that were sent after the beat have acknowledged more messages by the time it arrives."""
    links = {**ring(), ("B1", "B3"): LinkProperties(delay=0.001, jitter=0.001)}
    for seed in range(40):
        trial = Trial(links, seed=seed)
        for broker in ("B1", "B2", "B3"):
            trial.attach(broker, broker)
        for broker in ("B1", "B2", "B3"):
            trial.ask(broker, Operation.ADVERTISE, "a", STOCKS)
            trial.ask(broker, Operation.SUBSCRIBE, "s", STOCKS)
        trial.publish("B1", "p")
        trial.overlay.settle()
        trial.overlay.pass_time(0.1)
        assert {client: len(events) for client, events in trial.notified.items()} == {"B1": 1, "B2": 1, "B3": 1}, seed


def test_publications_are_acknowledged_in_time_and_do_not_keep_the_overlay_busy() -> None:
    trial = Trial(line(delay=0.005))
    trial.one_publisher_one_subscriber("B1", "B3")
    requests = trial.sessions["P"]._requests
    for number in range(3):
        trial.publish("P", f"p{number}")
    trial.overlay.settle()
    assert len(requests._unacknowledged) == 3
    trial.overlay.pass_time(ACKNOWLEDGE_WITHIN)
    assert not requests._unacknowledged


def test_an_acknowledgement_travels_as_long_as_a_notification() -> None:
    notify = Latency((30 * MILLISECOND,) * GROUPS)
    trial = Trial(line(delay=0.005), calibration=msgspec.structs.replace(Calibration.free(), notify=notify))
    trial.one_publisher_one_subscriber("B1", "B3")
    trial.overlay.pass_time(1.0)
    trial.publish("P", "p1")
    trial.overlay.pass_time(ACKNOWLEDGE_WITHIN + 0.029)
    requests = trial.sessions["P"]._requests
    assert len(requests._unacknowledged) == 1
    trial.overlay.pass_time(0.001)
    assert not requests._unacknowledged


def test_many_publications_are_acknowledged_at_once() -> None:
    trial = Trial(line(delay=0.005))
    trial.one_publisher_one_subscriber("B1", "B3")
    requests = trial.sessions["P"]._requests
    for number in range(MOST_IN_DOUBT + ACKNOWLEDGED_AT_ONCE):
        trial.publish("P", f"p{number}")
    trial.overlay.settle()
    assert len(requests._unacknowledged) < ACKNOWLEDGED_AT_ONCE


def test_only_what_matches_is_notified() -> None:
    trial = Trial(line())
    trial.one_publisher_one_subscriber("B1", "B3")
    trial.publish("P", "cheap", 10.0)
    trial.publish("P", "dear", 90.0)
    trial.overlay.settle()
    assert trial.ids("S") == ["dear"]


def test_a_slow_link_makes_messages_wait_their_turn() -> None:
    trial = Trial(line(rate=100_000.0))
    trial.one_publisher_one_subscriber("B1", "B3")
    for number in range(20):
        trial.publish("P", f"p{number}")
    trial.overlay.settle()
    moments = [moment for _, moment in trial.notified["S"]]
    assert trial.ids("S") == [f"p{number}" for number in range(20)]
    assert moments[-1] - moments[0] >= 0  # they may share a frame
    sent = sum(r.bytes or 0 for r in trial.traces["B1"].records if r.event is Event.SENT and r.kind == "publish")
    assert moments[-1] >= sent * 8 / 100_000.0 * 1e9


def test_a_frame_occupies_a_slow_link_for_the_bytes_of_its_encoding() -> None:
    trial = Trial({("B1", "B2"): LinkProperties(rate=100_000.0)})
    trial.one_publisher_one_subscriber("B1", "B2")
    published = trial.publish("P", "p1")
    trial.overlay.run_until(published)
    link = trial.overlay.brokers.cores["B1"].links["B2"]
    [message] = link.retransmission.in_flight
    on_a_real_host = msgspec.structs.replace(message, published=1 << 50)
    [content] = encode_link_frame(MessageFrame([on_a_real_host], link.received), 1 << 20)
    trial.overlay.settle()
    [(_, notified)] = trial.notified["S"]
    headers = 9 + 5 + 66  # of HTTP/2, gRPC, and a packet
    assert notified - published == (len(content) + headers) * 8 * 10_000


def test_a_full_window_makes_messages_wait_in_the_output_queue() -> None:
    trial = Trial(line(delay=0.010), limits=Limits(window=4))
    trial.one_publisher_one_subscriber("B1", "B3")
    for number in range(40):
        trial.publish("P", f"p{number}")
    trial.overlay.settle()
    assert trial.ids("S") == [f"p{number}" for number in range(40)]
    waits = [r.duration or 0 for r in trial.traces["B1"].records if r.event is Event.SENT and r.kind == "publish"]
    assert max(waits) >= 9 * 20 * MILLISECOND  # ten windows, each a round trip


def test_a_lossy_link_loses_no_message_and_keeps_their_order() -> None:
    trial = Trial(line(delay=0.002, jitter=0.001, loss=0.3))
    trial.one_publisher_one_subscriber("B1", "B3")
    for number in range(200):
        trial.publish("P", f"p{number}")
        trial.overlay.run_until(trial.overlay.events.now + MILLISECOND)
    trial.overlay.settle()
    assert trial.ids("S") == [f"p{number}" for number in range(200)]


def test_the_same_seed_gives_the_same_log() -> None:
    logs = []
    for _ in range(2):
        trial = Trial(ring(delay=0.003, jitter=0.001, loss=0.05), seed=7)
        trial.one_publisher_one_subscriber("B1", "B3")
        for number in range(50):
            trial.publish("P", f"p{number}")
        trial.overlay.settle()
        logs.append([record for trace in trial.traces.values() for record in trace.records])
    assert logs[0] == logs[1]


def test_publications_go_round_a_dead_broker_when_routing_is_dynamic() -> None:
    square = {("B1", "B2"): 0.001, ("B2", "B4"): 0.001, ("B1", "B3"): 0.002, ("B3", "B4"): 0.002}
    trial = Trial(
        {pair: LinkProperties(delay=delay) for pair, delay in square.items()}, options={"publications": "dynamic"}
    )
    trial.one_publisher_one_subscriber("B1", "B4")
    cut(trial)
    trial.overlay.settle()
    trial.attach("Q", "B1")
    trial.ask("Q", Operation.ADVERTISE, "a1", STOCKS)  # its tree has to go over B3, and offers that way
    restore(trial)
    trial.overlay.settle()
    trial.overlay.brokers.kill("B2")
    trial.overlay.settle()
    trial.publish("P", "p1")
    trial.overlay.settle()
    assert trial.ids("S") == ["p1"]


def test_a_restarted_broker_gets_its_tables_and_its_clients_back() -> None:
    trial = Trial(line(delay=0.001))
    trial.one_publisher_one_subscriber("B1", "B3")
    trial.overlay.brokers.kill("B2")
    trial.overlay.settle()
    trial.publish("P", "lost")
    trial.overlay.brokers.restart("B2")
    trial.overlay.run_until(trial.overlay.events.now + 10_000 * MILLISECOND)
    trial.publish("P", "p1")
    trial.overlay.settle()
    assert trial.ids("S")[-1:] == ["p1"]
    trial.overlay.brokers.kill("B3")
    trial.overlay.brokers.restart("B3")
    trial.overlay.run_until(trial.overlay.events.now + 10_000 * MILLISECOND)
    trial.publish("P", "p2")
    trial.overlay.settle()
    assert trial.ids("S")[-1:] == ["p2"]


def test_a_restarted_brokers_clients_say_again_what_they_want_once() -> None:
    trial = Trial(line(delay=0.001))
    trial.one_publisher_one_subscriber("B1", "B3")
    before = trial.overlay.brokers.cores["B1"].tables()["publication_routing_table"]
    for _ in range(2):
        trial.overlay.brokers.kill("B3")
        trial.overlay.settle()
        trial.overlay.brokers.restart("B3")
        trial.overlay.run_until(trial.overlay.events.now + 10_000 * MILLISECOND)
    assert before == {"B3.1.1": [["B1.1.1", "B2"]]}
    assert trial.overlay.brokers.cores["B1"].tables()["publication_routing_table"] == {"B3.3.1": [["B1.1.1", "B2"]]}
    assert list(trial.overlay.brokers.cores["B3"].tables()["publication_routing_table"].keys()) == ["B3.3.1"]  # type: ignore[attr-defined]


def test_a_silent_neighbour_is_given_up_within_three_heartbeats() -> None:
    limits = Limits(heartbeat=2.0)
    trial = Trial(line(delay=0.001), limits=limits)
    begin = trial.overlay.events.now
    trial.overlay.brokers.pause("B2")
    trial.overlay.run_until(begin + 60_000 * MILLISECOND)
    for neighbour in ("B1", "B3"):
        (down,) = [record for record in trial.traces[neighbour].records if record.event is Event.LINK_DOWN]
        assert limits.heartbeat < (down.time - begin) / 1e9 <= 3 * limits.heartbeat
        assert not trial.overlay.brokers.cores[neighbour].links["B2"].up


def test_the_queue_to_a_dead_neighbour_is_bounded_and_all_that_is_lost_is_counted() -> None:
    trial = Trial(line(delay=0.001), limits=Limits(link_queue=10))
    trial.one_publisher_one_subscriber("B1", "B3")
    trial.overlay.brokers.kill("B2")
    trial.overlay.settle()
    for number in range(30):
        trial.publish("P", f"p{number}")
        trial.overlay.settle()
    link = trial.overlay.brokers.cores["B1"].links["B2"]
    assert (link.queue_length, link.dropped) == (10, 20)
    trial.overlay.brokers.restart("B2")
    trial.overlay.run_until(trial.overlay.events.now + 10_000 * MILLISECOND)
    assert (link.queue_length, link.dropped) == (0, 30)
    lost = [record.id for record in trial.traces["B1"].records if record.event is Event.DROPPED]
    assert sorted(map(str, lost)) == sorted(f"p{number}" for number in range(30))


def test_a_subscription_finds_room_behind_publications_that_fill_the_queue_of_a_cut_link() -> None:
    trial = Trial(line(delay=0.001), limits=Limits(link_queue=2))
    trial.one_publisher_one_subscriber("B1", "B3")
    trial.attach("Q", "B3")
    trial.ask("Q", Operation.ADVERTISE, "a1", STOCKS)
    cut(trial)
    trial.overlay.settle()
    for number in range(5):
        trial.publish("P", f"p{number}")
    trial.overlay.settle()
    trial.attach("T", "B1")
    trial.ask("T", Operation.SUBSCRIBE, "s1", DEAR)
    assert trial.overlay.brokers.cores["B1"].links["B2"].queue_length == 3
    restore(trial)
    trial.overlay.settle()
    trial.publish("Q", "q")
    trial.overlay.settle()
    assert sorted(trial.ids("S")) == ["p0", "p1", "q"]
    assert "q" in trial.ids("T")


@pytest.mark.parametrize("seconds", [0.5, 20.0])
def test_a_cut_link_delivers_what_it_held_once_it_works_again(seconds: float) -> None:
    trial = Trial(line(delay=0.001))
    trial.one_publisher_one_subscriber("B1", "B3")
    cut(trial)
    trial.publish("P", "p1")
    trial.overlay.run_until(trial.overlay.events.now + round(seconds * 1e9))
    assert trial.ids("S") == []
    restore(trial)
    trial.publish("P", "p2")
    trial.overlay.settle()
    assert trial.ids("S") == ["p1", "p2"]
    breaks = [record for record in trial.traces["B1"].records if record.event is Event.LINK_DOWN]
    assert len(breaks) == (seconds > 4)


def test_what_brokers_on_the_way_match_is_decoded_for_the_first_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []

    def decode(body: bytes) -> Publication:
        decoded.append(body)
        return decode_publication(body)

    monkeypatch.setattr("emulation.simulation.contents.decode_publication", decode)
    trial = Trial(line(), protocol="octopia")
    trial.one_publisher_one_subscriber("B1", "B3")
    for id, price in ("p1", 100.0), ("p2", 90.0), ("p3", 100.0):
        trial.publish("P", id, price)
        trial.overlay.settle()
    assert trial.ids("S") == ["p1", "p2", "p3"]
    assert [len(trial.traces[broker].of(Event.MATCHED)) for broker in ("B2", "B3")] == [3, 3]
    assert len(decoded) == 2


def test_clients_send_what_the_limits_of_the_brokers_allow() -> None:
    small, large = (
        Trial({("B1", "B2"): LinkProperties()}, limits=Limits(message_bytes=size)) for size in (100, 4 << 20)
    )
    for trial in (small, large):
        trial.attach("P", "B1")
    large.ask("P", Operation.ADVERTISE, "a1", STOCKS + b"x" * (2 << 20))
    with pytest.raises(TooLargeError, match=r"at most 100 \(limits.message_bytes\)"):
        small.ask("P", Operation.ADVERTISE, "a1", STOCKS + b"x" * 100)
