"""State that delivery in order without gaps needs: `python -m benchmarks.reliable_state [TRIAL ...]`.

Gryphon's routers on two brokers, or on a publisher's and a subscriber's broker with three brokers between them. All
trials but *memory* and *storage* run in virtual time and give figures that do not depend on the machine.

* *log*: the publishers' broker's log at 2,000 publications a second of 300 bytes each, all of which are wanted; then
  with the subscriber's broker cut off for 30 s, once with room for that and once with a log of 4 MiB. These are bytes
  of stable storage.
* *memory*: what the log of those 30 s takes of a process' memory, with stable storage in a file as brokers have it.
* *reorder*: publications that a subscriber's broker holds back, where they take paths that differ by 40 ms.
* *restart*: time from the first link of a restarted broker until it knows all subscriptions again: 10,000, none of
  which covers another one.
* *joining*: 2,000 subscriptions, each to another value, that come within a second: steps of the virtual time of their
  broker, and the mean of the five brokers' processor time.
* *storage*: processor time that stable storage takes for each publication, in a file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.support.trials import Trial, parse_trials, run_trials
from benchmarks.targets import Bound, Judgement, Target, conclude
from broker_service.config import Limits
from broker_service.core.storage import BoundedStorage, FileStorage
from broker_service.language import Operator, Predicate, Publication
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.messages import Kind, Message, Operation
from broker_service.routing.gryphon.streams.publisher_log import PublisherLog
from broker_service.routing.gryphon.streams.vector_digests import VectorDigests
from broker_service.routing.interface import Action, Erase, Store
from broker_service.tracing.trace import NullTrace
from emulation.host.reference_loops import Reference
from emulation.live_overlay import BrokerSettings
from emulation.live_overlay.preparation import Declarations, prepared_by
from emulation.simulation import SimulatedOverlay
from record.callbacks import do_nothing
from record.time_units import MILLISECOND, SECOND
from topology.link_properties import Link, LinkDirection, LinkProperties
from topology.model import Broker, Overlay

RATE, BODY = 2_000, 300
"""Publications a second, and bytes of each."""
MEBIBYTE = 1 << 20
CUT_OFF = 30
"""Seconds."""
SMALL_LOG = 4 * MEBIBYTE
CONJUNCTIONS = 10_000
JOINING = 2_000
DELAY = 0.005
"""Seconds of a link in one direction."""
STEP = MILLISECOND // 10
"""Nanoseconds of virtual time between two looks at a broker."""
ROUND_TRIP_MS = 2 * DELAY * 1e3

STEADY = Target("log of a publishers' broker at 2,000 publications/s", Bound.AT_MOST, 1, "MiB")
AFTER_A_CUT = Target("log after a subscriber's broker was cut off for 30 s", Bound.AT_MOST, 18e6 / MEBIBYTE, "MiB")
MEMORY = Target("memory that this log takes", Bound.AT_MOST, 18e6 / MEBIBYTE, "MiB")
EXCESS = Target(f"excess of a log over its bound of {SMALL_LOG >> 20} MiB, meanwhile", Bound.AT_MOST, 450, "bytes")
"""One publication, because publishers wait once the bound is reached."""
REORDERED = Target("publications held back where paths differ by 40 ms", Bound.AT_MOST, 1, "MiB")
SUFFICIENT = Target(
    f"time until a restarted broker knows {CONJUNCTIONS:,} subscriptions again",
    Bound.AT_MOST, 2 * ROUND_TRIP_MS + 50, "ms",
)  # fmt: skip
TICKS = Target(f"virtual times of a broker that {JOINING:,} subscriptions join in a second", Bound.AT_MOST, 100)
JOIN_CPU = Target(
    f"CPU time of a broker for {JOINING:,} subscriptions that join", Bound.AT_MOST, 1, "s", Reference.INTERPRETER
)
STORAGE = Target("CPU time of stable storage for a publication", Bound.AT_MOST, 10, "us", Reference.SYSCALLS)


class World:
    """Brokers in virtual time, with clients at some of them."""

    def __init__(
        self,
        names: Sequence[str],
        links: Iterable[Link],
        options: Mapping[str, object],
        stopwatch: Callable[[], int] | None = None,
    ) -> None:
        shape = Overlay("state", tuple(map(Broker, names)), tuple(links))
        settings = BrokerSettings(
            protocol="gryphon",
            options=options,
            limits=Limits(resume=False),
            prepared=prepared_by("gryphon", options, shape, 0, lambda: Declarations({}, {})),
        )
        self.overlay = SimulatedOverlay(shape, settings, lambda name: NullTrace(name, "base"), stopwatch=stopwatch)
        self.publishing = self.overlay.sessions.open(names[0], do_nothing)
        self.subscribing = self.overlay.sessions.open(names[-1], do_nothing)
        self.overlay.start()
        self.overlay.settle()
        self.publishing.submit("P", Operation.ATTACH)
        self.publishing.submit("P", Operation.ADVERTISE, "a", encode_predicates((_CLASS, _ALL, _TEXT)))
        self.subscribing.submit("S", Operation.ATTACH)
        self.overlay.settle()
        self._published = 0

    def subscribe(self, predicate: Predicate) -> None:
        body = encode_predicates((_CLASS, predicate))
        self.subscribing.submit("S", Operation.SUBSCRIBE, f"{predicate.operator.value}{predicate.value}", body)

    def publish(self, seconds: float) -> Iterator[None]:
        """Lets time pass with publications at `RATE`, and yields every 10 ms."""
        together = RATE // 100
        for _ in range(round(seconds * 100)):
            for place in range(together):
                self._published += 1
                at = self.overlay.events.now + place * SECOND // RATE
                self.overlay.events.at(at, partial(self._publish, self._published))
            self.overlay.pass_time(0.01)
            yield

    def _publish(self, number: int) -> None:
        self.publishing.submit("P", Operation.PUBLISH, f"p{number}", _body(number, _FILLING))

    def bytes_of(self, broker: str, buffer: str) -> int:
        """Bytes in a buffer of a broker: its `log`, its `cache`, or what is `held_back`."""
        sizes = self.overlay.brokers.cores[broker].tables()["bytes"]
        assert isinstance(sizes, Mapping)
        return int(sizes[buffer])


def _body(number: int, text: str) -> bytes:
    return encode_publication(Publication({"class": "N", "x": number, "text": text}))


_CLASS = Predicate("class", Operator.STRING_EQUAL, "N")
_TEXT = Predicate("text", Operator.STRING_PREFIX, "")
_FILLING = "-" * (BODY - len(_body(1_000_000, "")) - 2)


_ALL = Predicate("x", Operator.GREATER_OR_EQUAL, 0)


def _one(number: int) -> Predicate:
    return Predicate("x", Operator.EQUAL, number)


def _link(a: str, b: str, delay: float = DELAY) -> Link:
    return Link(a, b, LinkProperties(delay=delay), LinkProperties(delay=delay))


def _node_of_three(delays: Sequence[float]) -> list[Link]:
    """Links of a publisher's and a subscriber's broker over three brokers, at distances of these delays."""
    between = [f"b{number}" for number in range(1, len(delays) + 1)]
    links = [_link("a", name, delay) for name, delay in zip(between, delays, strict=True)]
    links += [_link(name, "c", delay) for name, delay in zip(between, delays, strict=True)]
    return [*links, *(_link(one, other) for place, one in enumerate(between) for other in between[place + 1 :])]


def log(_directory: Path) -> Sequence[Judgement]:
    steady, cut = _log_sizes({})
    _, bounded = _log_sizes({"log_bytes": SMALL_LOG})
    return [STEADY.judge(steady), AFTER_A_CUT.judge(cut), EXCESS.judge(bounded * MEBIBYTE - SMALL_LOG)]


def _log_sizes(options: Mapping[str, object]) -> tuple[float, float]:
    """The greatest log in steady state, and while the subscriber's broker is cut off, in MiB."""
    world = World(["a", "c"], [_link("a", "c")], options)
    world.subscribe(_ALL)
    world.overlay.settle()
    steady = max(world.bytes_of("a", "log") for _ in world.publish(5))
    for direction in (LinkDirection("a", "c"), LinkDirection("c", "a")):
        world.overlay.links.cut(direction)
    cut = max(world.bytes_of("a", "log") for _ in world.publish(CUT_OFF))
    return steady / MEBIBYTE, cut / MEBIBYTE


