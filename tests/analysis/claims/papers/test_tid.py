"""Every measure on small runs whose results can be computed by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.claims import ClaimsError, Recipe, load_claims
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.shipped import MEASURES
from analysis.claims.verdict import Measurement
from analysis.tables.broker_work import BrokerLoad
from analysis.tables.deliveries import Notification
from analysis.tables.summary import Matching
from analysis.tables.traffic import BrokerMessages
from record.log import Event, TraceRecord
from topology.link_properties import Link
from topology.model import Broker, Overlay

LINE = Overlay(
    "line", tuple(Broker(f"B{n}") for n in range(1, 5)), tuple(Link(f"B{n}", f"B{n + 1}") for n in (1, 2, 3))
)
RUN = 100.0


def notification(publication: str, delay: float, second: int = 60, **fields: Any) -> Notification:
    given: dict[str, Any] = {"client": "S1", "path": ["B1", "B2"], **fields}
    return Notification(
        variant="", publication=publication, repeat=0, publisher="P1", broker="B2", intended_ns=0, published_ns=0,
        notified_ns=0, delay_ms=delay, hops=1, queueing_ms=0.0, second=second, overtaken=False, **given,
    )  # fmt: skip


def variant(
    name: str,
    notifications: Iterable[Notification] = (),
    settings: Mapping[str, Any] | None = None,
    messages: Iterable[BrokerMessages] = (),
    share: float | None = None,
    loads: Iterable[BrokerLoad] = (),
) -> MeasuredVariant:
    matching = Matching(
        operations=0, publication_messages=0, share=share, per_publication=None, most_brokers=1, at_several_brokers=0
    )
    return MeasuredVariant(
        name=name,
        settings={"routing.publications": name} if settings is None else settings,
        overlay=LINE,
        matching=matching,
        run_seconds=RUN,
        notifications=tuple(notifications),
        messages=tuple(messages),
        loads=tuple(loads),
    )


def measure(name: str, *variants: MeasuredVariant, directory: Path = Path(), arguments: tuple[float, ...] = ()) -> Any:
    recipe = Recipe(scenario="x.yaml", measure=name, arguments=arguments)
    measured = MEASURES[name](MeasuredRun(directory, variants), recipe)
    return measured.values if measured == Measurement(values=measured.values) else measured


def write_logs(directory: Path, *records: TraceRecord) -> None:
    (directory / "logs").mkdir()
    for broker in LINE.brokers:
        own = [msgspec.json.encode(record) + b"\n" for record in records if record.node == broker.id]
        (directory / "logs" / f"{broker.id}.jsonl").write_bytes(b"".join(own) + b'{"time":1,"no')


def test_relative_delay_of_pairs_in_steady_state() -> None:
    fixed = variant("fixed", [notification("a", 10), notification("b", 30), notification("c", 99)])
    dynamic = variant(
        "dynamic", [notification("a", 5), notification("b", 25), notification("d", 1), notification("e", 1, second=49)]
    )
    assert measure("relative delay", fixed, dynamic) == (pytest.approx(30 / 40 - 1),)


def test_delays_before_the_steady_state_do_not_count() -> None:
    early = {"second": 49}
    fixed = variant("fixed", [notification("a", 10), notification("b", 1000, **early)])
    dynamic = variant("dynamic", [notification("a", 20), notification("b", 1, **early)])
    assert measure("relative delay", fixed, dynamic) == (1.0,)
    assert measure("relative delay", variant("fixed"), variant("dynamic")) == (None,)


def test_relative_delay_by_distance_in_the_overlay() -> None:
    """The distance is measured in the overlay, and is not the length of the path that a publication took."""
    detour = ["B1", "B2", "B3", "B2"]
    near, far = {"path": ["B1", "B2"]}, {"path": ["B1", "B2", "B3", "B4"]}
    fixed = variant("fixed", [notification("a", 10, **near), notification("b", 100, **far)])
    dynamic = variant("dynamic", [notification("a", 12, path=detour), notification("b", 50, **far)])
    values = measure("relative delay by distance", fixed, dynamic, arguments=(1, 2, 3))
    assert values == (pytest.approx(0.2), None, pytest.approx(-0.5))


def test_the_share_of_the_most_overloaded_brokers_queue(tmp_path: Path) -> None:
    """B2 waits 6 + 2 ms in all, B1 3 ms; 8 of the 40 ms of notifications through B2 were spent there."""

    def sent(node: str, publication: str, peer: str, milliseconds: int, **fields: Any) -> TraceRecord:
        given = {"variant": "fixed", "kind": "publish", **fields}
        return TraceRecord(
            time=0, node=node, event=Event.SENT, id=publication, peer=peer, duration=milliseconds * 1_000_000, **given
        )

    write_logs(
        tmp_path,
        sent("B1", "a", "B2", 3),
        sent("B2", "a", "B3", 6),
        sent("B2", "b", "B3", 2),
        sent("B1", "a", "B2", 900, variant="dynamic"),
        sent("B1", "s1", "B2", 900, kind="subscribe"),
    )
    through = [notification("a", 10, path=["B1", "B2", "B3"]), notification("b", 30, path=["B2", "B3"])]
    beside = [notification("c", 500, path=["B1"]), notification("d", 500, path=["B3", "B2"])]
    fixed = variant("fixed", [*through, *beside])
    assert measure("queueing share", fixed, variant("dynamic"), directory=tmp_path) == (pytest.approx(8 / 40),)


def test_matching_share_is_of_dynamic_routing() -> None:
    assert measure("matching share", variant("fixed", share=0.5), variant("dynamic", share=0.125)) == (0.125,)


def test_redundant_advertisements() -> None:
    """Two advertisements over four brokers need 6 messages; 10 were received."""

    def row(broker: str, kind: str, received: int, from_clients: int = 0) -> BrokerMessages:
        return BrokerMessages(
            variant="base", broker=broker, kind=kind, from_clients=from_clients, received=received, sent=0, delivered=0,
            received_bytes=0, sent_bytes=0,
        )  # fmt: skip

    rows = [row("B1", "advertise", 4, 2), row("B2", "advertise", 6), row("B3", "subscribe", 100)]
    assert measure("redundant advertisements", variant("base", messages=rows)) == (pytest.approx(0.4),)
    assert measure("redundant advertisements", variant("base")) == (None,)


def test_overload_shows_as_growing_delays() -> None:
    """Growing with time, the mean is 90 in the last fifth and 10 in the first: a rise of 8."""
    growing = [notification(f"a{second}", second + 0.5, second=second) for second in range(100)]
    flat = [notification(f"a{second}", 20, second=second) for second in range(100)]
    margins = measure("overload", variant("fixed", growing), variant("dynamic", flat))
    assert margins == (pytest.approx(8 - 1), pytest.approx(1))
    margins = measure("overload", variant("fixed", flat), variant("dynamic", growing))
    assert margins == (pytest.approx(-1), pytest.approx(1 - 8))
    assert measure("overload", variant("fixed"), variant("dynamic", flat))[0] is None


def burst_delays(during: float, recovered_at: int, settled: float) -> list[Notification]:
    return [
        notification(f"a{second}", during if 30 <= second < recovered_at else settled, second=second)
        for second in range(100)
    ]


def test_a_burst() -> None:
    fixed, dynamic = variant("fixed", burst_delays(200, 60, 20)), variant("dynamic", burst_delays(100, 50, 10))
    smaller, sooner, lower = measure("burst", fixed, dynamic, arguments=(30, 40))
    assert smaller == pytest.approx(0.5)
    assert sooner == pytest.approx((20 - 10) / 20)
    assert lower == pytest.approx(0.5)


def test_a_burst_that_changes_nothing() -> None:
    calm = [variant(name, burst_delays(20, 40, 20)) for name in ("fixed", "dynamic")]
    assert measure("burst", *calm, arguments=(30, 40)) == (0.0, 0.0, 0.0)


def test_one_quiet_second_is_not_a_recovery() -> None:
    delays = [200.0 if 30 <= second < 60 and second != 45 else 20.0 for second in range(100)]
    fixed = variant("fixed", [notification(f"a{second}", delay, second=second) for second, delay in enumerate(delays)])
    dynamic = variant("dynamic", burst_delays(200, 50, 20))
    assert measure("burst", fixed, dynamic, arguments=(30, 40))[1] == pytest.approx((20 - 10) / 20)


def joining_delays(stable_from: int, settled: float) -> list[Notification]:
    """Delays that are five times the settled one until a second, although all clients have joined by second 10."""
    return [
        notification(f"a{second}", settled if second >= stable_from else 5 * settled, second=second)
        for second in range(100)
    ]


def test_settling_counts_from_the_time_at_which_all_have_joined() -> None:
    fixed, dynamic = variant("fixed", joining_delays(40, 20)), variant("dynamic", joining_delays(25, 15))
    faster, smaller = measure("settling", fixed, dynamic, arguments=(10,))
    assert faster == pytest.approx((30 - 15) / 30)
    assert smaller == pytest.approx(0.25)
    early, late = variant("fixed", joining_delays(5, 20)), variant("dynamic", joining_delays(40, 20))
    assert measure("settling", early, late, arguments=(10,)) == (-1.0, 0.0)


def test_settling_needs_notifications() -> None:
    fixed = variant("fixed", joining_delays(40, 20))
    assert measure("settling", fixed, variant("dynamic"), arguments=(10,)) == (None, None)


def load(processor: float, memory: int | None, broker: str = "B1", second: int = 1) -> BrokerLoad:
    return BrokerLoad(variant="", broker=broker, second=second, processor=processor, memory_bytes=memory)


def test_overhead_is_of_the_mean_over_brokers_and_seconds() -> None:
    """Processor time rises from a mean of 0.2 to one of 0.25, memory from 30 to 33."""
    fixed = variant("fixed", loads=[load(0.1, 20), load(0.3, 40, "B2")])
    dynamic = variant("dynamic", loads=[load(0.1, 22), load(0.4, 44, "B2"), load(0.25, 33, "B2", 2)])
    assert measure("overhead", fixed, dynamic) == (pytest.approx(0.25), pytest.approx(0.1))


def test_simulated_brokers_have_no_memory() -> None:
    fixed, dynamic = variant("fixed", loads=[load(0.1, None)]), variant("dynamic", loads=[load(0.1, None)])
    assert measure("overhead", fixed, dynamic) == (0.0, None)
    assert measure("overhead", variant("fixed"), variant("dynamic")) == (None, None)


def test_the_busiest_broker_and_the_others() -> None:
    """Means over seconds: B1 works 0.6 of the time, B2 and B3 0.1 and 0.3."""
    dynamic = variant("dynamic", loads=[load(0.5, 1), load(0.7, 1, second=2), load(0.1, 1, "B2"), load(0.3, 1, "B3")])
    assert measure("busiest broker", variant("fixed"), dynamic) == (pytest.approx(0.6), pytest.approx(0.2))
    assert measure("busiest broker", variant("dynamic")) == (None, None)


def test_a_publication_received_twice(tmp_path: Path) -> None:
    def received(publication: str, peer: str | None, variant_: str = "fixed") -> TraceRecord:
        return TraceRecord(
            time=0, node="B2", variant=variant_, event=Event.RECEIVED, kind="publish", id=publication, peer=peer
        )

    arrivals = [received("a", None), received("a", "B1"), received("b", "B1"), received("b", "B1", "other")]
    write_logs(tmp_path, *arrivals)
    clean = measure("received twice", variant("fixed"), directory=tmp_path)
    assert clean == Measurement(values=(0.0,), checked=3)
    twice = tmp_path / "twice"
    twice.mkdir()
    write_logs(twice, *arrivals, received("b", "B3"))
    found = measure("received twice", variant("fixed"), directory=twice)
    assert found == Measurement(values=(1.0,), checked=3, example="fixed: B2 received b 2 times")


def test_copies_of_subscriptions(tmp_path: Path) -> None:
    """B2 may send B3 as many copies as it has received, here two, and as a subscriber's broker one."""

    def record(node: str, event: Event, id: str, peer: str | None) -> TraceRecord:
        return TraceRecord(time=0, node=node, variant="fixed", event=event, kind="subscribe", id=id, peer=peer)

    passed_on = [
        record("B1", Event.RECEIVED, "s1", None),
        record("B1", Event.SENT, "B1.1.1", "B2"),
        *(record("B2", Event.RECEIVED, "B1.1.1", peer) for peer in ("B1", "B4")),
        *(record("B2", Event.SENT, "B1.1.1", "B3") for _ in range(2)),
    ]
    write_logs(tmp_path, *passed_on)
    assert measure("once", variant("fixed"), directory=tmp_path) == Measurement(values=(0.0,), checked=2)
    for name, more in (("home", record("B1", Event.SENT, "B1.1.1", "B2")), ("relay", passed_on[-1])):
        doubled = tmp_path / name
        doubled.mkdir()
        write_logs(doubled, *passed_on, more)
        found = measure("once", variant("fixed"), directory=doubled)
        assert found.values == (1.0,)
        assert found.example == f"fixed: {more.node} sent {more.peer} more copies of B1.1.1 than it has received"


