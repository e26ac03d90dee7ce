"""Faults and operations by hand, as entries of the run's scenario: checked as those of its file, and planned alike.

The scenario grows by each entry, with the time at which it is due. In the end it is one that repeats what was done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from broker_service.language import Advertisement, ContentError, Predicate, Publication
from broker_service.language.formatting import format_advertisement
from broker_service.language.model import CLASS, Operator
from broker_service.language.notation import parse_publication
from emulation.faults import require_possible
from emulation.held.requests import Fields, PublishRequest, SubscribeRequest, UnsubscribeRequest
from record.errors import BadInputError
from record.time_units import MILLISECOND, SECOND
from scenario.checks import OverlayBuilder, problems
from scenario.faults import FaultError, FaultSchedule
from scenario.faults import plan as plan_faults
from scenario.faults.planning import ScheduledFault
from scenario.model import Scenario
from scenario.sections.faults import FaultItem
from scenario.sections.messages import describe
from scenario.sections.workload import OperationItem
from scenario.workload.explicit import explicit_operations
from scenario.workload.operations import PlannedOperation
from scenario.yaml_files.source import parse_setting

LEAD = 0.2
"""Seconds from a request to its operation, in which the operation reaches its driver."""
SPREADS = 1.5
"""Seconds that an advertisement gets to spread before the first publication that it covers."""
_LIFTING = ("restart", "resume", "link_up")
"""Verbs that end faults on a target."""
_PREFIX = "by-hand"


class ByHand:
    """Entries of the scenario for all that was done to one run by hand.

    Times are nanoseconds since the start of the join phase.
    """

    def __init__(self, scenario: Scenario, runtime: str) -> None:
        """`scenario` is that of a variant, whose time is not dilated; `runtime` the name of what its brokers run on."""
        self.scenario = scenario
        self._runtime = runtime
        self.operations: list[PlannedOperation] = []
        self.faults = 0
        self._builder = OverlayBuilder()
        self._advertised: set[tuple[str, str]] = set()
        self._subscribers: dict[str, OperationItem] = {}

    def fault(self, fields: Fields, at: int) -> ScheduledFault:
        """The fault of an entry of `faults`, due at this time.

        Raises `BadInputError`, and `HostError` for a fault that the runtime cannot inject.
        """
        item = _item(FaultItem, {"at": _seconds(at), **{name: _read(name, given) for name, given in fields.items()}})
        faults = (*self.scenario.faults, item)
        try:
            schedule = self._planned(faults)
        except FaultError as error:
            raise BadInputError(f"{error.field}: {error.message}") from error
        require_possible(FaultSchedule(schedule.entries[-1:]), self._runtime)
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
        client, at = f"{_PREFIX}-{request.broker}", now + round(LEAD * SECOND)
        advertisement = request.advertise or _covering(request.content)
        made = []
        if (client, advertisement) not in self._advertised:
            number = 1 + sum(there == client for there, _ in self._advertised)
            made.append({"id": f"a{number}", "advertise": advertisement, "at": _seconds(at)})
            at += round(SPREADS * SECOND)
        made.append({"publish": request.content, "at": _seconds(at)})
        planned = self._operate([{"client": client, "broker": request.broker, **fields} for fields in made])
        self._advertised.add((client, advertisement))
        return planned

    def subscribe(self, request: SubscribeRequest, now: int) -> PlannedOperation:
        """A subscription by a client of its own. Raises `BadInputError`."""
        client = f"{_PREFIX}-{request.broker}-{len(self._subscribers) + 1}"
        at = _seconds(now + round(LEAD * SECOND))
        (planned,) = self._operate(
            [{"client": client, "broker": request.broker, "id": "s1", "subscribe": request.content, "at": at}]
        )
        self._subscribers[client] = self._written()[-1]
        return planned

    def unsubscribe(self, request: UnsubscribeRequest, now: int) -> PlannedOperation:
        """The end of a subscription. Raises `BadInputError` for a client that has none by hand."""
        if (item := self._subscribers.pop(request.client, None)) is None:
            raise BadInputError(f"{request.client} has no subscription that was made by hand")
        at = _seconds(now + round(LEAD * SECOND))
        (planned,) = self._operate([{"client": request.client, "broker": item.broker, "unsubscribe": "s1", "at": at}])
        return planned

    def _operate(self, entries: Sequence[Mapping[str, str]]) -> list[PlannedOperation]:
        items = [_item(OperationItem, entry) for entry in entries]
        written = (*self._written(), *items)
        self._grow({"workload": self.scenario.workload.model_copy(update={"operations": written})})
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
            faults, built.overlay, join=timeline.join, run=timeline.run, seed=scenario.seed, later=built.later_pairs
        )

    def _lifting(self, target: str, at: int) -> str:
        """The verb that ends the faults on a target. Raises `BadInputError` where no fault hits it."""
        for verb in _LIFTING:
            try:
                self._planned((*self.scenario.faults, _item(FaultItem, {"at": _seconds(at), verb: [target]})))
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


def _seconds(at: int) -> str:
    return f"{at // MILLISECOND}ms"


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
