"""Infidelities of clocks and logs: the files of a finished run are changed, and it is analysed again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.gauntlet import scenarios
from tests.gauntlet.model import Area

LOGS = Area("logs")
CLOCKS = Area("clocks")

_RUN = scenarios.TID_LINE.but("a line, links of 20 ms", {"topology.link": {"delay": "20ms"}})
_FAULTY = _RUN.suffering("a crash", {"at": "run+1s", "kill": "B6", "for": "1s"})
_SECOND = 1_000_000_000
Record = dict[str, Any]


def _file(run: Path, node: str) -> Path:
    return run / "logs" / f"{node}.jsonl"


def _rewrite(run: Path, node: str, change: Callable[[int, Record], Record | None]) -> None:
    """Replaces each record of a node, by its place, or removes it."""
    file = _file(run, node)
    records = [json.loads(line) for line in file.read_bytes().splitlines()]
    kept = [made for place, record in enumerate(records) if (made := change(place, record)) is not None]
    file.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in kept), encoding="utf-8")


def _without(run: Path, node: str, event: str, every: int, kind: str | None = None) -> None:
    """Removes every n-th record of an event from a node's log."""
    seen = 0

    def change(place: int, record: Record) -> Record | None:
        nonlocal seen
        if record["event"] == event and kind in (None, record.get("kind")):
            seen += 1
            if seen % every == 0:
                return None
        return record

    _rewrite(run, node, change)


def _shifted(run: Path, node: str, by: Callable[[int], int], events: tuple[str, ...] = ()) -> None:
    def change(place: int, record: Record) -> Record:
        if not events or record["event"] in events:
            record["time"] += by(record["time"])
        return record

    _rewrite(run, node, change)


# Logs


@LOGS.edited(_RUN, r"B3")
def a_broker_has_no_log(run: Path) -> None:
    _file(run, "B3").unlink()


@LOGS.edited(_RUN, r"B3")
def a_broker_has_an_empty_log(run: Path) -> None:
    _file(run, "B3").write_bytes(b"")


@LOGS.edited(_RUN, r"subscribers")
def the_subscribers_have_no_log(run: Path) -> None:
    _file(run, "subscribers").unlink()


@LOGS.edited(_RUN, r"publishers")
def the_publishers_have_no_log(run: Path) -> None:
    _file(run, "publishers").unlink()


@LOGS.edited(_RUN, r"subscribers")
def the_subscribers_log_ends_early(run: Path) -> None:
    lines = _file(run, "subscribers").read_bytes().splitlines(keepends=True)
    _file(run, "subscribers").write_bytes(b"".join(lines[: len(lines) // 2]))


@LOGS.edited(_RUN, r"B2")
def a_log_lacks_its_middle(run: Path) -> None:
    lines = _file(run, "B2").read_bytes().splitlines(keepends=True)
    third = len(lines) // 3
    _file(run, "B2").write_bytes(b"".join([*lines[:third], *lines[2 * third :]]))


@LOGS.edited(_RUN, r"B2|unreadable")
def a_log_is_torn_in_its_middle(run: Path) -> None:
    content = bytearray(_file(run, "B2").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 400] = b"\0" * 400
    _file(run, "B2").write_bytes(bytes(content))


@LOGS.edited(_RUN, r"B4")
def arrivals_are_missing(run: Path) -> None:
    _without(run, "B4", "received", 10, "publish")


@LOGS.edited(_RUN, r"B4")
def departures_are_missing(run: Path) -> None:
    _without(run, "B4", "sent", 10, "publish")


@LOGS.edited(_RUN, r"subscribers|clients")
def notifications_are_missing_from_the_clients_log(run: Path) -> None:
    """The router is innocent: the broker has delivered them."""
    _without(run, "subscribers", "notified", 10)


@LOGS.edited(_RUN, r"publishers")
def publications_are_missing_from_the_clients_log(run: Path) -> None:
    _without(run, "publishers", "publish", 10)


@LOGS.edited(_RUN, r"B4")
def deliveries_are_missing(run: Path) -> None:
    _without(run, "B4", "delivered", 5)


@LOGS.edited(_RUN, r"B4")
def arrivals_are_logged_twice(run: Path) -> None:
    lines = _file(run, "B4").read_bytes().splitlines(keepends=True)
    doubled = [
        copy for line in lines for copy in ([line, line] if b'"received"' in line and b'"publish"' in line else [line])
    ]
    _file(run, "B4").write_bytes(b"".join(doubled))


@LOGS.edited(_RUN, r"B4")
def the_last_record_counts_lost_ones(run: Path) -> None:
    def change(place: int, record: Record) -> Record:
        return record | {"count": 3} if record["event"] == "stopped" else record

    _rewrite(run, "B4", change)


@LOGS.edited(_RUN, r"B4")
def the_log_of_a_broker_is_that_of_another(run: Path) -> None:
    _file(run, "B4").write_bytes(_file(run, "B2").read_bytes())


@LOGS.edited(_FAULTY, r"B6|fault|kill")
def the_record_of_a_fault_is_missing(run: Path) -> None:
    _without(run, "emulator", "fault", 1)


@LOGS.edited(_FAULTY, r"B6|heal|restart")
def the_record_of_a_heal_is_missing(run: Path) -> None:
    _without(run, "emulator", "healed", 1)


@LOGS.edited(_RUN, r"plan|planned|publication|content")
def publications_have_another_content_than_planned(run: Path) -> None:
    def change(place: int, record: Record) -> Record:
        if record["event"] == "publish" and place % 5 == 0 and record.get("numbers"):
            record["numbers"] = {name: value * 1.01 for name, value in record["numbers"].items()}
        return record

    _rewrite(run, "publishers", change)


# Clocks


@CLOCKS.edited(_RUN, r"B3")
def a_brokers_clock_is_1500_ms_ahead(run: Path) -> None:
    _shifted(run, "B3", lambda time: 3 * _SECOND // 2)


@CLOCKS.edited(_RUN, r"B3")
def a_brokers_clock_is_30_ms_behind(run: Path) -> None:
    _shifted(run, "B3", lambda time: -30_000_000)


@CLOCKS.edited(_RUN, r"B3")
def a_brokers_clock_drifts(run: Path) -> None:
    _shifted(run, "B3", lambda time: time // 100)


@CLOCKS.edited(_RUN, r"B3")
def a_brokers_clock_jumps_for_a_second(run: Path) -> None:
    _shifted(run, "B3", lambda time: 40_000_000 if 5 * _SECOND < time < 6 * _SECOND else 0)


@CLOCKS.edited(_RUN, r"subscribers|cause|before")
def notifications_are_one_second_early(run: Path) -> None:
    _shifted(run, "subscribers", lambda time: -_SECOND, ("notified",))


@CLOCKS.edited(_RUN, r"publishers|cause|before|late")
def the_publishers_clock_is_ahead(run: Path) -> None:
    _shifted(run, "publishers", lambda time: _SECOND // 2, ("publish",))


@CLOCKS.edited(_RUN, r"subscribers")
def the_subscribers_clock_is_100_ms_behind(run: Path) -> None:
    _shifted(run, "subscribers", lambda time: -_SECOND // 10)
