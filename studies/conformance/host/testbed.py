"""Real brokers for cases, one overlay at a time.

Starting brokers takes longer than a case. So the network stays while one case after another has the same overlay, and
the brokers stay too while the protocol is the same and no case has killed any of them, provided that once all clients
have left all links work and the routing tables are what they were at first: then nobody can tell them from brokers that
have just started. Where they are not, the next case gets new brokers.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

from broker_service.messages import BrokerId
from emulation.host.journal import Journal
from emulation.host.processes import RUN_VARIABLE
from emulation.host.registry import ROOT, register, unregister
from emulation.host.run_paths import RunPaths
from emulation.network import EmulatedNetwork, LinkDriver
from emulation.planning.plan import make_run_id
from emulation.run.interrupt import Interrupt
from emulation.runtimes import Runtime
from emulation.runtimes.hosting import runtime_on
from emulation.runtimes.ladder import AUTO, Rungs, choose
from emulation.upkeep.clean import clean
from record.errors import BadInputError
from studies.conformance.host.brokers import HostBrokers
from studies.conformance.host.overlay import HostCase
from studies.conformance.model import Case
from studies.conformance.protocols import ConformanceProtocol
from studies.conformance.testbed import UnsettledError


@contextmanager
def host_testbed(runtime: str, interrupt: Interrupt, say: Callable[[str], None]) -> Iterator[HostTestbed]:
    """The testbed of a runtime, `process` or `container`. Leaving it removes all that was made on the host.

    What it keeps in files lies below the run's own entry in the registry, which goes last; so `brokerlab clean` finds
    and removes everything even where this process was killed. Raises `HostError` where the host cannot run it.
    """
    rungs = choose(runtime, AUTO, say)
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
        run_paths.give_logs_to_brokers()
        journal = Journal(run_paths.journal)
        stack.callback(journal.close)
        os.environ[RUN_VARIABLE] = run_id  # for the children that others start
        stack.callback(os.environ.pop, RUN_VARIABLE)
        hosting = stack.enter_context(runtime_on(rungs, run_paths, journal))
        runner = stack.enter_context(asyncio.Runner())
        testbed = HostTestbed(
            run_paths, journal, runtime=hosting, driver=rungs.driver, runner=runner, interrupt=interrupt
        )
        try:
            yield testbed
        finally:
            interrupt.teardown = True
            testbed.close()


class HostTestbed:
    """See the module."""

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
        self._brokers: HostBrokers | None = None
        self._wired: object = None
        """What the network was made for."""
        self._started: object = None
        """What the brokers were started for."""
        self._pristine: object = None
        """The routing tables of those brokers when they had just started."""

    @contextmanager
    def run(self, case: Case, protocol: ConformanceProtocol) -> Iterator[HostCase]:
        overlay, fresh = self._overlay(case, protocol)
        ended = False
        try:
            if fresh:
                overlay.come_up()
                self._pristine = overlay.tables()
            yield overlay
            ended = True
        finally:
            overlay.close()
            if not (ended and self._as_new(overlay)):
                self._stop_brokers()

    def close(self) -> None:
        """Ends whatever runs. May be called more than once."""
        self._stop_brokers()
        self._stop_network()

    def _overlay(self, case: Case, protocol: ConformanceProtocol) -> tuple[HostCase, bool]:
        """The overlay for a case, and whether its brokers are being started for it."""
        network = self._wire(case)
        wanted = protocol.name, case.seed, case.regions
        fresh = self._brokers is None or self._started != wanted
        if fresh:
            self._stop_brokers()
            self._interrupt.check()
            self._brokers = HostBrokers(
                case.overlay(), protocol, case.seed, run_paths=self._run_paths, runtime=self._hosting, network=network
            )
            self._started = wanted
        assert self._brokers is not None
        return HostCase(self._brokers, self._runner, self._interrupt), fresh

    def _wire(self, case: Case) -> EmulatedNetwork:
        wanted = case.brokers, case.links
        if self._network is not None and self._wired == wanted:
            return self._network
        self._stop_brokers()
        self._stop_network()
        self._interrupt.check()
        # Sandboxes of brokers that this case does not have wait for cases that do.
        self._sandboxed |= set(case.brokers)
        sandboxes = self._hosting.sandboxes(sorted(self._sandboxed))
        self._run_paths.make_socket_directories(list(case.brokers))
        network = EmulatedNetwork(case.overlay(), self._run_paths.run_id, self._driver, sandboxes, self._journal)
        network.start()
        self._network, self._wired = network, wanted
        return network

    def _as_new(self, overlay: HostCase) -> bool:
        """Whether the brokers that a case leaves behind are as good as new."""
        if self._brokers is None or not self._brokers.as_started:
            return False
        try:
            overlay.settle()
        except UnsettledError:
            return False
        return overlay.tables() == self._pristine

    def _stop_brokers(self) -> None:
        brokers, self._brokers = self._brokers, None
        if brokers is not None:
            self._runner.run(brokers.controls.close())
            brokers.stop()

    def _stop_network(self) -> None:
        network, self._network = self._network, None
        if network is not None:
            network.stop()
