"""Runs a host's part of a run: the process that Ansible starts on each host and awaits by signals.

    python -m emulation.multi_host.agent PART.JSON

Beside `part.json` it keeps `signals/` and, in `run/`, a run directory of its own, whose times are of this host's clock.
It does what `brokerlab emulate` does with a whole scenario, and meets the other hosts six times in a variant:

    answering   every host answers the others; then each measures how far it is to them, and to the run's clock
    wired       this host's links are there; then they are probed
    probed      then brokers are started, who dial over them
    ready       brokers and clients are connected; the word to go on says when to begin, by the run's clock
    drained     nothing moves any more; then clocks are compared once more
    compared    then brokers are stopped
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from rich.console import Console

from emulation.host.journal import Resource
from emulation.host.processes import this_process
from emulation.host.scratch import use_scratch_directory
from emulation.multi_host.clocks import ClockWatch
from emulation.multi_host.model import Part, read_part
from emulation.multi_host.placement import Placement, place
from emulation.multi_host.signals import Signals
from emulation.network.echo import Clock, FarHost
from emulation.network.host_tunnels import HostTunnels, Peer, ResponderProcess, require_way
from emulation.planning.plan import Plan, VariantPlan, make_plan
from emulation.run import emulate, host_share
from emulation.run.context import HostRunContext
from emulation.run.interrupt import QuickStop
from emulation.runtimes.ladder import Simulated, choose
from emulation.scenario import Scenario
from emulation.upkeep.clean import clean
from record import manifest
from record.errors import HostError, UserError
from record.manifest import HostRecord

_RESPONDER = "responder"


class Agent:
    """One host's part, variant by variant."""

    def __init__(self, part: Part, directory: Path, signals: Signals) -> None:
        self._part = part
        self._directory = directory
        self._signals = signals
        self._variants = 0

    def run(self) -> None:
        """Runs it. Raises `UserError`s."""
        console = Console(highlight=False, no_color=True, width=200)
        rungs = choose(self._part.runtime, self._part.links, lambda line: console.print(line, markup=False))
        if isinstance(rungs, Simulated):
            raise HostError("simulated brokers are of no host; leave --hosts out")
        clean(None if rungs.docker is None else rungs.docker.client)
        emulate(self._plan(), rungs, self._directory / "run", console, _nothing, share_of=self._of)

    def _plan(self) -> Plan:
        """The whole run's plan, under this host's name for the run."""
        plan = make_plan(Scenario.model_validate(self._part.scenario, context={"directory": self._directory}))
        return replace(plan, run_id=self._part.part_id, created=datetime.fromisoformat(self._part.created))

    @contextmanager
    def _of(self, variant: VariantPlan, session: HostRunContext) -> Iterator[host_share.HostShare]:
        """This host's part of a variant, with what connects it to the others."""
        part, placement = self._part, place(variant.overlay, self._part.members)
        meeting = Meeting(self._signals, session, self._variants, part.patience)
        with self._answering(session) as responder:
            meeting.wait_for_all("answering")
            tunnels = self._tunnels(placement, responder)
            with self._watching(tunnels, session) as clock:
                meeting.clock = clock
                yield host_share.HostShare(
                    brokers=frozenset(broker for broker, host in placement.items() if host == part.host),
                    host=part.host,
                    tunnels=tunnels,
                    rendezvous=meeting,
                )
            meeting.wait_for_all("compared")
        self._variants += 1

    @contextmanager
    def _answering(self, session: HostRunContext) -> Iterator[ResponderProcess]:
        """Lets other hosts ask this one."""
        part = self._part
        session.journal.creating(Resource.PROCESS, _RESPONDER)
        responder = ResponderProcess(part.part_id, part.member.address, part.echo_port, bytes.fromhex(part.token))
        try:
            session.journal.started(_RESPONDER, responder.pid)
            yield responder
        finally:
            responder.stop()
            session.journal.removed(Resource.PROCESS, _RESPONDER)

    def _tunnels(self, placement: Placement, responder: ResponderProcess) -> HostTunnels:
        """The ways to the other hosts, and how long they take. Raises `NetworkError` for one that does not serve."""
        part = self._part
        token = bytes.fromhex(part.token)
        peers: dict[str, Peer] = {}
        for member in part.members:
            if member.name != part.host:
                require_way(member.address)
                with closing(FarHost(member.address, part.echo_port, token)) as far:
                    peers[member.name] = Peer(member.name, member.address, far.clock(Clock.MONOTONIC).delay)
        run = hashlib.sha256(f"{part.run_id}/{self._variants}".encode()).digest()
        return HostTunnels(
            address=part.member.address,
            peers={broker: peers[host] for broker, host in placement.items() if host != part.host},
            vxlan_port=part.vxlan_port,
            echo_port=part.echo_port,
            first_identifier=int.from_bytes(run[:3]),
            token=token,
            responder=responder,
        )

    @contextmanager
    def _watching(self, tunnels: HostTunnels, session: HostRunContext) -> Iterator[ClockWatch | None]:
        """Compares this host's clock with the run's; None where it is the run's."""
        record = self._record(session)
        if self._part.number == 0:
            yield None
            return
        with closing(FarHost(self._part.reference.address, tunnels.echo_port, tunnels.token)) as reference:
            watch = ClockWatch(reference)
            try:
                with watch:
                    yield watch
            finally:
                record.offsets += watch.offsets
                manifest.write(session.manifest, session.paths.directory)

    def _record(self, session: HostRunContext) -> HostRecord:
        """This host in its manifest."""
        known = session.manifest
        if not known.hosts:
            address = self._part.member.address
            known.hosts = [HostRecord(name=self._part.host, address=address, kernel=known.kernel, host=known.host)]
        return known.hosts[0]


class Meeting:
    """Where this host waits for the others: a `Rendezvous` by signals."""

    def __init__(self, signals: Signals, session: HostRunContext, variant: int, patience: float) -> None:
        self._signals = signals
        self._session = session
        self._variant = variant
        self._patience = patience
        self.clock: ClockWatch | None = None
        """How far this host's clock is from the run's; None where it is the run's."""

    def wait_for_all(self, stage: str) -> None:
        self._meet(stage)

    def begin(self) -> float:
        start = int(self._meet("ready"))
        if self.clock is not None:
            start -= self.clock.latest().offset
        if (late := time.monotonic_ns() - start) > 0:
            raise HostError(
                f"the word to begin came {late / 1e9:.1f} s late; are the hosts or the way to them overloaded?"
            )
        return start / 1e9

    def _meet(self, place: str) -> str:
        self._session.doing(f"waiting for the other hosts ({place})")
        return self._signals.meet(f"{self._variant}-{place}", self._patience, self._session.interrupt.wait)


def main(file: Path) -> int:
    """The process. Returns its exit code."""
    directory = file.absolute().parent
    use_scratch_directory()
    signals = Signals(directory / "signals")
    signals.begin(this_process())
    try:
        Agent(read_part(file), directory, signals).run()
    except UserError as error:
        signals.fail(str(error))
        return error.exit_code
    except QuickStop:
        signals.fail("ended at once, as was asked for")
        return 1
    except BaseException as error:
        signals.fail(f"a fault of brokerlab's own: {type(error).__name__}: {error}")
        raise
    signals.finish()
    return 0


def _nothing() -> None:
    """Nobody waits for the end of the last variant."""


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
