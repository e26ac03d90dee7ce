"""The brokers of one overlay under one protocol, on a runtime and an emulated network."""

from __future__ import annotations

from broker_service.config import BrokerConfig
from broker_service.messages import BrokerId
from emulation.host.run_paths import RunPaths
from emulation.network import EmulatedNetwork
from emulation.planning.plan import link_configs
from emulation.runtimes import Launch, Runtime
from studies.conformance.host.control import Controls
from studies.conformance.host.quiet import Expectation
from studies.conformance.protocols import ConformanceProtocol
from studies.conformance.testbed import LIMITS, UnsettledError
from topology import Overlay


class HostBrokers:
    """Started when made; `stop` ends them. They keep no log, for cases look only at what clients get."""

    def __init__(
        self,
        overlay: Overlay,
        protocol: ConformanceProtocol,
        seed: int,
        *,
        run_paths: RunPaths,
        runtime: Runtime,
        network: EmulatedNetwork,
    ) -> None:
        names = [broker.id for broker in overlay.brokers]
        self.addresses = {broker: f"unix:{run_paths.socket(broker)}" for broker in names}
        self.expected = Expectation(overlay.links, names)
        self.controls = Controls(self.addresses)
        self._protocol = protocol
        self._seed = seed
        self._run_paths = run_paths
        self._runtime = runtime
        self._network = network
        self._links = link_configs(overlay, run_paths.run_id)
        self._attributes = {broker.id: dict(broker.attributes) for broker in overlay.brokers}
        self._incarnations = dict.fromkeys(names, 1)
        self._namespaces = {broker: network.pid(broker) for broker in names}
        runtime.start([self._launch(broker) for broker in names], self._namespaces)

    @property
    def as_started(self) -> bool:
        """Whether all of them still live their first life, with all links."""
        first_lives = all(incarnation == 1 for incarnation in self._incarnations.values())
        return first_lives and len(self.expected.living) == len(self._incarnations) and not self.expected.cut

    def stop(self) -> None:
        """Ends them at once; their network stays."""
        self._runtime.stop(self.expected.living, 0.0)
        for link in self.expected.cut:
            self._set_up(*link)

    def check(self) -> None:
        """Raises `UnsettledError` when a broker has ended by itself, `NetworkError` when the network has."""
        self._network.check()
        processes = self._runtime.processes()
        for broker in self.expected.living:
            if not processes[broker].alive:
                ending = self._runtime.ending(broker)
                self.expected.living.remove(broker)
                raise UnsettledError("\n".join([str(ending), *ending.last_lines]))

    def kill(self, broker: BrokerId) -> None:
        self._runtime.kill(broker)
        self.expected.living.remove(broker)

    def restart(self, broker: BrokerId) -> None:
        self._incarnations[broker] += 1
        self._runtime.start([self._launch(broker)], self._namespaces)
        self.expected.living.append(broker)

    def cut(self, a: BrokerId, b: BrokerId) -> None:
        self._network.cut(a, b)
        self._network.cut(b, a)
        self.expected.cut.add(frozenset((a, b)))

    def restore(self, a: BrokerId, b: BrokerId) -> None:
        self._set_up(a, b)
        self.expected.cut.discard(frozenset((a, b)))

    def _set_up(self, a: BrokerId, b: BrokerId) -> None:
        self._network.restore(a, b)
        self._network.restore(b, a)

    def _launch(self, broker: BrokerId) -> Launch:
        config = BrokerConfig(
            id=broker,
            incarnation=self._incarnations[broker],
            protocol=self._protocol.protocol,
            options=dict(self._protocol.options),
            attributes=self._attributes[broker],
            listen=(f"unix:{self._runtime.paths(broker).socket}",),
            links=self._links[broker],
            seed=self._seed,
            limits=LIMITS,
        )
        return Launch(config=config, config_directory=self._run_paths.variant(self._protocol.name) / broker)
