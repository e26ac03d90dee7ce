"""Conformance cases: clients' operations and faults on a small overlay, and the notifications that must result.

A case is data, in a file or made by a program; `reading` takes it from a file, `writing` turns it into text again.
"""

from __future__ import annotations

import enum
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, FiniteFloat, ValidationInfo, field_validator

from broker_service.language.notation import MAX_LENGTH
from record.faults import FaultKind
from record.handover import Absence, Handover
from record.time_units import SECOND
from scenario.sections.section import PAIR, AlsoWritten, Section
from scenario.sections.units import Duration
from studies.conformance.content import encode
from studies.conformance.operands import left_operand, right_operand
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay
from topology.structures.recognition import with_recognised_attributes

MOST_BROKERS, MOST_LINKS, MOST_STEPS = 64, 512, 2000
MOST_AT_ONCE = 10_000
"""Publications that one step may make."""
LONGEST_WAIT = 600.0
"""Seconds that all waits of a case may take together."""

_NAME = Annotated[str, Field(strict=True, min_length=1, max_length=128)]
_TEXT = Annotated[str, Field(strict=True, min_length=1, max_length=MAX_LENGTH)]

_Value = TypeVar("_Value")

_REMARK = Annotated[str, Field(strict=True, max_length=2000)]

Attribute = Annotated[str, Field(strict=True, max_length=128)] | Annotated[int, Field(strict=True)] | FiniteFloat
"""Value of a broker's attribute."""

Notification = str | tuple[str, ...]
"""A publication's id; for a composite subscription's detection, the ids of the publications that make it up, in any
order."""


def _pair_as_link(value: Any) -> Any:
    """`[B1, B2]` is short for `{between: [B1, B2]}`."""
    return {"between": value} if isinstance(value, list | tuple) else value


class CaseLink(Section):
    """An overlay link."""

    between: tuple[_NAME, _NAME]
    delay: Duration = 0.0
    """One-way delay, the same in both directions."""
    jitter: Duration = 0.0
    """Variation of the delay, as `LinkProperties.jitter`; frames of one link keep their order nevertheless."""


class CaseAccess(Section):
    """An access link of one client, alike in both directions."""

    delay: Duration = 0.0
    """One-way delay."""
    jitter: Duration = 0.0
    """Variation of the delay, as `LinkProperties.jitter`."""

    @property
    def properties(self) -> LinkProperties:
        """The properties of each direction."""
        return LinkProperties(delay=self.delay, jitter=self.jitter)


_LinkOrPair = Annotated[CaseLink, BeforeValidator(_pair_as_link), AlsoWritten(PAIR)]


class _Step(Section):
    wait: Duration | None = None
    """Go on after that long instead of letting the overlay settle."""


class Declaration(_Step):
    """A client advertises, subscribes or publishes. `id` is the client's own name for the declaration."""

    op: Literal["advertise", "subscribe", "composite", "publish"]
    client: _NAME
    broker: _NAME
    id: _NAME
    text: _TEXT
    within: Duration | None = None
    """Window of a composite subscription; `case_runner.LIMITS` has the one without it."""
    count: Annotated[int, Field(strict=True, ge=2, le=MOST_AT_ONCE)] | None = None
    """Publications that the step makes, one after another without settling in between; one when None."""
    crosses: tuple[tuple[_NAME, _NAME], ...] | None = None
    """Links, by sender and receiver, that publications cross while the overlay settles after the step, and no others
    do; not looked at when None."""

    @field_validator("text")
    @classmethod
    def _in_the_notation(cls, text: str, info: ValidationInfo) -> str:
        if "op" in info.data:
            encode(info.data["op"], text)
        return text

    @field_validator("within")
    @classmethod
    def _for_composites(cls, within: float | None, info: ValidationInfo) -> float | None:
        if within is not None and info.data.get("op", "composite") != "composite":
            raise ValueError(f"belongs to the op composite, not to {info.data['op']}; leave it out")
        return within

    @field_validator("count", "crosses")
    @classmethod
    def _for_publications(cls, value: _Value, info: ValidationInfo) -> _Value:
        if value is not None and info.data.get("op", "publish") != "publish":
            raise ValueError(f"belongs to the op publish, not to {info.data['op']}; leave it out")
        return value

    @property
    def ids(self) -> tuple[str, ...]:
        """The client's names for what it declares: with `count`, `p.1`, `p.2` and so on for a step `p`."""
        if self.count is None:
            return (self.id,)
        return tuple(f"{self.id}.{number}" for number in range(1, self.count + 1))

    @property
    def body(self) -> bytes:
        """The content, as brokers take it."""
        return encode(self.op, self.text, None if self.within is None else round(self.within * SECOND))


