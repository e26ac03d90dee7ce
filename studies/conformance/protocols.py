"""The protocols by the names that conformance cases use: a routing protocol together with its options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from broker_service.routing import PROTOCOLS as BUILT_IN
from broker_service.routing import protocol_named, read_options
from broker_service.routing.outside import label
from record.handover import AbsenceCosts, MoveCosts
from record.promises import Promises


@dataclass(frozen=True, slots=True)
class ConformanceProtocol:
    """One column of the conformance table."""

    name: str
    protocol: str
    """The routing protocol's name."""
    options: Mapping[str, object] = field(default_factory=dict)
    """Options of the protocol, written as in the scenario's `routing` section."""
    structure: tuple[str, ...] = ()
    """Attributes that brokers must have besides those of the protocol's options, because the protocol does without them
    on some overlays only."""
    full_mesh: bool = False
    """True when cases run on the full mesh of their brokers, because the protocol needs a link between any two."""

    def with_options(self, options: Mapping[str, object]) -> ConformanceProtocol:
        """The row with these options in place of its own."""
        return replace(self, options={**self.options, **options})

    @property
    def selected_by(self) -> str:
        """The value of the option `--protocol` that selects it: its name, or the reference to one from outside."""
        shipped = PROTOCOLS.get(self.name)
        return self.name if shipped is not None and shipped.protocol == self.protocol else self.protocol

    @property
    def neighbours_change(self) -> bool:
        """True when its brokers may get and lose neighbours."""
        return read_options(self.protocol, self.options).neighbours_change

    @property
    def promises(self) -> Promises:
        """The promises of the protocol with these options."""
        return read_options(self.protocol, self.options).promises

    @property
    def moves(self) -> MoveCosts:
        """The cost of each handover to the protocol with these options."""
        return read_options(self.protocol, self.options).moves

    @property
    def absences(self) -> AbsenceCosts:
        """The cost of each absence to the protocol with these options."""
        return read_options(self.protocol, self.options).absences

    @property
    def attributes_needed(self) -> tuple[str, ...]:
        """Attributes that every broker of the overlay must have."""
        return (*read_options(self.protocol, self.options).attributes, *self.structure)


def rows_of(name: str) -> Iterator[ConformanceProtocol]:
    """The rows that a protocol declares."""
    protocol = protocol_named(name)
    for row in protocol.rows(label(name)):
        yield ConformanceProtocol(row.name, name, row.options, row.structure, protocol.full_mesh)


PROTOCOLS: Mapping[str, ConformanceProtocol] = {row.name: row for name in BUILT_IN for row in rows_of(name)}
"""The rows of the protocols that the product has."""
