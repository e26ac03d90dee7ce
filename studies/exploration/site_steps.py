"""Sites of a finding as steps of a case: each client on one has an access link of its own, leaves and arrives with its
site, pauses with it, and is cut off with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from emulation.drivers.ended_clients import EndedClients
from emulation.faults.moves import Moves
from scenario.model import Scenario
from scenario.sections.faults import FaultItem
from scenario.sections.units import DURATION
from scenario.workload.generate import planned_sites
from topology.link_properties import LinkProperties
from topology.sites import ClientHost, Move, Site

Step = Mapping[str, Any]


class NoStepError(Exception):
    """A case cannot state it."""


class SiteSteps:
    """The steps of faults on sites, asked for in the order in which the faults begin and end."""

    def __init__(self, scenario: Scenario) -> None:
        sites = planned_sites(scenario, scenario.overlay())
        self._hosts = {
            **{client: ClientHost(client, site.name, (client,)) for site in sites for client in site.clients},
            **{site.name: ClientHost(site.name, site.name, site.clients) for site in sites},
        }
        self._moves = Moves(sites)
        self._ended, self._paused = EndedClients(), EndedClients()
        self._struck: dict[FaultItem, Sequence[ClientHost]] = {}
        """The hosts that have ended or are paused, with the clients that were on them."""
        self._moved: dict[FaultItem, Sequence[str]] = {}
        """The clients of the moves that are under way."""
        self._cut: dict[FaultItem, Sequence[str]] = {}
        self.access = {client: _access_of(site) for site in sites for client in site.clients}
        """The access link with which each client begins, as a case states it."""

    def concerns(self, fault: FaultItem) -> bool:
        """True of a fault of sites, their clients or their access links."""
        if fault.verb in ("crash", "vanish", "move"):
            return True
        texts = fault.pause or fault.link_down or ()
        return not self._hosts.keys().isdisjoint(name for text in texts for name in text.partition("-"))

    def runs(self, client: str) -> bool:
        """True while no crash holds."""
        return client not in self._ended

    def broker(self, client: str, otherwise: str) -> str:
        """The broker that a client arrived at last; `otherwise` for one that is on no site."""
        return self._site_of(client).broker if client in self.access else otherwise

    def begin(self, fault: FaultItem) -> Iterator[Step]:
        """The steps with which a fault begins. Raises `NoStepError`."""
        match fault.verb:
            case "crash" | "vanish":
                for client in self._struck_by(fault, self._ended.end):
                    self._require(self._present(client))
                    yield {"op": "leave", "client": client, "how": fault.verb}
            case "pause":
                for client in self._struck_by(fault, self._paused.end):
                    self._require(self._present(client))
                    yield {"op": "pause", "client": client}
            case "link_down":
                self._cut[fault] = cut = list(self._cut_off(fault.link_down or ()))
                yield from ({"op": "access_down", "client": client} for client in cut)
            case "move":
                yield from self._departures(fault) if self._is_hard(fault) else self._arrivals(fault)
            case _:
                raise NoStepError

    def end(self, fault: FaultItem) -> Iterator[Step]:
        """The steps with which a fault ends. Raises `NoStepError`."""
        match fault.verb:
            case "crash" | "vanish":
                for client in self._back_from(fault, self._ended.come_back):
                    self._require(self._present(client))
                    yield {"op": "arrive", "client": client, "broker": self._site_of(client).broker}
            case "pause":
                for client in self._back_from(fault, self._paused.come_back):
                    yield {"op": "continue", "client": client}
            case "link_down":
                yield from ({"op": "access_up", "client": client} for client in self._cut.pop(fault))
            case _:
                yield from self._arrivals(fault) if self._is_hard(fault) else self._departures(fault)
                self._moved.pop(fault, None)

    def _struck_by(self, fault: FaultItem, strike: Callable[[ClientHost], list[str]]) -> Iterator[str]:
        named = getattr(fault, fault.verb)
        self._require(self._hosts.keys() >= set(named))
        self._struck[fault] = hosts = [self._moves.as_it_is(self._hosts[name]) for name in named]
        for host in hosts:
            yield from strike(host)

    def _back_from(self, fault: FaultItem, come_back: Callable[[ClientHost], list[str]]) -> Iterator[str]:
        for host in self._struck.pop(fault):
            yield from come_back(host)

    def _cut_off(self, links: Sequence[str]) -> Iterator[str]:
        for link in links:
            name, _, broker = link.partition("-")
            site = next((site for site in self._moves.sites if site.name == name), None)
            self._require("->" not in link and site is not None and site.broker == broker)
            assert site is not None
            yield from (client for client in site.clients if self.runs(client))

    def _departures(self, fault: FaultItem) -> Iterator[Step]:
        """Clients leave their old brokers: at the begin of a hard handover, at the end of a soft one."""
        if self._is_hard(fault):
            self._begin_move(fault)
        for client in self._moved.get(fault, ()):
            silent = fault.handover is None or client in self._paused
            yield {"op": "leave", "client": client, "how": "unannounced" if silent else "announced"}

    def _arrivals(self, fault: FaultItem) -> Iterator[Step]:
        """Clients arrive at their new brokers: at the end of a hard handover, at the begin of a soft one."""
        if not self._is_hard(fault):
            self._begin_move(fault)
        clients = self._moved.get(fault)
        if clients is None:
            return
        former = {client: self._site_of(client) for client in clients}
        for move in self._moves_of(fault):
            self._moves.end(move)
        for client in clients:
            site, step = self._site_of(client), {"op": "arrive", "client": client}
            other = {} if site.name == former[client].name else {"access": _access_of(site)}
            self._require(site.broker != former[client].broker or self._is_hard(fault))
            yield {**step, "broker": site.broker, **other}

    def _begin_move(self, fault: FaultItem) -> None:
        """Records the clients of a move; a move that changes nothing has none."""
        sites = {site.name: site for site in self._moves.sites}
        moves = self._moves_of(fault)
        moving = [client for move in moves for client in self._clients(move, sites)]
        began = [self._moves.begin(move) for move in moves]
        if not any(began):
            return
        self._require(all(began) and all(map(self.runs, moving)))
        self._moved[fault] = moving

    def _moves_of(self, fault: FaultItem) -> Sequence[Move]:
        handover = {} if fault.handover is None else {"handover": fault.handover}
        return [Move(self._hosts[name], str(fault.to), **handover) for name in fault.move or ()]

    @staticmethod
    def _clients(move: Move, sites: Mapping[str, Site]) -> Sequence[str]:
        return sites[move.host.site].clients if move.of_site else move.host.clients

    @staticmethod
    def _is_hard(fault: FaultItem) -> bool:
        return fault.handover is None or not fault.handover.is_soft

    def _present(self, client: str) -> bool:
        """True of a client that is not on its way."""
        return all(client not in clients for clients in self._moved.values())

    def _site_of(self, client: str) -> Site:
        return next(site for site in self._moves.sites if client in site.clients)

    @staticmethod
    def _require(stated: bool) -> None:
        if not stated:
            raise NoStepError


def _access_of(site: Site) -> Mapping[str, str]:
    """The access link of a site's clients, as a case states it. Raises `NoStepError`."""
    wire = site.up
    plain = LinkProperties(delay=wire.delay, jitter=wire.jitter)
    if site.reads_slowly or site.down != wire or wire != plain:
        raise NoStepError
    jitter = {"jitter": DURATION.format(wire.jitter)} if wire.jitter else {}
    return {"delay": DURATION.format(wire.delay), **jitter}
