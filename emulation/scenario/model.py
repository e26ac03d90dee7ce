"""A scenario: one experiment, whole. The YAML file's fields, with units resolved and everything checked."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator

from broker_service.config import Limits
from broker_service.routing import PROTOCOLS
from broker_service.service_time import ServiceTime
from emulation.scenario.faults import FaultItem
from emulation.scenario.fields import dotted, set_field
from emulation.scenario.messages import Problem, describe
from emulation.scenario.section import Count, CpuQuota, Name, Section
from emulation.scenario.service_time import ServiceTimeField, service_time
from emulation.scenario.topology import TopologySection
from emulation.scenario.units import DURATION, Duration, Size
from emulation.scenario.workload import WorkloadSection
from topology import Overlay, Range

MOST_VARIANTS = 256
"""A comparison of more was hardly meant: each of them is a run."""
_DEFAULTS = Limits()


class Routing(Section):
    """The routing protocol. Every further field is an option of that protocol."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True, allow_inf_nan=False)

    protocol: Name
    """The routing protocol's name."""

    @model_validator(mode="before")
    @classmethod
    def _times_in_seconds(cls, data: Any) -> Any:
        """Protocols count their times in seconds; here they may be written as all others, with a unit."""
        protocol = PROTOCOLS.get(str(data.get("protocol"))) if isinstance(data, dict) else None
        if protocol is None:
            return data
        times = {name: data[name] for name in protocol.options.times if isinstance(data.get(name), str)}
        return data | {name: _seconds(name, text) for name, text in times.items()}

    @property
    def options(self) -> dict[str, Any]:
        """All fields but the protocol's name, as `BrokerConfig.options` takes them."""
        return dict(self.model_extra or {})


