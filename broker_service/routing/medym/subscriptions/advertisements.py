"""Advertisements of all other servers, by which a server finds those that a subscription has to go to (section 4.2.1).

A server's advertisements are announced as the set of the distinct ones of its clients, each as its encoded predicates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from broker_service.language.relations import intersects
from broker_service.routing.common.decoding import decode_advertisement, decode_subscription
from broker_service.routing.medym.sums import SumChange


@lru_cache(maxsize=1 << 16)
def _intersect(advertisement: bytes, subscription: bytes) -> bool:
    """True when some publication conforms to an advertisement and matches a subscription."""
    return intersects(decode_advertisement(advertisement), decode_subscription(subscription))


class KnownAdvertisements:
    """The advertisements of each other server in the latest version known here."""

    def __init__(self) -> None:
        self._held: dict[int, dict[bytes, None]] = {}
        self._changed: dict[int, None] = {}

    def change(self, server: int, change: SumChange) -> None:
        """Applies a change of a server's advertisements. Raises `MalformedMessageError` for what cannot be decoded."""
        for advertisement in change.added:
            decode_advertisement(advertisement)
        held = self._held.setdefault(server, {})
        held.update(dict.fromkeys(change.added))
        for advertisement in change.withdrawn:
            held.pop(advertisement, None)
        self._changed[server] = None

    def replace(self, server: int, advertisements: tuple[bytes, ...]) -> None:
        """Takes these in place of what is known of a server. Raises as `change`."""
        self._held.pop(server, None)
        self.change(server, SumChange(advertisements))

    def held_by(self, server: int) -> list[bytes]:
        """The advertisements of a server."""
        return list(self._held.get(server, ()))

    def take_changed(self) -> Iterable[int]:
        """The servers whose advertisements have changed since the call before."""
        changed, self._changed = self._changed, {}
        return changed

    @property
    def servers(self) -> Iterable[int]:
        """The servers that have announced advertisements, in ascending order."""
        return sorted(server for server, held in self._held.items() if held)

    def match(self, server: int, subscription: bytes) -> bool:
        """True when a publication that a server advertises may match a subscription."""
        return any(_intersect(advertisement, subscription) for advertisement in self._held.get(server, ()))

    def counts(self) -> Mapping[int, int]:
        """The number of advertisements of each server that has any."""
        return {server: len(self._held[server]) for server in self.servers}
