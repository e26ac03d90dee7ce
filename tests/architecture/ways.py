"""Two messages' ways through the running product, counted: calls, files, and changes from one file to another.

A publication goes from a client over two brokers to a client, through real shells and sockets. A subscription goes over
three simulated brokers in a line, for each routing protocol. A publication then comes back, which is counted once all
that is made on first use exists. Bounds may only fall; a test holds the counts against them.

    python -m tests.architecture.ways                            # the counts and their bounds
    python -m tests.architecture.ways "publication, tid"         # the calls of one way, indented by depth
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType

from broker_service.client_library.client import Session
from broker_service.messages import Operation
from studies.conformance.case_runner import settle
from studies.conformance.content import encode
from studies.conformance.meshes import on_full_mesh
from studies.conformance.model import Case
from studies.conformance.protocols import PROTOCOLS
from studies.conformance.simulated import SimulatedCaseRun, SimulatedCaseRunner
from tests.architecture.imports import ROOT
from tests.broker_service.loopback import QUOTES, STOCKS, WITHIN, Loopback, quote

TRACED = ("broker_service", "emulation")
"""Packages whose calls count."""
TRIES = 9
"""Publications over real shells, of which the one with the fewest calls counts, because timers of the shells may run
out amid another."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function of the product."""

    file: str
    function: str
    depth: int


@dataclass(slots=True)
class Way:
    """The calls of one way, in order."""

    calls: list[Call] = field(default_factory=list)

    @property
    def files(self) -> int:
        """Number of different files."""
        return len({call.file for call in self.calls})

    @property
    def changes(self) -> int:
        """Number of calls whose file is not that of the call before."""
        return sum(former.file != call.file for former, call in itertools.pairwise(self.calls))

    @property
    def counts(self) -> Counts:
        return Counts(len(self.calls), self.files, self.changes)


@dataclass(frozen=True, slots=True)
class Counts:
    """Length of a way."""

    calls: int
    files: int
    changes: int
    """Changes from one file to another."""


@contextmanager
def traced() -> Iterator[Way]:
    """Records the calls that are made within, without those of a collection of others' garbage."""
    way, prefixes = Way(), tuple(f"{ROOT}/{package}/" for package in TRACED)
    root, depth = len(f"{ROOT}/"), 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal depth
        if event not in {"call", "return"} or not frame.f_code.co_filename.startswith(prefixes):
            return
        if event == "return":
            depth -= 1
            return
        way.calls.append(Call(frame.f_code.co_filename[root:], frame.f_code.co_qualname, depth))
        depth += 1

    gc.disable()
    sys.setprofile(profile)
    try:
        yield way
    finally:
        sys.setprofile(None)
        gc.enable()


def published() -> Way:
    """Way of a publication from a client over two brokers to a client, through real shells."""
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(_published(Path(directory)))


async def _published(directory: Path) -> Way:
    async with Loopback(directory) as loopback:
        await loopback.line("B1", "B2")
        async with Session(loopback.address("B1")) as near, Session(loopback.address("B2")) as far:
            publisher, subscriber = await near.client("P"), await far.client("S")
            await publisher.advertise("a", QUOTES)
            await subscriber.subscribe("s", STOCKS)
            ways = []
            async with asyncio.timeout(WITHIN):
                publisher.publish("first", quote(1))
                await anext(subscriber)
                for number in range(TRIES):
                    with traced() as way:
                        publisher.publish(f"p{number}", quote(1))
                        await anext(subscriber)
                    ways.append(way)
            return min(ways, key=lambda way: len(way.calls))


_ways = itertools.count(7_000_001)
"""Numbers of simulated ways. Each has content of its own, which no other test has, because brokers of one process share
what they decoded."""


@dataclass(frozen=True, slots=True)
class Content:
    """Content that the clients of one way declare and publish, in the notation."""

    advertisement: str
    subscription: str
    publication: str

    @classmethod
    def of(cls, number: int) -> Content:
        stocks = "[class,eq,'STOCK'],[price,>,{}]"
        return cls(stocks.format(-number), stocks.format(number), f"[class,'STOCK'],[price,{number + 1}]")


