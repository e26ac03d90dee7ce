"""A simulated broker's own work: what occupies it, for how long, and what waits meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker_service.config import BrokerConfig
from broker_service.messages import Kind, Message
from emulation.live_overlay import BrokerSettings
from emulation.planning.calibration import GROUPS, Calibration, Latency
from emulation.simulation import EventQueue, SimulatedOverlay
from emulation.simulation.server import SimulatedServer, work_of
from record.service_time import Distribution, ServiceTime
from tests.emulation.simulation.test_overlay import ListTrace, Trial, line
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay

MILLISECOND = 1_000_000
COSTLY = Calibration(frame=100, work={"publish": 10, "subscribe": 50})
PUBLISH, SUBSCRIBE = Message(Kind.PUBLISH, "p"), Message(Kind.SUBSCRIBE, "s")


def config(service_time: ServiceTime | None = None, seed: int = 0) -> BrokerConfig:
    return BrokerConfig(id="B1", incarnation=1, protocol="tid", seed=seed, service_time=service_time or ServiceTime())


def server_of(events: EventQueue, config: BrokerConfig, calibration: Calibration) -> SimulatedServer:
    return SimulatedServer(events, work_of(config, calibration, config.service_time))


def handled(service: SimulatedServer, events: EventQueue, frames: Sequence[Sequence[Message]]) -> list[tuple[int, int]]:
    """Times at which pieces of the frames are handled, all submitted now, and the numbers of their messages."""
    found: list[tuple[int, int]] = []

    def handle(messages: Sequence[Any]) -> None:
        found.append((events.now, len(messages)))

    for frame in frames:
        service.submit(handle, frame)
    events.settle(10**12)
    return found


def test_free_brokers_handle_at_once() -> None:
    taken: list[Sequence[Any]] = []
    server_of(EventQueue(), config(), Calibration.free()).submit(taken.append, [PUBLISH])
    assert taken == [[PUBLISH]]


def test_a_frame_is_handled_whole_when_its_work_is_done() -> None:
    events = EventQueue()
    server = server_of(events, config(), COSTLY)
    assert handled(server, events, [[PUBLISH, PUBLISH, SUBSCRIBE], [PUBLISH]]) == [(170, 3), (280, 1)]
    assert server.longest_wait == 170
    assert server.waiting == 0


def test_with_a_service_time_messages_are_handled_one_by_one() -> None:
    events = EventQueue()
    server = server_of(events, config(ServiceTime(mean=1e-6)), COSTLY)
    assert handled(server, events, [[PUBLISH, SUBSCRIBE], [PUBLISH]]) == [(1010, 1), (2060, 1), (3070, 1)]


def test_service_times_are_those_that_a_real_broker_draws() -> None:
    events = EventQueue()
    exponential = config(ServiceTime(mean=0.002, distribution=Distribution.EXPONENTIAL), seed=4)
    draw = exponential.service_times()
    first, second = draw(), draw()
    assert first != second
    server = server_of(events, exponential, Calibration.free())
    assert handled(server, events, [[PUBLISH, PUBLISH]]) == [(first, 1), (first + second, 1)]


def test_what_waited_at_a_closed_server_is_never_handled() -> None:
    events = EventQueue()
    server = server_of(events, config(), COSTLY)
    server.submit(lambda _: None, [PUBLISH])
    server.close()
    assert handled(server, events, []) == []


def test_a_publication_pays_each_part_of_its_way() -> None:
    """Two links of 5 ms, three brokers, a hop of 3 ms each, 2 ms to the first broker and 1 ms to the client."""

    def fixed(milliseconds: int) -> Latency:
        return Latency((milliseconds * MILLISECOND,) * GROUPS)

    calibration = Calibration(
        submit=fixed(2), link=fixed(3), notify=fixed(1), frame=MILLISECOND // 2, work={"publish": MILLISECOND // 2}
    )
    trial = Trial(line(delay=0.005), calibration=calibration)
    trial.one_publisher_one_subscriber("B1", "B3")
    sent = trial.publish("P", "p1")
    trial.overlay.settle()
    [(_, arrived)] = trial.notified["S"]
    assert arrived - sent == (2 + 2 * (5 + 3) + 3 * 1 + 1) * MILLISECOND


def test_brokers_draw_latencies_of_their_own_which_the_seed_fixes() -> None:
    def arrivals(seed: int) -> list[int]:
        overlay = Overlay("pair", (Broker("B1"), Broker("B2")), (Link("B1", "B2", LinkProperties(delay=0.005)),))
        traces = {name: ListTrace(name) for name in ("B1", "B2")}
        calibration = Calibration(link=Latency.of(range(100_000)))
        simulated = SimulatedOverlay(
            overlay, BrokerSettings(protocol="tid", seed=seed), traces.__getitem__, calibration=calibration
        )
        simulated.start()
        draws = [broker.latency() for broker in simulated._running.values() for _ in range(5)]
        assert draws[:5] != draws[5:]
        return draws

    assert arrivals(1) == arrivals(1) != arrivals(2)


def test_a_pause_postpones_what_is_served() -> None:
    events = EventQueue()
    server = server_of(events, config(), COSTLY)
    times: list[int] = []
    server.submit(lambda _: times.append(events.now), [PUBLISH])
    events.run_until(50)
    server.pause()
    events.run_until(1000)
    assert times == []
    server.resume()
    events.settle(10**6)
    assert times == [110 + 950]


def test_nothing_overtakes_what_waits_when_the_service_time_changes() -> None:
    events = EventQueue()
    slow = config(ServiceTime(mean=1e-6))
    server = server_of(events, slow, Calibration.free())
    order: list[tuple[str, int]] = []
    server.submit(lambda _: order.append(("slow", events.now)), [PUBLISH])
    server.change(work_of(slow, Calibration.free(), ServiceTime()))
    server.submit(lambda _: order.append(("after", events.now)), [PUBLISH])
    events.settle(10**6)
    assert order == [("slow", 1000), ("after", 1000)]


def test_totals_are_what_messages_wait_and_take() -> None:
    events = EventQueue()
    served = server_of(events, config(ServiceTime(mean=0.001)), Calibration.free())
    handled(served, events, [[PUBLISH] * 3, [PUBLISH]])
    assert served.totals() == (4, (1 + 2 + 3) * MILLISECOND, 4 * MILLISECOND)
    free = server_of(events, config(), Calibration.free())
    handled(free, events, [[PUBLISH]])
    assert free.totals() == (0, 0, 0)
