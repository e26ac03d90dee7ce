"""Acts on real brokers and links: processes or containers of a runtime, on an emulated network."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import grpc
import msgspec

from broker_service.generated import broker_pb2, broker_pb2_grpc
from broker_service.service_time import ServiceTime
from emulation.network import EmulatedNetwork
from emulation.runtimes.interface import Launch, Runtime
from record.errors import HostError
from topology import BrokerId, LinkDirection, LinkProperties

_STOP_WITHIN = 10.0
"""Seconds after which a broker that was told to stop is killed."""
_ANSWER_WITHIN = 5.0


class HostActuator:
    """An `Actuator` for brokers that are processes of this host. One that has ended by itself is left as it is."""

    def __init__(
        self,
        runtime: Runtime,
        network: EmulatedNetwork,
        launches: Iterable[Launch],
        addresses: Mapping[BrokerId, str],
    ) -> None:
        """`launches` are those that the brokers were started with; `addresses` is where their control service is."""
        self._runtime = runtime
        self._network = network
        self._launches = {launch.broker: launch for launch in launches}
        self._addresses = addresses
        self._paused: set[BrokerId] = set()
        self._paces: dict[BrokerId, ServiceTime] = {}
        """What paused brokers are to be told."""

    def kill(self, broker: BrokerId) -> None:
        if self._lives(broker):
            self._runtime.kill(broker)

    def stop(self, broker: BrokerId) -> None:
        self._runtime.stop([broker], _STOP_WITHIN)

    def restart(self, broker: BrokerId) -> None:
        former = self._launches[broker]
        config = msgspec.structs.replace(former.config, incarnation=former.config.incarnation + 1)
        launch = self._launches[broker] = dataclasses.replace(former, config=config)
        self._runtime.start([launch], {broker: self._network.pid(broker)})

    def pause(self, broker: BrokerId) -> None:
        if self._lives(broker):
            self._runtime.pause(broker)
            self._paused.add(broker)

    def resume(self, broker: BrokerId) -> None:
        self._paused.discard(broker)
        self._runtime.resume(broker)
        if (pace := self._paces.pop(broker, None)) is not None:
            self._pace(broker, pace)

    def throttle(self, broker: BrokerId, cores: float | None) -> None:
        self._runtime.throttle(broker, cores)

    def slow(self, broker: BrokerId, service_time: ServiceTime | None) -> None:
        pace = self._launches[broker].config.service_time if service_time is None else service_time
        if broker in self._paused:
            self._paces[broker] = pace
        else:
            self._pace(broker, pace)

    def cut(self, direction: LinkDirection) -> None:
        self._network.cut(direction.source, direction.target)

    def restore(self, direction: LinkDirection) -> None:
        self._network.restore(direction.source, direction.target)

    def change(self, direction: LinkDirection, properties: LinkProperties) -> None:
        self._network.change(direction.source, direction.target, properties)

    def corrupt(self, direction: LinkDirection, share: float) -> None:
        self._network.corrupt(direction.source, direction.target, share)

    def _lives(self, broker: BrokerId) -> bool:
        process = self._runtime.processes().get(broker)
        return process is not None and process.alive

    def _pace(self, broker: BrokerId, pace: ServiceTime) -> None:
        """Tells a broker how fast to work, unless it is down."""
        if not self._lives(broker):
            return
        request = broker_pb2.PaceRequest(mean=pace.mean, distribution=pace.distribution.value, deviation=pace.deviation)
        try:
            with grpc.insecure_channel(self._addresses[broker]) as channel:
                stub = broker_pb2_grpc.BrokerControlStub(channel)  # type: ignore[no-untyped-call]
                stub.Pace(request, timeout=_ANSWER_WITHIN, wait_for_ready=True)
        except grpc.RpcError as error:
            raise HostError(f"broker {broker} cannot be told to work at another pace: {error}") from error
