"""Infidelities of the workload, of the calibration and of the simulator itself."""

from __future__ import annotations

from msgspec.structs import replace

from broker_service.config import BrokerConfig
from emulation.simulation import charging
from emulation.simulation.clients import ClientNodes
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.server import SimulatedServer
from record.time_units import SECOND
from scenario.workload.operations import OperationKind
from tests.gauntlet import scenarios
from tests.gauntlet.model import Area
from tests.gauntlet.planting import EveryNth, around

WORKLOAD = Area("workload")
SIMULATOR = Area("simulator")

_RUN = scenarios.TID_LINE
_SERVED = scenarios.TID_LINE.but("a line, 4 ms of service", {"brokers.service_time": "4ms"})
_SERVICE = r"B\d.*[Ss]ervice|[Ss]ervice.*B\d"


# The workload that is issued


@WORKLOAD.row(_RUN, r"plan|never issued|not issued|issued")
def every_tenth_planned_publication_is_never_issued() -> None:
    skip = EveryNth(10)

    def issue(original, self, operation, intended):
        if not (operation.kind is OperationKind.PUBLISH and skip()):
            original(self, operation, intended)

    around(ClientNodes, "issue", issue)


@WORKLOAD.row(_RUN, r"plan|never issued|not issued|issued|S3")
def a_planned_subscription_is_never_issued() -> None:
    def issue(original, self, operation, intended):
        if not (operation.kind is OperationKind.SUBSCRIBE and operation.client == "S3"):
            original(self, operation, intended)

    around(ClientNodes, "issue", issue)


@WORKLOAD.row(_RUN, r"S3 was to make")
def a_planned_subscription_is_issued_twice() -> None:
    def issue(original, self, operation, intended):
        original(self, operation, intended)
        if operation.kind is OperationKind.SUBSCRIBE and operation.client == "S3":
            original(self, operation, intended)

    around(ClientNodes, "issue", issue)


@WORKLOAD.row(scenarios.COMPOSITES_SIMPLE, r"Dee made them at another broker, or with another window, than planned")
def a_composite_subscription_has_a_longer_window_than_planned() -> None:
    def issue(original, self, operation, intended):
        original(self, operation if operation.within is None else replace(operation, within=2 * SECOND), intended)

    around(ClientNodes, "issue", issue)


@WORKLOAD.row(scenarios.COMPOSITES_SIMPLE, r"Flo made them at another broker, or with another window, than planned")
def a_client_subscribes_at_another_broker_than_planned() -> None:
    def issue(original, self, operation, intended):
        original(self, replace(operation, broker="B3") if operation.client == "Flo" else operation, intended)

    around(ClientNodes, "issue", issue)


@WORKLOAD.row(_RUN, r"plan|issued|more")
def some_publications_are_issued_twice() -> None:
    again = EveryNth(10)

    def issue(original, self, operation, intended):
        original(self, operation, intended)
        if operation.kind is OperationKind.PUBLISH and again():
            original(self, operation, intended)

    around(ClientNodes, "issue", issue)


@WORKLOAD.row(_RUN, r"late")
def publications_are_issued_300_ms_late() -> None:
    around(
        ClientNodes,
        "issue",
        lambda original, self, operation, intended: self._overlay.events.at(
            self._overlay.events.now + 300_000_000, lambda: original(self, operation, intended)
        ),
    )


@WORKLOAD.row(_RUN, r"plan|intended|late|P1")
def publications_have_other_times_than_planned() -> None:
    """The log states another intended time, so that nothing seems late."""

    def issue(original, self, operation, intended):
        shift = 150_000_000 if operation.kind is OperationKind.PUBLISH and operation.client == "P1" else 0
        self._overlay.events.at(self._overlay.events.now + shift, lambda: original(self, operation, intended + shift))

    around(ClientNodes, "issue", issue)


# The simulator


@SIMULATOR.row(_SERVED, _SERVICE)
def service_takes_30_percent_longer() -> None:
    _served(1.3)


@SIMULATOR.row(_SERVED, _SERVICE)
def service_takes_half_the_time() -> None:
    _served(0.5)


def _served(factor: float) -> None:
    around(
        BrokerConfig,
        "service_times",
        lambda original, self, service_time: original(self, replace(service_time, mean=service_time.mean * factor)),
    )


@SIMULATOR.row(_SERVED, _SERVICE)
def brokers_serve_nothing_at_all() -> None:
    around(SimulatedServer, "submit", lambda original, self, handler, messages: handler(messages))


@SIMULATOR.row(
    _SERVED.but("a line, 4 ms of service, busy", {"workload.publications.rate": "70/s"}), _SERVICE + r"|[Qq]ueue|B\d"
)
def brokers_serve_any_number_of_messages_at_once() -> None:
    def submit(original, self, handler, messages):
        self._events.at(self._events.now + 4_000_000, lambda: handler(messages))

    around(SimulatedServer, "submit", submit)


@SIMULATOR.row(_RUN, r"B\d|[Cc]alibration|[Oo]wn work")
def the_calibration_is_multiplied_by_ten() -> None:
    around(
        charging,
        "sampler",
        lambda original, latency, random: (lambda draw: lambda: 10 * draw())(original(latency, random)),
    )


@SIMULATOR.row(_RUN, r"B\d.*([Dd]elay|slow|late|took|instead of)|clock")
def virtual_time_runs_too_fast() -> None:
    """Events that are due more than a millisecond ahead come a tenth later than asked."""

    def at(original, self, time, call):
        ahead = time - self.now
        original(self, time + (ahead // 10 if ahead > 1_000_000 else 0), call)

    around(EventQueue, "at", at)
