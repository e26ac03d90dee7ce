"""Acts on the brokers and links of a simulation, in virtual time."""

from __future__ import annotations

from broker_service.service_time import ServiceTime
from emulation.simulation.overlay import SimulatedOverlay
from record.errors import HostError
from topology import BrokerId, LinkDirection, LinkProperties


class SimulatedActuator:
    """An `Actuator` for a simulated overlay."""

    def __init__(self, overlay: SimulatedOverlay) -> None:
        self._overlay = overlay

    def kill(self, broker: BrokerId) -> None:
        self._overlay.kill(broker)

    def stop(self, broker: BrokerId) -> None:
        self._overlay.stop_one(broker)

    def restart(self, broker: BrokerId) -> None:
        self._overlay.restart(broker)

    def pause(self, broker: BrokerId) -> None:
        self._overlay.pause(broker)

    def resume(self, broker: BrokerId) -> None:
        self._overlay.resume(broker)

    def throttle(self, broker: BrokerId, cores: float | None) -> None:
        if cores is not None:
            raise HostError(f"cannot throttle broker {broker}: virtual time knows no CPU to share")

    def slow(self, broker: BrokerId, service_time: ServiceTime | None) -> None:
        self._overlay.slow(broker, service_time)

    def cut(self, direction: LinkDirection) -> None:
        self._overlay.cut_direction(direction.source, direction.target)

    def restore(self, direction: LinkDirection) -> None:
        self._overlay.restore_direction(direction.source, direction.target)

    def change(self, direction: LinkDirection, properties: LinkProperties) -> None:
        self._overlay.link(direction.source, direction.target).change(direction.source, properties)

    def corrupt(self, direction: LinkDirection, share: float) -> None:
        self._overlay.link(direction.source, direction.target).corrupt(direction.source, share)
