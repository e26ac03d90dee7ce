"""The preparation of a scenario's routing protocol, from its overlay and its workload."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from broker_service.language import Advertisement, Predicate, Subscription
from broker_service.language.records import recorded_predicate
from emulation.live_overlay.preparation import Declarations, prepared_by
from scenario.model import Scenario
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.workload import Workload
from topology.link_properties import BrokerId
from topology.model import Overlay


def prepared_for(scenario: Scenario, overlay: Overlay, workload: Workload) -> Mapping[BrokerId, bytes]:
    """The preparation of each broker. Raises `BadInputError` when the protocol cannot serve the scenario."""
    routing = scenario.routing
    return prepared_by(routing.protocol, routing.options, overlay, scenario.seed, lambda: _declared(workload))


def _declared(workload: Workload) -> Declarations:
    """The declarations of clients that are there from the beginning, and those written out in the scenario."""
    advertisements: dict[BrokerId, list[Advertisement]] = defaultdict(list)
    subscriptions: dict[BrokerId, list[Subscription]] = defaultdict(list)
    for operation in _known(workload):
        predicates = tuple(_predicates(operation))
        if operation.operation is OperationKind.ADVERTISE:
            advertisements[operation.broker].append(Advertisement(predicates))
        elif operation.operation is OperationKind.SUBSCRIBE:
            subscriptions[operation.broker].append(Subscription(predicates))
    return Declarations(advertisements, subscriptions)


def _known(workload: Workload) -> Iterator[PlannedOperation]:
    yield from workload.population.advertisements()
    yield from workload.population.subscriptions()
    yield from (operation for operation in workload.explicit if not workload.unforeseen(operation.client))


def _predicates(operation: PlannedOperation) -> Iterator[Predicate]:
    return (recorded_predicate(record) for record in operation.predicates or ())
