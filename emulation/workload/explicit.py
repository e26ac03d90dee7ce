"""Operations written out in a scenario, in PADRES notation."""

from __future__ import annotations

from collections.abc import Sequence

from broker_service.language import ContentError, Publication, Subscription
from broker_service.language.relations import matches
from emulation.scenario import OperationItem, ScenarioError
from emulation.workload.operations import Operation, OperationKind, predicate_record, recorded_predicate
from emulation.workload.publishers import NANOSECONDS


def explicit_operations(items: Sequence[OperationItem]) -> tuple[Operation, ...]:
    """The operations sorted by time; those of one time keep their order. Raises `ScenarioError`."""
    published: dict[str, int] = {}
    operations = []
    for index, item in sorted(enumerate(items), key=lambda pair: pair[1].at):
        if item.verb == "publish":
            published[item.client] = published.get(item.client, 0) + 1
        try:
            operations.append(_operation(item, published.get(item.client, 0)))
        except ContentError as error:
            raise ScenarioError(f"workload.operations[{index}].{item.verb}: {error}") from error
    return tuple(operations)


def explicit_notifications(operations: Sequence[Operation]) -> int:
    """How many notifications these operations lead to when each takes effect at once."""
    active: dict[tuple[str, str], Subscription] = {}
    notifications = 0
    for operation in operations:
        key = (operation.client, operation.id)
        if operation.operation is OperationKind.SUBSCRIBE:
            active[key] = Subscription(tuple(recorded_predicate(record) for record in operation.predicates or ()))
        elif operation.operation is OperationKind.UNSUBSCRIBE:
            active.pop(key, None)
        elif operation.operation is OperationKind.PUBLISH:
            publication = Publication(operation.attributes or {})
            interested = {client for (client, _), wanted in active.items() if matches(wanted, publication)}
            notifications += len(interested)
    return notifications


def _operation(item: OperationItem, published: int) -> Operation:
    from broker_service.language.notation import parse_advertisement, parse_publication, parse_subscription

    kind = OperationKind(item.verb)
    attributes = predicates = None
    identifier = item.id
    match kind:
        case OperationKind.ADVERTISE:
            predicates = [predicate_record(predicate) for predicate in parse_advertisement(item.text).predicates]
        case OperationKind.SUBSCRIBE:
            predicates = [predicate_record(predicate) for predicate in parse_subscription(item.text).predicates]
        case OperationKind.PUBLISH:
            attributes = dict(parse_publication(item.text).attributes)
            identifier = identifier or f"{item.client}:{published}"
        case OperationKind.UNADVERTISE | OperationKind.UNSUBSCRIBE:
            identifier = item.text
    return Operation(
        at=round(item.at * NANOSECONDS),
        client=item.client,
        broker=item.broker,
        operation=kind,
        id=identifier or "",
        attributes=attributes,
        predicates=predicates,
    )
