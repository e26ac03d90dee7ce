from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from broker_service.config import Limits
from broker_service.core.gauges import BufferGauges, Gauges, LoadGauge, QueueGauges
from broker_service.links.retransmission import RetransmissionQueue
from broker_service.routing.interface import Buffer
from broker_service.tracing.trace import Recorder
from record.log import Event, TraceRecord
from tests.broker_service.kept_trace import KeptTrace


@dataclass
class Queue:
    queue_length: int = 0
    retransmission: RetransmissionQueue = field(default_factory=lambda: RetransmissionQueue("B2", Limits()))
    sent: int = 0
    sent_bytes: int = 0
    sending: None = None
    waiting: int = 0
    longest_wait: int = 0

    @property
    def idle(self) -> bool:
        return not self.queue_length


def test_a_queue_is_logged_while_it_is_not_empty_and_once_when_it_is_again() -> None:
    trace, link, service = KeptTrace(), Queue(), Queue()
    queues = QueueGauges({"B2": link}, service, Recorder(trace, lambda: 0))  # type: ignore[dict-item]
    for waiting in (0, 3, 3, 0, 0):
        link.queue_length = waiting
        queues.take()
        trace.flush()
    assert trace.kept == ["flush", "queue", "flush", "flush", "queue", "flush", "flush"]


def test_what_a_link_has_carried_is_logged_whenever_it_is_more_or_the_queue_has_changed() -> None:
    trace, link = RecordedTrace(), Queue()
    queues = QueueGauges({"B2": link}, Queue(), Recorder(trace, lambda: 7))  # type: ignore[dict-item]
    for waiting, sent in ((0, 0), (2, 0), (2, 3), (1, 3), (1, 3), (0, 5)):
        link.queue_length, link.sent, link.sent_bytes = waiting, sent, 100 * sent
        queues.take()
    link.sent, link.queue_length, link.sent_bytes = 6, 9, 600
    queues.take_sent()
    assert _gauges(trace) == [
        ("B2", 2, 0, 0, 0),
        ("B2", None, None, 3, 300),
        ("B2", 1, 0, 3, 300),
        ("B2", 0, 0, 5, 500),
        ("B2", None, None, 6, 600),
    ]


def test_a_link_that_is_removed_and_added_again_counts_on() -> None:
    trace, first, second = RecordedTrace(), Queue(sent=2, sent_bytes=20), Queue(sent=1, sent_bytes=5)
    links = {"B2": first}
    queues = QueueGauges(links, Queue(), Recorder(trace, lambda: 7))  # type: ignore[arg-type]
    queues.take()
    first.sent, first.sent_bytes = 4, 40
    del links["B2"]
    queues.take()
    links["B2"] = second
    queues.take()
    assert _gauges(trace) == [("B2", None, None, *sums) for sums in ((2, 20), (4, 40), (5, 45))]


def test_lengths_that_are_forgotten_are_logged_anew_and_sums_are_not() -> None:
    trace, link = RecordedTrace(), Queue(queue_length=1, sent=2, sent_bytes=20)
    queues = QueueGauges({"B2": link}, Queue(), Recorder(trace, lambda: 7))  # type: ignore[dict-item]
    queues.take()
    queues.forget_lengths()
    queues.take()
    queues.take()
    assert _gauges(trace) == [("B2", 1, 0, 2, 20), ("B2", 1, 0, 2, 20)]


def _gauges(trace: RecordedTrace) -> list[tuple[str | None, int | None, int | None, int | None, int | None]]:
    return [(record.peer, record.queue, record.count, record.sent, record.bytes) for record in trace.records]


class RecordedTrace:
    """Keeps records whole."""

    node, variant = "B1", "base"

    def __init__(self) -> None:
        self.records: list[TraceRecord] = []

    @property
    def written(self) -> int:
        return len(self.records)

    def write(self, record: TraceRecord) -> None:
        self.records.append(record)


def test_the_load_is_logged_with_its_incarnation_even_if_nothing_was_done() -> None:
    trace, work = RecordedTrace(), iter((5, 5, 9))
    load = LoadGauge(Recorder(trace, lambda: 7), 3, lambda: next(work), lambda: None)
    for _ in range(3):
        load.take()
    assert [(r.event, r.time, r.count, r.duration, r.bytes) for r in trace.records] == [
        (Event.LOAD, 7, 3, done, None) for done in (5, 5, 9)
    ]


def test_a_buffer_is_logged_while_it_holds_or_has_released_something() -> None:
    trace = RecordedTrace()
    shown = [
        Buffer("reorder", 0, 0),
        Buffer("reorder", 30, 2),
        Buffer("reorder", 0, 0, notified=4, waited=0.5),
        Buffer("reorder", 0, 0, notified=5, waited=0.5),
        Buffer("reorder", 0, 0, notified=5, waited=0.5),
    ]
    readings = iter(shown)
    buffers = BufferGauges(lambda: [next(readings)], Recorder(trace, lambda: 7))
    for _ in shown:
        buffers.take()
    assert [(r.event, r.label, r.bytes, r.queue, r.count, r.duration) for r in trace.records] == [
        (Event.BUFFER, "reorder", 30, 2, None, None),
        (Event.BUFFER, "reorder", 0, 0, 4, 500_000_000),
        (Event.BUFFER, "reorder", 0, 0, 1, 0),
    ]


class Measured:
    """A broker with a queue of one message and a buffer of one publication."""

    incarnation = 3

    def __init__(self) -> None:
        self.links = {"B2": Queue(queue_length=1)}

    def buffers(self) -> Sequence[Buffer]:
        return [Buffer("reorder", 30, 1)]


def test_a_broker_logs_its_start_and_load_and_then_all_gauges() -> None:
    trace = RecordedTrace()
    gauges = Gauges(Measured(), Queue(), Recorder(trace, lambda: 7), lambda: 5, lambda: 100)  # type: ignore[arg-type]
    gauges.begin("digest")
    begun = [(record.event, record.count, record.text) for record in trace.records]
    assert begun == [(Event.STARTED, 3, "digest"), (Event.LOAD, 3, None)]
    trace.records.clear()
    gauges.take()
    assert [record.event for record in trace.records] == [Event.QUEUE, Event.BUFFER, Event.LOAD]
