"""Messages of links by the second, from gauges and from records."""

from __future__ import annotations

from collections import Counter

import pytest

from analysis.live.sent import SentMessages
from record.log import Event, TraceRecord
from record.time_units import SECOND


class Links:
    """The messages of B1 to others, by second and neighbour."""

    def __init__(self) -> None:
        self.counted = Counter[tuple[int, str]]()
        self.sent = SentMessages(lambda time: time // SECOND, self._count)

    def _count(self, second: int, sender: str, receiver: str, messages: int) -> None:
        assert sender == "B1"
        self.counted[second, receiver] += messages

    def message(self, at: float, to: str = "B2") -> None:
        self.sent.add_record(TraceRecord(round(at * SECOND), "B1", "base", Event.SENT, peer=to))

    def gauge(self, at: float, sent: int, *, former: float = 0.0, to: str = "B2") -> None:
        record = TraceRecord(round(at * SECOND), "B1", "base", Event.QUEUE, peer=to, sent=sent)
        self.sent.add_gauge(record, round(former * SECOND))

    @property
    def shown(self) -> dict[tuple[int, str], int]:
        return {key: messages for key, messages in self.counted.items() if messages}


def test_what_a_gauge_has_more_counts_in_the_middle_between_it_and_the_former() -> None:
    links = Links()
    links.gauge(5.0, 3, former=4.0)
    links.gauge(6.0, 3, former=5.0)
    links.gauge(9.2, 5, former=8.2)
    links.gauge(9.4, 6, former=9.2)
    assert links.shown == {(4, "B2"): 3, (8, "B2"): 2, (9, "B2"): 1}


def test_a_broker_without_former_gauges_counts_for_half_a_second_before() -> None:
    links = Links()
    links.gauge(5.4, 3)
    assert links.shown == {(4, "B2"): 3}


def test_records_count_until_there_is_a_gauge_which_has_them_in_it() -> None:
    links = Links()
    links.message(4.1)
    links.message(4.2, "B3")
    assert links.shown == {(4, "B2"): 1, (4, "B3"): 1}
    links.gauge(5.0, 1, former=4.0)
    assert links.shown == {(4, "B2"): 1}
    links.gauge(5.0, 1, former=4.0, to="B3")
    links.message(5.1)
    assert links.shown == {(4, "B2"): 1, (4, "B3"): 1}


@pytest.mark.parametrize("second", [2, 9])
def test_an_incarnation_counts_from_its_start(second: int) -> None:
    links = Links()
    links.gauge(5.0, 4, former=4.0)
    links.sent.start("B1")
    links.gauge(8.0, second, former=7.0)
    assert links.shown == {(4, "B2"): 4, (7, "B2"): second}
