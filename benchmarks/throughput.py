"""How much brokers carry: publications a second delivered one to one, CPU and memory of a broker, delay at a low rate.

Starts brokers and drivers as processes on loopback addresses, unshaped, with logging on: a single broker, a line of
three and a cycle of four; one publisher at the first broker, one subscriber at the one farthest from it. The publisher
keeps to its schedule whatever happens (open loop). A rate counts as carried when every publication is delivered once
and the last one within `LATE` seconds of its time.

    python -m benchmarks.throughput
    python -m benchmarks.throughput --overlay line-3 --rates 15000 20000 --seconds 5
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from broker_service.config import BrokerConfig, Limits, LinkConfig
from broker_service.language import Value
from emulation.drivers.driver import DriverConfig
from emulation.workload.operations import Operation, OperationKind, write_operations
from record.log import PredicateRecord

OVERLAYS: Mapping[str, tuple[int, tuple[tuple[int, int], ...], int]] = {
    "one broker": (1, (), 1),
    "line-3": (3, ((1, 2), (2, 3)), 3),
    "cycle-4": (4, ((1, 2), (2, 3), (3, 4), (4, 1)), 3),
}
"""Number of brokers, links, and the broker of the subscriber; the publisher is at broker 1."""

RATES = (5_000, 10_000, 15_000, 18_000, 21_000, 24_000, 28_000, 32_000, 40_000)
LATE = 0.5
JOIN = 1.0
"""Seconds before the first publication."""
TICKS = os.sysconf("SC_CLK_TCK")
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has used so far."""

    cpu: float
    """Seconds."""
    resident: float
    """MB, at most."""

    @classmethod
    def of(cls, process: int) -> Usage:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        status = dict(line.split(":\t") for line in Path(f"/proc/{process}/status").read_text().splitlines())
        return cls((int(fields[11]) + int(fields[12])) / TICKS, int(status["VmHWM"].split()[0]) / 1024)


@dataclass(frozen=True, slots=True)
class Trial:
    """One rate on one overlay."""

    offered: float
    published: int
    delivered: int
    duplicates: int
    dropped: int
    overtime: float
    """Seconds from the last publication's time to the last notification."""
    delays: list[float]
    """Milliseconds from intended publication to notification."""
    cpu_per_hop: float
    """Microseconds of a broker's CPU for each publication it carried, mean of the brokers on the way."""
    cpu_in_all: float
    """Microseconds of all processes' CPU, drivers included, for each publication."""
    resident: float
    """MB, the largest broker."""

    @property
    def carried(self) -> bool:
        return self.delivered == self.published and not self.duplicates and self.overtime <= LATE

    def percentile(self, share: float) -> float:
        return sorted(self.delays)[min(len(self.delays) - 1, int(len(self.delays) * share))] if self.delays else 0.0


class Overlay:
    """Broker processes on loopback addresses, for the length of a `with` block."""

    def __init__(self, brokers: int, links: Sequence[tuple[int, int]], directory: Path) -> None:
        self.addresses = {f"B{i}": f"unix:{directory}/B{i}.sock" for i in range(1, brokers + 1)}
        self._directory = directory
        self._links = links
        self._exits = ExitStack()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.start_times: list[float] = []

    def __enter__(self) -> Overlay:
        with ExitStack() as undo:
            for name in self.addresses:
                path = self._write(name)
                begin = time.monotonic()
                errors = undo.enter_context((self._directory / f"{name}.stderr").open("wb"))
                process = start("broker_service.grpc_shell.server", path, stderr=errors)
                undo.callback(end, process)
                self.processes[name] = process
                wait_for(lambda name=name: Path(self.addresses[name].removeprefix("unix:")).is_socket(), process)
                self.start_times.append(time.monotonic() - begin)
            self._exits = undo.pop_all()
        wait_for(self._linked)
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def _linked(self) -> bool:
        logs = "".join((self._directory / f"{name}.jsonl").read_text() for name in self.processes)
        return logs.count('"link_up"') >= 2 * len(self._links)

    def _write(self, name: str) -> Path:
        links = []
        for index, ends in enumerate(self._links):
            names = tuple(f"B{end}" for end in ends)
            if name in names:
                here = names.index(name)
                addresses = (f"127.0.{index + 1}.1:7000", f"127.0.{index + 1}.2:7000")
                links.append(
                    LinkConfig(
                        neighbour=names[1 - here], local=addresses[here], remote=addresses[1 - here], dial=here == 0
                    )
                )
        config = BrokerConfig(
            id=name, incarnation=1, protocol="tid", options={"publications": "fixed"},
            listen=(self.addresses[name],), links=tuple(links), log=str(self._directory / f"{name}.jsonl"),
            limits=Limits(),
        )  # fmt: skip
        return write(self._directory / f"{name}.json", config)