def memory(_directory: Path) -> Sequence[Judgement]:
    frame, vector = 50, {7: 1}
    with _file_storage() as kept_values:
        stream = PublisherLog(1, kept_values.values, VectorDigests(), 256, 60, most_bytes=64 << 20)
        tracemalloc.start()
        for number in range(RATE * CUT_OFF):
            message = Message(Kind.PUBLISH, f"P:{number}", _body(number, _FILLING), published=SECOND + number)
            _perform(kept_values, stream.append("P", message, vector))
            if number % frame == frame - 1:
                kept_values.commit()
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return [MEMORY.judge(used / MEBIBYTE)]


def reorder(_directory: Path) -> Sequence[Judgement]:
    world = World(["a", "b1", "b2", "b3", "c"], _node_of_three((0.001, 0.011, 0.021)), {"paths": "message"})
    world.subscribe(_ALL)
    world.overlay.settle()
    held = max(world.bytes_of("c", "held_back") for _ in world.publish(5))
    return [REORDERED.judge(held / MEBIBYTE)]


def restart(_directory: Path) -> Sequence[Judgement]:
    world = World(["a", "b1", "b2", "b3", "c"], _node_of_three((DELAY,) * 3), {"covering": "identity"})
    for number in range(CONJUNCTIONS):
        world.subscribe(_one(number))
    world.overlay.settle()
    overlay = world.overlay
    known = _virtual_time(world, "b1")
    overlay.brokers.kill("b1")
    overlay.pass_time(1)
    overlay.brokers.restart("b1")
    while not any(link.up for link in overlay.brokers.cores["b1"].links.values()):
        overlay.events.run_until(overlay.events.now + STEP)
    linked = overlay.events.now
    while _virtual_time(world, "b1") < known:
        overlay.events.run_until(overlay.events.now + STEP)
    return [SUFFICIENT.judge((overlay.events.now - linked) / MILLISECOND)]


