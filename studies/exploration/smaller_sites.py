"""Less of the sites of a run: fewer of them, plainer access links, and simpler moves. Each step is a run to try."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from scenario.model import Scenario
from scenario.sections.clients import Clients, SiteSection
from scenario.sections.faults import FaultItem
from scenario.sections.workload import OperationItem

_MOVING = ("overlap", "away", "handover")
"""Fields of a move that may be left out, one after another."""


def named_by(fault: FaultItem) -> set[str]:
    """Brokers, sites and clients that a fault names."""
    named = fault.model_dump(mode="json", by_alias=True, exclude_none=True)[fault.verb]
    texts = [text for part in named for text in ([part] if isinstance(part, str) else part)]
    names = {name for text in texts for name in text.replace("->", "-").split("-")}
    return names if fault.to is None else {*names, fault.to}


def doing(scenario: Scenario, operations: tuple[OperationItem, ...]) -> Scenario:
    """The scenario with other operations. Sites have the clients that are left, and faults of others are gone."""
    workload = scenario.workload.model_copy(update={"operations": operations})
    changed = scenario.model_copy(update={"workload": workload})
    if scenario.clients is None:
        return changed
    left = {item.client for item in operations}
    sites = {
        name: site.model_copy(update={"clients": tuple(client for client in site.clients or () if client in left)})
        for name, site in scenario.clients.sites.items()
    }
    lost = {client for site in scenario.clients.sites.values() for client in site.clients or ()} - left
    return _with_sites(changed, sites, lost)


def fewer_sites(scenario: Scenario) -> Iterator[Scenario]:
    """The scenario without its sites, and without each of them. Their clients are beside their broker then."""
    if scenario.clients is not None:
        sites = scenario.clients.sites
        yield without_sites(scenario, sites.keys())
        yield from (without_sites(scenario, {name}) for name in sites)


def without_sites(scenario: Scenario, names: Collection[str]) -> Scenario:
    """The scenario without these sites, and without the faults that strike them or their clients."""
    sites = {} if scenario.clients is None else scenario.clients.sites
    clients = {client for name in names for client in sites[name].clients or ()}
    left = {name: site for name, site in sites.items() if name not in names}
    return _with_sites(scenario, left, {*names, *clients})


def plainer_sites(scenario: Scenario) -> Iterator[Scenario]:
    """The scenario with each field of each site left out that may be."""
    sites = {} if scenario.clients is None else scenario.clients.sites
    for name, site in sites.items():
        for field in sorted(site.model_fields_set - {"broker", "clients", "delay"}):
            fields = site.model_dump(mode="json", exclude_unset=True)
            del fields[field]
            yield _with_sites(scenario, {**sites, name: SiteSection.model_validate(fields)}, ())


def simpler_moves(scenario: Scenario) -> Iterator[Scenario]:
    """The scenario with each move without the time that it takes, or with the plainest handover."""
    for place, fault in enumerate(scenario.faults):
        for field in _MOVING if fault.move is not None else ():
            left_out = {field, "overlap"} if field == "handover" else {field}
            fields = fault.model_dump(mode="json", by_alias=True, exclude_none=True)
            simpler = FaultItem.model_validate({name: value for name, value in fields.items() if name not in left_out})
            if simpler != fault:
                faults = (*scenario.faults[:place], simpler, *scenario.faults[place + 1 :])
                yield scenario.model_copy(update={"faults": faults})


def _with_sites(scenario: Scenario, sites: dict[str, SiteSection], lost: Collection[str]) -> Scenario:
    """The scenario with these sites, and without the faults that name what is `lost`."""
    faults = tuple(fault for fault in scenario.faults if not named_by(fault) & set(lost))
    clients = None
    if sites:
        assert scenario.clients is not None
        given = {name: getattr(scenario.clients, name) for name in scenario.clients.model_fields_set}
        clients = Clients.model_construct(**{**given, "sites": sites})
    return scenario.model_copy(update={"faults": faults, "clients": clients})
