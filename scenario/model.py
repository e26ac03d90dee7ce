"""A scenario: one whole experiment. The fields of the YAML file, with units resolved and values checked."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Annotated, Any, Literal

import msgspec
from pydantic import (
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from broker_service.config import Limits
from broker_service.routing import found_protocol
from broker_service.routing.outside import ProtocolError
from broker_service.routing.systems import is_system
from record.contract import ADAPTER_LEVEL
from record.sample import PublicationSample
from record.wording import count_of
from scenario.sections.brokers import Brokers
from scenario.sections.clients import Clients
from scenario.sections.expect import Expect
from scenario.sections.faults import FaultItem
from scenario.sections.logs import Logs
from scenario.sections.messages import Problem, describe
from scenario.sections.motion import MotionSection
from scenario.sections.protocol_references import (
    PROGRAM_SCHEMA,
    SYSTEM,
    found_beside,
    options_by_protocol,
    program_beside,
    protocols_found,
    system_named,
)
from scenario.sections.search import Search
from scenario.sections.section import AlsoWritten, Name, ProtocolReference, Section
from scenario.sections.timeline import Timeline
from scenario.sections.topology import TopologySection
from scenario.sections.units import DURATION
from scenario.sections.vary import MOST_VARIANTS, VARY_SCHEMA, axes
from scenario.sections.workload import WorkloadSection
from scenario.yaml_files.fields import FieldPath, dotted, set_field
from topology.evolutions.evolution import Evolution
from topology.link_properties import BrokerId
from topology.mobility import Trajectory
from topology.model import Overlay

_BASE = "base"
"""The name of the only variant of a scenario that varies nothing."""
AUTO = "auto"
"""A time dilation that rehearsals choose."""
_FACTOR = TypeAdapter(Annotated[float, Field(strict=True, ge=1, le=1000)])


def _factor_or_auto(value: object) -> float | str:
    if isinstance(value, str):
        if value != AUTO:
            raise ValueError(f"must be a factor from 1 to 1000, or `{AUTO}`")
        return value
    return _FACTOR.validate_python(value)


TimeDilation = Annotated[
    float | Literal["auto"],
    PlainValidator(_factor_or_auto),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 1, "maximum": 1000}, {"const": AUTO}]}),
]


class Routing(Section):
    """The routing protocol. Every further field is an option of that protocol."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False, json_schema_extra=options_by_protocol)

    protocol: Annotated[ProtocolReference, AlsoWritten(PROGRAM_SCHEMA)]
    """The routing protocol's name, or the file or package beside the scenario that declares one: `./rendezvous.py`,
    or the program that is its router: `{program: [./router]}`. `system: mosquitto`, `system: zenoh` or
    `system: activemq` in its place has that system's own servers route."""

    @model_validator(mode="before")
    @classmethod
    def _system_named(cls, data: Any) -> Any:
        """Makes the name of a deployed system that of the protocol."""
        if not isinstance(data, dict) or SYSTEM not in data:
            return data
        return {"protocol": system_named(data)} | {name: value for name, value in data.items() if name != SYSTEM}

    @model_validator(mode="before")
    @classmethod
    def _times_in_seconds(cls, data: Any, info: ValidationInfo) -> Any:
        """Finds a protocol's file, and converts times with a unit to seconds, in which protocols take their options."""
        if not isinstance(data, dict) or not isinstance(reference := data.get("protocol"), str):
            return data
        data = data | {"protocol": found_beside(reference, info)}
        try:
            protocol = found_protocol(data["protocol"])
        except ProtocolError:  # the checks report it
            return data
        if protocol is None:
            return data
        times = {name: data[name] for name in protocol.options.times if isinstance(data.get(name), str)}
        return data | {name: _seconds(name, text) for name, text in times.items()}

    @model_validator(mode="before")
    @classmethod
    def _program_beside(cls, data: Any, info: ValidationInfo) -> Any:
        """Makes a reference of a program's argument vector."""
        if not isinstance(data, dict) or not isinstance(given := data.get("protocol"), dict):
            return data
        return data | {"protocol": program_beside(given, info)}

    @property
    def options(self) -> dict[str, Any]:
        """All fields except the protocol's name, in the form of `BrokerConfig.options`."""
        return dict(self.model_extra or {})