def joining(_directory: Path) -> Sequence[Judgement]:
    world = World(["a", "b1", "b2", "b3", "c"], _node_of_three((DELAY,) * 3), {})
    before, begun = _virtual_time(world, "a"), world.overlay.events.now
    taken = time.process_time()
    for number in range(JOINING):
        world.overlay.events.at(begun + number * SECOND // JOINING, partial(world.subscribe, _one(number)))
    world.overlay.pass_time(1)
    world.overlay.settle()
    taken = time.process_time() - taken
    return [TICKS.judge(_virtual_time(world, "a") - before), JOIN_CPU.judge(taken / len(world.overlay.brokers.cores))]


def _virtual_time(world: World, broker: str) -> int:
    """The virtual time of the subscriber's broker up to which a broker knows its subscriptions."""
    vector = world.overlay.brokers.cores[broker].tables()["vector"]
    assert isinstance(vector, Mapping)
    return int(vector.get("c", 0))


def storage(_directory: Path) -> Sequence[Judgement]:
    publications, frame, kept = 20_000, 50, 400
    with _file_storage() as kept_values:
        stream = PublisherLog(1, {}, VectorDigests(), 256, 60, most_bytes=64 << 20)
        body, vector, taken = bytes(BODY), {7: 1}, 0
        for number in range(publications):
            actions = stream.append("P", Message(Kind.PUBLISH, f"P:{number}", body), vector)
            if number % kept == kept - 1:
                stream.acknowledge(7, number - kept // 2, 0)
                actions += stream.trim(0)
            begun = time.process_time_ns()
            _perform(kept_values, actions)
            if number % frame == frame - 1:
                kept_values.commit()
            taken += time.process_time_ns() - begun
    return [STORAGE.judge(taken / publications / 1e3)]


@contextmanager
def _file_storage() -> Iterator[BoundedStorage]:
    """Stable storage in a file, as brokers have it."""
    with tempfile.TemporaryDirectory(prefix="stored-") as temporary:
        file = FileStorage(Path(temporary, "stored"))
        yield BoundedStorage(file, 64 * MEBIBYTE)
        file.close()


def _perform(storage: BoundedStorage, actions: Iterable[Action]) -> None:
    """Stores and erases what a log wants."""
    for action in actions:
        if isinstance(action, Store):
            storage.store(action.key, action.value)
        elif isinstance(action, Erase):
            storage.erase(action.key)


TRIALS: Mapping[str, Trial] = {
    "log": log, "memory": memory, "reorder": reorder, "restart": restart, "joining": joining, "storage": storage,
}  # fmt: skip


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options = parse_trials(parser, arguments, TRIALS)
    return run_trials(TRIALS[name] for name in options.trials or TRIALS)


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
