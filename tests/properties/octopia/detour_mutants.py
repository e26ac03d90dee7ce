"""OctopiA's ways round links and dead brokers, each wrong in one way, to see that the properties notice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import msgspec

from broker_service.messages import BrokerId
from broker_service.routing.octopia import dynamic, publications
from broker_service.routing.octopia.detours import CongestionDetours, FailureDetours, Relay
from broker_service.routing.octopia.forwarding import Copy
from broker_service.routing.octopia.messages import Detour, OwnClientsOnly, RelayHeader
from broker_service.routing.octopia.vector import ClusterIndexVector


class ForgetsWhoIsBehind(Relay):
    """Forwards to no broker behind a failed broker for which it stands in."""

    def _enter(self, detour: Detour) -> list[Copy]:
        return [copy for copy in super()._enter(detour) if not isinstance(copy.role, Detour)]


class StandsInForTheLiving(Relay):
    """Lets an ordinary copy wait for a broker that counts as failed."""

    def _enter(self, detour: Detour) -> list[Copy]:
        copies = super()._enter(detour)
        return [
            msgspec.structs.replace(copy, role=None) if isinstance(copy.role, OwnClientsOnly) else copy
            for copy in copies
        ]


class LooksAtWhatItPassesOn(Relay):
    """It takes a publication on a detour for one that is meant for its own cluster."""

    def arrived_from(self, header: RelayHeader) -> BrokerId | None:
        return super().arrived_from(header) or next(iter(self._neighbourhood.primary.values()))


class TakesNoDetours(FailureDetours):
    def round(self, neighbour: BrokerId) -> Copy | None:
        return None


class NeverTurnsBack(FailureDetours):
    def back(self, source: BrokerId | None, left: ClusterIndexVector) -> Copy | None:
        return None


class GoesTheWrongWayRound(CongestionDetours):
    """It takes the detour for one in the opposite direction."""

    def round(self, neighbour: BrokerId) -> Copy | None:
        copy = super().round(neighbour)
        if copy is None or not isinstance(copy.role, Detour):
            return copy
        wrong = msgspec.structs.replace(copy.role, origin=copy.role.towards, towards=copy.role.origin)
        return msgspec.structs.replace(copy, role=wrong)


@contextmanager
def in_place_of_detours(broken: type[Relay] | type[FailureDetours] | type[CongestionDetours]) -> Iterator[None]:
    """All brokers take this class for the one that it is made from."""
    (original,) = broken.__bases__
    module = publications if original is Relay else dynamic
    with mock.patch.object(module, original.__name__, broken):
        yield