def _seconds(name: str, text: str) -> float:
    try:
        return DURATION.parse(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


class Timeline(Section):
    """How long each phase lasts."""

    join: Duration
    """Clients connect, advertise and subscribe."""
    run: Duration
    """Publishers publish."""
    drain: Duration = 5.0
    """Nothing new is published; what is under way arrives."""
    join_order: Literal["advertisements-first", "mixed"] = "advertisements-first"
    """Advertisements in the first half of `join` and subscriptions in the second, or both at random times in it."""
    advertise: Duration | None = None
    """With `advertisements-first`: what of `join` is for advertising; two fifths of it, if nothing is said. Few
    publishers and many subscribers need less, which leaves subscriptions more time to spread."""

    @model_validator(mode="after")
    def _lasts(self) -> Timeline:
        for name in ("join", "run"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0")
        if self.advertise is not None:
            if self.join_order == "mixed":
                raise ValueError("advertise is for join_order: advertisements-first; remove it")
            if self.advertise > self.join / 2:
                raise ValueError(f"advertise must be half of join ({self.join / 2:g} s) at most")
        return self

    @property
    def duration(self) -> float:
        """Seconds from the begin of `join` to the end of `drain`."""
        return self.join + self.run + self.drain


class BrokerLimits(Section):
    """The bounds that every broker keeps; what overflows is dropped, counted and logged."""

    window: Count = _DEFAULTS.window
    """Messages in flight on a link before its peer must acknowledge some."""
    window_bytes: Size = _DEFAULTS.window_bytes
    """Bytes of them, though a single message of any size may be in flight."""
    batch: Count = _DEFAULTS.batch
    """Messages in one frame at most."""
    link_queue: Count = _DEFAULTS.link_queue
    """Publications that may wait for a link."""
    control_queue: Count = _DEFAULTS.control_queue
    """Other messages that may wait for a link, besides; neighbours that live on never say again what overflows here."""
    session_queue: Count = _DEFAULTS.session_queue
    """Notifications that may wait for a client session that does not read, and as many answers besides."""
    queue_bytes: Size = _DEFAULTS.queue_bytes
    """Bytes that may wait for a link (publications and other messages each), for a session, and for service."""
    sessions: Count = _DEFAULTS.sessions
    """Client sessions that may be open at a time; each may serve many clients."""
    clients: Count = _DEFAULTS.clients
    """Logical clients that may be attached at a time."""
    declared_bytes: Size = _DEFAULTS.declared_bytes
    """Memory, about, that the advertisements and subscriptions of all clients may take."""
    heartbeat: Duration = _DEFAULTS.heartbeat
    """Time between heartbeats; a neighbour that is silent for three of them is dead."""
    reconnect_first: Duration = _DEFAULTS.reconnect_first
    """Time before a broken link is tried again; doubles with each attempt."""
    reconnect_last: Duration = _DEFAULTS.reconnect_last
    """The longest time between two attempts."""
    message_bytes: Size = _DEFAULTS.message_bytes
    """Largest frame taken from a client or a neighbour."""
    utilisation_window: Duration = _DEFAULTS.utilisation_window
    """Time over which the link status table takes its rates."""

    def limits(self) -> Limits:
        return Limits(**{name: getattr(self, name) for name in type(self).model_fields})


class Brokers(Section):
    """What each broker may use of the host."""

    cpu: CpuQuota | None = None
    """CPU quota in cores (`0.5` is half a core); no quota by default."""
    memory: Size | None = None
    """Memory limit; the runtime's own by default."""
    service_time: ServiceTimeField = Range.fixed(0.0)
    """Work added to each message, to emulate slower hardware on purpose: `2ms`, `2ms..4ms`, or a distribution."""
    limits: BrokerLimits = BrokerLimits()
    """Bounds of queues, frames and windows."""

    def work(self) -> ServiceTime:
        """The service time, as `BrokerConfig.service_time` takes it."""
        return service_time(self.service_time)


class Scenario(Section):
    """One experiment."""

    name: Name
    """What the run is called."""
    description: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    """What it shows, for the report."""
    topology: TopologySection
    """The overlay."""
    routing: Routing
    """The routing protocol and its options."""
    workload: WorkloadSection
    """Publishers, subscribers and what they do."""
    timeline: Timeline
    """The phases of a run."""
    brokers: Brokers = Brokers()
    """What each broker may use."""
    faults: tuple[FaultItem, ...] = ()
    """What goes wrong on purpose: `[{at: 60s, kill: B7}, {at: run+30s, partition: [[B1, B2], rest], for: 20s}]`."""
    vary: dict[str, Any] = Field(default_factory=dict)
    """Fields by dotted path and the values each takes, in a list or by names: a variant for every combination."""
    time_dilation: Annotated[float, Field(strict=True, ge=1, le=1000)] = 1.0
    """Runs so many times slower, for a host that is too slow; all results are in the scenario's own time."""
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] = 0
    """Every random choice comes from it."""

    @field_validator("vary")
    @classmethod
    def _varies_what_can_vary(cls, vary: dict[str, Any]) -> dict[str, Any]:
        for path, values in vary.items():
            if path.split(".")[0] in ("vary", "name", "description"):
                raise ValueError(f"{path} cannot vary")
            if not isinstance(values, list | dict) or not values:
                raise ValueError(f"{path} needs values: a list `[first, second]`, or `{{name: first, other: second}}`")
            if isinstance(values, dict) and (bad := [name for name in values if value_name(name) != name]):
                raise ValueError(
                    f"{path}: {bad[0]!r} cannot be part of a variant's name: use letters, digits, _, . and -"
                )
        return vary

    def overlay(self) -> Overlay:
        """The overlay, the same one for the same topology and seed. Raises `OverlayError`."""
        return self.topology.build(self.name, self.seed)

    def resolved(self) -> dict[str, Any]:
        """Plain JSON with every default filled in and units written out; `load` reads it again."""
        return self.model_dump(mode="json", exclude_none=True)

    def variants(self) -> tuple[Variant, ...]:
        """A paired comparison: every combination of the varied fields' values, all else (seed, workload) equal.

        The name of a variant is its values, or what they are called, joined by `+`; a scenario that varies nothing has
        the one variant `base`. Raises `VariantError`.
        """
        base = self.model_dump(mode="json", exclude_unset=True, exclude={"vary"})
        if not self.vary:
            return (Variant("base", {}, self),)
        if (count := prod(map(len, self.vary.values()))) > MOST_VARIANTS:
            raise VariantError([Problem(("vary",), f"makes {count:,} variants; {MOST_VARIANTS} is the most")])
        made: dict[str, Variant] = {}
        for chosen in product(*map(_named, self.vary.values())):
            settings = {path: value for path, (_, value) in zip(self.vary, chosen, strict=True)}
            name = "+".join(called for called, _ in chosen)
            if name in made:
                raise VariantError(
                    [Problem(("vary",), f"two variants would be called {name!r}; let their values differ")]
                )
            made[name] = Variant(name, settings, _with_settings(base, settings, name))
        return tuple(made.values())


@dataclass(frozen=True, slots=True)
class Variant:
    """One member of a paired comparison."""

    name: str
    settings: Mapping[str, Any]
    """The varied fields, by dotted path, and their values in this variant."""
    scenario: Scenario
    """What this variant runs; it varies nothing itself."""


class VariantError(Exception):
    """A value in `vary` that its field does not take."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def _with_settings(base: Mapping[str, Any], settings: Mapping[str, Any], name: str) -> Scenario:
    data = copy.deepcopy(dict(base))
    for path, value in settings.items():
        try:
            set_field(data, path, copy.deepcopy(value))
        except ValueError as error:
            raise VariantError([Problem(("vary", path), str(error))]) from error
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        problems = [
            Problem(_blamed(found, settings), f"variant {name}: {dotted(found.path)}: {found.message}")
            for found in describe(error, data)
        ]
        raise VariantError(problems) from error


def _blamed(problem: Problem, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The varied field that a problem belongs to, as a path into the file."""
    field = ".".join(str(part) for part in problem.path)
    for path in settings:
        if field == path or field.startswith(f"{path}.") or path.startswith(f"{field}."):
            return ("vary", path)
    return ("vary",)


def _named(values: list[Any] | dict[str, Any]) -> list[tuple[str, Any]]:
    """The values of a varied field, each with what it adds to a variant's name."""
    if isinstance(values, dict):
        return list(values.items())
    return [(value_name(value), value) for value in values]


def value_name(value: Any) -> str:
    """A value as part of a variant's name, which becomes part of file names and of legends."""
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-") or "empty"
