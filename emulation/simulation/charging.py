"""Charging of a calibration's costs: the work of a message or a request, and draws of the time that passes besides."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from broker_service.messages import KIND_WORDS, OPERATION_KINDS, ClientRequest, Kind, Message
from emulation.planning.calibration import GROUP_BITS, Calibration, Latency

Cost = Callable[[Message | ClientRequest], int]
"""Nanoseconds of a broker's work."""


def work_cost(calibration: Calibration) -> Cost | None:
    """The function from a message or a client's request to its cost; None when everything is free."""
    if not any(calibration.work.values()):
        return None
    by_kind = {kind: calibration.work.get(word, 0) for kind, word in KIND_WORDS.items()}
    by_kind[Kind.COMPOSE] = by_kind[Kind.SUBSCRIBE]  # a composite subscription is routed as subscriptions
    by_operation = {operation: by_kind[kind] for operation, kind in OPERATION_KINDS.items()}

    def cost(item: Message | ClientRequest) -> int:
        if isinstance(item, Message):
            return by_kind[item.kind]
        return by_operation.get(item.operation, 0)

    return cost


def sampler(latency: Latency, random: Random) -> Callable[[], int]:
    """The function that draws times in nanoseconds, all randomness coming from `random`."""
    groups, random_bits = latency.groups, random.getrandbits

    def draw() -> int:
        return groups[random_bits(GROUP_BITS)]

    return draw if groups else int
