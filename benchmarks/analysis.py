"""Log records per second through the analysis: `python -m benchmarks.analysis [--records N] [--engine spark|plain]`.

The log is synthetic and deterministic: a binary tree of 30 brokers, 20 publishers and 30 subscribers, publications of
seven attributes, every message of every hop logged as brokers and drivers log it, two variants alike but for queueing.
The delivery verdict must come out `correct`, or the benchmark fails: it measures the whole analysis, not a part.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import msgspec

from analysis.engines import Engine, PlainEngine, RunningSpark
from analysis.run import analyze
from analysis.session import LOCAL_MASTER, open_session
from broker_service.trace import Event, PredicateRecord, TraceRecord
from topology.files import save
from topology.model import Broker, Link, Overlay

MILLISECOND = 1_000_000
SECOND = 1_000_000_000
BROKERS, PUBLISHERS, SUBSCRIBERS, SYMBOLS = 30, 20, 30, 10
LINK_DELAY = 5 * MILLISECOND
GAP = 25 * MILLISECOND
"""Between publications, over all publishers."""
VARIANTS = ("fixed", "dynamic")
TARGET_RECORDS, TARGET_SECONDS = 1_000_000, 20.0


@dataclass
class SyntheticRun:
    """Writes a run directory of about so many log records."""

    directory: Path
    records: int
    seed: int = 1
    written: int = 0
    publications: int = 0
    notifications: int = 0
    _encode: Callable[[TraceRecord], bytes] = field(default_factory=lambda: msgspec.json.Encoder().encode)

    def write(self) -> None:
        brokers = [f"B{number}" for number in range(1, BROKERS + 1)]
        links = [Link(f"B{number // 2}", f"B{number}") for number in range(2, BROKERS + 1)]
        self.directory.joinpath("logs").mkdir(parents=True)
        save(Overlay("tree", tuple(map(Broker, brokers)), tuple(links)), self.directory / "topology.json")
        with ExitStack() as stack:
            names = [*brokers, "driver"]
            self._files = {
                name: stack.enter_context((self.directory / "logs" / f"{name}.jsonl").open("wb")) for name in names
            }
            variants = [self._variant(name, index) for index, name in enumerate(VARIANTS)]
        manifest = {"run_id": "synthetic", "seed": self.seed, "variants": variants}
        (self.directory / "manifest.json").write_bytes(msgspec.json.encode(manifest))
        (self.directory / "fidelity.json").write_bytes(msgspec.json.encode({"verdict": "VALID", "variants": []}))

    def _variant(self, name: str, index: int) -> dict[str, object]:
        self._name, start = name, (index * 100_000 + 1_000) * SECOND
        rng = random.Random(self.seed)  # the same workload in each variant
        interests = list(self._join(rng, start - 10 * SECOND))
        now, limit, number = start, self.records * (index + 1) // len(VARIANTS), 0
        while self.written < limit:
            self._publish(rng, f"P{number % PUBLISHERS + 1}", number, now, interests, 1 + index)
            if number % (SECOND // GAP) == 0:
                self._gauges(now)
            number, now = number + 1, now + GAP
        phases = [("join", start - 15 * SECOND, start), ("run", start, now), ("drain", now, now + 10 * SECOND)]
        return {"name": name, "phases": [{"name": n, "start": a, "end": b} for n, a, b in phases]}

    def _join(self, rng: random.Random, at: int) -> Iterator[tuple[str, int, str, float]]:
        a_class = PredicateRecord(attribute="class", operator="eq", string="STOCK")
        numeric = [PredicateRecord(attribute=name, operator=">=", number=0.0) for name in _NUMBERS]
        symbol = PredicateRecord(attribute="symbol", operator="isPresent", string="x")
        date = PredicateRecord(attribute="date", operator="isPresent", string="x")
        for number in range(1, PUBLISHERS + 1):
            self._operation(Event.ADVERTISE, f"P{number}", "a1", at, [a_class, symbol, date, *numeric])
        for number in range(1, SUBSCRIBERS + 1):
            wanted, price = f"SYM{rng.randrange(SYMBOLS)}", rng.uniform(0, 50)
            predicates = [
                a_class,
                PredicateRecord(attribute="symbol", operator="eq", string=wanted),
                PredicateRecord(attribute="close", operator=">", number=price),
            ]
            self._operation(Event.SUBSCRIBE, f"S{number}", "s1", at, predicates)
            yield f"S{number}", number % BROKERS + 1, wanted, price

    def _operation(self, event: Event, client: str, id: str, at: int, predicates: list[PredicateRecord]) -> None:
        self._log("driver", event, at, client=client, id=id, kind=event.value, predicates=predicates)
        self._log("driver", Event.CONFIRMED, at + MILLISECOND, client=client, id=id, kind=event.value)

    def _publish(
        self,
        rng: random.Random,
        client: str,
        number: int,
        at: int,
        interests: Sequence[tuple[str, int, str, float]],
        queueing: int,
    ) -> None:
        id, symbol = f"{client}:{number}", f"SYM{rng.randrange(SYMBOLS)}"
        numbers = {name: round(rng.uniform(0, 100), 2) for name in _NUMBERS}
        strings = {"class": "STOCK", "symbol": symbol, "date": "2026-11-21"}
        origin = int(client[1:])
        matching = [
            (c, broker) for c, broker, wanted, price in interests if wanted == symbol and numbers["close"] > price
        ]
        self._log("driver", Event.PUBLISH, at, client=client, id=id, intended=at, numbers=numbers, strings=strings)
        size = 180
        self._log(f"B{origin}", Event.RECEIVED, at, client=client, id=id, kind="publish", hops=0, bytes=size)
        self._log(f"B{origin}", Event.MATCHED, at, id=id, kind="publish", count=len(matching), duration=20_000)
        reached = {origin: (at, 0)}
        for notified, broker in matching:
            for near, far in _hops(_path(origin, broker)):
                if far in reached:
                    continue
                time_here, hops = reached[near]
                wait = rng.randrange(MILLISECOND) * queueing
                message = {"id": id, "kind": "publish", "hops": hops + 1, "bytes": size}
                self._log(f"B{near}", Event.SENT, time_here + wait, peer=f"B{far}", queue=3, duration=wait, **message)
                reached[far] = time_here + wait + LINK_DELAY, hops + 1
                self._log(f"B{far}", Event.RECEIVED, reached[far][0], peer=f"B{near}", **message)
            arrived, hops = reached[broker]
            self._log(f"B{broker}", Event.DELIVERED, arrived, client=notified, id=id, kind="publish", hops=hops)
            at_client = {"client": notified, "peer": f"B{broker}", "id": id, "hops": hops}
            self._log("driver", Event.NOTIFIED, arrived + 100_000, **at_client)
            self.notifications += 1
        self.publications += 1

    def _gauges(self, at: int) -> None:
        for number in range(2, BROKERS + 1):
            self._log(f"B{number}", Event.QUEUE, at, peer=f"B{number // 2}", queue=number, count=1)

    def _log(self, node: str, event: Event, at: int, **fields: object) -> None:
        record = TraceRecord(time=at, node=node, variant=self._name, event=event, **fields)  # type: ignore[arg-type]
        self._files[node].write(self._encode(record) + b"\n")
        self.written += 1


_NUMBERS = ("open", "high", "low", "close", "volume")


def _path(origin: int, target: int) -> list[int]:
    """Between two nodes of the binary tree in which node n hangs below n // 2."""
    up, down = [origin], [target]
    while up[-1] != down[-1]:
        deeper = up if up[-1] > down[-1] else down
        deeper.append(deeper[-1] // 2)
    return up + down[-2::-1]


def _hops(path: list[int]) -> Iterator[tuple[int, int]]:
    return pairwise(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=TARGET_RECORDS)
    parser.add_argument("--master", default=LOCAL_MASTER)
    parser.add_argument("--engine", choices=("spark", "plain"), action="append", help="default: both")
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="brokerlab-benchmark-"))
    try:
        synthetic = SyntheticRun(scratch / "run", options.records)
        synthetic.write()
        size = sum(file.stat().st_size for file in (scratch / "run" / "logs").iterdir())
        print(f"{synthetic.written:,} records ({size / 1e6:.0f} MB), {synthetic.publications:,} publications")
        for engine in options.engine or ("spark", "plain"):
            if engine == "plain":
                _measure("plain Python", PlainEngine(), synthetic)
                continue
            begin = time.perf_counter()
            with open_session(options.master) as session:
                print(f"Spark started in {time.perf_counter() - begin:.1f} s")
                _measure(f"Spark, {options.master}", RunningSpark(session), synthetic)
    finally:
        shutil.rmtree(scratch)


def _measure(name: str, engine: Engine, synthetic: SyntheticRun) -> None:
    started = time.perf_counter()
    summary = analyze(
        synthetic.directory, engine, lambda what: print(f"  {time.perf_counter() - started:5.1f} s  {what}")
    )
    seconds = time.perf_counter() - started
    delivered = sum(variant.delivery.delivered for variant in summary.variants)
    if not summary.correct or delivered != synthetic.notifications:
        raise SystemExit(f"wrong: verdict {summary.delivery}, {delivered:,} of {synthetic.notifications:,} delivered")
    print(
        f"{name}: analysis {seconds:.1f} s: {synthetic.written / seconds:,.0f} records/s"
        f" (target: {TARGET_RECORDS:,} records in {TARGET_SECONDS:.0f} s)"
    )


if __name__ == "__main__":
    main()