class Withdrawal(_Step):
    """A client withdraws what it declared under an id."""

    op: Literal["unadvertise", "unsubscribe"]
    client: _NAME
    broker: _NAME
    id: _NAME


class BrokerFault(_Step):
    """A broker crashes, or starts again with empty tables."""

    op: Literal["kill", "restart"]
    broker: _NAME


class SessionFault(_Step):
    """The stream of the session that a broker's clients share breaks, and the clients open another one."""

    op: Literal["break_session"]
    broker: _NAME


class Departure(enum.StrEnum):
    """The ways in which a client leaves a broker."""

    ANNOUNCED = "announced"
    """The client ends its session in order."""
    UNANNOUNCED = "unannounced"
    """The client loses its network, and the broker finds out by silence."""
    CRASH = "crash"
    """The client's process ends, and its kernel resets the connection."""
    VANISH = "vanish"
    """The client's host vanishes, and the broker finds out by silence. What waits in the client is lost."""


class Leaving(_Step):
    """A client leaves its broker: the one it came from, when it has a session with another one already."""

    op: Literal["leave"]
    client: _NAME
    how: Departure


class Arriving(_Step):
    """A client opens a session with a broker, and declares anew what stands. What waits in it follows."""

    op: Literal["arrive"]
    client: _NAME
    broker: _NAME
    access: CaseAccess | None = None
    """The access link that it has from then on; the one that it had before when None."""


ClientFaultOp = Literal["pause", "continue", "access_down", "access_up"]


class ClientFault(_Step):
    """A client is frozen and continues, or its access link carries nothing any more, in either direction, and works
    again."""

    op: ClientFaultOp
    client: _NAME


class LinkFault(_Step):
    """A link carries nothing any more, or works again."""

    op: Literal["link_down", "link_up"]
    link: tuple[_NAME, _NAME]


class LinkChange(_Step):
    """A link between two brokers appears, or vanishes with whatever it holds. No fault: the overlay changes."""

    op: Literal["link_new", "link_gone"]
    link: tuple[_NAME, _NAME]


ClientStep = Declaration | Withdrawal
Step = Annotated[
    Declaration | Withdrawal | Leaving | Arriving | ClientFault | BrokerFault | SessionFault | LinkFault | LinkChange,
    Field(discriminator="op"),
]
Term = Handover | Absence
"""A way of changing brokers or of being away, of which each protocol says what it may cost."""


@lru_cache(maxsize=16)
def _recognised(names: tuple[str, ...], links: tuple[tuple[str, str], ...]) -> tuple[Broker, ...]:
    """The brokers of an overlay with the attributes that its links imply. To find them takes a sixth of a small
    case, which needs them several times for each protocol."""
    bare = Overlay(
        "bare", tuple(map(Broker, names)), tuple(Link(*ends, LinkProperties(), LinkProperties()) for ends in links)
    )
    return with_recognised_attributes(bare).brokers