class SimulatedLine:
    """Three simulated brokers in a line, a publisher at the first and a subscriber at the last."""

    def __init__(self, run: SimulatedCaseRun, content: Content) -> None:
        self._run = run
        self._content = content
        self._sessions = {broker: run.open_session(broker, lambda _: None) for broker in ("B1", "B3")}
        for client, broker in (("P", "B1"), ("S", "B3")):
            self.ask(broker, client, Operation.ATTACH)
        self.ask("B1", "P", Operation.ADVERTISE, "a", encode("advertise", content.advertisement))

    def ask(self, broker: str, client: str, operation: Operation, id: str = "", body: bytes = b"") -> None:
        """Has a client do something, and waits until nothing moves."""
        self._sessions[broker].submit(client, operation, id, body)
        settle(self._run)

    def subscribe(self, id: str) -> None:
        self.ask("B3", "S", Operation.SUBSCRIBE, id, encode("subscribe", self._content.subscription))

    def publish(self, id: str) -> None:
        self.ask("B1", "P", Operation.PUBLISH, id, encode("publish", self._content.publication))


def _simulated(protocol: str, prepare: Callable[[SimulatedLine], None], act: Callable[[SimulatedLine], None]) -> Way:
    row, content = PROTOCOLS[protocol], Content.of(next(_ways))
    case = Case.model_validate(
        {
            "id": "way",
            "brokers": ["B1", "B2", "B3"],
            "links": [["B1", "B2"], ["B2", "B3"]],
            "protocols": [protocol],
            "steps": [
                {"op": "advertise", "client": "P", "broker": "B1", "id": "a", "text": content.advertisement},
                {"op": "subscribe", "client": "S", "broker": "B3", "id": "s", "text": content.subscription},
            ],
            "expect": {},
        }
    )
    if row.full_mesh:
        case = on_full_mesh(case)
    with SimulatedCaseRunner().run(case, row) as run:
        line = SimulatedLine(run, content)
        prepare(line)
        with traced() as way:
            act(line)
        return way


def subscribed(protocol: str) -> Way:
    """Way of a subscription over three simulated brokers, which route by a row of the conformance table."""
    return _simulated(protocol, lambda _: None, lambda line: line.subscribe("s"))


def returned(protocol: str) -> Way:
    """Way of a publication over three simulated brokers, to a subscriber that has had one."""

    def prepare(line: SimulatedLine) -> None:
        line.subscribe("s")
        line.publish("first")

    return _simulated(protocol, prepare, lambda line: line.publish("p"))


@dataclass(frozen=True, slots=True)
class BoundedWay:
    """A way and what it may be at most."""

    follow: Callable[[], Way]
    bound: Counts

    def followed(self) -> Way:
        """The way, once the process has all that is made on first use."""
        self.follow()
        return self.follow()


def _both(name: str, protocol: str, subscription: Counts, publication: Counts) -> Mapping[str, BoundedWay]:
    return {
        f"subscription, {name}": BoundedWay(partial(subscribed, protocol), subscription),
        f"publication, {name}": BoundedWay(partial(returned, protocol), publication),
    }


WAYS: Mapping[str, BoundedWay] = {
    "publication": BoundedWay(published, Counts(104, 20, 69)),
    **_both("tid", "tid-fixed", Counts(182, 36, 127), Counts(100, 20, 77)),
    **_both("octopia", "octopia-spr", Counts(178, 29, 123), Counts(130, 23, 102)),
    **_both("cbf", "cbf", Counts(151, 27, 110), Counts(131, 20, 97)),
    **_both("channelization", "channelization", Counts(82, 19, 43), Counts(88, 21, 66)),
    **_both("semi-probabilistic", "semi-probabilistic", Counts(190, 28, 120), Counts(149, 23, 105)),
    **_both("medym", "medym-mst", Counts(823, 36, 601), Counts(106, 24, 82)),
    **_both("gryphon", "gryphon", Counts(528, 44, 288), Counts(465, 41, 334)),
}
"""Ways with their bounds, which may only fall: lower them with each change that shortens a way."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.architecture.ways",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("way", nargs="?", choices=WAYS, metavar="WAY", help=f"one of: {'; '.join(WAYS)}")
    name: str | None = parser.parse_args().way
    if name is not None:
        for call in WAYS[name].followed().calls:
            print(f"{'  ' * call.depth}{call.function}  {call.file}")
        return 0
    print(f"{'way':36}{'calls':>6}  most{'files':>8}  most{'changes of file':>17}  most")
    for name, way in WAYS.items():
        counts, bound = way.followed().counts, way.bound
        print(
            f"{name:36}{counts.calls:6}{bound.calls:6}{counts.files:8}{bound.files:6}{counts.changes:17}{bound.changes:6}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