def start(module: str, config: Path, **streams: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", module, str(config)], cwd=ROOT, **streams)


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for(condition: Any, process: subprocess.Popen[bytes] | None = None, within: float = 20.0) -> None:
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline or (process is not None and process.poll() is not None):
            raise RuntimeError("a broker did not start")
        time.sleep(0.002)


def write(path: Path, value: Any) -> Path:
    path.write_bytes(msgspec.json.encode(value))
    return path


def publisher(rate: float, count: int) -> Iterable[Operation]:
    """Advertises once and then publishes quotes at even intervals."""
    every = [
        PredicateRecord(attribute="class", operator="eq", string="STOCK"),
        PredicateRecord(attribute="symbol", operator="str-prefix", string=""),
        *(
            PredicateRecord(attribute=name, operator=">=", number=0)
            for name in ("open", "high", "low", "close", "volume")
        ),
    ]
    yield Operation(at=0, client="P1", broker="B1", operation=OperationKind.ADVERTISE, id="a1", predicates=every)
    for n in range(count):
        price = 50 + n % 97 / 4
        content: dict[str, Value] = {
            "class": "STOCK", "symbol": "ACME", "open": price, "high": price + 1.25, "low": price - 1.5,
            "close": price + 0.5, "volume": 1_000_000 + n,
        }  # fmt: skip
        yield Operation(
            at=round((JOIN + n / rate) * 1e9), client="P1", broker="B1", operation=OperationKind.PUBLISH,
            id=f"P1:{n}", attributes=content,
        )  # fmt: skip


def subscriber(broker: str) -> Iterable[Operation]:
    wanted = [
        PredicateRecord(attribute="class", operator="eq", string="STOCK"),
        PredicateRecord(attribute="open", operator=">", number=10),
    ]
    at = round(JOIN / 2 * 1e9)
    yield Operation(at=at, client="S1", broker=broker, operation=OperationKind.SUBSCRIBE, id="s1", predicates=wanted)


class Driver:
    """A driver process."""

    def __init__(
        self, name: str, addresses: Mapping[str, str], operations: Iterable[Operation], directory: Path
    ) -> None:
        self.log = directory / f"{name}.jsonl"
        write_operations(directory / f"{name}.operations", operations)
        config = DriverConfig(
            name=name, variant="base", log=str(self.log), brokers=dict(addresses),
            operations=str(directory / f"{name}.operations"),
        )  # fmt: skip
        path = write(directory / f"{name}.json", config)
        with (directory / f"{name}.stderr").open("wb") as errors:
            self.process = start(
                "emulation.drivers.driver", path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("a driver is spoken to through pipes")
        self._told, self._says = self.process.stdin, self.process.stdout
        self.read()

    def read(self) -> dict[str, Any]:
        line = self._says.readline()
        if not line:
            raise RuntimeError(f"a driver ended: {self.log.with_suffix('.stderr').read_text()[-500:]}")
        status: dict[str, Any] = json.loads(line)
        return status

    def begin(self, at: int) -> None:
        self._told.write(json.dumps({"start": at}).encode() + b"\n")
        self._told.flush()

    def end(self) -> None:
        self._told.close()
        self.process.wait(10)


def run_trial(name: str, rate: float, seconds: float) -> tuple[Trial, list[float]]:
    """One rate on a fresh overlay; also the start times of its brokers."""
    count, links, at = OVERLAYS[name]
    published = round(rate * seconds)
    with tempfile.TemporaryDirectory(prefix="throughput-") as temporary, ExitStack() as stack:
        directory = Path(temporary)
        overlay = stack.enter_context(Overlay(count, links, directory))
        sink = f"B{at}"
        drivers = [
            Driver("publishers", {"B1": overlay.addresses["B1"]}, publisher(rate, published), directory),
            Driver("subscribers", {sink: overlay.addresses[sink]}, subscriber(sink), directory),
        ]
        for driver in drivers:
            stack.callback(end, driver.process)
        begin = time.monotonic_ns() + 100_000_000
        for driver in drivers:
            driver.begin(begin)
        time.sleep(JOIN - 0.1)
        processes = overlay.processes | {str(driver.log): driver.process for driver in drivers}
        before = {name: Usage.of(process.pid) for name, process in processes.items()}
        wait_until_quiet(drivers[1], published, begin / 1e9 + JOIN + seconds + 5)
        after = {name: Usage.of(process.pid) for name, process in processes.items()}
        for driver in drivers:
            driver.end()
        return judge(rate, published, directory, list(overlay.processes), before, after), overlay.start_times


def wait_until_quiet(driver: Driver, expected: int, deadline: float) -> None:
    notified = -1
    while time.monotonic() < deadline:
        status = driver.read()
        if status["notified"] >= expected:
            return
        if time.monotonic() > deadline - 3 and status["notified"] == notified:
            return
        notified = status["notified"]


def judge(
    rate: float,
    published: int,
    directory: Path,
    brokers: Sequence[str],
    before: Mapping[str, Usage],
    after: Mapping[str, Usage],
) -> Trial:
    """Counts and times from the logs."""
    intended: dict[str, int] = {}
    notified: dict[str, int] = {}
    duplicates = 0
    for line in (directory / "publishers.jsonl").read_bytes().splitlines():
        record = msgspec.json.decode(line)
        if record["event"] == "publish":
            intended[record["id"]] = record["intended"]
    for line in (directory / "subscribers.jsonl").read_bytes().splitlines():
        record = msgspec.json.decode(line)
        if record["event"] == "notified":
            duplicates += record["id"] in notified
            notified[record["id"]] = record["time"]
    carriers = []
    dropped = 0
    for broker in brokers:
        log = (directory / f"{broker}.jsonl").read_bytes()
        dropped += log.count(b'"event":"dropped"')
        carried = log.count(b'"event":"received","kind":"publish"')
        if carried:
            carriers.append((after[broker].cpu - before[broker].cpu) / carried * 1e6)
    return Trial(
        offered=rate,
        published=published,
        delivered=len(notified),
        duplicates=duplicates,
        dropped=dropped,
        overtime=(max(notified.values(), default=0) - max(intended.values(), default=0)) / 1e9,
        delays=[(notified[id] - intended[id]) / 1e6 for id in notified],
        cpu_per_hop=statistics.mean(carriers) if carriers else 0.0,
        cpu_in_all=sum(after[name].cpu - before[name].cpu for name in after) / published * 1e6,
        resident=max(after[broker].resident for broker in brokers),
    )


def report(name: str, trial: Trial) -> None:
    print(
        f"{name:<11} {trial.offered:>7.0f}/s offered: {trial.delivered:>7} of {trial.published} delivered,"
        f" {trial.delivered / (trial.published / trial.offered + max(0.0, trial.overtime)):>7.0f}/s,"
        f" p50 {trial.percentile(0.5):8.2f} ms, p99 {trial.percentile(0.99):8.2f} ms,"
        f" CPU {trial.cpu_per_hop:5.1f} us a hop and {trial.cpu_in_all:5.1f} us in all, {trial.resident:5.1f} MB,"
        f" dropped {trial.dropped}"
        f"{'' if trial.carried else '  (not carried)'}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--overlay", nargs="+", choices=list(OVERLAYS), default=list(OVERLAYS), help="which to run")
    parser.add_argument("--rates", nargs="+", type=float, default=list(RATES), help="publications a second, ascending")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of a throughput trial")
    parser.add_argument("--delay-seconds", type=float, default=10.0, help="length of the trial at 100/s; 0 for none")
    options = parser.parse_args()
    starts: list[float] = []
    for name in options.overlay:
        carried = 0.0
        for rate in options.rates:
            trial, start_times = run_trial(name, rate, options.seconds)
            starts += start_times
            report(name, trial)
            if not trial.carried:
                break
            carried = rate
        print(f"{name}: {carried:.0f} publications/s carried")
        if options.delay_seconds:
            trial, start_times = run_trial(name, 100, options.delay_seconds)
            report(name, trial)
    print(f"a broker listens {statistics.median(starts):.2f} s after its start (median of {len(starts)})")


if __name__ == "__main__":
    main()