def _seconds(name: str, text: str) -> float:
    try:
        return DURATION.parse(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


class Scenario(Section):
    """One experiment."""

    name: Name
    """Name of the run."""
    description: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    """Purpose of the experiment, for the report."""
    topology: TopologySection
    """The overlay."""
    motion: MotionSection | None = None
    """Changes of the overlay's links while it runs; without it the overlay stays as it is."""
    routing: Routing
    """The routing protocol and its options."""
    workload: WorkloadSection
    """Publishers, subscribers and their operations."""
    clients: Clients | None = None
    """Places of clients in the network; without it, each client is beside its broker."""
    timeline: Timeline
    """The phases of a run."""
    brokers: Brokers = Brokers()
    """CPU, memory, service time and bounds of each broker."""
    faults: tuple[FaultItem, ...] = ()
    """Faults to inject: `[{at: 60s, kill: B7}, {at: run+30s, partition: [[B1, B2], rest], for: 20s}]`."""
    logs: Logs | None = None
    """The part of what happens that brokers log; without it, they log everything."""
    expect: Expect | None = None
    """The least result that the run is accepted with: `{judged: 95%, p95: 200ms}`."""
    search: Search | None = None
    """The load that `brokerlab search` raises until it no longer holds; every other command runs the scenario as it
    is written."""
    vary: Annotated[dict[str, Any], WithJsonSchema(VARY_SCHEMA)] = Field(default_factory=dict)
    """Dotted paths of fields, each with a list or a mapping of named values, and names of your own, each with named
    settings of several fields: one variant for each combination."""
    time_dilation: TimeDilation = 1.0
    """Slows the run down by this factor, for a host that is too slow; all results are in the scenario's own time.
    `auto`: the least factor at which processors hardly matter, by rehearsals on the host; 1 in simulated runs."""
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] = 0
    """Seed of every random choice."""

    @field_validator("vary")
    @classmethod
    def _varies_what_can_vary(cls, vary: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        vary = {key: protocols_found(key, values, info) for key, values in vary.items()}
        choices = (choice for axis in axes(vary, cls.model_fields) for choice in axis)
        if any(choice.settings.get("time_dilation") == AUTO for choice in choices):
            raise ValueError("time_dilation: `auto` gives all variants the same factor; write it outside of `vary`")
        return vary

    @property
    def dilation(self) -> float:
        """The factor by which the run is slowed down; 1 for `auto`, as long as no rehearsal has chosen it."""
        return self.time_dilation if isinstance(self.time_dilation, float) else 1.0

    @property
    def level(self) -> int | None:
        """The level of the contract that its brokers keep; None for brokerlab's own."""
        return ADAPTER_LEVEL if is_system(self.routing.protocol) else self.brokers.level

    @property
    def sample(self) -> PublicationSample | None:
        """The publications whose whole lives brokers log; None: all."""
        if self.logs is None or self.logs.publications == 1.0:
            return None
        return PublicationSample(self.logs.publications, self.seed)

    @property
    def broker_limits(self) -> Limits:
        """The bounds of brokers, with the policy on what clients do not read."""
        limits = self.brokers.limits.limits()
        return limits if self.clients is None else msgspec.structs.replace(limits, unread=self.clients.unread)

    def overlay(self) -> Overlay:
        """The overlay at the start, which follows from topology, motion and seed alone. Raises `OverlayError`."""
        evolution = self.evolution()
        return self.topology.build(self.name, self.seed) if evolution is None else evolution.start

    def evolution(self) -> Evolution | None:
        """The overlay with all its changes, in seconds since the start of the join phase; None without motion.

        Raises `OverlayError`.
        """
        if self.motion is None:
            return None
        end = self.timeline.duration - self._motion_begins
        return self.motion.evolution(self.topology, self.name, self.seed, end).later(self._motion_begins)

    def movements(self) -> Mapping[BrokerId, Trajectory]:
        """The trajectories of brokers, in seconds since the start of the join phase; none where they stay in place.

        Raises `OverlayError`.
        """
        if self.motion is None:
            return {}
        ways = self.motion.movements(self.topology, self.seed, self.timeline.duration - self._motion_begins)
        return {broker: way.later(self._motion_begins) for broker, way in ways.items()}

    def moment(self, time: float) -> Overlay:
        """The overlay `time` seconds after the start of the join phase, with its brokers where they are then.

        Raises `OverlayError`.
        """
        if self.motion is None:
            return self.topology.build(self.name, self.seed)
        since = max(time - self._motion_begins, 0.0)
        return self.motion.moment(self.topology, self.name, self.seed, since)

    @property
    def _motion_begins(self) -> float:
        """Seconds from the start of the join phase."""
        return self.timeline.join if self.motion is not None and self.motion.begins == "run" else 0.0

    def resolved(self) -> dict[str, Any]:
        """Plain JSON with all defaults and with units, which `load` reads again."""
        return self.model_dump(mode="json", exclude_none=True)

    def variants(self) -> tuple[Variant, ...]:
        """A paired comparison: every combination of the varied fields' values, all else (seed, workload) equal.

        A variant is named by its values, or by their names, joined by `+`; a scenario that varies nothing has the one
        variant `base`. Raises `VariantError`.
        """
        if not self.vary:
            return self._named([Variant(_BASE, {}, self)])
        base = self.model_dump(mode="json", exclude_unset=True, exclude={"vary"})
        choices = axes(self.vary, type(self).model_fields)
        if (count := prod(map(len, choices))) > MOST_VARIANTS:
            raise VariantError([Problem(("vary",), f"makes {count_of(count, 'variant')}; {MOST_VARIANTS} is the most")])
        made: dict[str, Variant] = {}
        for chosen in product(*choices):
            name = "+".join(choice.name for choice in chosen)
            if name in made:
                raise VariantError(
                    [Problem(("vary",), f"two variants would be called {name!r}; let their values differ")]
                )
            settings = {path: value for choice in chosen for path, value in choice.settings.items()}
            places = {path: place for choice in chosen for path, place in choice.places.items()}
            made[name] = Variant(name, settings, _with_settings(base, settings, places, name), places)
        return self._named(list(made.values()))

    def _named(self, variants: Sequence[Variant]) -> tuple[Variant, ...]:
        """The variants, each with its own part of `expect`. Raises `VariantError` for a name that none of them has."""
        names = [variant.name for variant in variants]
        found = [] if self.expect is None else list(self.expect.unknown_variants(names))
        if found:
            raise VariantError(found)
        return tuple(variant.expecting() for variant in variants)


@dataclass(frozen=True, slots=True)
class Variant:
    """One member of a paired comparison."""

    name: str
    settings: Mapping[str, Any]
    """The varied fields, by dotted path, and their values in this variant."""
    scenario: Scenario
    """The variant's own scenario, which varies nothing."""
    places: Mapping[str, FieldPath] = field(default_factory=dict)
    """Places in the file of the varied fields, by dotted path."""

    def expecting(self) -> Variant:
        """This variant with its own part of `expect`, in which nothing is by name."""
        expect = self.scenario.expect
        if expect is None:
            return self
        return replace(self, scenario=self.scenario.model_copy(update={"expect": expect.of(self.name)}))

    def blamed(self, path: FieldPath) -> FieldPath:
        """The place in the file of a mistake at `path`: that of the setting, for a varied field."""
        return _setting_at(path, self.places) or path


class VariantError(Exception):
    """A value in `vary` that its field does not take."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def _with_settings(
    base: Mapping[str, Any], settings: Mapping[str, Any], places: Mapping[str, FieldPath], name: str
) -> Scenario:
    data = copy.deepcopy(dict(base))
    for path, value in settings.items():
        try:
            set_field(data, path, copy.deepcopy(value))
        except ValueError as error:
            raise VariantError([Problem(places[path], str(error))]) from error
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        problems = [
            Problem(
                _setting_at(found.path, places) or ("vary",), f"variant {name}: {dotted(found.path)}: {found.message}"
            )
            for found in describe(error, data)
        ]
        raise VariantError(problems) from error


def _setting_at(path: FieldPath, places: Mapping[str, FieldPath]) -> FieldPath | None:
    """The place in the file of the setting of a field, of a part of it, or of what it is a part of."""
    name = ".".join(str(part) for part in path)
    for varied, place in places.items():
        if name == varied or name.startswith(f"{varied}.") or varied.startswith(f"{name}."):
            return place
    return None
