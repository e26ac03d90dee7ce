"""Publications of generated publishers P1, P2, ... in the run phase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from broker_service.language import Value
from scenario.workload.arrivals import Arrival
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.padding import Padding
from topology.link_properties import BrokerId


def publication_operations(
    publishers: Mapping[str, BrokerId],
    arrivals: Iterable[Arrival],
    content: Callable[[int], dict[str, Value]],
    *,
    begin: int,
    size: int | None,
) -> Iterator[PlannedOperation]:
    """A publication for each arrival, in their order, in a run phase that begins at `begin` nanoseconds.

    `publishers` are in the order of their indexes, `content` makes the next content of the publisher with an index, and
    `size` is the encoded size to which contents are padded; None for no padding.
    """
    clients = list(publishers.items())
    pad = None if size is None else Padding(size)
    for time, index, number in arrivals:
        client, broker = clients[index]
        attributes = content(index)
        yield PlannedOperation(
            at=begin + time,
            client=client,
            broker=broker,
            operation=OperationKind.PUBLISH,
            id=f"{client}:{number}",
            attributes=attributes if pad is None else pad.padded(attributes),
        )
