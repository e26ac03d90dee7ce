"""Plans: everything that will happen in a run, derived from its scenario before the host is touched."""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from broker_service.language import Value
from broker_service.routing import read_options
from broker_service.routing.foreign import NOT_SIMULATED, options_for_brokers
from broker_service.routing.systems import is_system, options_of_system
from emulation.faults import require_few_access_links, require_possible, require_programs_stay
from emulation.live_overlay.configuration import BrokerSettings
from emulation.planning.preparation import prepared_for
from emulation.runtimes.foreign import require_program
from emulation.runtimes.interface import ForeignProgram, Resources
from record.contract import ADAPTER_LEVEL
from record.digests import encode_content, operation_digest, place_digest, publication_digest, summed
from record.errors import BadInputError, HostError
from record.log import EMULATOR
from record.manifest import ChosenDilation, PlannedOperations, PlannedPublications
from record.promises import Promises
from scenario.faults import Demand, FaultSchedule
from scenario.faults import plan as plan_faults
from scenario.faults.conditions import Moving
from scenario.model import AUTO, Scenario, Variant
from scenario.sections.brokers import OneBroker
from scenario.sections.clients import ProgramSection
from scenario.sections.faults import FaultItem
from scenario.workload.generate import generate
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.roaming import drawn_moves
from scenario.workload.sites import sites_of
from scenario.workload.workload import Workload
from topology.evolutions.evolution import Evolution
from topology.link_properties import BrokerId, Link
from topology.model import Overlay
from topology.sites import Site, with_sites

PUBLISHERS, SUBSCRIBERS, PROGRAMS = "publishers", "subscribers", "programs"
_TAKEN = frozenset({PUBLISHERS, SUBSCRIBERS, PROGRAMS, EMULATOR})

_LONGEST_NAME = 24
"""Characters of the scenario's name in a run id: it is part of socket paths, which may have 107."""


_PUBLISHING = {OperationKind.ADVERTISE, OperationKind.UNADVERTISE, OperationKind.PUBLISH}


