"""Plants waits on real brokers and holds the budget of delays against them: planted milliseconds beside booked ones.

Three brokers in a line run as processes, with the userspace link driver. A busy program takes the processor of a
broker, of the relay or of the publishers' driver for a fifth of the time, or a broker is stopped in silence. How long
each publication was held up follows from its own times in the logs and from the times of the plant; the budget has to
book that at the right node and as the right part, within a tenth. The host has to be idle otherwise, has two processors
at least, and lets real-time programs run (as root). Each plant takes about a minute. The exit code is 1 when any is
booked otherwise.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.tables.budget import BudgetAtNode
from analysis.tables.results import read_table
from analysis.tables.summary import read_summary
from record.files import LOGS, RESULTS
from record.log import Event, TraceRecord
from record.processors import RELAY
from record.time_units import MILLISECOND
from studies.calibration.latency import read_logs
from tests.planted_waits.plants import Plant, Span, busy, held_up, nodes_of, stopped

_EXAMPLES = """\
examples:
  python -m tests.planted_waits                   all plants, in 4 minutes
  python -m tests.planted_waits relay stop        some of them
"""
_DELAY = 20 * MILLISECOND
_SCENARIO = """
name: planted-waits
topology: {kind: line, brokers: 3, link: {delay: 20ms}}
routing: {protocol: tid}
workload:
  publications: {publishers: 1, rate: 20/s, placement: [B1]}
  operations:
    - {at: 0s, client: Sue, broker: B3, id: all, subscribe: "[class,eq,'STOCK'],[close,>,0]"}
timeline: {join: 4s, run: 24s, drain: 3s}
seed: 1
"""
_JOIN = 4.0
_WITHIN = 0.1
_START_WITHIN = 120.0
Due = Callable[[TraceRecord], Iterator[int]]
"""The times at which a record shows that its publication was due at the node that is held up; the first counts at which
it was, because that moves the others."""


def _at_broker(record: TraceRecord) -> Iterator[int]:
    if record.event is Event.SENT and record.peer == "B2":
        yield _written(record) + _DELAY


def _at_relay(record: TraceRecord) -> Iterator[int]:
    """A frame is due when it is written, and when it has to leave."""
    if record.event is Event.SENT:
        yield _written(record)
        yield _written(record) + _DELAY


def _written(record: TraceRecord) -> int:
    """The time of writing, which a record has only where it is another one than that of leaving the queue."""
    return record.time if record.written is None else record.written


def _at_driver(record: TraceRecord) -> Iterator[int]:
    if record.event is Event.PUBLISH and record.intended is not None:
        yield record.intended


@dataclass(frozen=True, slots=True)
class Case:
    """A plant, and where the budget has to book it."""

    name: str
    plant: Plant
    node: str
    due: Due
    is_contention: bool
    """False for what must be unexplained."""


CASES = (
    Case("broker", busy, "B2", _at_broker, is_contention=True),
    Case("relay", busy, RELAY, _at_relay, is_contention=True),
    Case("driver", busy, "publishers", _at_driver, is_contention=True),
    Case("stop", stopped, "B2", _at_broker, is_contention=False),
)


@dataclass(frozen=True, slots=True)
class Result:
    """Milliseconds of the mean delay."""

    planted: float
    booked: float
    elsewhere: float
    """This part in the budget of other nodes."""
    other: float
    """The other part, contention or unexplained, at all nodes."""

    @property
    def is_right(self) -> bool:
        return abs(self.booked - self.planted) <= _WITHIN * self.planted


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.planted_waits", description=__doc__, epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    names = [case.name for case in CASES]
    parser.add_argument("plants", nargs="*", metavar="PLANT", help=f"{', '.join(names)}; all by default")
    wanted = parser.parse_args(arguments).plants or names
    if unknown := sorted(set(wanted) - set(names)):
        parser.error(f"{', '.join(unknown)}: no such plant; there are {', '.join(names)}")
    print(f"{'plant':<8} {'node':<11} {'part':<12} {'planted':>9} {'booked':>9} {'elsewhere':>10} {'other':>9}  result")
    wrong = 0
    for case in CASES:
        if case.name in wanted:
            with tempfile.TemporaryDirectory(prefix="planted-waits-") as directory:
                result = measured(case, Path(directory))
            part = "contention" if case.is_contention else "unexplained"
            print(
                f"{case.name:<8} {case.node:<11} {part:<12} {result.planted:6.2f} ms {result.booked:6.2f} ms "
                f"{result.elsewhere:7.2f} ms {result.other:6.2f} ms  {'right' if result.is_right else 'WRONG'}",
                flush=True,
            )
            wrong += not result.is_right
    return 1 if wrong else 0


def measured(case: Case, directory: Path) -> Result:
    """Runs the scenario with one plant, and compares."""
    run, spans = _run(case, directory)
    records = read_logs(run / LOGS)
    (variant,) = read_summary(run).variants
    notified = {record.id for record in records if record.event is Event.NOTIFIED}
    planted = sum(
        next((waits for due in case.due(record) if (waits := held_up(spans, due))), 0)
        for record in records
        if record.kind == "publish" and record.id in notified
    )
    rows = read_table(run / RESULTS, BudgetAtNode)
    own, all_nodes = ([row for row in rows if of is None or row.node == of] for of in (case.node, None))
    contention, unexplained = (
        [sum(getattr(row, part) or 0.0 for row in chosen) for chosen in (own, all_nodes)]
        for part in ("contention_ms", "unexplained_ms")
    )
    booked, other = (contention, unexplained) if case.is_contention else (unexplained, contention)
    count = variant.delay.notifications
    return Result(planted / count / MILLISECOND, booked[0], booked[1] - booked[0], other[1])


def _run(case: Case, directory: Path) -> tuple[Path, list[Span]]:
    """The run directory, and the times at which the node was held up."""
    scenario, out = directory / "scenario.yaml", directory / "runs"
    scenario.write_text(_SCENARIO, encoding="utf-8")
    command = [
        sys.executable, "-m", "command_line", "emulate", str(scenario), "--out", str(out), "--runtime", "process",
        "--links", "userspace", "--no-spark", "--no-report",
    ]  # fmt: skip
    spans: list[Span] = []
    with (directory / "output").open("w+") as output:
        emulator = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            run = _began(out, case.node, emulator)
            time.sleep(_JOIN)
            with case.plant(run.name, case.node, spans):
                while emulator.poll() is None and case.node in nodes_of(run.name):
                    time.sleep(0.2)
            emulator.wait()
        except BaseException:
            emulator.terminate()
            emulator.wait()
            raise
        output.seek(0)
        print(output.read(), file=sys.stderr)
    return run, spans


def _began(out: Path, node: str, emulator: subprocess.Popen[bytes]) -> Path:
    """Waits until a node runs, and drivers too; returns the run directory. Exits with 1 where that never happens."""
    until = time.monotonic() + _START_WITHIN
    while emulator.poll() is None and time.monotonic() < until:
        for run in out.glob("*/") if out.exists() else ():
            if {node, "publishers", "subscribers"} <= nodes_of(run.name).keys():
                return run
        time.sleep(0.2)
    raise SystemExit("the run did not begin")


if __name__ == "__main__":
    sys.exit(main())
