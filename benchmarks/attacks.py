"""Harm that a hostile neighbour or client of a broker does to others: notifications that clients lose, and their delay.

Brokers run as processes on loopback addresses: a line of three with a publisher at one end and a subscriber at the
other. The attacker is a neighbour or a client of the broker between them, and sends one kind of flood at full speed
while 50 publications a second pass through. All processes share two processors. The delay that an attack adds is the
difference of 99th percentiles with and without it.

    python -m benchmarks.attacks                     all floods, about 5 minutes
    python -m benchmarks.attacks --quick             four of them
    python -m benchmarks.attacks --only pings
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.table import Table

from benchmarks.support.attacker import CONNECTIONS, MESSAGES, NAME
from benchmarks.support.floods import FLOODS
from benchmarks.support.hostile_client import REQUESTS
from benchmarks.support.loopback import ROOT, LoopbackBrokers, LoopbackDriver, end
from benchmarks.support.processes import Usage
from benchmarks.targets import Bound, Judgement, Target, conclude, console
from benchmarks.throughput import JOIN_SECONDS, notifications_of, publisher, subscriber
from emulation.host.reference_loops import Reference

LOST = Target("notifications lost under the worst attack", Bound.AT_MOST, 0)
ADDED = Target("delay that the worst attack adds, 99th percentile", Bound.AT_MOST, 200, "ms", Reference.INTERPRETER)

ATTACKS = (*FLOODS, CONNECTIONS, *MESSAGES, *REQUESTS)
QUICK = ("pings", "rapid resets", "groups over trees", "client: subscriptions that all match")
RATE = 50.0
LINKS = ((1, 2), (2, 3), (4, 2))
_WAIT = 8.0
"""Seconds after the last publication in which notifications may come."""


@dataclass(frozen=True, slots=True)
class Harm:
    """Harm of one attack, or of none."""

    published: int
    delays: Sequence[float]
    """Milliseconds from publication to notification, ascending."""
    processor: float
    """Share of a processor that the attacked broker used."""

    @property
    def lost(self) -> int:
        return self.published - len(self.delays)

    @property
    def percentile(self) -> float:
        """The 99th of the delays, milliseconds."""
        return self.delays[min(len(self.delays) - 1, int(len(self.delays) * 0.99))] if self.delays else float("inf")


def harm_of(attack: str | None, seconds: float) -> Harm:
    """Has publications pass through the broker while it is attacked; None for no attack."""
    published = round(RATE * seconds)
    with tempfile.TemporaryDirectory(prefix="attacks-") as temporary, ExitStack() as stack:
        directory = Path(temporary)
        overlay = stack.enter_context(LoopbackBrokers(4, LINKS, directory, absent=(NAME,)))
        operations = {"publishers": publisher(RATE, published), "subscribers": subscriber("B3")}
        brokers = {"publishers": "B1", "subscribers": "B3"}
        drivers = [
            LoopbackDriver(name, {brokers[name]: overlay.addresses[brokers[name]]}, operations[name], directory)
            for name in operations
        ]
        for driver in drivers:
            stack.callback(end, driver.process)
        begin = time.monotonic_ns() + 100_000_000
        for driver in drivers:
            driver.begin(begin)
        time.sleep(JOIN_SECONDS - 0.1)
        attacked = overlay.processes["B2"].pid
        before, since = Usage.of(attacked), time.monotonic()
        address = overlay.addresses["B2"] if attack in REQUESTS else _address_for_attacker(directory)
        with _attacker(attack, address):
            drivers[1].wait_until_notified(published, begin / 1e9 + JOIN_SECONDS + seconds + _WAIT)
            used = (Usage.of(attacked).cpu - before.cpu) / (time.monotonic() - since)
        for driver in drivers:
            driver.end()
        return Harm(published, sorted(notifications_of(directory).delays), used)


@contextlib.contextmanager
def _attacker(attack: str | None, address: str) -> Iterator[None]:
    """The attacker's process, which runs while a `with` block lasts."""
    if attack is None:
        yield
        return
    command = [sys.executable, "-m", "benchmarks.support.attacker", address, attack]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        yield
        if process.poll() is not None:
            raise RuntimeError(f"the attacker ended by itself: {attack}")
    finally:
        process.kill()
        process.wait()


def _address_for_attacker(directory: Path) -> str:
    """The address on which the attacked broker listens for its neighbour."""
    config = msgspec.json.decode((directory / "B2.json").read_bytes())
    (local,) = [link["local"] for link in config["links"] if link["neighbour"] == NAME]
    return str(local)


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four of the attacks")
    parser.add_argument("--only", nargs="+", choices=ATTACKS, help="these attacks")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of an attack")
    options = parser.parse_args(arguments)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    calm = harm_of(None, options.seconds)
    table = Table("attack", "lost", "delay p50, ms", "delay p99, ms", "broker's CPU", title="attacks")
    worst_lost, worst_added = calm.lost, 0.0
    for attack in (None, *(options.only or (QUICK if options.quick else ATTACKS))):
        harm = calm if attack is None else harm_of(attack, options.seconds)
        median = harm.delays[len(harm.delays) // 2] if harm.delays else float("inf")
        table.add_row(
            attack or "none", str(harm.lost), f"{median:.1f}", f"{harm.percentile:.1f}", f"{harm.processor:.0%}"
        )
        worst_lost = max(worst_lost, harm.lost)
        worst_added = max(worst_added, harm.percentile - calm.percentile)
    console().print(table)
    return [LOST.judge(worst_lost), ADDED.judge(worst_added)]


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
