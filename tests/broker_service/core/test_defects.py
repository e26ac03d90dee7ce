"""A defect of a router ends its broker, and no neighbour and no client is blamed for it."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest

from broker_service.config import BrokerConfig, LinkConfig
from broker_service.core.broker import Broker
from broker_service.language.content import encode_predicates
from broker_service.messages import ClientRequest, Kind, Message, Operation
from broker_service.routing.interface import SetTimer
from record.errors import BrokerDefectError
from record.log import Event
from tests.broker_service.defective import DEFECTIVE, registered
from tests.broker_service.manual_timers import ManualTimers
from tests.broker_service.overlay import ListTrace
from tests.broker_service.routing.stocks import above

CAUSE = "ValueError: too many values to unpack (expected 2)"


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with registered():
        yield


class OneBroker:
    """A broker with the defective router, its log, and the defects its shell was notified of."""

    def __init__(self, fails_in: str) -> None:
        self.trace = ListTrace("B1")
        self.defects: list[BrokerDefectError] = []
        link = LinkConfig(neighbour="B2", local="", remote="", dial=True)
        config = BrokerConfig(id="B1", incarnation=3, protocol=DEFECTIVE, options={"fails_in": fails_in}, links=(link,))
        self.timers = ManualTimers()
        self.broker = Broker(config, lambda: 0, self.trace, self.timers.schedule, on_defect=self.defects.append)
        self.session = self.broker.sessions.open()

    def request(self, operation: Operation, id: str = "") -> None:
        body = encode_predicates(above(0)) if id else b""
        self.broker.sessions.handle(self.session, [ClientRequest("C", 0, operation, id, body)])

    def subscribe(self) -> None:
        self.request(Operation.ATTACH)
        self.request(Operation.SUBSCRIBE, "s1")

    def run_timer_out(self) -> None:
        self.broker._actions.timers.set(SetTimer("t", 0.0))
        self.timers.fire("t")

    def cause(self, fails_in: str) -> None:
        """Has the router called in a way that fails."""
        match fails_in:
            case "receive":
                self.broker.neighbours.receive("B2", [Message(Kind.CONTROL, "c1")])
            case "subscribe":
                self.subscribe()
            case "unsubscribe":
                self.subscribe()
                self.broker.sessions.close(self.session)
            case "link_up":
                self.broker.neighbours.link_up("B2", 1, 0)
            case "link_down":
                self.broker.neighbours.link_down("B2")
            case "timer":
                self.run_timer_out()
            case _:
                self.broker.tables()


@pytest.mark.parametrize(
    ("fails_in", "occasion"),
    [
        ("receive", "control 'c1' from B2"),
        ("subscribe", "subscribe 's1' of client 'C'"),
        ("unsubscribe", "the withdrawal of client 'C'"),
        ("link_up", "the link to B2 coming up"),
        ("link_down", "the link to B2 going down"),
        ("timer", "the timer 't'"),
        ("tables", "a request for its tables"),
    ],
)
def test_a_defect_is_raised_logged_and_passed_to_the_shell(fails_in: str, occasion: str) -> None:
    one = OneBroker(fails_in)
    with pytest.raises(BrokerDefectError) as raised:
        one.cause(fails_in)
    sentence = f"broker defect: B1 (protocol {DEFECTIVE}) failed on {occasion}: {CAUSE}"
    assert str(raised.value) == sentence
    assert isinstance(raised.value.__cause__, ValueError)
    assert one.defects == [raised.value]
    (record,) = one.trace.of(Event.DEFECT)
    assert record.count == 3
    assert (record.text or "").startswith(f"{sentence}\nTraceback")
    assert "in _fail\n    a, b = (1, 2, 3)" in (record.text or "")


def test_a_defect_is_never_called_malformed_or_rejected() -> None:
    one = OneBroker("receive")
    with pytest.raises(BrokerDefectError):
        one.cause("receive")
    other = OneBroker("subscribe")
    with pytest.raises(BrokerDefectError):
        other.cause("subscribe")
    for broker, trace in ((one.broker, one.trace), (other.broker, other.trace)):
        assert (broker.dropped, broker.sessions.rejected) == (0, 0)
        assert trace.of(Event.DROPPED) == trace.of(Event.REJECTED) == []


def test_actions_that_cannot_be_performed_are_a_defect_too() -> None:
    one = OneBroker("nothing")
    no_actions = mock.patch.object(one.broker._router, "link_up", lambda neighbour, incarnation: None)
    with no_actions, pytest.raises(BrokerDefectError, match="returned None, and a list of actions is expected"):
        one.broker.neighbours.link_up("B2", 1, 0)


def test_a_hello_that_cannot_be_is_the_neighbours_fault() -> None:
    one = OneBroker("nothing")
    with pytest.raises(ValueError, match="handled 5 messages"):
        one.broker.neighbours.link_up("B2", 1, 5)
    assert one.defects == []


def test_memory_that_is_used_up_is_no_defect() -> None:
    one = OneBroker("nothing")
    with mock.patch.object(one.broker._router, "timer", side_effect=MemoryError), pytest.raises(MemoryError):
        one.run_timer_out()
    assert one.defects == []
