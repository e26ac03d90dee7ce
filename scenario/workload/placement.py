"""Placement of generated clients on the brokers of an overlay."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from scenario.sections.messages import Problem
from scenario.sections.section import suggestion
from scenario.sections.workload.kind import Placement
from scenario.yaml_files.fields import FieldPath
from topology.link_properties import BrokerId
from topology.model import Overlay


def placed(count: int, placement: Placement, brokers: Sequence[BrokerId], rng: random.Random) -> list[BrokerId]:
    """The brokers of `count` clients, in the order of the clients."""
    if placement == "uniform":
        return rng.choices(brokers, k=count)
    turn = rng.sample(brokers, len(brokers)) if placement == "spread" else list(placement)
    return [turn[index % len(turn)] for index in range(count)]


def placement_problems(path: FieldPath, placement: Placement, overlay: Overlay) -> Iterator[Problem]:
    """Contradictions between a placement, which is the field at `path`, and the overlay."""
    if isinstance(placement, str):
        return
    if not placement:
        yield Problem(path, "lists no broker; leave it out to place clients at random")
    for index, broker in enumerate(placement):
        yield from broker_problems((*path, index), broker, overlay)


def broker_problems(path: FieldPath, broker: BrokerId, overlay: Overlay) -> Iterator[Problem]:
    """A problem of the field at `path` when the overlay lacks the broker that it names."""
    known = {known.id for known in overlay.brokers}
    if broker not in known:
        several = f"; its {len(known)} brokers are {min(known)}, ..., {max(known)}"
        yield Problem(
            path, f"the overlay has no broker {broker!r}{several if len(known) > 20 else suggestion(broker, known)}"
        )
