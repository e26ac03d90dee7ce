"""Faults and operations by hand, as entries of the run's scenario: checked as those of its file, and planned alike.

The scenario grows by each entry, with the time at which it is due. In the end it is one that repeats what was done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from pydantic import ValidationError

from broker_service.language import Advertisement, ContentError, Predicate, Publication
from broker_service.language.formatting import format_advertisement
from broker_service.language.model import CLASS, Operator
from broker_service.language.notation import parse_publication
from emulation.faults import require_possible, require_programs_stay
from emulation.held.requests import Fields, PublishRequest, SubscribeRequest, UnsubscribeRequest
from record.errors import BadInputError
from record.time_units import SECOND
from scenario.checks import OverlayBuilder, problems
from scenario.faults import FaultError, FaultSchedule
from scenario.faults import plan as plan_faults
from scenario.faults.planning import ScheduledFault
from scenario.faults.roles import Demand
from scenario.model import Scenario
from scenario.sections.faults import FaultItem
from scenario.sections.messages import describe
from scenario.sections.workload import OperationItem
from scenario.workload.explicit import explicit_operations
from scenario.workload.generate import planned_sites
from scenario.workload.operations import BY_HAND, PlannedOperation
from scenario.yaml_files.source import parse_setting

SPREADS = 1.5
"""Seconds that an advertisement gets to spread before the first publication that it covers."""
_LIFTING = ("restart", "resume", "link_up")
"""Verbs that end faults on a target."""


class ByHand:
    """Entries of the scenario for all that was done to one run by hand.

    Times are nanoseconds since the start of the join phase.
    """

    def __init__(
        self, scenario: Scenario, runtime: str, *, lead: int, grain: int, demand: Demand | None = None
    ) -> None:
        """`scenario` is that of a variant, whose time is not dilated; `runtime` the name of what its brokers run on.

        An operation is due `lead` after its request, and times are whole multiples of the `grain`, both nanoseconds.
        `demand` is what names such as `busiest` go by.
        """
        self.scenario = scenario
        self._runtime = runtime
        self._lead = lead
        self._grain = grain
        self._demand = demand
        self.operations: list[PlannedOperation] = []
        self.faults = 0
        self._builder = OverlayBuilder()
        self._clients = {item.client for item in self._written()}
        """Clients that have acted, those of a run included that was held before and saved."""
        self._advertised = {(item.client, item.text) for item in self._written() if item.verb == "advertise"}
        self._latest: dict[str, int] = {}
        """The time of each client's latest publication."""
        self._subscribers: dict[str, OperationItem] = {}

    def fault(self, fields: Fields, at: int) -> ScheduledFault:
        """The fault of an entry of `faults`, due at this time.

        Raises `BadInputError`, and `HostError` for a fault that the runtime cannot inject.
        """
        read = {name: _read(name, given) for name, given in fields.items()}
        item = _item(FaultItem, {"at": self._written_time(at), **read})
        faults = (*self.scenario.faults, item)
        try:
            schedule = self._planned(faults)
        except FaultError as error:
            raise BadInputError(f"{error.field}: {error.message}") from error
        latest = FaultSchedule(schedule.entries[-1:])
        require_possible(latest, self._runtime)
        require_programs_stay(latest, () if self.scenario.clients is None else self.scenario.clients.program_of)
        self._grow({"faults": faults})
        self.faults += 1
        return schedule.entries[-1]

    def heal(self, targets: Sequence[str], at: int) -> list[ScheduledFault]:
        """The ends of the faults on these targets, or of all. Raises `BadInputError` where there are none to end."""
        if not targets:
            return [self.fault({"heal": "all"}, at)]
        return [self.fault({self._lifting(target, at): [target]}, at) for target in targets]

    def publish(self, request: PublishRequest, now: int) -> list[PlannedOperation]:
        """The publication, with the advertisement that it needs before it. Raises `BadInputError`."""
        client = f"{BY_HAND}{request.broker}"
        at = max(now + self._lead, self._latest.get(client, 0))  # an advertisement before it gets its time to spread
        advertisement = request.advertise or _covering(request.content)
        made = []
        if (client, advertisement) not in self._advertised:
            number = 1 + sum(there == client for there, _ in self._advertised)
            made.append({"id": f"a{number}", "advertise": advertisement, "at": self._written_time(at)})
            at += round(SPREADS * SECOND)
        made.append({"publish": request.content, "at": self._written_time(at)})
        planned = self._operate([{"client": client, "broker": request.broker, **fields} for fields in made])
        self._advertised.add((client, advertisement))
        self._latest[client] = at
        return planned

    def subscribe(self, request: SubscribeRequest, now: int) -> PlannedOperation:
        """A subscription by a client of its own. Raises `BadInputError`."""
        client = self._new_client(request.broker)
        at = self._written_time(now + self._lead)
        (planned,) = self._operate(
            [{"client": client, "broker": request.broker, "id": "s1", "subscribe": request.content, "at": at}]
        )
        self._clients.add(client)
        self._subscribers[client] = self._written()[-1]
        return planned

    def unsubscribe(self, request: UnsubscribeRequest, now: int) -> PlannedOperation:
        """The end of a subscription. Raises `BadInputError` for a client that has none by hand."""
        if (item := self._subscribers.pop(request.client, None)) is None:
            raise BadInputError(f"{request.client} has no subscription that was made by hand")
        at = self._written_time(now + self._lead)
        (planned,) = self._operate([{"client": request.client, "broker": item.broker, "unsubscribe": "s1", "at": at}])
        return planned

    def _operate(self, entries: Sequence[Mapping[str, str]]) -> list[PlannedOperation]:
        items = [_item(OperationItem, entry) for entry in entries]
        written = (*self._written(), *items)
        self._grow({"workload": self.scenario.workload.with_operations(written)})
        window = self.scenario.brokers.limits.detection_window
        of_client = [item for item in written if item.client == items[0].client]
        planned = list(explicit_operations(of_client, window))[-len(items) :]
        self.operations += planned
        return planned

    def _written(self) -> tuple[OperationItem, ...]:
        return tuple(self.scenario.workload.operations)

    def _grow(self, update: Mapping[str, Any]) -> None:
        """Adds to the scenario. Raises `BadInputError` where that would be none that can be run."""
        grown = self.scenario.model_copy(update=dict(update))
        problem = next(problems(grown, self._builder), None)
        if problem is not None:
            raise BadInputError(problem.message)
        self.scenario = grown

    def _planned(self, faults: Sequence[FaultItem]) -> FaultSchedule:
        scenario, timeline = self.scenario, self.scenario.timeline
        built = self._builder.build(scenario)
        return plan_faults(
            faults,
            built.overlay,
            join=timeline.join,
            run=timeline.run,
            seed=scenario.seed,
            demand=self._demand,
            later=built.later_pairs,
            sites=planned_sites(scenario, built.overlay),
        )

    def _new_client(self, broker: str) -> str:
        names = (f"{BY_HAND}{broker}-{number}" for number in count(1))
        return next(name for name in names if name not in self._clients)

    def _written_time(self, at: int) -> str:
        return f"{at - at % self._grain}ns"

    def _lifting(self, target: str, at: int) -> str:
        """The verb that ends the faults on a target. Raises `BadInputError` where no fault hits it."""
        for verb in _LIFTING:
            try:
                self._planned((*self.scenario.faults, _item(FaultItem, {"at": self._written_time(at), verb: [target]})))
            except FaultError:
                continue
            return verb
        raise BadInputError(
            f"nothing on {target} can be healed by itself: no fault has killed, stopped, paused or cut it "
            "(`brokerlab heal` without a name ends every fault)"
        )


def _item(model: Any, fields: Mapping[str, object]) -> Any:
    """An entry of a scenario. Raises `BadInputError`."""
    try:
        return model.model_validate(dict(fields))
    except ValidationError as error:
        raise BadInputError(describe(error, dict(fields))[0].message) from error


def _read(name: str, given: str | list[str]) -> object:
    """The value that a field has, written so in a file. Raises `ScenarioError`."""
    return given if isinstance(given, list) else parse_setting(name, given)


def _covering(content: str) -> str:
    """The advertisement of all publications of the class of this one that have its attributes.

    Raises `BadInputError` for what is no publication.
    """
    try:
        publication: Publication = parse_publication(content)
    except ContentError as error:
        raise BadInputError(f"the publication {content!r}: {error}") from error
    predicates = [
        Predicate(name, Operator.STRING_EQUAL, value)
        if name == CLASS
        else Predicate(name, Operator.PRESENT, "" if isinstance(value, str) else 0)
        for name, value in publication.attributes.items()
    ]
    return format_advertisement(Advertisement(tuple(predicates)))
