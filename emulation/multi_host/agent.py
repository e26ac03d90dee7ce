"""Runs a host's share of a run: the process that Ansible starts on each host and controls by signals.

    python -m emulation.multi_host.agent SHARE.JSON

Beside `share.json` it keeps `signals/` and, in `run/`, a run directory of its own with times of this host's clock. It
does what `brokerlab emulate` does with a whole scenario, and waits for the other hosts at these stages of a variant
(`barrier`):

    answering   Every host answers the others. Then each measures its distance to them, and to the run's clock.
    wired       The links of this host exist. Then they are probed.
    probed      All links are probed. Then brokers are started, which dial over the links.
    ready       Brokers and clients are connected. Then the moment of the beginning is announced.
    begun       The moment of the beginning, by the run's clock, is known.
    drained     No message is in flight any more. Then clients leave.
    ...-left    Clients of these nodes (`VariantPlan.leaving`) have left. Then brokers stop, or tables are compared:
    ...-settled No message moves on any host (`emulation.run.common_quiet`). Then routing tables are read.
    ...-read    Routing tables are read. Then the next clients leave, or brokers stop.
    compared    Brokers have stopped and all clocks are compared once more.
    ended       All hosts have passed the stage before. Then the answers to other hosts end.

At the last one agents wait for the controller, which lets them go on when all are there: a host that ended its answers
by itself might do so before the others have learned that it has come. So agents whose controller was killed end with
the variant.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from msgspec import UNSET
from rich.console import Console

from emulation.host.journal import Resource
from emulation.multi_host.barrier import HostBarrier
from emulation.multi_host.clocks import ClockWatch
from emulation.multi_host.model import ShareRequest, read_share_request
from emulation.multi_host.placement import place_brokers, place_sites
from emulation.multi_host.signals import SIGNALS, Signals
from emulation.network.host_tunnels import HostTunnels, Peer, ResponderProcess, require_route
from emulation.network.probing.echo import Clock, FarHost
from emulation.planning.dilation import with_dilation
from emulation.planning.plan import Plan, VariantPlan, make_plan
from emulation.run import RunOutcome, emulate, host_share
from emulation.run.context import HostRunContext
from emulation.run.interrupt import QuickStop
from emulation.runtimes.ladder import Simulated, choose
from emulation.upkeep.clean import clean
from record import manifest
from record.callbacks import do_nothing
from record.errors import HostError, UserError
from record.exit_codes import ExitCode
from record.manifest import HostRecord
from record.scratch import scratch_directory
from scenario.model import Scenario

_RESPONDER = "responder"
ENDED = "ended"
"""Stage at which agents wait for their controller."""


class Agent:
    """Runs one host's share, variant by variant."""

    def __init__(self, share: ShareRequest, directory: Path, signals: Signals) -> None:
        self._share = share
        self._directory = directory
        self._signals = signals
        self._variants = 0

    def run(self) -> RunOutcome:
        """Runs the share. Raises `UserError`s."""
        console = Console(highlight=False, no_color=True, width=200)
        rungs = choose(self._share.runtime, self._share.links, lambda line: console.print(line, markup=False))
        if isinstance(rungs, Simulated):
            raise HostError("simulated brokers belong to no host; leave --hosts out")
        clean(None if rungs.docker is None else rungs.docker.client)
        return emulate(self._plan(), rungs, self._directory / "run", console, do_nothing, share_of=self._of)

    def _plan(self) -> Plan:
        """The plan of the whole run, under this host's id of the run. Raises `UserError`s."""
        for protocol in self._share.protocols:
            protocol.provide()
        plan = make_plan(Scenario.model_validate(self._share.scenario, context={"directory": self._directory}))
        if self._share.dilation is not UNSET:
            plan = with_dilation(plan, self._share.dilation)
        return replace(plan, run_id=self._share.share_id, created=datetime.fromisoformat(self._share.created))

    @contextmanager
    def _of(self, variant: VariantPlan, session: HostRunContext) -> Iterator[host_share.HostShare]:
        """This host's share of a variant, with its connection to the other hosts, while the variant runs."""
        share, placement = self._share, place_brokers(variant.overlay, self._share.members)
        with self._answering(session) as responder, self._far_hosts() as others:
            barrier = HostBarrier(
                responder, others, self._signals, session, variant=self._variants, patience=share.patience
            )
            barrier.wait_for_all("answering", session.interrupt.wait)
            nodes = {**placement, **place_sites(variant.sites, placement)}
            tunnels = self._tunnels(nodes, responder, others)
            with self._watching(tunnels, session) as clock:
                barrier.clock = clock
                yield host_share.HostShare(
                    brokers=frozenset(broker for broker, host in placement.items() if host == share.host),
                    host=share.host,
                    tunnels=tunnels,
                    rendezvous=barrier,
                )
            barrier.wait_for_all("compared", session.interrupt.wait)
            self._signals.wait_at(f"{self._variants}-{ENDED}", share.patience, session.interrupt.wait)
        self._variants += 1

    @contextmanager
    def _answering(self, session: HostRunContext) -> Iterator[ResponderProcess]:
        """Runs the responder that answers other hosts."""
        share = self._share
        session.journal.creating(Resource.PROCESS, _RESPONDER)
        responder = ResponderProcess(share.share_id, share.member.address, share.echo_port, bytes.fromhex(share.token))
        try:
            session.journal.started(_RESPONDER, responder.pid)
            yield responder
        finally:
            responder.stop()
            session.journal.removed(Resource.PROCESS, _RESPONDER)

    @contextmanager
    def _far_hosts(self) -> Iterator[dict[str, FarHost]]:
        """Connections to the responders of the other hosts, in the order of the run's hosts."""
        share = self._share
        with ExitStack() as connections:
            yield {
                member.name: connections.enter_context(
                    closing(FarHost(member.address, share.echo_port, bytes.fromhex(share.token)))
                )
                for member in share.members
                if member.name != share.host
            }

    def _tunnels(
        self, nodes: Mapping[str, str], responder: ResponderProcess, others: Mapping[str, FarHost]
    ) -> HostTunnels:
        """The tunnels to the other hosts, with measured delays; `nodes` are the hosts of brokers and sites.

        Raises `NetworkError` for a host that is out of reach.
        """
        share = self._share
        peers: dict[str, Peer] = {}
        for number, member in enumerate(share.members):
            if (far := others.get(member.name)) is not None:
                require_route(far.address)
                peers[member.name] = Peer(member.name, far.address, number, far.clock(Clock.MONOTONIC).delay)
        run = hashlib.sha256(f"{share.run_id}/{self._variants}".encode()).digest()
        return HostTunnels(
            address=share.member.address,
            number=share.number,
            peers={node: peers[host] for node, host in nodes.items() if host != share.host},
            vxlan_port=share.vxlan_port,
            echo_port=share.echo_port,
            first_identifier=int.from_bytes(run[:3]),
            token=bytes.fromhex(share.token),
            responder=responder,
        )

    @contextmanager
    def _watching(self, tunnels: HostTunnels, session: HostRunContext) -> Iterator[ClockWatch | None]:
        """Compares this host's clock with the run's; None on the host whose clock is the run's."""
        record = self._record(session)
        if self._share.number == 0:
            yield None
            return
        with closing(FarHost(self._share.reference.address, tunnels.echo_port, tunnels.token)) as reference:
            watch = ClockWatch(reference)
            try:
                with watch:
                    yield watch
            finally:
                record.offsets += watch.offsets
                manifest.write(session.manifest, session.paths.directory)

    def _record(self, session: HostRunContext) -> HostRecord:
        """The record of this host in its manifest."""
        known = session.manifest
        if not known.hosts:
            address = self._share.member.address
            known.hosts = [HostRecord(name=self._share.host, address=address, kernel=known.kernel, host=known.host)]
        return known.hosts[0]


def main(file: Path) -> int:
    """Runs the agent. Returns its exit code."""
    directory = file.absolute().parent
    signals = Signals(directory / SIGNALS)
    try:
        with scratch_directory():
            outcome = Agent(read_share_request(file), directory, signals).run()
    except UserError as error:
        return _failed(signals, str(error), error.exit_code)
    except QuickStop:
        return _failed(signals, "ended at once, because the user asked for it", ExitCode.INTERRUPTED)
    except BaseException as error:
        _failed(signals, f"a fault of brokerlab's own: {type(error).__name__}: {error}", ExitCode.DEFECT)
        raise
    if outcome.defect:
        return _failed(signals, outcome.defect, ExitCode.BROKER_DEFECT)
    signals.finish()
    return ExitCode.CORRECT


def _failed(signals: Signals, reason: str, exit_code: int) -> int:
    """Notes the agent's failure for the controller; returns the exit code."""
    signals.fail(reason, exit_code)
    return exit_code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