@dataclass(slots=True)
class DriverInput:
    """The operations of one driver process, in a file."""

    name: str
    path: Path
    operations: int = 0
    publications: int = 0
    reach: frozenset[BrokerId] = frozenset()
    """Brokers that it is connected to whether or not clients of its operations are there."""
    clients: dict[str, BrokerId] = field(default_factory=dict)
    """The broker that each of the driver's clients is connected to."""

    def count(self, operation: PlannedOperation) -> None:
        """Counts an operation that was written to the file."""
        self.operations += 1
        self.publications += operation.operation is OperationKind.PUBLISH
        self.clients[operation.client] = operation.broker


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantPlan:
    """One variant, ready to run."""

    name: str
    settings: Mapping[str, Any]
    """Settings of this variant only: path in the scenario to value."""
    scenario: Scenario
    overlay: Overlay
    """The overlay; at the start of the run, if it changes."""
    workload: Workload
    evolution: Evolution | None = None
    """The changes of the overlay, in seconds since the start of the join phase; None where it stays as it is."""
    prepared: Mapping[BrokerId, bytes]
    """Result of the routing protocol's `prepare`, by broker."""
    sites: tuple[Site, ...] = ()
    """Hosts of clients; clients of none are beside their brokers."""
    roaming: tuple[FaultItem, ...] = ()
    """Moves of sites that were drawn, in the order of time."""

    @property
    def lasts(self) -> float:
        """Seconds from the begin of the join phase to the end of the drain phase, as the host's clock shows them."""
        return self.scenario.timeline.duration * self.scenario.dilation

    @property
    def promises(self) -> Promises:
        """The promises of the routing protocol with its options."""
        routing = self.scenario.routing
        return read_options(routing.protocol, routing.options).promises

    @property
    def leaving(self) -> tuple[tuple[str, ...], ...]:
        """Groups of nodes whose clients leave together at the end, one group after another.

        Where tables are compared, subscribers leave first, because a protocol may drop subscriptions with the
        advertisement that they came for.
        """
        if self.scenario.timeline.withdraw is None:
            return ((PUBLISHERS, SUBSCRIBERS),)
        return ((SUBSCRIBERS,), (PUBLISHERS,))

    @property
    def demand(self) -> Demand | None:
        """Brokers between which publications travel; None without publishers or without subscribers."""
        workload, speaks = self.workload, drivers(self.workload)
        homes = {client: home for client, home in workload.clients.items() if not workload.unforeseen(client)}
        publishing, subscribing = (
            frozenset(home for client, home in homes.items() if speaks[client] == name)
            for name in (PUBLISHERS, SUBSCRIBERS)
        )
        return Demand(publishing, subscribing) if publishing and subscribing else None

    @property
    def later_pairs(self) -> tuple[tuple[BrokerId, BrokerId], ...]:
        """Pairs of brokers that are linked at some time and not at the start."""
        return () if self.evolution is None else self.evolution.later_pairs()

    @property
    def wired(self) -> Overlay:
        """The overlay with a link for each of `later_pairs` besides: all that a host has to wire."""
        return self.overlay if self.evolution is None else self.evolution.linked_ever

    @property
    def networked(self) -> Overlay:
        """The overlay that a host wires, with the sites of clients and their access links, later ones included."""
        return with_sites(self.wired, self.sites, self.later_access)

    @property
    def later_access(self) -> tuple[Link, ...]:
        """The access links that planned moves give to sites, besides those that they have at the begin."""
        if not self.sites:
            return ()
        sites = {site.name: site for site in self.sites}
        moves = (condition.move for _, condition in self.schedule().conditions if isinstance(condition, Moving))
        links = (replace(sites[move.host.site], broker=move.to).link for move in moves if move.of_site)
        at_begin = {site.link for site in self.sites}
        return tuple(link for link in dict.fromkeys(links) if link not in at_begin)

    def schedule(self) -> FaultSchedule:
        """The faults, with the brokers and links of the overlay that they hit, and their times."""
        scenario, timeline = self.scenario, self.scenario.timeline.foreseen
        return plan_faults(
            scenario.faults,
            self.overlay,
            join=timeline.join,
            run=timeline.run,
            seed=scenario.seed,
            demand=self.demand,
            later=self.later_pairs,
            sites=self.sites,
            roaming=self.roaming,
        )

    @property
    def programs(self) -> Mapping[str, ProgramSection]:
        """The programs of the clients that are some of their own, by client."""
        clients = self.scenario.clients
        return {} if clients is None else clients.program_of

    @property
    def broker_settings(self) -> BrokerSettings:
        """Settings that all brokers of the variant share."""
        scenario = self.scenario
        return BrokerSettings(
            protocol=scenario.routing.protocol,
            options=options_for_brokers(scenario.routing.protocol, scenario.routing.options),
            seed=scenario.seed,
            sample=scenario.sample,
            limits=scenario.broker_limits,
            service_time=scenario.brokers.work(),
            sending=scenario.brokers.sending_order(),
            variant=self.name,
            prepared=self.prepared,
            starts=None  # how often brokers start is up to the holder
            if scenario.timeline.held is not None
            else self.schedule().starts(scenario.timeline.duration),
        )

    @property
    def resources(self) -> Resources:
        brokers, logs, default = self.scenario.brokers, self.scenario.logs, Resources()
        quota = None if logs is None else logs.quota
        return Resources(
            memory=brokers.memory or default.memory,
            processes=brokers.processes or max(self._needed_processes, default.processes),
            log_bytes=quota or default.log_bytes,
            cpu=brokers.cpu,
            image=brokers.image if brokers.level is None else None,
            foreign=self._foreign,
        )

    @property
    def individual_resources(self) -> Mapping[BrokerId, Resources]:
        """Resources of the brokers that have some of their own, in place of `resources`."""
        of_all = self.resources
        return {
            broker: replace(
                of_all,
                memory=one.memory or of_all.memory,
                processes=one.processes or of_all.processes,
                foreign=self._single(one),
            )
            for broker, one in (self.scenario.brokers.individually or {}).items()
        }

    @property
    def every_resources(self) -> Iterable[Resources]:
        """Resources of all brokers, each kind once."""
        return (self.resources, *self.individual_resources.values())

    @property
    def foreign(self) -> ForeignProgram | None:
        """The first of its brokers that are not brokerlab's, all of which keep one level; None without any."""
        return next((each.foreign for each in self.every_resources if each.foreign is not None), None)

    @property
    def _needed_processes(self) -> int:
        protocol = self.scenario.routing.protocol
        return options_of_system(protocol).processes if is_system(protocol) else 0

    @property
    def _foreign(self) -> ForeignProgram | None:
        """The broker that all have in place of brokerlab's; None where none has, or only single ones."""
        brokers, protocol = self.scenario.brokers, self.scenario.routing.protocol
        if is_system(protocol):
            return ForeignProgram(level=ADAPTER_LEVEL, system=protocol)
        return None if brokers.among_native else self._of_ones_own()

    def _of_ones_own(self) -> ForeignProgram | None:
        """The broker that the section describes, whoever has it; None where all are brokerlab's."""
        brokers = self.scenario.brokers
        if brokers.level is None:
            return None
        return ForeignProgram(
            level=brokers.level,
            image=brokers.image,
            command=brokers.command or (),
            environment=brokers.environment or {},
            scratch=brokers.scratch or 0,
        )

    def _single(self, one: OneBroker) -> ForeignProgram | None:
        """The broker that a single one is in place of brokerlab's; None where it is brokerlab's."""
        described = self._of_ones_own()
        return described and replace(
            described,
            image=one.image or described.image,
            command=one.command or (() if one.image is not None else described.command),
            environment={**described.environment, **(one.environment or {})},
            scratch=one.scratch or described.scratch,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A whole run."""

    run_id: str
    created: datetime
    scenario: Scenario
    """The scenario as its file has it, overrides applied, before `vary`."""
    seed: int
    variants: tuple[VariantPlan, ...]
    dilation: ChosenDilation | msgspec.UnsetType = msgspec.UNSET
    """The time dilation that rehearsals chose for all variants; not set where the scenario states it."""

    def require_dilation(self) -> None:
        """Raises `BadInputError` where the time dilation is left to rehearsals, and none was chosen."""
        if self.scenario.time_dilation == AUTO and self.dilation is msgspec.UNSET:
            raise BadInputError(
                "time_dilation: `auto` is for the commands emulate, campaign and reproduce, which rehearse first; "
                "write a factor here, such as the one that `brokerlab check` predicts"
            )

    def require_possible(self, runtime: str) -> None:
        """Raises `HostError` when this runtime cannot give brokers what some variant asks for, or inject its faults."""
        for variant in self.variants:
            if variant.scenario.brokers.cpu is not None and runtime != "container":
                raise HostError(
                    f"brokers.cpu: a CPU quota needs containers, and the runtime is {runtime}: leave it out, or use "
                    "`brokers.service_time`; `brokerlab doctor` names what containers need"
                )
            _require_programs(variant.programs, runtime)
            for resources in variant.every_resources:
                _require_foreign(resources.foreign, runtime)
            if variant.scenario.brokers.image is not None and runtime != "container":
                raise HostError(
                    f"brokers.image: only containers have an image, and the runtime is {runtime}: leave it out, or use "
                    "`--runtime container`; `brokerlab doctor` names what containers need"
                )
            schedule = variant.schedule()
            require_possible(schedule, runtime)
            require_programs_stay(schedule, variant.programs)
            require_few_access_links(len(variant.later_access), runtime)


def _require_programs(programs: Mapping[str, ProgramSection], runtime: str) -> None:
    """Raises `HostError` for client programs in the simulator, for an image where there are no containers, and for a
    program that is not on this host."""
    if programs and runtime == "simulated":
        raise HostError(
            "clients.programs: the simulator has no real processes to speak to; use `brokerlab emulate` with another "
            "runtime, or leave the programs out"
        )
    for client, program in programs.items():
        field = f"clients.programs.{client}"
        if program.image is None:
            require_program(program.command or (), f"{field}.command")
        elif runtime != "container":
            raise HostError(
                f"{field}.image: only containers have an image, and the runtime is {runtime}: give the `command` of a "
                "program on this host, or use `--runtime container`"
            )


def _require_foreign(foreign: ForeignProgram | None, runtime: str) -> None:
    """Raises `HostError` for brokers that are not brokerlab's and that this runtime cannot start."""
    if foreign is None:
        return
    if runtime == "simulated":
        raise HostError(NOT_SIMULATED)
    if foreign.system is None and foreign.image is None and runtime == "container":
        raise HostError(
            "brokers.command: without `brokers.image` it is a program on this host, and the runtime is container: give "
            "the image, or use `--runtime process`"
        )
    if foreign.image is not None and runtime != "container":
        raise HostError(
            f"brokers.image: only containers have an image, and the runtime is {runtime}: give the `command` of a "
            "program on this host, or use `--runtime container`"
        )


def make_plan(scenario: Scenario) -> Plan:
    """Plans a run of a checked scenario.

    Variants draw from the same seed, so that they differ in what is varied and in nothing else. Raises `UserError`s.
    """
    created = datetime.now(UTC)
    variants = tuple(_plan_variant(variant) for variant in scenario.variants())
    return Plan(
        run_id=make_run_id(scenario.name, created, secrets.token_hex(2)),
        created=created,
        scenario=scenario,
        seed=scenario.seed,
        variants=variants,
    )


def make_run_id(scenario: str, created: datetime, suffix: str) -> str:
    """`20260131T235959Z-cyclic-30-1a2b`: sorts by time, and can be a path, a label and a container's name."""
    name = re.sub(r"[^a-z0-9]+", "-", scenario.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    return f"{created:%Y%m%dT%H%M%SZ}-{name or 'run'}-{suffix}"


def _plan_variant(variant: Variant) -> VariantPlan:
    evolution = variant.scenario.evolution()
    overlay = variant.scenario.overlay() if evolution is None else evolution.start
    _require_names_of_their_own(overlay)
    workload = generate(variant.scenario, overlay)
    plan = VariantPlan(
        name=variant.name,
        settings=variant.settings,
        scenario=variant.scenario,
        overlay=overlay,
        evolution=evolution,
        workload=workload,
        prepared=prepared_for(variant.scenario, overlay, workload),
        sites=sites_of(variant.scenario, overlay, workload.clients),
    )
    return replace(plan, roaming=drawn_moves(variant.scenario, overlay, plan.sites, plan.demand))


def _require_names_of_their_own(overlay: Overlay) -> None:
    """Raises `BadInputError` for a broker that has the name of a driver or the emulator, whose log is another one."""
    for broker in overlay.brokers:
        if broker.id in _TAKEN:
            raise BadInputError(
                f"topology: broker {broker.id}: the name is that of a log which is no broker's; give it another"
            )


def drivers(workload: Workload) -> dict[str, str]:
    """The node that acts for each client.

    Clients that publish or advertise are kept apart from all others, so that a burst of notifications cannot make a
    publication late.
    """
    publishing = set(workload.population.publishers)
    publishing |= {operation.client for operation in workload.explicit if operation.operation in _PUBLISHING}
    return {client: PUBLISHERS if client in publishing else SUBSCRIBERS for client in workload.clients}


def publishers_subscribe(workload: Workload) -> bool:
    """True when a client of the publishers' node subscribes as well."""
    node_of, population = drivers(workload), workload.population
    return not population.publishers.keys().isdisjoint(population.subscribers) or any(
        operation.operation is OperationKind.SUBSCRIBE and node_of[operation.client] == PUBLISHERS
        for operation in workload.explicit
    )


class PlannedWork(NamedTuple):
    """The plan of a workload as a manifest states it, by client."""

    publications: dict[str, PlannedPublications]
    operations: dict[str, PlannedOperations]


def planned_work_of(operations: Iterable[PlannedOperation], stretch: float = 1.0) -> PlannedWork:
    """The work of each client, counted apart from those who issue it, given the operations of all, whose times and
    windows are stretched by a factor."""
    counts, times, contents = Counter[str](), Counter[str](), Counter[str]()
    others, other_contents, places = Counter[str](), Counter[str](), Counter[str]()
    for operation in operations:
        client = operation.client
        if operation.operation is OperationKind.PUBLISH:
            counts[client] += 1
            times[client] += operation.at
            contents[client] += publication_digest(operation.id, _content(operation.attributes or {}))
        else:
            others[client] += 1
            other_contents[client] += operation_digest(
                operation.operation, operation.id, operation.predicates, operation.pattern
            )
            within = None if operation.within is None else round(operation.within / stretch)
            places[client] += place_digest(operation.id, operation.broker, within)
    return PlannedWork(
        {
            client: PlannedPublications(
                publications=count, mean_time=times[client] / count, contents=summed(contents[client])
            )
            for client, count in sorted(counts.items())
        },
        {
            client: PlannedOperations(
                operations=count, contents=summed(other_contents[client]), places=summed(places[client])
            )
            for client, count in sorted(others.items())
        },
    )


def _content(attributes: Mapping[str, Value]) -> bytes:
    """The content as the log divides it."""
    numbers = {name: value for name, value in attributes.items() if not isinstance(value, str)}
    return encode_content(numbers, {name: value for name, value in attributes.items() if isinstance(value, str)})


def write_driver_inputs(
    workload: Workload,
    directory: Path,
    brokers: Container[BrokerId] | None = None,
    suffix: str = "",
    *,
    reach: Iterable[BrokerId] = (),
) -> list[DriverInput]:
    """Divides a workload among driver processes and writes each one's operations into a directory.

    `brokers` are those whose clients count: all when None; `suffix` ends the drivers' names. Every driver is to be
    connected to the brokers that it is to `reach`; without any, a driver without operations is left out. Operations are
    not held in memory.
    """
    driver_of = drivers(workload)
    encoder = msgspec.json.Encoder()
    names = [f"{name}{suffix}" for name in (PUBLISHERS, SUBSCRIBERS)]
    inputs = {name: DriverInput(name, directory / f"{name}.operations.jsonl", reach=frozenset(reach)) for name in names}
    with ExitStack() as stack:
        files = {name: stack.enter_context(given.path.open("wb")) for name, given in inputs.items()}
        for operation in workload.operations():
            if brokers is not None and operation.broker not in brokers:
                continue
            given = inputs[f"{driver_of[operation.client]}{suffix}"]
            files[given.name].write(encoder.encode(operation) + b"\n")
            given.count(operation)
    return [given for given in inputs.values() if given.reach or given.operations]
