"""Records of messages at the two ends of access links, as rows of `hop_events`.

A publication leaves its client's site when the client hands it over, and has come when its broker has it; a
notification leaves the broker when that passes it on, and has come when the client has it.
"""

from __future__ import annotations

from collections.abc import Mapping

from analysis.reading.hop_events import HopPlace, HopWriter
from analysis.reading.logged_variants import LoggedVariants
from analysis.reading.stays import NO_STAYS
from record.log import Event, TraceRecord

_DIRECTIONS: Mapping[Event, tuple[Event, bool]] = {
    Event.PUBLISH: (Event.SENT, True),
    Event.RECEIVED: (Event.RECEIVED, True),
    Event.DELIVERED: (Event.SENT, False),
    Event.NOTIFIED: (Event.RECEIVED, False),
}
"""The event of a row for each event of a record, and whether the message goes to the broker."""
AT_ACCESS_LINKS = frozenset(_DIRECTIONS)


class AccessHops:
    """Adds the rows of one event's records of publications at one broker's access links in one variant."""

    def __init__(self, hops: HopWriter, variant: int, event: Event, broker: str, variants: LoggedVariants) -> None:
        self._hops = hops
        self._variant = variant
        self._event, self._to_broker = _DIRECTIONS[event]
        self._broker = broker
        self._sites = variants.sites[variant]
        self._stays = variants.stays.get(variant, NO_STAYS)
        self._places: dict[str, int] = {}

    def add(self, record: TraceRecord) -> None:
        """Adds a record, if its client is on a site."""
        client = record.client or ""
        site = self._sites.get(client)
        if self._stays.of(client):
            site = self._stays.site_at(client, self._broker, record.time)
        if site is None:
            return
        place = self._places.get(site)
        if place is None:
            place = self._places[site] = self._hops.number_of(self._place(site))
        self._hops.add(place, record, len(client))

    def _place(self, site: str) -> HopPlace:
        at_site = self._to_broker == (self._event is Event.SENT)
        node, peer = (site, self._broker) if at_site else (self._broker, site)
        return HopPlace(self._variant, self._event, node, peer, "publish", access=True)
