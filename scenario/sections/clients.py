"""The `clients` section: the places of clients in the network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from scenario.sections.section import AlsoWritten, BrokerName, Count, Name, Section
from scenario.sections.topology.links import WireSection
from topology.link_properties import Link
from topology.links import LinkTemplates

MOST_SITES = 20_000
_MANY = re.compile(r"(?P<prefix>.*?)(?P<first>\d+)\.\.(?P<again>.*?)(?P<last>\d+)")
_MOST_IN_RANGE = 100_000


def _listed(value: Any) -> Any:
    """One name, or one range of names, may be written without a list around it."""
    return [value] if isinstance(value, str) else value


def _each(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, with each range `S1..S20` as its members. Raises `ValueError`."""
    return tuple(name for written in names for name in _members(written))


def _members(written: str) -> Iterator[str]:
    found = _MANY.fullmatch(written)
    if found is None:
        yield written
        return
    prefix, first, last = found["prefix"], int(found["first"]), int(found["last"])
    if found["again"] not in ("", prefix) or not first <= last < first + _MOST_IN_RANGE:
        raise ValueError(f"{written!r} is no range of clients; write S1..S20")
    yield from (f"{prefix}{number}" for number in range(first, last + 1))


ClientNames = Annotated[
    tuple[Annotated[str, Field(strict=True, min_length=1, max_length=256)], ...],
    BeforeValidator(_listed),
    AlsoWritten({"type": "string", "minLength": 1, "maxLength": 256}),
    AfterValidator(_each),
]
"""Names of clients, and ranges of them: `[S1, S4..S20]`."""


class AccessSection(WireSection):
    """An access link: its properties from the site to the broker, and back unless `to_clients` differs."""

    to_clients: WireSection | None = None
    """The direction from the broker to the site, where it differs; it takes nothing over from the other one."""

    def drawn(self, site: str, broker: str, seed: int) -> Link:
        """The access link of a site, drawn by the scenario's seed."""
        back = None if self.to_clients is None else self.to_clients.template()
        return LinkTemplates(self.template(), back).draw(site, broker, f"{seed}:access")

    @model_validator(mode="after")
    def _possible(self) -> AccessSection:
        self.template().check()
        if self.to_clients is not None:
            self.to_clients.template().check()
        return self


class SiteSection(AccessSection):
    """A host of clients, with one access link to its broker."""

    broker: BrokerName
    """The broker of all clients on it."""
    clients: ClientNames | None = None
    """Clients on it, by name or range: `[P1, S1..S20]`. A generated one is a client of this broker then, wherever the
    workload would place it. Without the list, all clients of the broker that no other site lists are on it; several
    such sites of a broker take turns."""


class EveryBroker(AccessSection):
    """A rule for many sites: each broker has some, with access links alike."""

    sites: Count = 1
    """Sites of each broker, named `B1-site1`, `B1-site2`, ... Clients of the broker that no site lists take turns."""


class Clients(Section):
    """The places of clients in the network. A client that is on no site is beside its broker, without a link."""

    sites: dict[Name, SiteSection] = Field(default_factory=dict)
    """Sites by name: `berlin: {broker: B3, clients: [S1..S20], delay: 20ms}`."""
    every_broker: EveryBroker | None = None
    """Sites of each broker: `{sites: 2, delay: 10ms..40ms}`."""

    @model_validator(mode="after")
    def _has_a_site(self) -> Clients:
        if not self.sites and self.every_broker is None:
            raise ValueError("has neither `sites` nor `every_broker`; remove it, and clients are beside their brokers")
        return self
