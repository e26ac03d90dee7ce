"""The `clients` section: the places of clients in the network."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from msgspec import UNSET, UnsetType
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from record.unread import UnreadPolicy
from scenario.sections.brokers import Command, Environment, Image, Memory, command_beside
from scenario.sections.roaming import Roaming
from scenario.sections.section import AlsoWritten, BrokerName, Count, Name, Section
from scenario.sections.topology.links import WireSection
from scenario.sections.units import MESSAGE_RATE, Size
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
    return tuple(name for written in names for name in names_in(written))


def names_in(written: str) -> Iterator[str]:
    """The name that is written, or those of a range. Raises `ValueError`."""
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


def _is_a_range(written: str) -> str:
    """Returns the name, or the range, as written. Raises `ValueError` for what is no range."""
    _each((written,))
    return written


ProgramNames = Annotated[str, Field(strict=True, min_length=1, max_length=256), AfterValidator(_is_a_range)]
"""The name of a client, or a range of them, in front of its program."""


def _reading_rate(value: Any) -> float:
    rate = MESSAGE_RATE.parse(value)
    if not rate:
        raise ValueError("a client that reads nothing has no subscription; give a rate above 0")
    return rate


ReadingRate = Annotated[
    float,
    BeforeValidator(_reading_rate),
    PlainSerializer(MESSAGE_RATE.format),
    WithJsonSchema(MESSAGE_RATE.schema()),
]


class AccessSection(WireSection):
    """An access link: its properties from the site to the broker, and back unless `to_clients` differs."""

    to_clients: WireSection | None = None
    """Properties of the direction from the broker to the site, if they differ. Those left out have their defaults."""
    reads: ReadingRate | None = None
    """Notifications that each client reads in a time, `20/s`; without it they read whatever comes. What a client does
    not read fills the window of its stream, then its session's queue at the broker (`brokers.limits.session_queue`,
    `clients.unread`)."""

    @property
    def reading(self) -> float | UnsetType:
        """`reads`, as `Site` has it."""
        return UNSET if self.reads is None else self.reads

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


class ProgramSection(Section):
    """A client that is a program of your own (docs/client-programs.md). The workload does nothing for it."""

    image: Image | None = None
    """Image of its container. Without it, the program is one of this host."""
    command: Command | None = None
    """Command that starts it: one of this host, with `./` as in the scenario's folder. With `image`, one of the image,
    whose own entry point and command are the default."""
    environment: Environment = Field(default_factory=dict)
    """Variables in its environment, besides those that tell it its name and its broker."""
    memory: Memory = None
    """Memory limit; 512 MiB without it."""
    processes: Count | None = None
    """Largest number of its processes, threads included; 64 without it."""
    scratch: Size | None = None
    """Size of a file system in memory at `/tmp` of its container; none without it."""

    _beside = field_validator("command")(command_beside)

    @model_validator(mode="after")
    def _starts_something(self) -> ProgramSection:
        if self.image is None and self.command is None:
            raise ValueError("command: is missing; give the command of a program on this host, or an `image`")
        if self.image is None and self.scratch is not None:
            raise ValueError("scratch: is for a program in a container; give its `image`, or remove it")
        return self


class Clients(Section):
    """The places of clients in the network. A client that is on no site is beside its broker, without a link."""

    sites: dict[Name, SiteSection] = Field(default_factory=dict)
    """Sites by name: `berlin: {broker: B3, clients: [S1..S20], delay: 20ms}`."""
    every_broker: EveryBroker | None = None
    """Sites of each broker: `{sites: 2, delay: 10ms..40ms}`."""
    programs: dict[ProgramNames, ProgramSection] = Field(default_factory=dict)
    """Clients that are programs of your own, by name or range, each at a site that lists it:
    `S1..S20: {command: [./subscriber]}`, or `S1..S20: {image: my/subscriber}`."""
    roaming: Roaming | None = None
    """Moves of sites at a rate: `{rate: 2/min, to: neighbours, away: 100ms..2s}`; single ones are in `faults`."""

    unread: UnreadPolicy = UnreadPolicy.DROP_NEWEST
    """Policy on a notification that does not fit into a session's queue at the broker (`brokers.limits.session_queue`),
    because the client reads slowly: `drop newest`, `drop oldest`, or `end the session`, after which the client opens
    another one and subscribes again. The client is notified, and the broker counts and logs the drop."""

    @property
    def program_of(self) -> Mapping[str, ProgramSection]:
        """The program of each client that is one."""
        return {name: program for names, program in self.programs.items() for name in names_in(names)}

    @property
    def read_slowly(self) -> bool:
        """True where clients of a site read at a rate."""
        rules = (*self.sites.values(), *(() if self.every_broker is None else (self.every_broker,)))
        return any(rule.reads is not None for rule in rules)

    @model_validator(mode="after")
    def _has_a_site(self) -> Clients:
        if not self.sites and self.every_broker is None:
            raise ValueError("has neither `sites` nor `every_broker`; remove it, and clients are beside their brokers")
        return self

    @model_validator(mode="after")
    def _programs_read_by_themselves(self) -> Clients:
        for name, site in self.sites.items():
            programs = self.program_of.keys() & set(site.clients or ())
            if site.reads is not None and programs:
                raise ValueError(f"sites.{name}.reads: {min(programs)} is a program, which reads as fast as it does")
        return self
