"""Operations written out in a scenario, in PADRES notation."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.content import matches
from broker_service.language.formatting import format_composite
from broker_service.language.records import predicate_record, recorded_predicate
from record.time_units import SECOND
from scenario.sections.workload.operations import OperationItem
from scenario.workload.operations import OperationKind, PlannedOperation


def explicit_operations(items: Sequence[OperationItem], window: float) -> tuple[PlannedOperation, ...]:
    """The operations sorted by time; those of one time keep their order.

    `window` is that of composite subscriptions which do not state theirs, in seconds.
    """
    published: dict[str, int] = {}
    operations = []
    for item in sorted(items, key=lambda item: item.at):
        if item.publish is not None:
            published[item.client] = published.get(item.client, 0) + 1
        operation = _operation(item, published.get(item.client, 0))
        if operation.pattern is not None and operation.within is None:
            operation = msgspec.structs.replace(operation, within=round(window * SECOND))
        operations.append(operation)
    return tuple(operations)


def explicit_notifications(operations: Sequence[PlannedOperation]) -> int:
    """Number of notifications that the operations cause if each takes effect at once."""
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


def _operation(item: OperationItem, published: int) -> PlannedOperation:
    content = item.content()
    operation = PlannedOperation(
        at=round(item.at * SECOND),
        client=item.client,
        broker=item.broker,
        operation=OperationKind.COMPOSE if isinstance(content, CompositeSubscription) else OperationKind(item.verb),
        id=item.id or (f"{item.client}:{published}" if isinstance(content, Publication) else item.text),
    )
    match content:
        case None:
            return operation
        case Publication():
            return msgspec.structs.replace(operation, attributes=content.attributes)
        case CompositeSubscription(pattern, within):
            return msgspec.structs.replace(operation, pattern=format_composite(pattern), within=within)
        case Advertisement() | Subscription():
            records = [predicate_record(predicate) for predicate in content.predicates]
            return msgspec.structs.replace(operation, predicates=records)
