"""Targets of faults among sites, clients on them, and access links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from scenario.faults.roles import LinkEnds
from scenario.faults.target_words import Call, TargetError
from topology.link_properties import BrokerId, LinkDirection
from topology.sites import ClientHost, Site

RANDOM_SITE, RANDOM_CLIENT = "random-site", "random-client"
_Target = TypeVar("_Target")


class Sample(Protocol):
    """Draws targets for the present fault."""

    def __call__(self, everything: Sequence[_Target], count: int, hit: set[_Target]) -> list[_Target]:
        """Draws from what no earlier fault has hit where that is enough, and else from everything."""


class SiteTargets:
    """Resolves what faults hit among the sites of a scenario."""

    def __init__(self, sites: Iterable[Site], sample: Sample) -> None:
        self._sites = {site.name: site for site in sites}
        self._sample = sample
        self._hit: set[ClientHost] = set()
        self._homes = {site.name: {site.broker} for site in self._sites.values()}
        """The brokers of each site, those included to which a fault has it go."""
        self._gone: set[ClientHost] = set()
        """Clients that earlier faults have go to another site."""

    def hosts(self, texts: Iterable[str]) -> tuple[ClientHost, ...]:
        """Sites and clients on sites, each once, in the order written. Raises `TargetError`."""
        found = dict.fromkeys(host for text in texts for host in self._host(text))
        self._hit.update(found)
        return tuple(found)

    def named(self, text: str) -> bool:
        """True for a text that means sites or clients on them."""
        words = Call.of(text).word in (RANDOM_SITE, RANDOM_CLIENT)
        return words or text in self._sites or any(text in site.clients for site in self._sites.values())

    def whole(self, texts: Iterable[str]) -> tuple[ClientHost, ...]:
        """Sites, or clients that are alone on theirs, which stand for it. Raises `TargetError`."""
        return tuple(dict.fromkeys(self._whole(host) for host in self.hosts(texts)))

    def access(self, host: ClientHost) -> tuple[LinkDirection, LinkDirection]:
        """The access link of a host, from the site to the broker and back."""
        direction = LinkDirection(host.site, self._sites[host.site].broker)
        return direction, direction.reverse

    def moving(self, texts: Iterable[str], to: str, brokers: Sequence[BrokerId]) -> tuple[ClientHost, ...]:
        """Hosts that go to a broker, if they are sites, or clients that are alone on theirs and stand for it, and else
        to a site. Raises `TargetError`."""
        if to not in brokers and to not in self._sites:
            raise TargetError(f"neither a broker nor a site to which clients could move is called {to!r}", "to")
        hosts = self.hosts(texts)
        if to in brokers:
            hosts = tuple(dict.fromkeys(self._rehomed(host, to) for host in hosts))
            for host in hosts:
                self._homes[host.site].add(to)
            return hosts
        for host in hosts:
            if host.name == host.site:
                raise TargetError(f"{host} is a site, which goes to a broker; {to} is a site", "to")
            if host.site == to and host not in self._gone:
                raise TargetError(f"{host} is on {to} already", "to")
        self._gone.update(hosts)
        return hosts

    def _rehomed(self, host: ClientHost, broker: BrokerId) -> ClientHost:
        site = self._sites[host.site]
        if host.clients != site.clients:
            raise TargetError(
                f"{host.name} shares {site.name} with other clients, whose access link stays; move {site.name} to "
                f"{broker}, or {host.name} to a site of {broker}"
            )
        if self._homes[site.name] == {broker}:
            raise TargetError(f"{site.name} is at {broker} already", "to")
        return _as_host(site)

    def links(self, text: str) -> list[LinkEnds]:
        """All access links, for a text that draws from them. Raises `TargetError` where there are none."""
        return [(site.name, site.broker) for site in self._require_sites(text)]

    def direction(self, source: str, target: str) -> LinkDirection | None:
        """The direction of an access link between these two; None where neither is a site. Raises `TargetError`."""
        site = self._sites.get(source) or self._sites.get(target)
        if site is None:
            return None
        if not ({source, target} - {site.name}) <= self._homes[site.name]:
            raise TargetError(f"the access link of {site.name} is {site.name}-{site.broker}")
        return LinkDirection(source, target)

    def has(self, direction: LinkDirection) -> bool:
        """True for a direction of an access link."""
        return direction.source in self._sites or direction.target in self._sites

    def _host(self, text: str) -> Sequence[ClientHost]:
        if (site := self._sites.get(text)) is not None:
            return (_as_host(site),)
        for site in self._sites.values():
            if text in site.clients:
                return (ClientHost(text, site.name, (text,)),)
        call, sites = Call.of(text), self._require_sites(text)
        if call.word == RANDOM_SITE:
            return self._drawn(call, [_as_host(site) for site in sites])
        if call.word == RANDOM_CLIENT:
            return self._drawn(
                call, [ClientHost(client, site.name, (client,)) for site in sites for client in site.clients]
            )
        raise TargetError(
            f"no site, and no client on a site, is {text!r}: a client beside its broker has no host of its own; write "
            f"a name, {RANDOM_SITE}(n) or {RANDOM_CLIENT}(n)"
        )

    def _drawn(self, call: Call, everything: Sequence[ClientHost]) -> Sequence[ClientHost]:
        count = call.count()
        if len(everything) < count:
            raise TargetError(f"{call.word}({count}): there are {len(everything)}")
        return self._sample(everything, count, self._hit)

    def _whole(self, host: ClientHost) -> ClientHost:
        site = self._sites[host.site]
        if host.clients != site.clients:
            raise TargetError(
                f"{host.name} shares {site.name} with other clients, and does this with them only: write {site.name}"
            )
        return _as_host(site)

    def _require_sites(self, text: str) -> Sequence[Site]:
        """All sites. Raises `TargetError` where there are none."""
        if not self._sites:
            raise TargetError(
                f"{text}: this scenario has no sites, and clients beside their brokers have neither an access link nor "
                "a host of their own; section `clients` makes sites"
            )
        return list(self._sites.values())


def _as_host(site: Site) -> ClientHost:
    return ClientHost(site.name, site.name, site.clients)
