"""Faults of sites and their clients, which fail as hosts do, and change their broker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from record.handover import Handover
from studies.exploration.draws import magnitude, seconds, written
from studies.exploration.link_faults import Fault, LinkFaults, drawn_duration
from studies.exploration.sites import SiteInRun

_WHOLE = 0.6
"""Share of the faults of hosts that strike a site, and not one of its clients."""
_LONGEST_AWAY = 10.0
"""Seconds without any network while a host moves, and seconds with two, at most."""


@dataclass(frozen=True, slots=True)
class SiteFaults:
    """Draws faults and moves of the sites of one run, and of the clients on them."""

    random: Random
    brokers: Sequence[str]
    """Brokers to which sites may go."""
    everywhere: Sequence[SiteInRun]
    """All sites, to which clients may go."""
    sites: Sequence[SiteInRun]
    """The sites that are struck."""
    end: int
    """The end of the run phase, nanoseconds since the start of the join phase."""

    def near(self, *names: str) -> SiteFaults:
        """Draws faults on the sites of these names and clients, or else on those of these brokers."""
        named = [site for site in self.sites if site.name in names or set(site.clients) & set(names)]
        at_brokers = [site for site in self.sites if set(site.homes) & set(names)]
        return replace(self, sites=named or at_brokers or self.sites)

    def after(self, fault: Fault) -> SiteFaults:
        """Draws faults that may come after this one, where it is a move."""
        names, to = fault.get("move", ()), fault.get("to", "")
        if to not in self.brokers:
            return self
        moved = {site: replace(site, homes=(*site.homes, to)) for site in self.everywhere if site.name in names}
        return replace(
            self,
            everywhere=[moved.get(site, site) for site in self.everywhere],
            sites=[moved.get(site, site) for site in self.sites],
        )

    def one(self, at: int) -> Fault:
        """A fault of any kind, so many nanoseconds after the start of the join phase."""
        verbs = [self._crash, self._vanish, self._pause, self._of_access, self._of_access,
                 self._site_moves, self._site_moves, self._client_moves]  # fmt: skip
        return self.random.choice(verbs)(at)

    def _site(self) -> SiteInRun:
        return self.random.choice(self.sites)

    def _host(self) -> str:
        """A site, or a client on one."""
        site = self._site()
        return site.name if not site.clients or self.random.random() < _WHOLE else self.random.choice(site.clients)

    def _for(self, at: int) -> str:
        return drawn_duration(self.random, at, self.end)

    def _crash(self, at: int) -> Fault:
        return {"crash": [self._host()], "for": self._for(at)}

    def _vanish(self, at: int) -> Fault:
        return {"vanish": [self._site().name], "for": self._for(at)}

    def _pause(self, at: int) -> Fault:
        return {"pause": [self._host()], "for": self._for(at)}

    def _of_access(self, at: int) -> Fault:
        site = self._site()
        links = LinkFaults(self.random, [(site.name, home) for home in site.homes], self.end)
        return self.random.choice((links.cut, links.cut, links.flap, links.worse))(at)

    def _site_moves(self, at: int) -> Fault:
        site = self._site()
        others = [broker for broker in self.brokers if broker != site.homes[-1]]
        if not others:
            return self._crash(at)
        return {"move": [site.name], "to": self.random.choice(others), **self._handover()}

    def _client_moves(self, at: int) -> Fault:
        site = self._site()
        others = [other.name for other in self.everywhere if other.name != site.name]
        if not others or not site.clients:
            return self._site_moves(at)
        client, goal = self.random.choice(site.clients), self.random.choice(others)
        return {"move": [client], "to": goal, **self._handover()}

    def _handover(self) -> dict[str, Any]:
        random, handover = self.random, self.random.choice(tuple(Handover))
        time = written(seconds(magnitude(random, 0.001, _LONGEST_AWAY)))
        drawn = {} if handover is Handover.UNANNOUNCED else {"handover": handover.value}
        if random.random() < 0.5:
            drawn["overlap" if handover.is_soft else "away"] = time
        return drawn
