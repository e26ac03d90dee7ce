"""A driver process, with a real broker in this process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from emulation.drivers import driver as drivers
from emulation.drivers.driver import DriverConfig, main
from emulation.drivers.driver_operations import OperationSchedule
from emulation.drivers.instructions import Start
from emulation.host.priority import CLIENTS, LINKS
from record.log import Event, PredicateRecord, TraceRecord
from scenario.workload.operations import OperationKind, PlannedOperation, write_operations
from tests.broker_service.loopback import WITHIN, Loopback

SOURCE = Path(__file__).parents[3]
CLASS = PredicateRecord(attribute="class", operator="eq", string="STOCK")
PRICE = PredicateRecord(attribute="price", operator=">", number=0)


def publication(at: int, n: int, **content: Any) -> PlannedOperation:
    return PlannedOperation(
        at=at, client="P1", broker="B1", operation=OperationKind.PUBLISH, id=f"P1:{n}",
        attributes={"class": "STOCK", "price": 1.5, "volume": n, **content},
    )  # fmt: skip


def joining() -> list[PlannedOperation]:
    everything = [CLASS, PRICE, PredicateRecord(attribute="volume", operator=">=", number=0)]
    text = PredicateRecord(attribute="text", operator="str-prefix", string="")
    return [
        PlannedOperation(
            at=0, client="P1", broker="B1", operation=OperationKind.ADVERTISE, id="a1", predicates=[*everything, text]
        ),
        PlannedOperation(
            at=0, client="S1", broker="B1", operation=OperationKind.SUBSCRIBE, id="s1", predicates=[CLASS, PRICE]
        ),
        PlannedOperation(
            at=0, client="S2", broker="B1", operation=OperationKind.SUBSCRIBE, id="s1", predicates=[CLASS]
        ),
        PlannedOperation(at=0, client="S2", broker="B1", operation=OperationKind.UNSUBSCRIBE, id="s2"),
    ]


class DriverProcess:
    """A driver, and what it said."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []

    async def reported(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = json.loads(await asyncio.wait_for(self.process.stdout.readline(), WITHIN))
        self.lines.append(line)
        return line

    def begin(self, start: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": "start", "start": start}).encode() + b"\n")

    async def until(self, **wanted: Any) -> dict[str, Any]:
        while True:
            line = await self.reported()
            if all(line.get(name) == value for name, value in wanted.items()):
                return line

    async def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await asyncio.wait_for(self.process.wait(), WITHIN)


@asynccontextmanager
async def driver(
    overlay: Loopback, operations: Iterable[PlannedOperation], **settings: bool
) -> AsyncIterator[DriverProcess]:
    directory = overlay.directory
    write_operations(directory / "operations", operations)
    config = DriverConfig(
        name="driver", variant="base", log=str(overlay.log("driver")), brokers={"B1": overlay.address("B1")},
        operations=str(directory / "operations"), **settings,
    )  # fmt: skip
    (directory / "driver.json").write_bytes(msgspec.json.encode(config))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "emulation.drivers.driver", str(directory / "driver.json"), cwd=SOURCE,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        running = DriverProcess(process)
        assert await running.reported() == {"event": "connecting", "connected": 0, "waiting": ["B1"]}
        assert await running.reported() == {"event": "connecting", "connected": 1, "waiting": []}
        assert await running.reported() == {"event": "ready"}
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def log(overlay: Loopback, *events: Event) -> list[TraceRecord]:
    records = [msgspec.json.decode(line, type=TraceRecord) for line in overlay.log("driver").read_bytes().splitlines()]
    return [record for record in records if record.event in events]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may put a process before others")
async def test_clients_get_the_processor_before_brokers(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with driver(overlay, joining()) as running:
            assert os.sched_getscheduler(running.process.pid) == os.SCHED_RR
            assert os.sched_getparam(running.process.pid).sched_priority == CLIENTS.real_time < LINKS.real_time


async def test_operations_are_executed_logged_and_counted(tmp_path: Path) -> None:
    millisecond = 1_000_000
    operations = [
        *joining(),
        *(publication((100 + n) * millisecond, n) for n in range(100)),
        publication(200 * millisecond, 100, colour="red"),
        publication(200 * millisecond, 101, text="x" * 2_000_000),
    ]
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with driver(overlay, operations) as running:
            start = time.monotonic_ns()
            running.begin(start)
            status = await running.until(done=True, notified=200)
            assert await running.end() == 0
    assert status == {
        "event": "status", "issued": 106, "published": 101, "confirmed": 3, "rejected": 3, "notified": 200,
        "done": True, "lag_ms": status["lag_ms"],
    }  # fmt: skip
    published = log(overlay, Event.PUBLISH)
    assert [record.intended for record in published] == [start + operation.at for operation in operations[4:]]
    assert all(record.time >= (record.intended or 0) for record in published)
    assert published[7].strings == {"class": "STOCK"}
    assert published[7].numbers == {"price": 1.5, "volume": 7}
    assert (published[7].client, published[7].peer, published[7].kind) == ("P1", "B1", "publish")
    notified = log(overlay, Event.NOTIFIED)
    for client in ("S1", "S2"):
        assert [notification.id for notification in notified if notification.client == client] == [
            f"P1:{n}" for n in range(100)
        ]
    rejected = {record.id: record for record in log(overlay, Event.REJECTED)}
    assert set(rejected) == {"s2", "P1:100", "P1:101"}
    assert (rejected["s2"].kind, rejected["s2"].client) == ("unsubscribe", "S2")
    assert "conforms to no advertisement" in (rejected["P1:100"].text or "")
    assert "2000" in (rejected["P1:101"].text or "")
    assert [(record.client, record.kind, record.id) for record in log(overlay, Event.CONFIRMED)] == [
        ("P1", "advertise", "a1"), ("S1", "subscribe", "s1"), ("S2", "subscribe", "s1"),
    ]  # fmt: skip
    assert log(overlay, Event.SUBSCRIBE)[0].predicates == [CLASS, PRICE]
    first, last = log(overlay, Event.STARTED, Event.STOPPED)
    assert (first.event, last.event, last.count) == (Event.STARTED, Event.STOPPED, 0)


async def test_acknowledgements_of_publications_are_logged_where_they_are_promises(tmp_path: Path) -> None:
    millisecond = 1_000_000
    operations = [
        *joining(),
        *(publication((100 + n) * millisecond, n) for n in range(20)),
        publication(110 * millisecond, 20, colour="red"),
        *(publication((120 + n) * millisecond, n) for n in range(21, 30)),
    ]
    operations.sort(key=lambda operation: operation.at)
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with driver(overlay, operations, keeps_accepted=True) as running:
            running.begin(time.monotonic_ns())
            status = await running.until(done=True, notified=58)
            while sum(record.kind == "publish" for record in log(overlay, Event.CONFIRMED)) < 29:
                await running.reported()
            assert await running.end() == 0
    assert (status["confirmed"], status["rejected"]) == (3, 2)
    confirmed = [record for record in log(overlay, Event.CONFIRMED) if record.kind == "publish"]
    assert [record.id for record in confirmed] == [f"P1:{n}" for n in range(30) if n != 20]
    assert {(record.client, record.peer) for record in confirmed} == {("P1", "B1")}


async def test_late_operations_are_not_skipped(tmp_path: Path) -> None:
    """A start an hour ago: everything is late, and everything is done at once and in order."""
    operations = [*joining(), *(publication(1000 + n, n) for n in range(5000))]
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with driver(overlay, operations) as running:
            running.begin(time.monotonic_ns() - 3600 * 10**9)
            await running.until(done=True, published=5000, notified=10_000)
            assert await running.end() == 0
        worst = max(line.get("lag_ms", 0.0) for line in running.lines)
        assert worst >= 3_600_000
    assert [record.id for record in log(overlay, Event.PUBLISH)] == [f"P1:{n}" for n in range(5000)]


async def test_operations_are_issued_on_time_and_those_of_a_moment_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, timers = SimpleNamespace(now=0), []

    class ListedTimer:
        def __init__(self, callback: Callable[[], None]) -> None:
            self.expire = callback
            self.times: list[int] = []
            timers.append(self)

        def set(self, when: int) -> None:
            self.times.append(when)

        def close(self) -> None:
            """Has nothing to close."""

    monkeypatch.setattr(drivers, "time", SimpleNamespace(monotonic_ns=lambda: clock.now))
    monkeypatch.setattr(drivers, "PreciseTimer", ListedTimer)
    second, moment = 10**9, drivers._TOGETHER
    times = [second, second + 1, second + moment // 2, second + moment + 1, 2 * second]
    operations = [publication(at, n) for n, at in enumerate(times)]
    config = DriverConfig(name="driver", variant="base", log=str(tmp_path / "log"), brokers={}, operations="")
    driver = drivers.Driver(config, OperationSchedule(operations))
    driver.follow(Start(0))
    (timer,) = timers
    issued = []
    while not driver.status.done:
        clock.now = timer.times[-1]
        timer.expire()
        issued.append(driver.status.issued)
    assert timer.times == [second, second + moment, second + 2 * moment, 2 * second]
    assert issued == [1, 3, 4, 5]
    await driver.close()


async def test_sigterm_ends_it_in_order(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        async with driver(overlay, [*joining(), publication(3600 * 10**9, 0)]) as running:
            running.begin(time.monotonic_ns())
            await running.until(issued=4)
            running.process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(running.process.wait(), WITHIN) == 0
    assert log(overlay, Event.STOPPED)
    assert not log(overlay, Event.PUBLISH)


async def test_a_broker_that_breaks_off_is_noted_and_found_again(tmp_path: Path) -> None:
    second = 10**9
    operations = [*joining()[:2], publication(second // 2, 1), publication(3600 * second, 2)]
    async with Loopback(tmp_path) as overlay:
        former = await overlay.start("B1")
        async with driver(overlay, operations) as running:
            running.begin(time.monotonic_ns() - second // 2)
            await running.until(notified=1)
            await overlay.stop("B1", former)
            again = await overlay.start("B1", incarnation=2)
            handled = asyncio.Event()
            handle = again.broker.sessions.handle

            def watch(*arguments: Any) -> None:
                handle(*arguments)
                if again.broker.clients == 2:
                    handled.set()

            again.broker.sessions.handle = watch  # type: ignore[method-assign]
            await asyncio.wait_for(handled.wait(), WITHIN)
            assert await running.end() == 0
    links = [record.event for record in log(overlay, Event.LINK_UP, Event.LINK_DOWN)]
    assert links[:3] == [Event.LINK_UP, Event.LINK_DOWN, Event.LINK_UP]


def run_main(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a driver says which cannot work."""
    assert main([str(path)]) == 2
    reported = capsys.readouterr().err.splitlines()
    assert len(reported) == 1, reported
    return reported[0]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"colour": "red"}, "colour"),
        ({"brokers": {"B1": 5}}, "$.brokers"),
        ({"operations": "/nosuch"}, "/nosuch"),
        ({"log": "/nosuch/log"}, "/nosuch/log"),
        ({"connect_within": 0.01}, "none.sock"),
    ],
)
def test_what_it_cannot_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], named: str
) -> None:
    write_operations(tmp_path / "operations", [publication(0, 1)])
    config = {
        "name": "d", "variant": "base", "log": str(tmp_path / "log"), "operations": str(tmp_path / "operations"),
        "brokers": {"B1": f"unix:{tmp_path}/none.sock"},
    }  # fmt: skip
    (tmp_path / "driver.json").write_text(json.dumps({**config, **change}))
    assert named in run_main(tmp_path / "driver.json", capsys)


def taken(schedule: OperationSchedule, until: int, most: int) -> Sequence[str]:
    return [operation.id for operation in schedule.due(until, most)]


def test_a_schedule_gives_what_is_due_and_reads_ahead() -> None:
    read = []

    def operations() -> Iterable[PlannedOperation]:
        for n in range(10):
            read.append(n)
            yield publication(n * 10, n)

    schedule = OperationSchedule(operations(), look_ahead=3)
    assert (len(read), schedule.next_at) == (3, 0)
    assert taken(schedule, -1, 9) == []
    assert taken(schedule, 10, 9) == ["P1:0", "P1:1"]
    assert (len(read), schedule.next_at) == (5, 20)
    assert taken(schedule, 1000, 2) == ["P1:2", "P1:3"]
    assert taken(schedule, 1000, 100) == ["P1:4", "P1:5", "P1:6"]
    assert taken(schedule, 1000, 100) == ["P1:7", "P1:8", "P1:9"]
    assert schedule.next_at is None
