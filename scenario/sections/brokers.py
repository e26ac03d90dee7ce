"""The section `brokers`: their resources, and the bounds of what they hold."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from broker_service.config import Limits
from record.contract import LOGS_LEVEL
from record.service_time import SendingOrder, ServiceTime
from scenario.sections.section import BrokerName, Count, CpuQuota, Section
from scenario.sections.service_time import ServiceTimeField, service_time
from scenario.sections.units import DURATION, SHORTEST_TIME, SIZE, Duration, Size
from topology.links import Range

_DEFAULTS = Limits()
_REPEATED_AFTER = ("heartbeat", "reconnect_first", "reconnect_last", "idle_close", "utilisation_window")
_LEAST_MEMORY = 32 << 20
_VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
_OF_FOREIGN_BROKERS = ("command", "environment", "scratch", "individually")


class BrokerLimits(Section):
    """Bounds of every broker; messages beyond them are dropped, counted and logged."""

    window: Count = _DEFAULTS.window
    """Messages in flight on a link before its peer must acknowledge some."""
    window_bytes: Size = _DEFAULTS.window_bytes
    """Bytes in flight on a link; a single message may exceed them."""
    batch: Count = _DEFAULTS.batch
    """Largest number of messages in a frame."""
    link_queue: Count = _DEFAULTS.link_queue
    """Largest number of publications queued for a link."""
    control_queue: Count = _DEFAULTS.control_queue
    """Largest number of other messages queued for a link. Neighbours never repeat a message that overflowed here."""
    session_queue: Count = _DEFAULTS.session_queue
    """Largest number of notifications queued for a client session that does not read; the same for replies."""
    queue_bytes: Size = _DEFAULTS.queue_bytes
    """Largest size of each queue: publications for a link, other messages for a link, a session, service."""
    sessions: Count = _DEFAULTS.sessions
    """Largest number of open client sessions; each may serve many clients."""
    clients: Count = _DEFAULTS.clients
    """Largest number of attached logical clients."""
    declared_bytes: Size = _DEFAULTS.declared_bytes
    """Approximate memory for the advertisements and subscriptions of all clients, and for those of all neighbours."""
    stored_bytes: Size = _DEFAULTS.stored_bytes
    """Size of what the router keeps in stable storage; a router that stores more ends its broker."""
    heartbeat: Duration = _DEFAULTS.heartbeat
    """Time between heartbeats; a neighbour that is silent for three of them counts as failed."""
    reconnect_first: Duration = _DEFAULTS.reconnect_first
    """Time before a broken link, or a client's broken session, is opened again; it doubles with each attempt."""
    reconnect_last: Duration = _DEFAULTS.reconnect_last
    """Longest time between two attempts."""
    eager_mesh: Count = _DEFAULTS.eager_mesh
    """Brokers of the largest full mesh whose links are all opened when its brokers start. In the simulator, a mesh of
    more brokers opens each link when a message waits for it."""
    idle_close: Duration = _DEFAULTS.idle_close
    """Time without messages after which a link that was opened for a message is closed again."""
    resume: StrictBool = _DEFAULTS.resume
    """`false`: a broken stream loses what was in flight on it and what waited, as plain TCP connections do. Refused for
    a routing protocol that does not promise to survive it."""
    message_bytes: Size = _DEFAULTS.message_bytes
    """Largest frame accepted from a client or a neighbour."""
    utilisation_window: Duration = _DEFAULTS.utilisation_window
    """Time over which the link status table averages its rates."""
    detection_window: Duration = _DEFAULTS.detection_window
    """Longest time between the first and the last publication of a detection, for composite subscriptions that do not
    state their own (`within`)."""
    detection_lateness: Duration = _DEFAULTS.detection_lateness
    """Time for which a partial match is kept beyond the window, because its partners may still be on their way."""
    partial_matches: Count = _DEFAULTS.partial_matches
    """Largest number of partial matches that are kept for composite subscriptions; the oldest are dropped."""
    partial_match_bytes: Size = _DEFAULTS.partial_match_bytes
    """Largest size of the publications in partial matches that are kept, all together; the oldest are dropped."""
    detections_at_once: Count = _DEFAULTS.detections_at_once
    """Largest number of detections that one publication completes for one composite subscription."""
    candidates_at_once: Count = _DEFAULTS.candidates_at_once
    """Largest number of partial matches that are tried to complete those detections."""

    @model_validator(mode="after")
    def _bounds_something(self) -> BrokerLimits:
        self.limits()
        for name in _REPEATED_AFTER:
            if getattr(self, name) < SHORTEST_TIME:
                raise ValueError(f"{name}: must be at least {DURATION.format(SHORTEST_TIME)}")
        return self

    def limits(self) -> Limits:
        """The limits in the form of `BrokerConfig.limits`. Raises `ValueError` for one of 0."""
        return Limits(**{name: getattr(self, name) for name in type(self).model_fields})


