"""The recorder of a broker that logs a sample of publications."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.config import BrokerConfig
from broker_service.messages import ClientRequest, Kind, Message, Operation
from broker_service.tracing.sampled_trace import LONG_WAIT, SampledRecorder, long_waits, recorder_of
from broker_service.tracing.trace import Recorder
from record.log import SAMPLED, Event
from record.sample import PublicationSample
from tests.broker_service.overlay import ListTrace

SAMPLE = PublicationSample(0.5, 7)
HELD = next(f"P:{number}" for number in range(99) if SAMPLE.holds(f"P:{number}"))
OTHER = next(f"P:{number}" for number in range(99) if not SAMPLE.holds(f"P:{number}"))
ANY_MESSAGE = st.builds(Message, st.sampled_from(Kind), st.sampled_from((HELD, OTHER, "a", "b", "c")))


def recorder(trace: ListTrace) -> Recorder:
    config = BrokerConfig(id="B1", incarnation=1, protocol="tid", sample=SAMPLE)
    return recorder_of(config, trace, itertools.count(1).__next__)


def record_everything(recorder: Recorder, message: Message, waited: int) -> None:
    recorder.received(message, 5, 1, "B2")
    recorder.sent(message, 6, waited, "B3", 0)
    if message.kind is Kind.PUBLISH:
        recorder.matched(message.id, 2, 1)
        recorder.notifications(Event.DELIVERED, ("S1", "S2"), id=message.id, hops=1, bytes=8)
    for event in (Event.DROPPED, Event.DISTURBED, Event.RECALLED, Event.REJECTED, Event.REFUSED):
        recorder.message(event, message, time=7)


@given(st.lists(ANY_MESSAGE, max_size=20), st.integers(0, 2 * LONG_WAIT))
def test_what_is_recorded_is_what_a_whole_log_has_of_the_sample(messages: list[Message], waited: int) -> None:
    sampled, whole = ListTrace("B1"), ListTrace("B1")
    for trace, used in ((sampled, recorder(sampled)), (whole, Recorder(whole, lambda: 1))):
        for message in messages:
            record_everything(used, message, waited)
        for record in trace.records:
            record.time = 1
    waits = [record for record in sampled.records if record.event is Event.WAITED]
    assert [record for record in sampled.records if record.event is not Event.WAITED] == [
        record
        for record in whole.records
        if record.kind != "publish" or record.event not in SAMPLED or SAMPLE.holds(record.id or "")
    ]
    unheld = [message.id for message in messages if message.kind is Kind.PUBLISH and not SAMPLE.holds(message.id)]
    assert [wait.id for wait in waits] == (unheld if waited >= LONG_WAIT else [])
    assert {(wait.kind, wait.peer, wait.duration) for wait in waits} <= {("publish", "B3", waited)}


def test_waits_for_service_are_recorded_of_publications_outside_of_the_sample() -> None:
    trace = ListTrace("B1")
    waits = long_waits(recorder(trace))
    assert waits is not None
    assert waits.least == LONG_WAIT
    of_clients = [ClientRequest("P", 1, operation, OTHER) for operation in (Operation.PUBLISH, Operation.SUBSCRIBE)]
    messages = [Message(kind, id, hops=3) for kind in (Kind.PUBLISH, Kind.CONTROL) for id in (HELD, OTHER)]
    waits.report([*messages, *of_clients], 900, LONG_WAIT)
    assert [(found.event, found.time, found.kind, found.id, found.hops, found.peer, found.duration)
            for found in trace.records] == [
        (Event.WAITED, 900, "publish", OTHER, 3, None, LONG_WAIT),
        (Event.WAITED, 900, "publish", OTHER, 0, None, LONG_WAIT),
    ]  # fmt: skip


@pytest.mark.parametrize("sample", [None, SAMPLE])
def test_only_a_configured_sample_makes_a_sampled_log(sample: PublicationSample | None) -> None:
    config = BrokerConfig(id="B1", incarnation=1, protocol="tid", sample=sample)
    made = recorder_of(config, ListTrace("B1"), lambda: 1)
    assert (isinstance(made, SampledRecorder), long_waits(made) is not None) == (sample is not None,) * 2
