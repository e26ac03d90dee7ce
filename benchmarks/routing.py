"""Speed of routers' decisions on publications, and the cost of timing them: `python -m benchmarks.routing`.

*Decisions.* SPR, IDR, TID-S and TID-D, the latter with Eq. 3 for congestion, on OctopiA's overlay S_e with 10,000
subscriptions that match 4% of the publications each. The simulator moves the messages; a stopwatch of this host
measures each broker's router, at the publisher's broker, which always reads the content, and at the brokers on the way.
Decisions have no target, because the four routings do different work. Their growth is that from 100 subscriptions on.

*Timing.* Every broker records the time that its router worked on each publication. A broker as it is and one that does
not look at the clock receive the same publications in turns, log included. The target compares the difference with the
processor time of a real broker for a publication (`benchmarks.throughput`, a line of three at a low load). Growth is
that from frames of one publication to frames of a hundred.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from benchmarks.support.growth import Growth
from benchmarks.targets import Bound, Judgement, Target, conclude
from benchmarks.throughput import JUDGED, OVERLAYS, run_trial
from broker_service.config import BrokerConfig, LinkConfig
from broker_service.core.broker import Broker
from broker_service.language import Operator, Predicate, Publication
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.messages import BrokerId, ClientRequest, Message, Operation
from broker_service.routing.interface import SetTimer
from broker_service.tracing.trace import FileTrace
from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.files import LOGS, log_file
from record.log import Event, TraceRecord
from scenario.loading import load

SCENARIO = Path(__file__).resolve().parents[1] / "scenarios" / "octopia" / "oct-path-selection.yaml"
AS_FAST_AS_CAN_BE = {"brokers.service_time": "0s", "timeline.run": "2s"}
TIMING = Target("share of a broker's CPU time for a publication that timing takes", Bound.AT_MOST, 1, "%")
SUBSCRIBERS = (100, 10_000)
PUBLICATIONS, FRAME, ROUNDS = 2_000, 50, 30
"""Each of `ROUNDS` rounds gives both brokers `PUBLICATIONS` publications in frames of `FRAME`."""
FRAME_SIZES = (1, FRAME, 100)
RATE = 5_000
"""Publications a second at which the CPU time of a real broker is measured."""


@dataclass(slots=True)
class Decisions:
    """Times that routers worked on publications, in nanoseconds."""

    first: list[int] = field(default_factory=list)
    """Times at the publisher's broker."""
    on_the_way: list[int] = field(default_factory=list)
    matching: int = 0
    """Time of all decisions together that went into comparing content."""

    @property
    def all(self) -> list[int]:
        return self.first + self.on_the_way


def measure_decisions(subscribers: int) -> dict[str, Decisions]:
    """Simulates the four routings with this number of subscribers and reads their logs."""
    with tempfile.TemporaryDirectory(prefix="benchmark-") as temporary:
        plan = make_plan(load(SCENARIO, {**AS_FAST_AS_CAN_BE, "workload.subscriptions.subscribers": str(subscribers)}))
        run = simulate(plan, Path(temporary), calibration=Calibration.free(), stopwatch=time.thread_time_ns).directory
        found = {variant.name: Decisions() for variant in plan.variants}
        decoder = msgspec.json.Decoder(TraceRecord)
        for broker in plan.variants[0].overlay.brokers:
            with log_file(run / LOGS, broker.id).open("rb") as lines:
                for line in lines:
                    if b'"kind":"publish"' in line:
                        _add(found, decoder.decode(line))
    return found


def _add(found: dict[str, Decisions], record: TraceRecord) -> None:
    decisions = found[record.variant]
    if record.event is Event.MATCHED:
        decisions.matching += record.duration or 0
    elif record.event is Event.RECEIVED and record.duration is not None:
        (decisions.on_the_way if record.client is None else decisions.first).append(record.duration)


def report_decisions(subscribers: int, found: dict[str, Decisions]) -> None:
    print(f"routing decisions on S_e, {subscribers:,} subscriptions of 4%; microseconds are means")
    for name, decisions in found.items():
        took = sum(decisions.all)
        rate, share = len(decisions.all) / took * 1e9, decisions.matching / took
        print(
            f"  {name:<6} {rate:>8,.0f}/s: {_mean(decisions.first):>7.1f} us at the first broker,"
            f" {_mean(decisions.on_the_way):>6.1f} us on the way; {share:>4.0%} of the time is for comparing content"
        )


def report_growth(by_subscribers: Mapping[int, dict[str, Decisions]]) -> None:
    for name, largest in by_subscribers[max(by_subscribers)].items():
        means = {subscribers: _mean(found[name].first) for subscribers, found in by_subscribers.items()}
        share = largest.matching / sum(largest.all)
        print(f"  {name:<6} {Growth('subscriptions', means, f'comparing content, {share:.0%} of the time')}")


def _mean(times: Sequence[int]) -> float:
    return statistics.fmean(times) / 1e3 if times else 0.0


class _Untimed(Broker):
    """A broker that does not time its router."""

    def receive(self, neighbour: BrokerId, messages: Sequence[Message], arrived: int | None = None) -> None:
        """Handles messages as the broker's `Neighbours` do, but for the times."""
        self.links[neighbour].received += len(messages)
        record, route, perform, clock = (
            self._surroundings.recorder.received,
            self._router.receive,
            self._actions.perform,
            self._clock,
        )
        for message in messages:
            actions = route(neighbour, message)
            record(message, clock(), None, neighbour, arrived=arrived)
            perform(actions)


