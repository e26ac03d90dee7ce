"""Sites of clients: hosts with an access link each, some of which read slowly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from record.unread import UnreadPolicy
from scenario.sections.clients import Clients
from scenario.sections.faults import FaultItem
from studies.exploration.draws import magnitude, whole_magnitude
from studies.exploration.operations import Timed

_SITES = 0.35
"""Share of the runs whose clients are on sites, or some of them."""
_ON_SITE = 0.8
"""Share of the clients of such a run that are on one."""
_SHARED = 0.3
"""Share of the clients that go to the site of another client of their broker, where there is one."""
_EMPTY = 0.3
"""Share of these runs with a site more, on which is nobody before somebody moves to it."""
_SLOW = 0.15
"""Share of the sites whose clients read slowly, in runs without composite subscriptions: sets come in crowds, and one
for which a small queue of a session has no room counts as lost."""
_UNSTEADY = 0.4
"""Share of the access links with jitter."""
_LOSSY = 0.1
"""Share of the access links that lose frames."""
_NARROW = 0.1
"""Share of the access links with a rate."""
_LONGEST_ACCESS = 200.0
"""Milliseconds, one way."""


@dataclass(frozen=True, slots=True)
class SiteInRun:
    """A site, as far as faults need to know it."""

    name: str
    homes: tuple[str, ...]
    """The site's broker, and the brokers that faults move it to."""
    clients: tuple[str, ...]


def drawn_clients(operations: Sequence[Timed], brokers: Sequence[str], random: Random) -> Clients | None:
    """The section `clients` of a scenario; None where all clients are beside their brokers."""
    if random.random() >= _SITES:
        return None
    homes = {item["client"]: item["broker"] for _, item in operations}
    places: list[tuple[str, list[str]]] = []
    for client, broker in homes.items():
        if random.random() >= _ON_SITE:
            continue
        there = [clients for home, clients in places if home == broker]
        if there and random.random() < _SHARED:
            random.choice(there).append(client)
        else:
            places.append((broker, [client]))
    if random.random() < _EMPTY or not places:
        places.append((random.choice(brokers), []))
    composing = any("composite" in item for _, item in operations)
    sites = {}
    for number, (broker, clients) in enumerate(places, 1):
        site = {"broker": broker, "clients": clients, **_access(random)}
        if random.random() < _SLOW and not composing:
            site["reads"] = f"{magnitude(random, 1, 50):.3g}/s"
        sites[f"site{number}"] = site
    return Clients.model_validate({"sites": sites, "unread": random.choice(list(UnreadPolicy)).value})


def sites_in(clients: Clients | None, faults: Sequence[FaultItem] = ()) -> Iterator[SiteInRun]:
    """The sites of a run with these faults."""
    for name, site in ({} if clients is None else clients.sites).items():
        later = (fault.to for fault in faults if fault.to is not None and name in (fault.move or ()))
        yield SiteInRun(name, tuple(dict.fromkeys((site.broker, *later))), site.clients or ())


def _access(random: Random) -> Mapping[str, Any]:
    """The properties of an access link, at times others for each direction."""
    access = _wire(random)
    return {**access, "to_clients": _wire(random)} if random.random() < 0.3 else access


def _wire(random: Random) -> Mapping[str, Any]:
    wire: dict[str, Any] = {"delay": f"{magnitude(random, 0.1, _LONGEST_ACCESS):.3g}ms"}
    if random.random() < _UNSTEADY:
        wire["jitter"] = f"{random.choice((2, 10, 40))}%"
    if random.random() < _LOSSY:
        wire["loss"] = f"{random.choice((1, 2, 5))}%"
    if random.random() < _NARROW:
        wire["bandwidth"] = f"{whole_magnitude(random, 100, 10_000)}kbit"
    return wire
