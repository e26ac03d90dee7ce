"""Speed of the choice of the place at which a composite subscription is detected, and the size of what it is made from.

    python -m benchmarks.placement            2 seconds; there is no quick form that is shorter

*Choice.* A composite subscription of eight parts at a broker with eight neighbours that knows a hundred advertisements.
Each of them is for one of eight classes, and each part for a class and an interval of one attribute, so that a part
intersects an eighth of the advertisements. A line before the table gives the time for parts that intersect all of them,
which costs a selection factor for each of the 800 pairs. *Statistics.* The description of a full sample, as the
publisher's broker makes it at every interval, and its size on the way to a neighbour.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks.targets import Bound, Judgement, Target, conclude
from broker_service.language import Advertisement, Operator, Predicate, Publication
from broker_service.language.composite import And, Atomic
from broker_service.language.composite_subscription import parts_of
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.tid.placement.decision.choice import Choice, least_cost
from broker_service.routing.tid.placement.decision.cost import Surroundings
from broker_service.routing.tid.placement.decision.queueing import BrokerTimes
from broker_service.routing.tid.placement.rates.cardinality import PartMatches, Source, matches_of
from broker_service.routing.tid.placement.rates.statistics import SAMPLE, Sample, Statistics
from emulation.host.reference_loops import Reference

PARTS = 8
ADVERTISEMENTS = 100
DEGREE = 8
CLASSES = 8
ATTRIBUTES = 9
"""Numeric attributes of a publication, besides its class and its symbol."""
ROUNDS = 30
"""Rounds of each measurement; the fastest counts, because others use the machine."""

CHOICE = Target(
    "choice of a place: 8 parts, 100 advertisements, 8 neighbours", Bound.AT_MOST, 1.0, "ms", Reference.INTERPRETER
)
DESCRIPTION = Target(
    "description of a full sample of publications with 11 attributes", Bound.AT_MOST, 5.0, "ms", Reference.INTERPRETER
)
SIZE = Target("statistics of publications with 11 attributes, as sent to a neighbour", Bound.AT_MOST, 8_000, "bytes")


def advertisement_of(number: int) -> Advertisement:
    """An advertisement of one of the classes."""
    ranges = [Predicate(f"a{place}", Operator.GREATER_OR_EQUAL, 0) for place in range(ATTRIBUTES)]
    return Advertisement(
        (
            Predicate("class", Operator.STRING_EQUAL, f"C{number % CLASSES}"),
            Predicate("symbol", Operator.PRESENT, ""),
            *ranges,
        )
    )


def sample_of(number: int) -> Sample:
    """A full sample of what the publisher of an advertisement publishes."""
    rng = random.Random(number)
    sample = Sample(advertisement_of(number), now=0)
    for _ in range(SAMPLE):
        values = {f"a{place}": round(rng.gauss(50, 20), 2) for place in range(ATTRIBUTES)}
        sample.add(Publication({"class": f"C{number % CLASSES}", "symbol": f"S{rng.randrange(100)}", **values}))
    return sample


def parts() -> list[Atomic]:
    """The parts of the composite subscription."""
    return [
        Atomic(
            (
                Predicate("class", Operator.STRING_EQUAL, f"C{number}"),
                Predicate("a1", Operator.GREATER, 20 + number),
                Predicate("a1", Operator.LESS, 60 + number),
            )
        )
        for number in range(PARTS)
    ]


def surroundings() -> Surroundings:
    """A broker whose neighbours have all reported."""
    rng = random.Random(0)
    names = [f"B{number}" for number in range(1, DEGREE + 1)]
    reports = {name: BrokerTimes(rng.random() / 100, rng.random() / 100, rng.random() / 100) for name in names}
    return Surroundings("B0", BrokerTimes(0.001, 0.001), dict.fromkeys(names, 0.001), reports, names[0])


def milliseconds(work: Callable[[], object]) -> float:
    """Processor time of the fastest round."""
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time_ns()
        work()
        times.append(time.process_time_ns() - begin)
    return min(times) / 1e6


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="changes nothing")
    parser.parse_args(arguments)
    statistics = [sample_of(number).describe(now=5) for number in range(ADVERTISEMENTS)]
    pattern, around = And(tuple(parts())), surroundings()
    choice = Choice(least_cost)
    own = [_sources(statistics, lambda number, part=part: number % CLASSES == part) for part in range(PARTS)]  # type: ignore[misc]
    every = [_sources(statistics, lambda _: True)] * PARTS
    chosen = milliseconds(lambda: choice.decide(pattern, _matches(pattern, own), around))
    widest = milliseconds(lambda: choice.decide(pattern, _matches(pattern, every), around))
    print(f"  parts that intersect every advertisement: {widest:.2f} ms")
    full = sample_of(0)
    described = milliseconds(lambda: full.describe(now=time.monotonic()))
    return [
        CHOICE.judge(chosen),
        DESCRIPTION.judge(described),
        SIZE.judge(len(encode_header(statistics[0]))),
    ]


def _matches(pattern: And, sources: Sequence[Sequence[Source]]) -> list[PartMatches]:
    return list(map(matches_of, parts_of(pattern), sources))


def _sources(statistics: Sequence[Statistics], intersects: Callable[[int], bool]) -> list[Source]:
    return [
        Source(f"B{1 + number % DEGREE}", described)
        for number, described in enumerate(statistics)
        if intersects(number)
    ]


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
