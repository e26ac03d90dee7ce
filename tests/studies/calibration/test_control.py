"""The cost of a control message: the difference from a publication in a broker's core."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from broker_service.links.frames import LinkFrame, MessageFrame
from broker_service.messages import Kind
from broker_service.transport.wire import decode_link_frame
from emulation.planning.calibration import load_calibration
from studies.calibration import control
from studies.calibration.control import FRAME, FRAMES, surplus_of_control
from studies.calibration.measure import with_control
from studies.calibration.work import MeasuredWork


class CountedWork:
    """A clock of processor time that moves by a known time for each message that is decoded."""

    def __init__(self, costs: dict[Kind, int]) -> None:
        self.spent = 0
        self.decoded: Counter[Kind] = Counter()
        self._costs = costs

    def process_time_ns(self) -> int:
        return self.spent

    def decode(self, data: bytes) -> LinkFrame:
        frame = decode_link_frame(data)
        assert isinstance(frame, MessageFrame)
        for message in frame.messages:
            self.decoded[message.kind] += 1
            self.spent += self._costs[message.kind]
        return frame


@pytest.fixture
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(control, "ROUNDS", 3)
    return 3


def test_a_known_difference_is_found(monkeypatch: pytest.MonkeyPatch, few_rounds: int) -> None:
    work = CountedWork({Kind.PUBLISH: 1_000, Kind.CONTROL: 1_700})
    monkeypatch.setattr(time, "process_time_ns", work.process_time_ns)
    monkeypatch.setattr(control, "decode_link_frame", work.decode)
    assert surplus_of_control() == 700
    each = few_rounds * FRAMES * FRAME
    assert work.decoded == {Kind.PUBLISH: each, Kind.CONTROL: each}


def test_messages_that_are_not_passed_on_are_no_measurement(monkeypatch: pytest.MonkeyPatch, few_rounds: int) -> None:
    frames: list[LinkFrame] = []

    def repeated(data: bytes) -> LinkFrame:
        """The first frame of control messages again and again: the broker has nothing new to pass on."""
        frame = decode_link_frame(data)
        assert isinstance(frame, MessageFrame)
        if frame.messages[0].kind is Kind.CONTROL:
            frames.append(frame)
            return frames[0]
        return frame

    monkeypatch.setattr(control, "decode_link_frame", repeated)
    with pytest.raises(RuntimeError, match="passed 50 of 500 messages on"):
        surplus_of_control()


@pytest.mark.parametrize(("surplus", "cost"), [(400.4, 12_400), (-20_000.0, 0)])
def test_the_kind_is_added_to_the_others(monkeypatch: pytest.MonkeyPatch, surplus: float, cost: int) -> None:
    monkeypatch.setattr("studies.calibration.measure.surplus_of_control", lambda: surplus)
    work = with_control(MeasuredWork(200_000, {"publish": 12_000, "subscribe": 30_000}), lambda _: None)
    assert work == MeasuredWork(200_000, {"publish": 12_000, "subscribe": 30_000, "control": cost})


def test_the_shipped_calibration_charges_control_messages() -> None:
    shipped = load_calibration()
    assert shipped.work["control"] >= shipped.work["publish"]
