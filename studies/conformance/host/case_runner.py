"""Real brokers for cases, one overlay at a time.

Starting brokers takes longer than a case. So the network stays while one case after another has the same overlay, and
the brokers stay too while the protocol is the same and no case has killed any of them, provided that once all clients
have left all links work and the routing tables are what they were at first: then they behave like brokers that
have just started. Where they are not, the next case gets new brokers.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from broker_service.messages import BrokerId
from emulation.host.journal import Journal
from emulation.host.processes import RUN_VARIABLE
from emulation.host.registry import ROOT, register, unregister
from emulation.host.run_paths import RunPaths
from emulation.live_overlay import Tables, UnsettledError
from emulation.network.model import LinkDriver
from emulation.network.network import EmulatedNetwork
from emulation.planning.plan import make_run_id
from emulation.run.interrupt import Interrupt
from emulation.runtimes import Hosting, HostOverlay, Runtime, host_configs
from emulation.runtimes.hosting import runtime_on
from emulation.runtimes.ladder import AUTO, Rungs, choose
from emulation.upkeep.clean import clean
from record.errors import BadInputError
from studies.conformance.case_runner import settings, settle
from studies.conformance.host.case_run import HostCaseRun
from studies.conformance.model import Arriving, Case, ClientFault, Departure, Leaving
from studies.conformance.protocols import ConformanceProtocol

if TYPE_CHECKING:
    from emulation.host.images import PrintLine

CONNECT_WITHIN = 60.0
"""Seconds in which a broker or link of a new overlay comes up at the latest, and in which it then settles."""


@contextmanager
def host_case_runner(runtime: str, interrupt: Interrupt, print_line: PrintLine) -> Iterator[HostCaseRunner]:
    """The runner of cases on a runtime, `process` or `container`. Leaving it removes all that was made on the host.

    What it keeps in files lies below the run's own entry in the registry, which goes last; so `brokerlab clean` finds
    and removes everything even where this process was killed. Raises `HostError` where the host cannot run it.
    """
    rungs = choose(runtime, AUTO, print_line)
    if not isinstance(rungs, Rungs):
        raise BadInputError(f"{runtime} brokers do not run on the host; ask for process or container")
    clean(None if rungs.docker is None else rungs.docker.client)
    run_id = make_run_id("conformance", datetime.now(UTC), secrets.token_hex(2))
    run_paths = RunPaths(run_id, ROOT / run_id / ".files", ROOT / run_id)
    with ExitStack() as stack:
        stack.callback(setattr, interrupt, "teardown", False)
        register(run_id, run_paths.journal)
        stack.callback(unregister, run_id)
        run_paths.logs.mkdir(parents=True)
        journal = Journal(run_paths.journal)
        stack.callback(journal.close)
        os.environ[RUN_VARIABLE] = run_id  # for the children that others start
        stack.callback(os.environ.pop, RUN_VARIABLE)
        hosting = stack.enter_context(runtime_on(rungs, run_paths, journal))
        runner = stack.enter_context(asyncio.Runner())
        runner_of_cases = HostCaseRunner(
            run_paths, journal, runtime=hosting, driver=rungs.driver, runner=runner, interrupt=interrupt
        )
        try:
            yield runner_of_cases
        finally:
            interrupt.teardown = True
            runner_of_cases.close()


class HostCaseRunner:
    """Runs cases on real brokers, which it keeps from one case to the next where that is safe."""

    def __init__(
        self,
        run_paths: RunPaths,
        journal: Journal,
        *,
        runtime: Runtime,
        driver: LinkDriver,
        runner: asyncio.Runner,
        interrupt: Interrupt,
    ) -> None:
        self.runtime = runtime.name
        self._run_paths = run_paths
        self._journal = journal
        self._hosting = runtime
        self._driver = driver
        self._runner = runner
        self._interrupt = interrupt
        self._sandboxed: set[BrokerId] = set()
        self._network: EmulatedNetwork | None = None
        self._overlay: HostOverlay | None = None
        self._wired_for: object = None
        """Brokers and links that the network was made for."""
        self._started_for: object = None
        """Protocol, options, seed, attributes and preparation that the brokers were started with."""
        self._pristine: Tables = {}
        """Routing tables of those brokers when they had just started."""

    @staticmethod
    def obstacle(case: Case) -> str:
        silent = (Departure.UNANNOUNCED, Departure.VANISH)
        if any(isinstance(step, Leaving) and step.how in silent for step in case.steps):
            return (
                "clients of a case on real brokers are beside their brokers and have no network to lose, so that they "
                "leave announced or by a crash; `brokerlab emulate` moves clients on sites without a word"
            )
        arriving = (step.access for step in case.steps if isinstance(step, Arriving))
        if any(isinstance(step, ClientFault) for step in case.steps) or any((*case.access.values(), *arriving)):
            return (
                "clients of a case on real brokers are beside their brokers, without hosts and access links; "
                "`brokerlab emulate` has clients on sites"
            )
        return ""

    @contextmanager
    def run(self, case: Case, protocol: ConformanceProtocol) -> Iterator[HostCaseRun]:
        network = self._wire(case)
        wanted = protocol.name, protocol.options, case.seed, case.overlay().brokers, settings(case, protocol).prepared
        overlay = self._overlay
        if overlay is None or self._started_for != wanted:
            overlay = self._start(case, protocol, network)
            self._started_for = wanted
        run = HostCaseRun(overlay, self._run_paths.logs, self._runner, self._interrupt)
        ended = False
        try:
            yield run
            ended = True
        finally:
            run.close()
            if case.changing or not (ended and self._as_new(run)):
                self._stop_brokers()
            if case.changing:
                self._stop_network()

    def close(self) -> None:
        """Ends whatever runs. May be called more than once."""
        self._stop_brokers()
        self._stop_network()

    def _start(self, case: Case, protocol: ConformanceProtocol, network: EmulatedNetwork) -> HostOverlay:
        """New brokers for a case, all connected."""
        self._stop_brokers()
        self._interrupt.check()
        paths, runtime, overlay = self._run_paths, self._hosting, case.overlay()
        configs = host_configs(
            overlay, settings(case, protocol), paths.run_id,
            runtime.files, wired=case.network(),
        )  # fmt: skip
        hosting = Hosting(
            runtime=runtime,
            network=network,
            namespace=network.pid,
            check_network=network.check,
            sockets=paths.socket,
            directory=paths.variant(protocol.name),
            wait=self._interrupt.wait,
        )
        started = self._overlay = HostOverlay(overlay, configs, hosting)
        try:
            started.start()
            started.await_links(CONNECT_WITHIN)
            started.settle(CONNECT_WITHIN)
        except BaseException:
            self._stop_brokers()
            raise
        self._pristine = started.brokers.tables()
        return started

    def _wire(self, case: Case) -> EmulatedNetwork:
        wired = case.network()
        wanted = case.brokers, wired.links
        if self._network is not None and self._wired_for == wanted:
            return self._network
        self._stop_brokers()
        self._stop_network()
        self._interrupt.check()
        # Sandboxes of brokers that this case does not have wait for cases that do.
        self._sandboxed |= set(case.brokers)
        sandboxes = self._hosting.sandboxes(sorted(self._sandboxed))
        self._run_paths.make_socket_directories(list(case.brokers))
        network = EmulatedNetwork(wired, self._run_paths.run_id, self._driver, sandboxes, self._journal)
        network.start()
        self._network, self._wired_for = network, wanted
        return network

    def _as_new(self, run: HostCaseRun) -> bool:
        """True when the brokers that a case leaves behind behave as if they had just started."""
        if not run.overlay.as_started:
            return False
        try:
            settle(run)
        except UnsettledError:
            return False
        return run.overlay.brokers.tables() == self._pristine

    def _stop_brokers(self) -> None:
        overlay, self._overlay = self._overlay, None
        if overlay is not None:
            overlay.stop(within=0.0)
            for direction in list(overlay.expected.cut):  # the network serves further brokers
                overlay.links.restore(direction)

    def _stop_network(self) -> None:
        network, self._network = self._network, None
        if network is not None:
            network.stop()
