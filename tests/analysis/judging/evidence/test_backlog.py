"""A message waited in a queue if the gauges show messages there and something explains that they did not leave."""

from __future__ import annotations

import pytest

from analysis.judging.evidence.backlog import Backlogs, Explanations, Silence, backlogs_of, silences_of
from analysis.judging.evidence.paces import Paces
from analysis.reading.gauges import Queue, QueueReadings
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.log_events import LogPosition, OutageEvent
from record.manifest import VariantRecord
from record.time_units import SECOND
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay

_NO_SILENCE: dict[str, Silence] = {}


def backlogs(
    *shown: tuple[int, int],
    neighbour: str = "B2",
    struck: dict[str, tuple[int, int]] | None = None,
    silences: dict[str, Silence] = _NO_SILENCE,
    service_time: float = 0.0,
    rate: float | None = None,
) -> Backlogs:
    """Backlogs of B1, of whose queue the gauges show a number of messages from a second on."""
    readings = QueueReadings()
    for second, length in shown:
        readings.show(Queue(0, "B1", neighbour), second, length, 0)
    link = Link("B1", "B2", LinkProperties(rate=rate), LinkProperties())
    paces = Paces.of(
        VariantRecord(name="base", service_time=service_time), Overlay("two", (Broker("B1"), Broker("B2")), (link,)), ()
    )
    paces.sizes["B1", "B2"] = 1000
    times = {
        element: Intervals.of([(begin * SECOND, end * SECOND)]) for element, (begin, end) in (struck or {}).items()
    }
    return backlogs_of(0, [readings], 0, Explanations(struck=times, silences=silences, paces=paces))


def lasted(found: Backlogs, begin: float, end: float, *, on_the_way: bool = True) -> bool:
    return found.lasted("B1", round(begin * SECOND), round(end * SECOND), lambda element: on_the_way)


def test_a_gauge_alone_explains_nothing() -> None:
    assert not lasted(backlogs((10, 4)), 11, 20)


@pytest.mark.parametrize("element", ["B1", "B2", "B1->B2", "B2->B1"])
def test_a_fault_of_the_link_or_of_a_broker_at_its_ends_does(element: str) -> None:
    assert lasted(backlogs((10, 4), struck={element: (12, 19)}), 11, 20)


def test_a_fault_elsewhere_does_not() -> None:
    assert not lasted(backlogs((10, 4), struck={"B3": (12, 19), "B2->B3": (12, 19)}), 11, 20)


def test_a_fault_that_is_long_over_does_not() -> None:
    assert not lasted(backlogs((10, 4), struck={"B2": (12, 15)}), 11, 20)


def test_nothing_waits_in_a_queue_that_was_empty_meanwhile() -> None:
    assert not lasted(backlogs((10, 4), (13, 0), (17, 3), struck={"B2": (5, 30)}), 11, 20)


def test_a_gauge_is_silent_while_it_stays_as_it_is() -> None:
    assert lasted(backlogs((10, 4), (40, 0), struck={"B2": (5, 60)}), 11, 39)


def test_nothing_waits_in_a_queue_that_the_way_does_not_pass() -> None:
    assert not lasted(backlogs((10, 4), struck={"B2": (5, 30)}), 11, 20, on_the_way=False)


def test_many_messages_with_modelled_work_explain_a_wait() -> None:
    assert lasted(backlogs((10, 100), service_time=0.03), 11, 20)
    assert not lasted(backlogs((10, 10), service_time=0.03), 11, 20)


def test_many_bytes_on_a_slow_link_explain_a_wait() -> None:
    assert lasted(backlogs((10, 100), rate=200_000), 11, 20)
    assert not lasted(backlogs((10, 100), rate=20_000_000), 11, 20)


def test_messages_wait_for_service_on_any_way() -> None:
    assert lasted(backlogs((10, 100), neighbour="", service_time=0.03), 11, 20, on_the_way=False)


def test_a_frozen_broker_holds_what_it_has_and_writes_no_gauges() -> None:
    frozen = {"B1": Silence(frozen=Intervals.of([(10 * SECOND, 18 * SECOND)]))}
    assert lasted(backlogs(struck={"B1": (10, 22)}, silences=frozen), 11, 18)
    assert not lasted(backlogs(struck={"B1": (10, 22)}), 11, 18)


def test_the_queues_of_a_broker_that_ended_are_empty_afterwards() -> None:
    ended = {"B1": Silence(ended=(12 * SECOND,))}
    assert not lasted(backlogs((10, 4), struck={"B1": (10, 40)}, silences=ended), 16, 30)


def test_silences_follow_from_pauses_and_ends() -> None:
    found = silences_of(
        OutageEvent(LogPosition(second * SECOND, "emulator", 0, second), 0, "", broker, kind, begins)
        for second, broker, kind, begins in (
            (1, "B1", "pause", True),
            (2, "B1", "resume", False),
            (3, "B2", "kill", True),
            (4, "B3", "slow", True),
        )
    )
    assert found == {
        "B1": Silence(frozen=Intervals.of([(SECOND, 2 * SECOND)])),
        "B2": Silence(frozen=NONE, ended=(3 * SECOND,)),
    }
    assert FOREVER not in found["B1"].frozen.ends
