"""Finds a smallest fault schedule under which a cell fails.

The targets of faults are resolved first and kept, because `random` and roles would otherwise mean other brokers once
another fault is left out. A fault on several brokers or links becomes one fault for each, so that some of them can be
left out; a partition is one fault. Moves that `clients.roaming` draws are faults as well. Moves of which none can be
left out are made simpler (`simpler_moves`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from emulation.planning.plan import VariantPlan
from record.errors import BadInputError
from record.wording import count_of
from scenario.faults import Targets
from scenario.faults.targets import REST
from scenario.model import Scenario
from scenario.sections.faults import FaultItem, OneWay, Partition, pausing
from scenario.yaml_files.source import as_yaml
from studies.campaign.cell import CampaignCell
from studies.campaign.result import CampaignResult
from studies.campaign.simpler_moves import simplified
from studies.smallest_part import smallest
from topology.link_properties import LinkDirection

_OF_BROKERS = ("kill", "stop", "restart", "slow")
_OF_BROKERS_OR_CLIENTS = ("pause", "resume")
_OF_CLIENTS = ("crash", "vanish")
_OF_LINKS = ("link_down", "link_up", "flap", "degrade", "corrupt", "reset", "disturb")


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A cell with the smallest schedule that was found."""

    cell: CampaignCell
    before: int
    """Faults, one for each broker or link hit."""
    faults: tuple[FaultItem, ...]
    result: CampaignResult
    runs: int


class NotReproducedError(BadInputError):
    """The cell does not fail again, so there is nothing to shrink."""


def shrink(cell: CampaignCell, failed: CampaignResult, run: Callable[[CampaignCell], CampaignResult]) -> Shrunk:
    """Finds a smallest schedule under which the first variant that failed fails in the same way.

    `run` runs a cell. A run that is not VALID or DEGRADED counts as one that does not fail. Raises
    `NotReproducedError` when all the faults together do not make it fail.
    """
    variant = _failing_variant(cell, failed)
    defects = set(next(found for found in failed.variants if found.name == variant.name).delivery)
    base = _without_roaming(variant.scenario)
    faults = tuple(resolved(variant))
    results: dict[tuple[FaultItem, ...], CampaignResult] = {}

    def fails(chosen: Sequence[FaultItem]) -> bool:
        candidate = with_faults(cell, base, tuple(chosen))
        if candidate is None:  # for example because nothing is left to heal without the fault that was left out
            return False
        results[tuple(chosen)] = result = run(candidate)
        return result.fidelity != "INVALID" and bool(defects & set(result.delivery))

    if not fails(faults):
        verdict = ", ".join(results[faults].delivery) if faults in results else "cannot be run"
        raise NotReproducedError(
            f"{cell.key}: was {', '.join(sorted(defects))}, and is {verdict} when it is run again, so that its "
            f"{count_of(len(faults), 'fault')} cannot be separated; an intermittent failure needs more runs than one"
        )
    found = simplified(smallest(faults, fails), fails)
    made = with_faults(cell, base, found)
    assert made is not None
    return Shrunk(made, len(faults), found, results[found], len(results))


def _without_roaming(scenario: Scenario) -> Scenario:
    """The scenario with the moves that are written in it, and without those that it has drawn."""
    if scenario.clients is None:
        return scenario
    return scenario.model_copy(update={"clients": scenario.clients.model_copy(update={"roaming": None})})


def _failing_variant(cell: CampaignCell, failed: CampaignResult) -> VariantPlan:
    names = [variant.name for variant in failed.variants if variant.delivery != ["correct"]]
    variants = {variant.name: variant for variant in cell.plan().variants}
    if not names:
        raise BadInputError(f"{cell.key}: delivery was correct, so there is nothing to shrink")
    return variants[names[0]]


def with_faults(cell: CampaignCell, scenario: Scenario, faults: tuple[FaultItem, ...]) -> CampaignCell | None:
    """The cell with this scenario and these faults; None if the faults need others."""
    content = as_yaml(scenario.model_copy(update={"faults": faults}).resolved())
    key = f"{len(faults)}-faults-{hashlib.sha256(content.encode()).hexdigest()[:8]}"
    made = replace(cell, key=key, scenario=content)
    try:
        made.plan()
    except BadInputError:
        return None
    return made


def resolved(variant: VariantPlan) -> Iterator[FaultItem]:
    """The variant's faults, drawn moves included, with names instead of roles and `random`: each on one broker, one
    link or one host of clients."""
    targets = Targets(
        variant.overlay, variant.scenario.seed, variant.demand, later=variant.later_pairs, sites=variant.sites
    )
    for index, fault in enumerate((*variant.scenario.faults, *variant.roaming)):
        targets.begin(index)
        yield from _resolved(fault, targets)


def _resolved(fault: FaultItem, targets: Targets) -> Iterator[FaultItem]:
    verb = fault.verb
    if verb in _OF_BROKERS:
        for broker in targets.brokers(getattr(fault, verb)):
            yield fault.model_copy(update={verb: (broker,)})
    elif verb in _OF_BROKERS_OR_CLIENTS:
        for target in pausing(targets, getattr(fault, verb)):
            yield fault.model_copy(update={verb: (str(target),)})
    elif verb in _OF_CLIENTS:
        for host in targets.of_sites.hosts(getattr(fault, verb)):
            yield fault.model_copy(update={verb: (host.name,)})
    elif fault.move is not None and fault.to is not None:
        for host in targets.of_sites.moving(fault.move, fault.to, [broker.id for broker in targets.overlay.brokers]):
            yield fault.model_copy(update={"move": (host.name,)})
    elif verb in _OF_LINKS:
        for link in _links(targets.directions(getattr(fault, verb))):
            yield fault.model_copy(update={verb: (link,)})
    elif fault.partition is not None:
        yield fault.model_copy(update={"partition": _parted(fault.partition, targets)})
    else:
        yield fault


def _parted(partition: Partition, targets: Targets) -> Partition:
    """A partition with the names of its brokers; it stays one fault."""
    if isinstance(partition, OneWay):
        named = {side: _named(getattr(partition, side), targets) for side in ("source", "target")}
        return partition.model_copy(update=named)
    return tuple(_named(group, targets) for group in partition)


def _named(group: tuple[str, ...], targets: Targets) -> tuple[str, ...]:
    return group if group == (REST,) else targets.brokers(group)


def _links(directions: Sequence[LinkDirection]) -> list[str]:
    """Each link once, or its one direction if the other is not in the list."""
    found: dict[str, None] = {}
    every = set(directions)
    for direction in directions:
        if direction.reverse not in every:
            found[f"{direction.source}->{direction.target}"] = None
        elif f"{direction.target}-{direction.source}" not in found:
            found[f"{direction.source}-{direction.target}"] = None
    return list(found)
