"""Cost of delivery in order without gaps: `python -m benchmarks.reliable_delivery [--quick] [TRIAL ...]`.

Gryphon's router in the simulator. Most figures are in virtual time, or counts, which do not depend on the machine.

* *relay*: events a CPU second on a line of ten brokers, against TID on the same line.
* *header*: bytes that routing adds to a publication on a link, with one subscriber broker and with 56; and the time
  that the publishers' broker takes to route one, which is the other figure of this machine.
* *control*: control messages for each publication on a redundant tree, one path a stream.
* *recovery*: time from a kill of one of three brokers, each on its own path with a round trip of 10 ms, until the last
  notification that it held up; and the same for a silent cut of a link to one of them, which is detected within three
  heartbeats. Publications take the three in turn, so that the dead broker, or the link, held some.
* *start*: time from a subscription over three hops, which no other one covers, to its first notification.

`--quick` leaves out the first one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from benchmarks.simulation import run_trial
from benchmarks.support.growth import growth_of
from benchmarks.support.trials import Trial, parse_trials, run_trials
from benchmarks.targets import Bound, Judgement, Target, conclude
from broker_service.messages import Kind
from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.files import LOGS, log_files
from record.log import Event, TraceRecord
from scenario.loading import load

RATE = Target("events of a CPU second under Gryphon, against TID", Bound.AT_LEAST, 60, "%")
HEADER = Target("bytes of routing on a publication, 56 subscriber brokers", Bound.AT_MOST, 24, "bytes")
SILENCES = Target("messages of silence for a publication, one path a stream", Bound.AT_MOST, 0.2)
CONTROL = Target("control messages for a publication, one path a stream", Bound.AT_MOST, 0.3)
ROUTING = Target(
    "routing time of a publication with 56 subscriber brokers, beyond that with one",
    Bound.AT_MOST,
    5,
    "%",
    defect="58 simulated brokers in one process displace each other's data from the processor's caches: the router of "
    "cbf, which knows no subscriber brokers here, takes 54 to 60% longer with 56 of them too; the quickest of 1,000 "
    "publications under Gryphon takes 20 to 24% longer",
)
RECOVERY = Target("time from a kill to the last notification that it held up", Bound.AT_MOST, 150, "ms")
CUT = Target("time from a cut of a link to the last notification that it held up", Bound.AT_MOST, 3150, "ms")
"""Three heartbeats of a second, and 150 ms."""
START = Target("time from a subscription to its first notification, over three hops", Bound.AT_MOST, 50, "ms")
"""The target is the sum of a batch of 10 ms, three links of 5 ms there and back, and 10 ms of work."""

RELAY = """
name: relay
topology: {{kind: line, brokers: 10, link: {{delay: 2ms}}}}
routing: {{protocol: {protocol}}}
workload:
  publications: {{source: stocks, publishers: 1, rate: 400/s, placement: [B1]}}
  subscriptions: {{subscribers: 1, selectivity: 100%, placement: [B10]}}
timeline: {{join: 5s, run: 30s, drain: 4s}}
seed: 1
"""
STAR = """
name: header
topology: {{kind: explicit, link: {{delay: 2ms}}, links: {links}}}
routing: {{protocol: gryphon}}
workload:
  kind: topics
  publications: {{topics: 4, rate: 50/s, placement: [pb]}}
  subscriptions: [{{subscribers: {leaves}, topics: 1..4, topics_each: all, placement: {placement}}}]
timeline: {{join: 3s, run: 5s, drain: 2s}}
seed: 1
"""
LEAVES = (1, 7, 56)
ROUNDS = 3
"""Rounds over all numbers of leaves. Of each the quickest counts, because a processor of a virtual machine can be half
as fast for seconds, in which one number of leaves has its run and another has not."""
TREE = """
name: tree
topology: {{kind: paper, name: gryphon-failure, link: {{delay: 5ms}}}}
routing: {{protocol: gryphon, paths: {paths}}}
brokers: {{limits: {{heartbeat: {heartbeat}s, resume: false}}}}
workload:
  kind: topics
  publications: {{topics: 20, rate: 50/s, placement: [pb]}}
  subscriptions: [{{subscribers: 20, topics: 1..{wanted}, placement: [sb1, sb2]}}]
timeline: {{join: 3s, run: 8s, drain: 2s}}
faults: {faults}
seed: 1
"""
FAILS_AFTER = 4
"""Seconds of the run phase."""
HEARTBEAT = 1
"""Seconds."""
DETECTED_AFTER_MS = 3e3 * HEARTBEAT
"""Time after which a cut is detected at the latest."""
LATE_MS = 30.0
"""Delay above which a publication of `TREE` was held up. Its way takes 10 ms, and links collect messages meanwhile."""
HOPS = """
name: hops
topology: {kind: line, brokers: 4, link: {delay: 5ms}}
routing: {protocol: gryphon}
workload:
  kind: topics
  publications: {topics: 1, rate: 1000/s, placement: [B1]}
  subscriptions: [{subscribers: 1, topics: 1, placement: [B4], churn: {every: 1s, away: 500ms}}]
