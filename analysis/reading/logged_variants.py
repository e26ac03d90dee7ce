"""Facts about the variants of a run by which their logs are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.reading.stays import Stays


@dataclass(frozen=True, slots=True)
class LoggedVariants:
    """The facts about the variants of a run by which their logs are read."""

    numbers: Mapping[str, int]
    """The number of each variant."""
    run_starts: Sequence[int | None]
    stops: Sequence[int]
    """The time from which clients leave, by variant. Traffic from then on belongs to no experiment: not counted."""
    ends: Sequence[int]
    """The time from which nothing arrives any more, by variant: `stops`, or the end of a run that was interrupted."""
    brokers: frozenset[str]
    unsettled: frozenset[int] = frozenset()
    """The variants in which brokers still passed on operations when the run phase began."""
    sites: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """The site of each client that is on one, by variant; without variants in which none is."""

    slow: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """The clients that read at a rate, by variant; without variants in which none does."""
    stays: Mapping[int, Stays] = field(default_factory=dict)
    """The stays of clients that move, by variant; without variants in which moves were not planned."""

    @property
    def receivers(self) -> frozenset[str]:
        """Brokers and sites, those included on which nobody was at the begin."""
        moved_to = {site.name for stays in self.stays.values() for site in stays.sites}
        return self.brokers.union(moved_to, *(sites.values() for sites in self.sites.values()))

    def session_node(self, variant: int, node: str, client: str) -> str:
        """The name for the end of a client's session: the driver's, or one of its own for a client on a site."""
        return f"{node} {client}" if client in self.sites.get(variant, ()) else node