class Case(Section):
    """One case; see docs/conformance.md for the meaning of every field."""

    id: _NAME
    description: _REMARK = ""
    """Text for readers of the case."""
    brokers: Annotated[tuple[_NAME, ...], Field(min_length=1, max_length=MOST_BROKERS)]
    links: Annotated[tuple[_LinkOrPair, ...], Field(max_length=MOST_LINKS)] = ()
    attributes: dict[_NAME, dict[_NAME, Attribute]] = Field(default_factory=dict)
    """Attributes of brokers that a protocol needs, by broker: for OctopiA, `region` and `cluster`.

    Where it is left out, attributes that the links alone imply are added (`topology.structures.recognition`).
    """
    protocols: Annotated[tuple[_NAME, ...], Field(min_length=1)] | None = None
    """Protocols that the case is for; all that can run on its overlay when None."""
    options: dict[_NAME, Any] = Field(default_factory=dict)
    """Options of the protocol, in place of those of its row; only for a case that names its one protocol."""
    survives: tuple[FaultKind, ...] = ()
    """Kinds of faults that must cost the protocol no publication (`record.promises`); it is skipped where they may."""
    access: dict[_NAME, CaseAccess] = Field(default_factory=dict)
    """The access link that each client begins with; one that is not listed has a link that takes no time."""
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=MOST_STEPS)]
    ordered: Annotated[bool, Field(strict=True)] = False
    """True when each client must have got its notifications in the order of `expect`."""
    expect: dict[_NAME, tuple[Notification, ...]]
    """All notifications of each client; a client without an entry got none.

    The id of a step with `count` stands for all its publications.
    """

    may_lose: dict[_NAME, dict[_NAME, Term]] = Field(default_factory=dict)
    """Publications that a client may be without, each by the way in which the client, or else the publisher, was away
    or changed brokers; only where the protocol says that this may cost it (`record.handover`)."""
    may_double: dict[_NAME, dict[_NAME, Handover]] = Field(default_factory=dict)
    """Publications that a client may get twice, each by the way in which it changed brokers; only where the protocol
    says that this may double it."""

    def overlay(self) -> Overlay:
        """Brokers with their attributes, and links. Raises `OverlayError`."""
        links = []
        for link in self.links:
            properties = LinkProperties(delay=link.delay, jitter=link.jitter)
            links.append(Link(*link.between, properties, properties))
        if not self.attributes:
            return Overlay(self.id, _recognised(self.brokers, tuple(link.between for link in self.links)), tuple(links))
        brokers = (Broker(name, self.attributes.get(name, {})) for name in self.brokers)
        return Overlay(self.id, tuple(brokers), tuple(links))

    @property
    def expected(self) -> dict[str, tuple[Notification, ...]]:
        """All notifications of each client, with those of steps with `count` listed one by one."""
        ids = {step.id: step.ids for step in self.steps if isinstance(step, Declaration) and step.count is not None}

        def listed(notification: Notification) -> tuple[Notification, ...]:
            return ids.get(notification, (notification,)) if isinstance(notification, str) else (notification,)

        return {
            client: tuple(one for notification in notifications for one in listed(notification))
            for client, notifications in self.expect.items()
        }

    def comparable(self, notification: Notification) -> Notification:
        """The notification, with the publications of a detection in the order in which the case publishes them."""
        if isinstance(notification, str):
            return notification
        published = self.published
        return tuple(sorted(set(notification), key=published.index))

    @property
    def published(self) -> list[str]:
        """Ids of all publications, in the order in which they are made."""
        return [id for step in self.steps if isinstance(step, Declaration) and step.op == "publish" for id in step.ids]

    def network(self) -> Overlay:
        """The overlay with all links that there are at any time; new ones have no delay."""
        overlay = self.overlay()
        links = {frozenset((link.a, link.b)): link for link in overlay.links}
        for step in self.steps:
            if isinstance(step, LinkChange):
                links.setdefault(frozenset(step.link), Link(*step.link, LinkProperties(), LinkProperties()))
        return replace(overlay, links=tuple(links.values()))

    @property
    def roaming(self) -> frozenset[str]:
        """Clients that leave and arrive."""
        return frozenset(step.client for step in self.steps if isinstance(step, Leaving | Arriving))

    @property
    def apart(self) -> frozenset[str]:
        """Clients on hosts of their own, each of which has sessions of its own."""
        struck = (step.client for step in self.steps if isinstance(step, ClientFault))
        return frozenset((*self.roaming, *struck, *self.access))

    @property
    def changing(self) -> bool:
        """True when links appear or vanish in the case."""
        return any(isinstance(step, LinkChange) for step in self.steps)

    @property
    def faulty(self) -> bool:
        """True when brokers or links fail in the case."""
        return any(isinstance(step, BrokerFault | LinkFault) for step in self.steps)


class Relation(Section):
    """A relation of the content model between two texts; `operands` defines the texts."""

    id: _NAME = ""
    description: _REMARK = ""
    """Text for readers of the relation."""
    relation: Literal["matches", "covers", "intersects"]
    left_is: Literal["advertisement", "subscription"] = "advertisement"
    """Kind of the left side, for `intersects` only."""
    left: _TEXT
    right: _TEXT
    expect: Annotated[bool, Field(strict=True)]

    @field_validator("left_is")
    @classmethod
    def _for_intersects(cls, left_is: str, info: ValidationInfo) -> str:
        if info.data.get("relation", "intersects") != "intersects":
            raise ValueError(f"belongs to the relation intersects, not to {info.data['relation']}; leave it out")
        return left_is

    @field_validator("left")
    @classmethod
    def _left_in_the_notation(cls, text: str, info: ValidationInfo) -> str:
        if {"relation", "left_is"} <= info.data.keys():
            left_operand(info.data["relation"], info.data["left_is"], text)
        return text

    @field_validator("right")
    @classmethod
    def _right_in_the_notation(cls, text: str, info: ValidationInfo) -> str:
        data = info.data
        if {"relation", "left_is", "left"} <= data.keys():
            right_operand(data["relation"], left_operand(data["relation"], data["left_is"], data["left"]), text)
        return text


AnyCase = Case | Relation