timeline: {join: 3s, run: 20s, drain: 2s}
seed: 1
"""
JOINED = "s1"
"""Id of a client's first subscription, which is of the join phase."""


def relay(directory: Path) -> Sequence[Judgement]:
    rates = {}
    for protocol in ("tid", "gryphon"):
        found = run_trial(_written(directory, RELAY.format(protocol=protocol)), {})
        rates[protocol] = found.events / found.cpu
        print(f"  {protocol}: {rates[protocol]:,.0f} events/CPU s")
    return [RATE.judge(100 * rates["gryphon"] / rates["tid"])]


def header(directory: Path) -> Sequence[Judgement]:
    sizes: dict[int, float] = {}
    times: dict[int, float] = {}
    for count in LEAVES * ROUNDS:
        leaves = [f"sb{number}" for number in range(1, count + 1)]
        links = [["pb", "ib"], *(["ib", leaf] for leaf in leaves)]
        text = STAR.format(
            links=msgspec.json.encode(links).decode(),
            leaves=count,
            placement=msgspec.json.encode(leaves).decode(),
        )
        records = [record for record in _records(directory, text) if record.kind == Kind.PUBLISH.word]
        published = [row for row in records if row.event is Event.RECEIVED and row.client is not None]
        bodies = {row.id: row.bytes or 0 for row in published}
        sent = [(row.bytes or 0) - bodies[row.id] for row in records if row.event is Event.SENT and row.node == "pb"]
        sizes[count] = statistics.fmean(sent)
        median = statistics.median(row.duration or 0 for row in published)
        times[count] = min(times.get(count, median), median)
    growth = growth_of("subscriber brokers", sizes, "vectors travel once a link, and digests afterwards")
    slower = 100 * (times[LEAVES[-1]] / times[LEAVES[0]] - 1)
    bound = "comparing a vector with that of the publication before"
    return [
        HEADER.judge(sizes[LEAVES[-1]], growth),
        ROUTING.judge(slower, growth_of("subscriber brokers", times, bound)),
    ]


def control(directory: Path) -> Sequence[Judgement]:
    records = list(_records(directory, _tree(paths="hash", wanted=10, faults="[]")))
    published = sum(row.event is Event.PUBLISH for row in records)
    sent = [row for row in records if row.event is Event.SENT and row.kind == "control"]
    silences = sum(row.label == "silence" for row in sent)
    return [SILENCES.judge(silences / published), CONTROL.judge(len(sent) / published)]


def recovery(directory: Path) -> Sequence[Judgement]:
    killed = _held_up(directory, "kill: ib1, for: 2s")
    cut = _held_up(directory, "link_down: pb-ib1, for: 3900ms")
    return [RECOVERY.judge(killed), CUT.judge(cut)]


def _held_up(directory: Path, fault: str) -> float:
    """Milliseconds from a fault to the last notification that it held up."""
    records = list(
        _records(directory, _tree(paths="message", wanted=20, faults=f"[{{at: run+{FAILS_AFTER}s, {fault}}}]"))
    )
    failed = min(row.time for row in records if row.event is Event.FAULT)
    published = {row.id: row.time for row in records if row.event is Event.PUBLISH}
    until = failed + (DETECTED_AFTER_MS + 500) * 1e6
    late = [
        row.time
        for row in records
        if row.event is Event.NOTIFIED
        and row.time - published[row.id] > LATE_MS * 1e6
        and failed - LATE_MS * 1e6 <= published[row.id] <= until
    ]
    return (max(late, default=failed) - failed) / 1e6


def _tree(*, paths: str, wanted: int, faults: str) -> str:
    return TREE.format(paths=paths, wanted=wanted, faults=faults, heartbeat=HEARTBEAT)


def start(directory: Path) -> Sequence[Judgement]:
    latencies = []
    begun: dict[str, int] = {}
    for row in sorted(_records(directory, HOPS), key=lambda record: record.time):
        if row.event is Event.SUBSCRIBE and row.id != JOINED:
            begun[row.client or ""] = row.time
        elif row.event is Event.NOTIFIED and (since := begun.pop(row.client or "", None)) is not None:
            latencies.append((row.time - since) / 1e6)
    return [START.judge(statistics.median(latencies))]


TRIALS: Mapping[str, Trial] = {
    "relay": relay,
    "header": header,
    "control": control,
    "recovery": recovery,
    "start": start,
}
QUICK = [name for name in TRIALS if name != "relay"]


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="figures in virtual time alone")
    options = parse_trials(parser, arguments, TRIALS)
    names = options.trials or (QUICK if options.quick else TRIALS)
    return run_trials(TRIALS[name] for name in names)


def _records(directory: Path, text: str) -> Iterator[TraceRecord]:
    """Records of all logs of a scenario's run."""
    plan = make_plan(load(_written(directory, text)))
    made = simulate(plan, directory, calibration=Calibration.free(), stopwatch=time.thread_time_ns).directory
    decoder = msgspec.json.Decoder(TraceRecord)
    for file in log_files(made / LOGS):
        yield from map(decoder.decode, file.read_bytes().splitlines())


def _written(directory: Path, text: str) -> Path:
    file = directory / "scenario.yaml"
    file.write_text(text)
    return file


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
