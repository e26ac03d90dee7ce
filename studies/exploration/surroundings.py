"""The surroundings of a scenario: what runs that are explored have in common with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from broker_service.routing import protocol_named, read_options
from record.errors import BadInputError
from record.faults import LOST_STREAMS, FaultKind
from record.promises import Loss
from scenario.model import Routing, Scenario
from studies.named_protocol import reference_named
from topology.model import Overlay
from topology.structures.declared import STRUCTURES, structure_with


class Shape(Enum):
    """The kind of an overlay, as far as protocols depend on it."""

    TREE = auto()
    CYCLIC = auto()
    FULL = auto()
    SCOT = auto()
    REDUNDANT_TREE = auto()


_STRUCTURED: Mapping[str, Shape] = {"scot": Shape.SCOT, "redundant-tree": Shape.REDUNDANT_TREE}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The overlay's shape and the routing of a scenario."""

    shape: Shape
    protocol: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the protocol that the scenario sets."""
    composites: bool = False
    """True where clients of the scenario make composite subscriptions; most of the runs then have some."""

    @classmethod
    def of(cls, scenario: Scenario, protocol: str | None = None) -> Surroundings:
        """The surroundings of a scenario's first variant, with another protocol in place of its own where one is given.

        Raises `UserError`.
        """
        scenario = scenario.variants()[0].scenario
        routing = scenario.routing if protocol is None else _routing(protocol)
        evolution = scenario.evolution()
        overlay = scenario.overlay() if evolution is None else evolution.start
        shape = _needed(routing.protocol) or _shape_of(overlay)
        composites = any(item.verb == "composite" for item in scenario.workload.operations)
        return cls(shape, routing.protocol, routing.options, composites)

    def survives(self, kind: FaultKind) -> bool:
        """True when the protocol with the scenario's options says what a fault of this kind costs."""
        return self._loss(kind) is not Loss.EVERYTHING

    @property
    def survives_lost_streams(self) -> bool:
        """True when links need not resume what a broken stream held."""
        return self._loss(LOST_STREAMS) is not Loss.EVERYTHING

    def _loss(self, kind: str) -> Loss:
        return read_options(self.protocol, dict(self.options)).promises.loss(kind)


def _routing(name: str) -> Routing:
    """The routing by a protocol with its own defaults. Raises `BadInputError`."""
    reference = reference_named(name)
    try:
        protocol_named(reference)
    except ValueError as error:
        raise BadInputError(f"--protocol {name}: {error}") from error
    return Routing.model_validate({"protocol": reference})


def _needed(reference: str) -> Shape | None:
    """The shape without which a protocol cannot run; None for one that runs on any overlay."""
    protocol = protocol_named(reference)
    if protocol.full_mesh:
        return Shape.FULL
    needed = [protocol.options.attributes, *(row.structure for row in protocol.rows(reference))]
    structures = (structure_with(attributes) for attributes in needed if attributes)
    return next((_STRUCTURED[found.name] for found in structures if found is not None), None)


def _shape_of(overlay: Overlay) -> Shape:
    for structure in STRUCTURES:
        if structure.name in _STRUCTURED and structure.declared_by(overlay):
            return _STRUCTURED[structure.name]
    brokers, links = len(overlay.brokers), len(overlay.links)
    if links == brokers * (brokers - 1) // 2 and brokers > 2:
        return Shape.FULL
    return Shape.TREE if links < brokers else Shape.CYCLIC
