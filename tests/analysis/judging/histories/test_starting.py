"""The starts of restarted brokers, by what looks from outside found."""

from __future__ import annotations

from analysis.judging.histories.starting import BrokerStart, broker_starts, lasting_until_they_listen
from analysis.reading.log_events import ListeningEvent, LogPosition, OutageEvent


def event(time: int, kind: str, *, begins: bool = True, broker: str = "B1") -> OutageEvent:
    return OutageEvent(LogPosition(time, "emulator.jsonl", 0, time), 0, "", broker, kind, begins)


def restart(time: int, broker: str = "B1") -> OutageEvent:
    return event(time, "restart", begins=False, broker=broker)


def listened(not_before: int, seen: int, broker: str = "B1") -> ListeningEvent:
    return ListeningEvent(0, broker, not_before, seen)


KILLED = [event(10, "kill"), restart(20)]


def test_a_start_lasts_to_the_last_look_that_found_nobody() -> None:
    starts = broker_starts(KILLED, [listened(50, 55)])
    assert starts == [BrokerStart("B1", 20, 50)]
    assert lasting_until_they_listen(KILLED, starts) == [
        event(10, "kill"),
        restart(20)._replace(at=restart(50).at._replace(line=20)),
    ]


def test_a_broker_that_listened_before_it_was_known_to_be_up_took_no_time() -> None:
    assert broker_starts(KILLED, [listened(19, 21)]) == [BrokerStart("B1", 20, 20)]


def test_nobody_looked() -> None:
    assert broker_starts(KILLED, []) == broker_starts(KILLED, [listened(50, 55, "B2")]) == []


def test_each_restart_has_the_start_that_follows_it() -> None:
    again = [*KILLED, event(30, "kill"), restart(40)]
    assert broker_starts(again, [listened(45, 46)]) == [BrokerStart("B1", 40, 45)]
    assert broker_starts(again, [listened(45, 46), listened(22, 23)]) == [
        BrokerStart("B1", 20, 22), BrokerStart("B1", 40, 45),
    ]  # fmt: skip


def test_other_faults_end_when_they_are_healed() -> None:
    paused = [*KILLED, event(25, "pause"), event(60, "resume", begins=False)]
    starts = broker_starts(paused, [listened(61, 62)])
    assert starts == [BrokerStart("B1", 20, 61)]
    assert [moved.at.time for moved in lasting_until_they_listen(paused, starts)] == [10, 61, 25, 60]