def _broker(kind: type[Broker], name: str, neighbours: Sequence[str], directory: Path) -> Broker:
    links = tuple(LinkConfig(neighbour=neighbour, local="", remote="", dial=True) for neighbour in neighbours)
    config = BrokerConfig(id=name, incarnation=1, protocol="tid", links=links)
    trace = FileTrace(directory / f"{name}-{kind.__name__}.jsonl", name, "base")
    broker = kind(config, time.monotonic_ns, trace, _no_timer)
    for neighbour in neighbours:
        broker.neighbours.link_up(neighbour, 1, 0)
    return broker


class _NoTimer:
    """A timer that never runs out."""

    def cancel(self) -> None:
        """Has nothing to cancel."""


def _no_timer(_timer: SetTimer, _call: Callable[[], None]) -> _NoTimer:
    return _NoTimer()


def _passed_on(broker: Broker, neighbour: str) -> list[Message]:
    """Messages that the broker has for a neighbour, taken and acknowledged."""
    link = broker.links[neighbour]
    passed: list[Message] = []
    while messages := link.take():
        passed += messages
        link.retransmission.acknowledge(link.sent)
    return passed


def cost_of_timing(size: int) -> list[float]:
    """Nanoseconds that timing adds to a publication at a broker on the way, one number a round.

    `size` is the number of publications of a frame.
    """
    with tempfile.TemporaryDirectory(prefix="benchmark-") as temporary:
        directory = Path(temporary)
        timed, untimed = rivals = [_broker(kind, "B2", ["B1", "B3"], directory) for kind in (Broker, _Untimed)]
        frames = _frames(rivals, directory, size)
        differences = []
        for number in range(ROUNDS):
            took: dict[Broker, int] = {}
            for rival in rivals if number % 2 else rivals[::-1]:
                receive = rival.receive if isinstance(rival, _Untimed) else rival.neighbours.receive
                begin = time.process_time_ns()
                for frame in frames:
                    receive("B1", frame)
                    _passed_on(rival, "B3")
                took[rival] = time.process_time_ns() - begin
            differences.append((took[timed] - took[untimed]) / PUBLICATIONS)
        return differences


def _frames(rivals: Sequence[Broker], directory: Path, size: int) -> list[list[Message]]:
    """Frames that B1 sends to B2 when its publisher publishes to a subscriber of B3, after both are announced."""
    first, last = (_broker(Broker, name, ["B2"], directory) for name in ("B1", "B3"))
    publishing, subscribing = first.sessions.open(), last.sessions.open()
    stock = Predicate("class", Operator.STRING_EQUAL, "STOCK")
    content = encode_predicates((stock, Predicate("price", Operator.GREATER, 0)))
    first.sessions.handle(publishing, [ClientRequest("P", 1, Operation.ATTACH)])
    first.sessions.handle(publishing, [ClientRequest("P", 2, Operation.ADVERTISE, "a1", content)])
    last.neighbours.receive("B2", _passed_on_by_all(rivals, "B1", _passed_on(first, "B2"), "B3"))
    last.sessions.handle(subscribing, [ClientRequest("S", 1, Operation.ATTACH)])
    last.sessions.handle(subscribing, [ClientRequest("S", 2, Operation.SUBSCRIBE, "s1", content)])
    first.neighbours.receive("B2", _passed_on_by_all(rivals, "B3", _passed_on(last, "B2"), "B1"))
    frames = []
    for begin in range(0, PUBLICATIONS, size):
        for number in range(begin, begin + size):
            quote = encode_publication(Publication({"class": "STOCK", "price": 50 + number % FRAME}))
            first.sessions.handle(publishing, [ClientRequest("P", 3 + number, Operation.PUBLISH, f"P:{number}", quote)])
        frames.append(_passed_on(first, "B2"))
    if any(len(frame) != size for frame in frames):
        raise RuntimeError("B1 does not pass all publications on")
    return frames


def _passed_on_by_all(rivals: Sequence[Broker], source: str, messages: Sequence[Message], target: str) -> list[Message]:
    """Gives the same messages to all rivals, and returns what they pass on, which is the same too."""
    passed: list[Message] = []
    for rival in rivals:
        rival.neighbours.receive(source, messages)
        passed = _passed_on(rival, target)
    return passed


def judge_timing(by_size: Mapping[int, Sequence[float]], hop: float) -> Judgement:
    """Judgement of the median difference in nanoseconds; `hop` is a real broker's time for a publication in us."""
    differences = by_size[FRAME]
    shares = {size: statistics.median(found) / 1e3 / hop * 100 for size, found in by_size.items()}
    cost = statistics.median(differences)
    low, _, high = statistics.quantiles(differences, n=4)
    print(
        f"timing: {cost:.0f} ns a publication (half of {len(differences)} rounds: {low:.0f} to {high:.0f} ns),"
        f" {cost / 1e3 / hop:.2%} of the {hop:.1f} us that a broker takes for it"
    )
    return TIMING.judge(shares[FRAME], Growth("publications a frame", shares, "readings of the clock for each of them"))


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("decisions", "timing"), help="one of the two")
    only = parser.parse_args(arguments).only
    if only != "timing":
        by_subscribers = {subscribers: measure_decisions(subscribers) for subscribers in SUBSCRIBERS}
        for subscribers, found in by_subscribers.items():
            report_decisions(subscribers, found)
        report_growth(by_subscribers)
    if only == "decisions":
        return []
    differences = {size: cost_of_timing(size) for size in FRAME_SIZES}
    return [judge_timing(differences, run_trial(OVERLAYS[JUDGED], RATE, 3.0).cpu_per_hop)]


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