def _holds_a_broker(memory: int | None) -> int | None:
    if memory is not None and memory < _LEAST_MEMORY:
        raise ValueError(f"must be at least {SIZE.format(_LEAST_MEMORY)}, because an idle broker needs as much")
    return memory


def command_beside(command: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
    """A command in which `./` and `../` are relative to the scenario's file, unless it is one within an image."""
    if command is None or info.data.get("image") is not None:
        return command
    directory = (info.context or {}).get("directory", Path())
    return tuple(os.path.normpath(directory / each) if each.startswith(("./", "../")) else each for each in command)


def _variable(name: object) -> object:
    if isinstance(name, str) and re.fullmatch(_VARIABLE, name) is None:
        raise ValueError(
            f"{name!r} is not a variable's name; use letters, digits and underscores (a letter or underscore first)"
        )
    return name


def _written_as_text(value: object) -> object:
    """A variable's value, unless the file has it as a number, a date or a truth value, of which no text is known."""
    if not isinstance(value, str | Mapping | list):
        raise ValueError(f'must be text, not {value!r}: put quotes round it in the file, as in `LIMIT: "20"`')
    return value


Image = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Memory = Annotated[Size | None, AfterValidator(_holds_a_broker)]
Command = Annotated[tuple[Annotated[str, Field(strict=True, min_length=1)], ...], Field(min_length=1)]
Environment = dict[
    Annotated[str, Field(pattern=_VARIABLE), BeforeValidator(_variable)],
    Annotated[str, Field(strict=True), BeforeValidator(_written_as_text)],
]


class OneBroker(Section):
    """One broker's own program and resources, in place of those of all."""

    image: Image | None = None
    """Image of its container."""
    command: Command | None = None
    """Command that starts the broker."""
    environment: Environment | None = None
    """Variables in the environment of the broker, in addition to those of all brokers."""
    memory: Memory = None
    """Memory limit."""
    processes: Count | None = None
    """Largest number of its processes, threads included."""
    scratch: Size | None = None
    """Size of a file system in memory at `/tmp`."""
    wire: Annotated[str | None, StringConstraints(strip_whitespace=True, min_length=1)] = None
    """Routing protocol whose messages the broker exchanges with brokerlab's brokers ([wire](broker-contract.md#wire)),
    and by which the whole overlay routes: `cbf`."""

    _beside = field_validator("command")(command_beside)


class Brokers(Section):
    """Resources of each broker."""

    cpu: CpuQuota | None = None
    """CPU quota in cores (`0.5` is half a core); unlimited by default."""
    memory: Memory = None
    """Memory limit; the runtime's default without it."""
    processes: Count | None = None
    """Largest number of processes of a broker, threads included; 64 without it."""
    image: Image | None = None
    """Image of the brokers' containers: with `level`, the image of a broker of your own; without it, an image that is
    built `FROM brokerlab-broker` and adds what a router's program needs. brokerlab's own image by default."""
    level: Literal[1, 2, 3] | None = None
    """For brokers of your own: the level of the [contract of a broker](broker-contract.md) that they keep. 1: client
    sessions; 2: status as well; 3: logs as well. Use it with `routing.protocol: foreign`."""
    command: Command | None = None
    """Command that starts a broker of your own; the path of its configuration is appended. With `image` it is a command
    in the image, whose entry point is the default. Otherwise it is a command of this host; `./` is the scenario's
    folder."""
    environment: Environment | None = None
    """Variables in the environment of a broker of your own."""
    scratch: Size | None = None
    """Size of a file system in memory at `/tmp` of a broker of your own, in a container; none without it."""
    individually: dict[BrokerName, OneBroker] | None = None
    """Programs and resources of single brokers: `{B3: {image: other/broker}}`. Without `image` and `command` for all,
    the other brokers are brokerlab's: `{B3: {image: my/broker, wire: cbf}}`."""
    service_time: ServiceTimeField = Range.fixed(0.0)
    """Work added to each message, to emulate slower hardware on purpose: `2ms`, `2ms..4ms`, or a distribution."""
    sending: Literal["side-by-side", "in-turn"] | None = None
    """Order in which a broker sends over links with a `send_time`: `side-by-side` (the default), each link
    independently, or `in-turn`, one message after the other, as if each copy of a publication cost the broker that
    time."""
    limits: BrokerLimits = BrokerLimits()
    """Bounds on queues, frames and windows."""

    _beside = field_validator("command")(command_beside)

    @field_validator("level", mode="before")
    @classmethod
    def _has_no_adapter(cls, level: object) -> object:
        if level == 0 and level is not False:
            raise ValueError(
                "level 0 is that of deployed systems behind an adapter; write `routing: {system: mosquitto}`, "
                "`{system: zenoh}` or `{system: activemq}`, and no level"
            )
        return level

    @model_validator(mode="after")
    def _starts_something(self) -> Brokers:
        if self.level is None:
            if needless := next((name for name in _OF_FOREIGN_BROKERS if getattr(self, name)), None):
                raise ValueError(f"{needless}: is for brokers of your own; give their `level`, or remove it")
        elif self.among_native:
            self._require_wires()
        else:
            self._require_one_kind()
        return self

    def _require_wires(self) -> None:
        """Raises `ValueError` for brokers of one's own that cannot be among brokerlab's."""
        if not self.individually:
            raise ValueError("level: is of brokers of your own; give their `image`, or their `command`")
        if self.level != LOGS_LEVEL:
            raise ValueError(
                f"level: brokers among brokerlab's own keep level {LOGS_LEVEL}, because tables of an overlay in which "
                "some log and some do not have holes"
            )
        for name, one in self.individually.items():
            if one.image is None and one.command is None:
                raise ValueError(f"individually: {name} has neither an `image` nor a `command`")
            if one.wire is None:
                raise ValueError(
                    f"individually: the neighbours of {name} are brokerlab's brokers, and it does not declare that it "
                    "speaks with them; state the routing protocol that it speaks, `wire: cbf`, or give all brokers of "
                    "the overlay a program of your own"
                )

    def _require_one_kind(self) -> None:
        """Raises `ValueError` for a single broker that does not go with the others, none of which is brokerlab's."""
        for name, one in (self.individually or {}).items():
            if one.image is not None and self.image is None:
                raise ValueError(
                    f"individually: {name} has an image, and the others are no containers; give `image`, too"
                )
            if one.wire is not None:
                raise ValueError(f"individually: {name} has no neighbour that is brokerlab's; remove `wire`")

    @property
    def among_native(self) -> bool:
        """True where some brokers are brokerlab's and some are not."""
        return self.level is not None and self.image is None and self.command is None

    def sending_order(self) -> SendingOrder:
        """The order in the form of `BrokerConfig.sending`."""
        return SendingOrder(self.sending or SendingOrder.SIDE_BY_SIDE)

    def work(self) -> ServiceTime:
        """The service time in the form of `BrokerConfig.service_time`."""
        return service_time(self.service_time)
