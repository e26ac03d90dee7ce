"""Rows of the log of each broker, held against what happened."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from studies.broker_kit.actor import Actor
from studies.broker_kit.bench import LOGS_LEVEL, Bench
from studies.broker_kit.content import publication
from studies.broker_kit.failures import RowFailure, require
from studies.broker_kit.overlay import KitOverlay, RunningBroker
from studies.broker_kit.rows import Rows, Suite

ROWS = Rows(Suite.LOGS)

_PUBLICATIONS = 3
"""Publications after which a gauge is looked at: a sum that counts some twice, or not at all, is wrong by then."""
_GAUGED_WITHIN = 2.0
"""Seconds in which a gauge is in the file."""
_COMES_WITHIN = 10.0
"""Seconds in which a record is in the file. The contract has 0.1, which a busy machine makes longer."""
_KINDS = ("advertise", "unadvertise", "subscribe", "unsubscribe", "publish", "control", "compose", "detection")
_WORDS = ("node", "variant", "event", "kind", "id", "client", "peer", "text", "label", "stream")
_NUMBERS = (
    "time",
    "hops",
    "queue",
    "duration",
    "bytes",
    "arrived",
    "written",
    "count",
    "intended",
    "position",
    "records",
    "sent",
)
_INT64 = range(-(1 << 63), 1 << 63)
_LONGEST_LINE = 1 << 20

Record = Mapping[str, Any]


@ROWS.must("L-1", level=LOGS_LEVEL)
async def writes_records_of_the_schema(bench: Bench) -> None:
    """Each line is one JSON object with time, node, variant and event, and the fields have the types of the schema."""
    broker = await _used(bench)
    await broker.stop()
    for record in records_of(broker.files.log_here):
        trouble = _trouble(record, broker.name)
        require(not trouble, f"a record {trouble}: {json.dumps(record)[:200]}")


@ROWS.must("L-2", level=LOGS_LEVEL)
async def keeps_the_time_of_the_host(bench: Bench) -> None:
    """time is in nanoseconds of CLOCK_MONOTONIC."""
    begin = time.monotonic_ns()
    broker = await _used(bench)
    await broker.stop()
    end = time.monotonic_ns()
    for record in records_of(broker.files.log_here):
        at = record["time"]
        require(type(at) is int, f"time is no integer: {at!r}")
        require(begin <= at <= end, f"a record of the time {at} was made between {begin} and {end} of CLOCK_MONOTONIC")


@ROWS.must("L-3", level=LOGS_LEVEL)
async def writes_soon(bench: Bench) -> None:
    """Records are in the file while the broker runs, without further traffic."""
    broker = await _used(bench)
    await _await_record(broker.files.log_here, "the notification of p", event="delivered", id="p")
    await broker.kill()


@ROWS.must("L-3", level=LOGS_LEVEL)
async def goes_on_behind_a_torn_line(bench: Bench) -> None:
    """A broker appends to the log of its former incarnation, and begins on a new line where that one tore its last."""
    configuration = bench.configuration()
    log = bench.host.files(configuration.id).log_here
    torn = '{"time":1,"node":"'
    log.write_text('{"time":0,"node":"former","variant":"base","event":"load"}\n' + torn)
    broker = await bench.start(configuration)
    await broker.stop()
    lines = log.read_text(encoding="utf-8").splitlines()
    require(lines[0].startswith('{"time":0,"node":"former"'), "the broker does not append to the log that is there")
    require(lines[1] == torn, "the broker writes on in a line that its former incarnation tore")
    require(json.loads(lines[2])["event"] == "started", "the first record behind a torn line is no `started`")


@ROWS.must("L-3", level=LOGS_LEVEL)
async def tears_one_line_at_most_when_it_is_killed(bench: Bench) -> None:
    """The log of a broker that was killed has whole lines, but for the last one."""
    broker = await _used(bench)
    await broker.kill()
    lines = broker.files.log_here.read_bytes().split(b"\n")
    for line in lines[:-1]:
        try:
            json.loads(line)
        except ValueError:
            raise RowFailure(
                f"a line of a killed broker's log that is not the last one is torn: {line[:80]!r}"
            ) from None


@ROWS.must("L-4", level=LOGS_LEVEL)
async def logs_its_start_and_its_end(bench: Bench) -> None:
    """The first record is `started` with the incarnation, the last one `stopped` with the number of records."""
    broker = await _used(bench)
    await broker.stop()
    records = records_of(broker.files.log_here)
    first, last = records[0], records[-1]
    require(first["event"] == "started", f"the first record is {first['event']!r}, not 'started'")
    require(first.get("count") == 1, f"`started` of incarnation 1 has count {first.get('count')}")
    require(
        last["event"] == "stopped",
        f"the last record of a broker that ended in order is {last['event']!r}, not 'stopped'",
    )
    require(last.get("count") == 0, f"`stopped` says that {last.get('count')} records were lost, and none was")
    require(last.get("records") == len(records), f"`stopped` counts {last.get('records')} records of {len(records)}")


@ROWS.must("L-5", level=LOGS_LEVEL)
async def logs_what_it_receives(bench: Bench) -> None:
    """Each operation of a client that has an id is recorded as received, rejected publications included."""
    broker = await _used(bench)
    await broker.stop()
    got = Counter(
        (record.get("kind"), record.get("id"))
        for record in records_of(broker.files.log_here)
        if record["event"] == "received"
    )
    for kind, id in (
        ("advertise", "a"),
        ("subscribe", "s"),
        ("publish", "p"),
        ("publish", "bad"),
        ("unsubscribe", "s"),
    ):
        require(got[kind, id] == 1, f"a client's {kind} {id!r} is recorded {got[kind, id]} times as received, not once")


@ROWS.must("L-6", level=LOGS_LEVEL)
async def logs_the_way_of_a_publication(bench: Bench) -> None:
    """Each step of a publication over two links is recorded once: received, sent, and so on, delivered at last."""
    overlay = await bench.line("B1", "B2", "B3")
    publisher, subscriber = await bench.publisher_and_subscriber(overlay, ("B1", "B3"), "way")
    id, body = bench.name("p"), publication("[class,'way']")
    await publisher.publish(id, "[class,'way']")
    await subscriber.stream.notification()
    logs = {name: broker.files.log_here for name, broker in overlay.running.items()}
    await _await_record(logs["B3"], "the notification", event="delivered", id=id)
    await _await_record(logs["B2"], "the sending", event="sent", id=id)
    wanted = [
        ("B1", "received", publisher.name, None, 0), ("B1", "sent", None, "B2", 1),
        ("B2", "received", None, "B1", 1), ("B2", "sent", None, "B3", 2),
        ("B3", "received", None, "B2", 2), ("B3", "delivered", subscriber.name, None, 2),
    ]  # fmt: skip
    steps = [
        (broker, record)
        for broker, log in logs.items()
        for record in records_of(log)
        if record.get("id") == id and record["event"] in ("received", "sent", "delivered")
    ]
    found = [(b, r["event"], r.get("client"), r.get("peer"), r.get("hops")) for b, r in steps]
    for step in wanted:
        times = found.count(step)
        require(times == 1, f"a publication's step {_in_words(step)} is recorded {times} times, not once")
    require(len(found) == len(wanted), f"a publication takes {len(wanted)} steps, and {len(found)} are recorded")
    for broker, record in steps:
        require(record.get("kind") == "publish", f"{broker} records a publication as {record.get('kind')!r}")
        size = record.get("bytes", 0)
        require(size >= len(body), f"{broker} records {size} bytes of a publication whose body has {len(body)}")
    moments = {(broker, record["event"]): record["time"] for broker, record in steps}
    for sender, receiver in (("B1", "B2"), ("B2", "B3")):
        late = moments[sender, "sent"] - moments[receiver, "received"]
        require(late <= 0, f"{sender} records a sending {late / 1e6:.1f} ms after {receiver} has received it")


@ROWS.must("L-14", level=LOGS_LEVEL)
async def gauges_what_it_sends(bench: Bench) -> None:
    """Sums of messages and bytes in the gauges of a link are those of the `sent` records before them."""
    overlay = await _line_that_sends(bench)
    await asyncio.sleep(_GAUGED_WITHIN)
    for name, broker in overlay.running.items():
        if trouble := _wrong_sum(_whole_records(broker.files.log_here)):
            raise RowFailure(f"{name} {trouble}")


@ROWS.should("L-14", level=LOGS_LEVEL)
async def tells_what_it_sends(bench: Bench) -> None:
    """The gauges of a link that carries messages have their number."""
    overlay = await _line_that_sends(bench)
    await asyncio.sleep(_GAUGED_WITHIN)
    for name, neighbour in (("B1", "B2"), ("B2", "B3")):
        gauges = [
            record
            for record in _whole_records(overlay.running[name].files.log_here)
            if record["event"] == "queue" and record.get("peer") == neighbour
        ]
        require(
            any("sent" in gauge and "bytes" in gauge for gauge in gauges),
            f"{name} sent messages to {neighbour}, and no `queue` of it says how many",
        )


@ROWS.must("L-7", level=LOGS_LEVEL)
async def logs_each_notification(bench: Bench) -> None:
    """Each client that is notified has a record of its own, `delivered`."""
    broker = await bench.start(bench.configuration())
    stream = await bench.stream(broker)
    numbers = None
    names = ["c1", "c2", "c3"]
    for name in names:
        actor = Actor(stream, name, numbers)
        numbers = actor.numbers
        await actor.attach(advertised="[class,eq,'A']", subscribed="[class,eq,'A']")
    await actor.publish("p", "[class,'A']")
    notified: set[str] = set()
    while len(notified) < len(names):
        notified.update((await stream.notification()).clients)
    await broker.stop()
    got = sorted(r.get("client", "") for r in records_of(broker.files.log_here) if r["event"] == "delivered")
    require(got == names, f"clients {', '.join(names)} were notified, and `delivered` is recorded for {got}")


@ROWS.must("L-9", level=LOGS_LEVEL)
async def logs_links(bench: Bench) -> None:
    """A link that comes up, is given up and comes up again is recorded with the neighbour and its incarnation."""
    overlay = await bench.line("B1", "B2")
    await overlay.kill("B2")
    await overlay.restart("B2")
    await overlay.settle()
    log = overlay.running["B1"].files.log_here
    await _await_record(log, "the link to the second incarnation", event="link_up", peer="B2", count=2)
    got = [
        (r["event"], r.get("count"))
        for r in records_of(log)
        if r["event"] in ("link_up", "link_down") and r.get("peer") == "B2"
    ]
    ups = [count for event, count in got if event == "link_up"]
    require(ups[:1] == [1], f"the first `link_up` of B2 has its incarnation as count, 1, and not {ups[:1]}")
    require(("link_down" in [event for event, _ in got]), "a link that was given up is not recorded as `link_down`")


@ROWS.must("L-11", level=LOGS_LEVEL)
async def logs_rejections(bench: Bench) -> None:
    """A rejected operation is recorded as `rejected`, with its client and the reason."""
    broker = await _used(bench)
    await broker.stop()
    found = [r for r in records_of(broker.files.log_here) if r["event"] == "rejected" and r.get("id") == "bad"]
    require(len(found) == 1, f"a publication was rejected once, and {len(found)} rejections are recorded")
    require(
        found[0].get("text") and found[0].get("client") == "c",
        "the record of a rejection lacks its client or the reason",
    )


@ROWS.must("L-13", level=LOGS_LEVEL)
async def bears_a_log_that_takes_nothing(bench: Bench) -> None:
    """A broker whose log is on a full disk serves on, and says how many records it has lost."""
    broker = await bench.start(replace(bench.configuration(), log="/dev/full"))
    await _use(bench, broker)
    await broker.require_running()
    deadline = time.monotonic() + _COMES_WITHIN
    while not (await broker.control.status()).log_lost:
        require(time.monotonic() < deadline, "records cannot be written, and log_lost of Status is 0")
        await asyncio.sleep(0.05)
    ending = await broker.stop()
    require(
        ending is not None and ending.code == 0,
        f"a broker whose log cannot be written should end in order, and {ending}",
    )


def records_of(log: Path) -> Sequence[Record]:
    """The records of a log. Raises `RowFailure` for a line that is none."""
    records = []
    for line in log.read_bytes().splitlines():
        if len(line) > _LONGEST_LINE:
            raise RowFailure(f"a line of the log has {len(line)} bytes")
        try:
            record = json.loads(line)
        except ValueError:
            raise RowFailure(f"a line of the log is no JSON: {line[:80]!r}") from None
        if not isinstance(record, dict):
            raise RowFailure(f"a line of the log is no JSON object: {line[:80]!r}")
        missing = [name for name in ("time", "node", "variant", "event") if name not in record]
        if missing:
            raise RowFailure(f"a record lacks {', '.join(missing)}: {line[:80]!r}")
        records.append(record)
    if not records:
        raise RowFailure("the log is empty")
    return records


async def _line_that_sends(bench: Bench) -> KitOverlay:
    """An overlay over whose links publications have come to a subscriber."""
    overlay = await bench.line("B1", "B2", "B3")
    publisher, subscriber = await bench.publisher_and_subscriber(overlay, ("B1", "B3"), "sums")
    for _ in range(_PUBLICATIONS):
        await publisher.publish(bench.name("p"), "[class,'sums']")
        await subscriber.stream.notification()
    return overlay


def _wrong_sum(records: Iterable[Record]) -> str:
    """Trouble with the first gauge whose sums are not those of the records before it; empty without any."""
    sent: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for record in records:
        peer = record.get("peer", "")
        if record["event"] == "started":
            sent.clear()
            size.clear()
        elif record["event"] == "sent":
            sent[peer] += 1
            size[peer] += record.get("bytes", 0)
        elif record["event"] == "queue" and "sent" in record:
            if record["sent"] != sent[peer]:
                return f"says that it has sent {record['sent']} messages to {peer}, and has recorded {sent[peer]}"
            if record.get("bytes", size[peer]) != size[peer]:
                return f"says that it has sent {record['bytes']} bytes to {peer}, and has recorded {size[peer]}"
    return ""


async def _used(bench: Bench) -> RunningBroker:
    """A broker of its own, with a client that did one of each."""
    broker = await bench.start(bench.configuration())
    await _use(bench, broker)
    return broker


async def _use(bench: Bench, broker: RunningBroker) -> None:
    actor = Actor(await bench.stream(broker), "c")
    await actor.attach(advertised="[class,eq,'A']", subscribed="[class,eq,'A']")
    await actor.publish("p", "[class,'A']")
    await actor.stream.notified_until("p")
    await actor.stream.rejected(await actor.publish("bad", "[class,'B']"), "it is not advertised")
    await actor.unsubscribe("s")


async def _await_record(log: Path, what: str, **fields: object) -> None:
    """Returns once a record with these fields is in the log."""
    deadline = time.monotonic() + _COMES_WITHIN
    while True:
        if any(all(record.get(name) == value for name, value in fields.items()) for record in _whole_records(log)):
            return
        if time.monotonic() > deadline:
            raise RowFailure(f"the record of {what} is not in the log {_COMES_WITHIN:g} s later")
        await asyncio.sleep(0.05)


def _whole_records(log: Path) -> Sequence[Record]:
    """The records of a log that is being written: its last line may be torn."""
    return [json.loads(line) for line in log.read_bytes().split(b"\n")[:-1]]


def _trouble(record: Record, broker: str) -> str:
    """Trouble with a record, in words; empty without any."""
    for name, wanted in (("node", broker), ("variant", "base")):
        if record[name] != wanted:
            return f"has the {name} {record[name]!r}, not {wanted!r}"
    if record.get("kind", "control") not in _KINDS:
        return f"has the unknown kind {record['kind']!r}"
    return _wrong_field(record)


def _wrong_field(record: Record) -> str:
    for name, value in record.items():
        if value is None:
            return f"has the field {name} without a value, which is to be left out"
        if name in _WORDS and not isinstance(value, str):
            return f"has a field {name} that is no string"
        if name in _NUMBERS and (type(value) is not int or value not in _INT64):
            return f"has a field {name} that is no integer of 64 bits"
    return ""


def _in_words(step: tuple[str, str, str | None, str | None, int]) -> str:
    broker, event, client, peer, hops = step
    return f"`{event}` at {broker} ({client or peer}, hops {hops})"