def test_several_brokers_that_compare_a_content(tmp_path: Path) -> None:
    write_logs(tmp_path)
    fixed = variant("fixed")
    fixed = dataclasses.replace(fixed, matching=msgspec.structs.replace(fixed.matching, at_several_brokers=3))
    found = measure("once", fixed, directory=tmp_path)
    assert found == Measurement(values=(3.0,), example="3 publications were compared at several brokers")


def test_the_same_subscribers_are_notified() -> None:
    """Only pairs of variants that agree in all but publication routing are compared."""

    def of(routing: str, degree: int, *notifications: Notification) -> MeasuredVariant:
        return variant(
            f"{degree}+{routing}", notifications, {"topology.degree": degree, "routing.publications": routing}
        )

    other_way = ["B1", "B3", "B2"]
    same = [
        of("fixed", 2, notification("a", 1), notification("b", 1)),
        of("dynamic", 2, notification("a", 1, path=other_way), notification("b", 1)),
        of("fixed", 3, notification("c", 1)),
        of("dynamic", 3, notification("c", 1)),
    ]
    assert measure("same notified", *same) == Measurement(values=(0.0,), checked=1)
    lost = [*same[:3], of("dynamic", 3)]
    found = measure("same notified", *lost)
    assert found.values == (1.0,)
    assert found.example == "S1 received c in variant 3+fixed only"


