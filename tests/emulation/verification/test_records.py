"""Answers from handwritten logs: what honest brokers may write is not held against them, and what they may not is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from broker_service.config import Disturbance
from broker_service.core.disturber import HELD, LOST
from emulation.verification.findings import Disturbing, Finding, Question, Serving, ServingAgain, StreamReset
from emulation.verification.records import answers
from record.files import log_file
from record.log import Event
from record.service_time import ServiceTime
from record.time_units import MILLISECOND, SECOND
from topology.link_properties import LinkDirection

_DELAY = 20
"""Milliseconds that frames from B1 to B2 take at least."""
_SLOWED = ServiceTime(mean=0.005)
_FINDING = Finding(change="a change", at=0)
_SERVING = Serving(
    finding=_FINDING, broker="B2", service_time=_SLOWED, begin=SECOND, end=2 * SECOND, delays={"B1": _DELAY / 1e3}
)
_SERVING_AGAIN = ServingAgain(
    finding=_FINDING, broker="B2", slowed=_SLOWED, begin=SECOND, end=2 * SECOND, neighbours=frozenset({"B1"})
)
_RESET = StreamReset(finding=_FINDING, direction=LinkDirection("B2", "B1"), time=SECOND, within=SECOND, on_demand=False)


def _log(directory: Path, node: str, lines: Iterable[dict[str, object]]) -> None:
    file = log_file(directory, node)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(msgspec.json.encode({"variant": "base", **line}) + b"\n" for line in lines))


def _answer(question: Question, directory: Path) -> Finding:
    (found,) = answers([question], directory, "base")
    return found


def _sent(at: float, name: str, kind: str = "publish") -> dict[str, object]:
    """A record of B1 at a time in milliseconds."""
    return {"time": round(at * MILLISECOND), "event": Event.SENT, "id": name, "kind": kind, "peer": "B2"}


def _served(at: float, name: str, kind: str = "publish", arrived: float | None = None) -> dict[str, object]:
    """A record of B2 at a time in milliseconds."""
    came = {} if arrived is None else {"arrived": round(arrived * MILLISECOND)}
    return {"time": round(at * MILLISECOND), "event": Event.RECEIVED, "id": name, "kind": kind, "peer": "B1", **came}


def _changed(at: float, event: Event) -> dict[str, object]:
    """A record of B2 at a time in milliseconds: of its link to B1, or of its start."""
    return {"time": round(at * MILLISECOND), "event": event} | ({} if event is Event.STARTED else {"peer": "B1"})


@pytest.mark.parametrize(("took", "wrong"), [(5.0, False), (2.0, True)])
def test_a_slow_broker_serves_no_message_sooner(tmp_path: Path, took: float, wrong: bool) -> None:
    _log(tmp_path, "B1", [_sent(1100 + 10 * number, f"P:{number}") for number in range(8)])
    _log(tmp_path, "B2", [_served(1100 + 10 * number + _DELAY + took, f"P:{number}") for number in range(8)])
    assert bool(_answer(_SERVING, tmp_path).wrong) is wrong


def test_control_messages_without_identity_are_not_taken_for_each_other(tmp_path: Path) -> None:
    left = [_sent(1100 + 10 * number, "", "control") for number in range(8)]
    _log(tmp_path, "B1", [*left, _sent(1200, "P:1")])
    served = [_served(1100 + 10 * number + _DELAY + 5, "", "control") for number in range(8)]
    _log(tmp_path, "B2", [*served, _served(1200 + _DELAY + 5, "P:1")])
    assert _answer(_SERVING, tmp_path) == _FINDING


@pytest.mark.parametrize("again", [1110, 1100 + 3])
def test_a_message_that_is_sent_again_is_not_taken_for_the_first(tmp_path: Path, again: float) -> None:
    """The second one leaves while the first is on its way, or just before it, and is served right after it."""
    _log(tmp_path, "B1", [_sent(1100, "B1.1", "subscribe"), _sent(again, "B1.1", "subscribe"), _sent(1200, "P:1")])
    served = [_served(1100 + _DELAY + 5, "B1.1", "subscribe"), _served(1200 + _DELAY + 5, "P:1")]
    _log(tmp_path, "B2", served)
    assert _answer(_SERVING, tmp_path) == _FINDING


@pytest.mark.parametrize(("name", "wrong"), [("", ""), ("P:1", "1 of 1 messages that were lost by the log were not")])
def test_only_messages_with_identity_can_have_escaped_their_fate(tmp_path: Path, name: str, wrong: str) -> None:
    fate = {"time": 1500 * MILLISECOND, "event": Event.DISTURBED, "id": name, "kind": "control", "peer": "B1"}
    others = [_served(1000 + number, f"C:{number}", "control") for number in range(100)]
    _log(tmp_path, "B2", [*others, {**fate, "text": LOST}, _served(1500, name, "control")])
    asked = Disturbing(
        finding=_FINDING, direction=LinkDirection("B1", "B2"), disturbance=Disturbance(lose=0.01), begin=SECOND,
        end=2 * SECOND, sampled=False,
    )  # fmt: skip
    assert _answer(asked, tmp_path).wrong == wrong


@pytest.mark.parametrize(("copies", "wrong"), [(1, "1 of 1 messages that were held back by the log were not"), (2, "")])
def test_a_copy_that_comes_beside_a_message_that_is_held_back_is_not_taken_for_it(
    tmp_path: Path, copies: int, wrong: str
) -> None:
    """A publication that is asked for on two ways is sent again twice, at one time."""
    fate = {"time": 1500 * MILLISECOND, "event": Event.DISTURBED, "id": "P:1", "kind": "publish", "peer": "B1"}
    others = [_served(1000 + number, f"P:{number + 2}") for number in range(100)]
    _log(tmp_path, "B1", [_sent(1500 - _DELAY, "P:1")] * copies)
    held = {**fate, "text": HELD, "duration": 50 * MILLISECOND}
    _log(tmp_path, "B2", [*others, held, _served(1500, "P:1"), _served(1550, "P:1")])
    asked = Disturbing(
        finding=_FINDING, direction=LinkDirection("B1", "B2"), disturbance=Disturbance(hold=0.01, held_for=0.05),
        begin=SECOND, end=2 * SECOND, sampled=False,
    )  # fmt: skip
    assert _answer(asked, tmp_path).wrong == wrong


def test_late_frames_are_no_slow_broker(tmp_path: Path) -> None:
    """Jitter alone has each message come later than the shortest delay and the former service time."""
    _log(tmp_path, "B1", [_sent(1100 + 10 * number, f"P:{number}") for number in range(8)])
    _log(tmp_path, "B2", [_served(1100 + 10 * number + _DELAY + 7, f"P:{number}") for number in range(8)])
    assert _answer(_SERVING_AGAIN, tmp_path) == _FINDING


def test_a_broker_that_stays_slow_is_named(tmp_path: Path) -> None:
    arrivals = [1100 + 10 * number + _DELAY for number in range(8)]
    _log(tmp_path, "B2", [_served(at + 5, f"P:{number}", arrived=at) for number, at in enumerate(arrivals)])
    assert _answer(_SERVING_AGAIN, tmp_path).wrong == "each of 8 messages still took 5.00 ms or longer"


def test_messages_that_arrived_before_the_end_of_slowness_are_no_evidence(tmp_path: Path) -> None:
    _log(tmp_path, "B2", [_served(1001 + number, f"P:{number}", arrived=990) for number in range(8)])
    assert _answer(_SERVING_AGAIN, tmp_path).unverified == "0 messages were served, too few to tell"


def test_the_stream_of_a_killed_broker_cannot_be_reset(tmp_path: Path) -> None:
    _log(tmp_path, "B2", [_changed(200, Event.LINK_UP), _changed(1300, Event.STARTED), _changed(2500, Event.LINK_UP)])
    assert _answer(_RESET, tmp_path).unverified == "B2 was down at that time"


def test_a_broker_that_has_just_come_back_has_no_stream_of_its_former_life(tmp_path: Path) -> None:
    _log(tmp_path, "B2", [_changed(200, Event.LINK_UP), _changed(900, Event.STARTED), _changed(1300, Event.LINK_UP)])
    assert _answer(_RESET, tmp_path).unverified == "the link was not up"


def test_a_stream_that_stays_open_is_named(tmp_path: Path) -> None:
    _log(tmp_path, "B2", [_changed(200, Event.LINK_UP), _served(1300, "P:1")])
    assert _answer(_RESET, tmp_path).wrong == "the stream of B2 to B1 stayed open"
    _log(tmp_path, "B2", [_changed(200, Event.LINK_UP), _changed(1000, Event.LINK_DOWN), _served(1300, "P:1")])
    assert _answer(_RESET, tmp_path) == _FINDING
