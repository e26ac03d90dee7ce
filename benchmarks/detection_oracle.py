"""Time that the oracle takes for the detections of a run, and its memory as runs grow, in Spark.

    python -m benchmarks.detection_oracle            100,000 and a million publications, 80 seconds
    python -m benchmarks.detection_oracle --quick    100,000 publications; the time is not judged

The logs are written directly and hold what clients log. A thousand publications are made each second; two clients
have a composite subscription each, of two parts that agree on a variable. Every publication matches a part of both, and
every tenth has a partner, so that a million publications have two million part matches and 200,000 detections. All are
notified, and the benchmark fails if the verdict is not `correct`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from analysis.engines import RunningSpark
from analysis.engines.spark_session import LOCAL_MASTER, open_session
from analysis.pipeline import analyze
from analysis.tables.detections import DetectionFigures
from benchmarks.support.growth import growth_of
from benchmarks.support.memory import MemorySampler, Peak
from benchmarks.support.trials import in_own_process
from benchmarks.targets import Bound, Judgement, Target, conclude
from emulation.host.reference_loops import Reference
from record.files import LOGS, TOPOLOGY
from record.log import Event, PredicateRecord, TraceRecord
from record.manifest import Manifest, PhaseName, PhaseRecord, VariantRecord, write
from record.time_units import MILLISECOND, SECOND
from topology.files import save
from topology.link_properties import Link
from topology.model import Broker, Overlay

SIZES = (100_000, 1_000_000)
QUICK_SIZES = (100_000,)
BETWEEN = MILLISECOND
"""Time between two publications."""
PARTNERED = 10
"""Number of publications of which one has a partner."""
PATTERN = "{{[class,eq,'A'],[x,=,$I$X]}&{[class,eq,'B'],[x,=,$I$X]}}"
WINDOW = SECOND
JOINED = 10 * SECOND
"""Time at which clients have joined."""

SECONDS = Target(
    "time for a million publications, two million part matches and 200,000 detections",
    Bound.AT_MOST,
    25,
    "s",
    Reference.INTERPRETER,
)
MEMORY = Target(
    "memory of the largest worker for a million publications, of that for 100,000", Bound.AT_MOST, 2, "times"
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One analysis."""

    publications: int
    seconds: float
    """Duration in seconds, without the start of Spark."""
    peak: Peak


def write_run(directory: Path, publications: int) -> Path:
    """Writes a run directory with this number of publications."""
    (directory / LOGS).mkdir(parents=True)
    save(Overlay("pair", (Broker("B1"), Broker("B2")), (Link("B1", "B2"),)), directory / TOPOLOGY)
    end = JOINED + publications * BETWEEN + 10 * SECOND
    phases = [
        PhaseRecord(name=PhaseName.JOIN, start=0, end=JOINED),
        PhaseRecord(name=PhaseName.RUN, start=JOINED, end=end),
    ]
    write(Manifest(run_id="detections", variants=[VariantRecord(name="base", phases=phases)]), directory)
    encoder = msgspec.json.Encoder()
    for node, records in (("publishers", _published(publications)), ("subscribers", _subscribed(publications))):
        with (directory / LOGS / f"{node}.jsonl").open("wb") as file:
            for record in records:
                file.write(encoder.encode(record) + b"\n")
    return directory


def _published(publications: int) -> Iterator[TraceRecord]:
    advertised = [
        PredicateRecord(attribute="class", operator="isPresent", string="A"),
        PredicateRecord(attribute="x", operator="isPresent", number=0),
    ]
    client = {"node": "publishers", "variant": "base", "client": "P1", "peer": "B1"}
    yield _record(SECOND, Event.ADVERTISE, client, id="a1", predicates=advertised)
    yield _record(SECOND, Event.CONFIRMED, client, id="a1", kind="advertise")
    for number in range(publications):
        at = JOINED + number * BETWEEN
        x = number - 1 if number % PARTNERED == 1 else number
        numbers, strings = {"x": x}, {"class": "AB"[number % 2]}
        yield _record(
            at, Event.PUBLISH, client, id=f"P1:{number}", kind="publish", intended=at, numbers=numbers, strings=strings
        )


def _subscribed(publications: int) -> Iterator[TraceRecord]:
    for name in ("S1", "S2"):
        client = {"node": "subscribers", "variant": "base", "client": name, "peer": "B2"}
        yield _record(2 * SECOND, Event.COMPOSE, client, id="c1", kind="compose", text=PATTERN, duration=WINDOW)
        yield _record(2 * SECOND, Event.CONFIRMED, client, id="c1", kind="compose")
    for number in range(1, publications, PARTNERED):
        at = JOINED + number * BETWEEN + 5 * MILLISECOND
        for name in ("S1", "S2"):
            client = {"node": "subscribers", "variant": "base", "client": name, "peer": "B2"}
            together = [f"P1:{number - 1}", f"P1:{number}"]
            yield _record(at, Event.NOTIFIED, client, id="c1", kind="detection", publications=together)


def _record(time: int, event: Event, client: dict[str, str], **fields: object) -> TraceRecord:
    return msgspec.convert({"time": time, "event": event, **client, **fields}, TraceRecord)


def judged(run: Path, publications: int) -> Trial:
    """Analyses a run. Raises `SystemExit` if the verdict is wrong."""
    with MemorySampler() as sampler, open_session(LOCAL_MASTER) as session:
        begin = time.perf_counter()
        summary = analyze(run, RunningSpark(session))
        seconds = time.perf_counter() - begin
    found = summary.variants[0].delivery.detections
    if not summary.correct or not isinstance(found, DetectionFigures) or found.expected != publications // 5:
        raise SystemExit(f"wrong: {run} has the verdict {summary.delivery} and {found}")
    return Trial(publications, seconds, sampler.peak)


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100,000 publications only")
    options = parser.parse_args(arguments)
    trials: list[Trial] = []
    with tempfile.TemporaryDirectory(prefix="benchmark-") as temporary:
        for size in QUICK_SIZES if options.quick else SIZES:
            made = write_run(Path(temporary) / str(size), size)
            trial = in_own_process(judged, made, size)
            print(f"  {size:,} publications in {trial.seconds:.1f} s\n    {trial.peak}", flush=True)
            trials.append(trial)
    memory = {trial.publications: trial.peak.worker for trial in trials}
    growth = growth_of("publications", memory, "a bucket of publications; detections take the memory of two windows")
    judgements = [MEMORY.judge(memory[max(memory)] / memory[min(memory)], growth)]
    if trials[-1].publications == SIZES[-1]:
        judgements.append(SECONDS.judge(trials[-1].seconds))
    return judgements


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
