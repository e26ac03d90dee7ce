"""The declaration of a routing protocol: one object, in the protocol's own package or file, that says all of it.

The module `protocol` of a built-in protocol's package names this object `PROTOCOL`, as does a file of one's own. What
depends on the options that a scenario gives (promises, preparation, times) is declared by the struct of the options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from broker_service.routing.interface import Router, RouterContext
from broker_service.routing.options import ProtocolOptions


@dataclass(frozen=True, slots=True)
class ConformanceRow:
    """A set of options with which the conformance cases try a protocol: one row of the conformance table."""

    name: str
    options: Mapping[str, object] = field(default_factory=dict)
    """Options of the protocol, written as in the scenario's `routing` section. Times are short, for short cases."""
    structure: tuple[str, ...] = ()
    """Attributes that brokers must have besides those of the protocol's options, because the protocol does without them
    on some overlays only."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """A routing protocol: all that brokers, planning, verdicts and conformance cases need of it."""

    router: Callable[[RouterContext[Any]], Router]
    options: type[ProtocolOptions] = ProtocolOptions
    """Struct that the scenario's options must fit, with what the protocol declares of itself for their values."""
    full_mesh: bool = False
    """True when the protocol needs a link between any two brokers. Conformance cases then run on such an overlay."""
    conformance: tuple[ConformanceRow, ...] = ()
    """Rows of the conformance table; none: one row with the options' defaults, under the protocol's name."""

    def rows(self, name: str) -> tuple[ConformanceRow, ...]:
        """The rows of the conformance table, where `name` is the protocol's."""
        return self.conformance or (ConformanceRow(name),)
