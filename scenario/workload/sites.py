"""The sites of a scenario: which clients are on each, and the access link that it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from scenario.model import Scenario
from scenario.sections.clients import MOST_SITES, Clients
from scenario.sections.messages import Problem
from scenario.sections.section import suggestion
from scenario.workload.placement import broker_problems
from scenario.workload.programs import program_problems
from topology.link_properties import BrokerId
from topology.model import Overlay
from topology.sites import Site

_TAKEN = frozenset({"publishers", "subscribers", "programs", "emulator", "relay", "clients"})
"""Names of other nodes, which logs and figures tell apart by name."""


def homes_at_sites(scenario: Scenario) -> Mapping[str, BrokerId]:
    """The broker of each client that a site lists."""
    if scenario.clients is None:
        return {}
    return {client: site.broker for site in scenario.clients.sites.values() for client in site.clients or ()}


def sites_of(scenario: Scenario, overlay: Overlay, homes: Mapping[str, BrokerId]) -> tuple[Site, ...]:
    """The sites of a checked scenario, in order; none where clients are beside their brokers.

    `homes` has the broker of each client.
    """
    section = scenario.clients
    if section is None:
        return ()
    listed = homes_at_sites(scenario)
    taking = _taking_turns(section, overlay)
    turns: dict[str, list[str]] = {name: [] for name in chain.from_iterable(taking.values())}
    counts = dict.fromkeys(taking, 0)
    for client, broker in homes.items():
        if client not in listed and broker in taking:
            names = taking[broker]
            turns[names[counts[broker] % len(names)]].append(client)
            counts[broker] += 1
    sites = []
    for name, site in section.sites.items():
        link = site.drawn(name, site.broker, scenario.seed)
        clients = turns[name] if site.clients is None else site.clients
        sites.append(Site(name, site.broker, tuple(clients), link.forward, link.backward, site.reading))
    if (rule := section.every_broker) is not None:
        for home in [broker.id for broker in overlay.brokers]:
            for name in _names(home, rule.sites):
                link = rule.drawn(name, home, scenario.seed)
                sites.append(Site(name, home, tuple(turns[name]), link.forward, link.backward, rule.reading))
    return tuple(sites)


def site_problems(scenario: Scenario, overlay: Overlay, generated: Iterable[str]) -> Iterator[Problem]:
    """Contradictions between the section `clients` and the rest of a scenario. `generated` are the clients that the
    workload generates."""
    section = scenario.clients
    if section is None:
        return
    yield from _too_many(section, len(overlay.brokers))
    brokers = {broker.id for broker in overlay.brokers}
    written = {item.client: item.broker for item in scenario.workload.operations}
    known = frozenset(generated) | written.keys() | section.program_of.keys()
    at: dict[str, str] = {}
    for name, site in section.sites.items():
        if name in brokers or name in _TAKEN:
            what = "a broker" if name in brokers else "another part of a run"
            yield Problem(("clients", "sites", name), f"{name!r} is the name of {what}; give the site another one")
        yield from broker_problems(("clients", "sites", name, "broker"), site.broker, overlay)
        for client in site.clients or ():
            path = ("clients", "sites", name, "clients")
            if client not in known:
                yield Problem(path, f"the workload has no client {client!r}{_suggested(client, known)}")
            elif (home := written.get(client, site.broker)) != site.broker:
                yield Problem(path, f"{client} is a client of {home} in `workload.operations`, not of {site.broker}")
            if at.setdefault(client, name) != name:
                yield Problem(path, f"{client} is at site {at[client]} already; a client is at one site")
    if section.every_broker is not None:
        made = {name for broker in brokers for name in _names(broker, section.every_broker.sites)}
        for name in sorted(made & (section.sites.keys() | brokers)):
            yield Problem(("clients", "every_broker"), f"makes a site {name!r}, a name that is taken already")
    yield from program_problems(scenario, at)


def _too_many(section: Clients, brokers: int) -> Iterator[Problem]:
    rule = section.every_broker
    count = len(section.sites) + (0 if rule is None else rule.sites * brokers)
    if count > MOST_SITES:
        path = ("clients", "sites") if rule is None else ("clients", "every_broker", "sites")
        yield Problem(path, f"makes {count:,} sites; {MOST_SITES:,} is the most")


def _suggested(client: str, known: frozenset[str]) -> str:
    if len(known) > 20:
        return f"; its {len(known):,} clients are {min(known)}, ..., {max(known)}"
    return suggestion(client, known)


def _taking_turns(section: Clients, overlay: Overlay) -> Mapping[BrokerId, list[str]]:
    """The sites without a list of clients, by broker."""
    taking: dict[BrokerId, list[str]] = {}
    for name, site in section.sites.items():
        if site.clients is None:
            taking.setdefault(site.broker, []).append(name)
    if section.every_broker is not None:
        for broker in overlay.brokers:
            taking.setdefault(broker.id, []).extend(_names(broker.id, section.every_broker.sites))
    return taking


def _names(broker: BrokerId, count: int) -> list[str]:
    return [f"{broker}-site{number + 1}" for number in range(count)]
