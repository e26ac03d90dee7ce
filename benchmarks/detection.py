"""Speed of the detector of composite subscriptions, its growth, and its memory.

    python -m benchmarks.detection            up to 100,000 matches of each part, 35 seconds
    python -m benchmarks.detection --quick    up to 10,000 matches; growth is not judged

*Pairs.* Two parts that agree on a variable. Every fifth arrival finds one partner, the others none; each arrival
expires the oldest match, so that the number of matches stays. *Triples.* Three parts without variables, ten matches of
each: every arrival completes a hundred detections. *Composites.* Pairs as before, each arrival of interest to one of
many composite subscriptions. Contents are decoded before, because brokers decode them by the same code in all cases.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.support.growth import growth_of
from benchmarks.targets import Bound, Judgement, Target, conclude
from broker_service.detection import DetectionLimits, Detector
from broker_service.language import Operator, Predicate, Publication
from broker_service.language.composite import And, Atomic, Composite, Variable, VariablePredicate, VariableType
from emulation.host.reference_loops import Reference

SIZES = (10, 1_000, 10_000, 100_000)
QUICK_SIZES = (10, 10_000)
COMPOSITES = (1, 100, 10_000)
ARRIVALS = 30_000
TRIPLES = 2_000
PARTNERS = 10
ROUNDS = 3
"""Rounds of each measurement; the fastest counts, because others use the machine."""
WEIGHED = 50_000
"""Matches whose memory is measured."""

PAIRS = Target(
    "pairs: arrivals at a detector that keeps many matches of each part",
    Bound.AT_LEAST,
    300_000,
    "/s",
    Reference.INTERPRETER,
    "it was set for a detector compiled to C, which halved an arrival's time; before, as many arrived as today",
)
GROWTH = Target("pairs: an arrival with 100,000 matches of each part, against 10", Bound.AT_MOST, 1.3, "times")
DETECTIONS = Target(
    "triples: detections of three parts with ten matches each", Bound.AT_LEAST, 200_000, "/s", Reference.INTERPRETER
)
MANY = Target("an arrival with 10,000 composite subscriptions, against one", Bound.AT_MOST, 1.3, "times")
BYTES = Target("memory of a match that a detector keeps, besides content and name", Bound.AT_MOST, 500, "bytes")

Arriving = tuple[str, int, bytes, Mapping[str, Sequence[int]]]
"""Arguments of `Detector.arrive`."""


class _Clock:
    """Time that each arrival moves on by one."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 1
        return self.now


@dataclass(frozen=True, slots=True)
class Prepared:
    """A detector that is filled, and the publications that arrive while it is timed."""

    detector: Detector
    arriving: Sequence[Arriving]


def _part(name: str, *others: VariablePredicate) -> Atomic:
    return Atomic((Predicate("class", Operator.STRING_EQUAL, name), *others))


def pair() -> Composite:
    """Two parts that agree on `x`."""
    agreeing = VariablePredicate("x", Operator.EQUAL, Variable(VariableType.NUMBER, "X"))
    return And((_part("A", agreeing), _part("B", agreeing)))


def _detector(
    contents: Mapping[bytes, Publication], within: int, composites: int = 1, pattern: Composite | None = None
) -> Detector:
    """A detector in which a match stays for the window, in arrivals."""
    limits = DetectionLimits(partial_matches=1 << 30, partial_match_bytes=1 << 40, lateness=0)
    detector = Detector(_Clock(), _unexpected, limits, contents.__getitem__)
    for number in range(composites):
        detector.add(f"c{number}", pattern or pair(), within)
    return detector


def _unexpected(loss: object) -> None:
    raise AssertionError(loss)