def test_a_run_without_the_variants_is_refused() -> None:
    with pytest.raises(ClaimsError, match="0 variants with dynamic routing"):
        measure("relative delay", variant("fixed"))


def test_every_shipped_recipe_names_a_measure() -> None:
    named = {claim.measured_by.measure for claim in load_claims().claims if claim.measured_by is not None}
    assert named == set(MEASURES)


def fault(time: int, text: str, broker: str = "B2", event: Event = Event.FAULT) -> TraceRecord:
    return TraceRecord(time=time, node="emulator", variant="killed", event=event, peer=broker, text=text)


def write_faults(directory: Path, *records: TraceRecord) -> None:
    (directory / "logs").mkdir()
    content = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
    (directory / "logs" / "emulator.jsonl").write_bytes(content)


def hundred(begin: int, delay: float, second: int = 10) -> list[Notification]:
    """`PEAK_OVER` notifications, one each nanosecond."""
    return [
        msgspec.structs.replace(notification(f"p{time}", delay, second=second), notified_ns=time)
        for time in range(begin, begin + 100)
    ]


KILLS = (fault(100, "kill"), fault(300, "kill", "B3"))
CALM = [*hundred(0, 10), *hundred(100, 10), *hundred(200, 10), *hundred(300, 10), *hundred(400, 20, 80)]


