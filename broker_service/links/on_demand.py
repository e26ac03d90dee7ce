"""Links on demand: those of a broker in a large full mesh, each of which is made when it is first used.

1. All other brokers of the mesh are neighbours from the beginning. They share one mapping of attributes, so that an
   unused link costs no object.
2. This end of a link is made when the router puts the first message into it, or when the neighbour opens a stream.
3. A stream is opened when a message waits, from either end, and closed when the link has been idle for
   `Limits.idle_close`. The counters of both ends remain, so that the next stream resumes where the former one ended.
4. The router counts on a link that rests: its status is up, and neither rest nor awakening is reported. `link_up`
   reports the first stream and each new incarnation of the neighbour. `link_down` reports a stream that broke or could
   not be opened when it was wanted; from then on the link is like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from broker_service.config import LinkConfig
from broker_service.links.flow import IDLE, Flow
from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import BrokerId


@dataclass(frozen=True, slots=True)
class MeshPlace:
    """The place of one broker in a full mesh whose links are made on demand."""

    broker: BrokerId
    attributes: Mapping[BrokerId, Mapping[str, Any]]
    """Attributes of all brokers of the mesh, this one included, in the mesh's order."""
    config: Callable[[BrokerId], LinkConfig]
    """Configuration of this broker's end of the link to a neighbour. Raises `KeyError` for any other broker."""
    made: Callable[[OverlayLink], None]
    """Has the shell drive an end that was made, before a message is put into it."""


class LinksOnDemand(dict[BrokerId, OverlayLink]):
    """The used links of a broker, by neighbour; looking up an unused one makes it."""

    def __init__(
        self, links: Mapping[BrokerId, OverlayLink], place: MeshPlace, make: Callable[[LinkConfig], OverlayLink]
    ) -> None:
        """`links` were used by former incarnations of the broker; streams to their neighbours are opened again."""
        super().__init__(links)
        self._place = place
        self._make = make

    def __missing__(self, neighbour: BrokerId) -> OverlayLink:
        link = self._make(self._place.config(neighbour))
        link.rest()
        self[neighbour] = link
        self._place.made(link)
        return link


class UnusedLink:
    """Status of a link that carried nothing yet: a `LinkStatus`."""

    __slots__ = ("attributes",)

    up = True
    round_trip: float | None = None
    queue_length = 0
    sent = 0
    waited = 0
    utilisation = 1.0

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self.attributes = attributes

    def flow(self, interval: float) -> Flow:
        return IDLE


class MeshStatus(Mapping[BrokerId, OverlayLink | UnusedLink]):
    """The link status table of a broker whose links are made on demand, a live view of all its neighbours."""

    def __init__(self, place: MeshPlace, used: Mapping[BrokerId, OverlayLink]) -> None:
        self._place = place
        self._used = used

    def __getitem__(self, neighbour: BrokerId) -> OverlayLink | UnusedLink:
        used = self._used.get(neighbour)
        if used is not None:
            return used
        if neighbour == self._place.broker:
            raise KeyError(neighbour)
        return UnusedLink(self._place.attributes[neighbour])

    def __contains__(self, neighbour: object) -> bool:
        return neighbour in self._place.attributes and neighbour != self._place.broker

    def __iter__(self) -> Iterator[BrokerId]:
        broker = self._place.broker
        return (neighbour for neighbour in self._place.attributes if neighbour != broker)

    def __len__(self) -> int:
        return len(self._place.attributes) - 1