def prepare_pairs(size: int, composites: int) -> Prepared:
    """A detector with `size` matches of each of the two parts in all, and arrivals that keep their number."""
    contents: dict[bytes, Publication] = {}
    parts = [({f"c{number}": (0,)}, {f"c{number}": (1,)}) for number in range(composites)]
    detector = _detector(contents, 2 * size, composites)
    arriving: list[Arriving] = []
    for number in range(2 * size + ARRIVALS):
        # One of five has the value of the publication before, which matches the other part.
        value = number - 1 if number % 5 == 1 else number
        body = f"{number}".encode()
        contents[body] = Publication({"class": "AB"[number % 2], "x": value})
        composite = (number // 5) % composites
        arriving.append((f"p{number}", number, body, parts[composite][number % 2]))
    for arguments in arriving[: 2 * size]:
        detector.arrive(*arguments)
    return Prepared(detector, arriving[2 * size :])


def prepare_triples() -> Prepared:
    """A detector with ten matches of each of two parts, and arrivals of the third, which is never kept for long."""
    pattern = And((_part("A"), _part("B"), _part("C")))
    detector = _detector({}, 1 << 40, pattern=pattern)
    for number in range(2 * PARTNERS):
        detector.arrive(f"p{number}", number, b"", {"c0": (number % 2,)})
    return Prepared(detector, [(f"t{number}", 100 + number, b"", {"c0": (2,)}) for number in range(TRIPLES)])


def nanoseconds(prepare: Callable[[], Prepared]) -> tuple[float, int]:
    """Processor time of an arrival in the fastest round, and the number of detections of a round."""
    times, detections = [], 0
    for _ in range(ROUNDS):
        prepared = prepare()
        arrive = prepared.detector.arrive
        detections = 0
        with _without_collection():
            begin = time.process_time_ns()
            for arguments in prepared.arriving:
                detections += len(arrive(*arguments))
            times.append((time.process_time_ns() - begin) / len(prepared.arriving))
    return min(times), detections


@contextmanager
def _without_collection() -> Iterator[None]:
    """Brokers freeze what stays; a full collection here would hit one round at random."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def bytes_of_a_match() -> float:
    """Memory of a kept match of a pair whose variable has a value of its own, besides content, name and stamp."""
    contents: dict[bytes, Publication] = {}
    bodies = [f"{number}".encode() for number in range(WEIGHED)]
    for number, body in enumerate(bodies):
        contents[body] = Publication({"class": "A", "x": number})
    detector = _detector(contents, 1 << 40)
    arriving = [(f"p{number}", 10**18 + number, body, {"c0": (0,)}) for number, body in enumerate(bodies)]
    gc.collect()
    tracemalloc.start()
    for arguments in arriving:
        detector.arrive(*arguments)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used / WEIGHED


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 10,000 matches")
    sizes = QUICK_SIZES if parser.parse_args(arguments).quick else SIZES
    pairs = {}
    for size in sizes:
        pairs[size], detections = nanoseconds(lambda size=size: prepare_pairs(size, 1))  # type: ignore[misc]
        print(f"  pairs, {size:>7,} matches of each part: {pairs[size]:,.0f} ns an arrival, {detections:,} detections")
    many = {}
    for number in COMPOSITES:
        many[number], _ = nanoseconds(lambda number=number: prepare_pairs(10_000, number))  # type: ignore[misc]
        print(f"  {number:>6,} composite subscriptions: {many[number]:,.0f} ns an arrival")
    triple, detections = nanoseconds(prepare_triples)
    print(f"  triples: {triple:,.0f} ns an arrival, {detections:,} detections")
    keeping = "objects and table entries of a match; the path by its value"
    judgements = [
        PAIRS.judge(1e9 / pairs[sizes[-1]], growth_of("matches", {n: 1e9 / t for n, t in pairs.items()}, keeping)),
        DETECTIONS.judge(detections / (triple * TRIPLES) * 1e9),
        MANY.judge(many[COMPOSITES[-1]] / many[1], growth_of("composite subscriptions", many, keeping)),
        BYTES.judge(bytes_of_a_match()),
    ]
    if sizes[-1] == SIZES[-1]:
        judgements.insert(1, GROWTH.judge(pairs[sizes[-1]] / pairs[sizes[0]]))
    return judgements


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