def test_failures(tmp_path: Path) -> None:
    """12 for 10 ms at most after the first kill, 30 for 10 after the second, 25 for 20 in the last quarter."""
    write_faults(tmp_path, *KILLS, fault(500, "restart", event=Event.HEALED))
    killed = variant(
        "killed",
        [*hundred(0, 90), *hundred(100, 12), *hundred(200, 11), *hundred(300, 30), *hundred(400, 25, 80)],
        settings={},
    )
    measured = measure("failures", variant("calm", CALM, settings={}), killed, directory=tmp_path)
    assert measured == (pytest.approx(0.2), pytest.approx(2.0), pytest.approx(0.25))


def test_notifications_after_a_restart_and_lost_ones_do_not_count_in_failures(tmp_path: Path) -> None:
    """Not counted: arrivals after the restart at 500, pairs that only one run delivered, and an incomplete group."""
    write_faults(tmp_path, *KILLS, fault(900, "pause"), fault(500, "restart", event=Event.HEALED))
    late = [msgspec.structs.replace(row, notified_ns=501, delay_ms=999.0) for row in hundred(410, 0, 80)[:50]]
    killed = variant(
        "killed",
        [*hundred(100, 10), *hundred(200, 15)[:99], *hundred(300, 10), *hundred(400, 30, 80)[:10], *late],
        settings={},
    )
    killed = dataclasses.replace(
        killed, notifications=(*killed.notifications, notification("other", 9999.0, second=80, client="S9"))
    )
    measured = measure("failures", variant("calm", CALM, settings={}), killed, directory=tmp_path)
    assert measured == (0.0, 0.0, pytest.approx(0.5))


def test_failures_need_two_kills_and_a_run_without_any(tmp_path: Path) -> None:
    write_faults(tmp_path, KILLS[0], fault(300, "pause"))
    calm, killed = variant("calm", CALM, settings={}), variant("killed", CALM, settings={})
    with pytest.raises(ClaimsError, match="1 variants with kills and 0 without; one each is needed"):
        measure("failures", killed, directory=tmp_path)
    with pytest.raises(ClaimsError, match="one broker was killed; two, one after the other, are needed"):
        measure("failures", calm, killed, directory=tmp_path)
    (tmp_path / "none").mkdir()
    write_faults(tmp_path / "none", *KILLS)
    assert measure("failures", variant("calm", settings={}), killed, directory=tmp_path / "none") == (None, None, None)
