"""Where a broker stands in a structured cyclic overlay topology, and who its neighbours are there (OctopiA, section 4).

A broker B(x, y) is of region x and of cluster y. Its *primary neighbours* are those in its own cluster, over aLinks;
its *secondary neighbours* are those in its own region, over iLinks, one in each other cluster. It learns all this from
the overlay attributes `region` and `cluster` of itself and of its neighbours, and knows no broker further away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker_service.messages import BrokerId
from broker_service.routing.octopia.vector import MOST_CLUSTERS

REGION, CLUSTER = "region", "cluster"

_REMEDY = "use a topology of kind scot, or give every broker of the overlay file the attributes region and cluster"


@dataclass(frozen=True, slots=True)
class Place:
    """The label (x, y) of a broker."""

    region: str
    cluster: int

    @classmethod
    def read(cls, broker: BrokerId, attributes: Mapping[str, Any]) -> Place:
        """Raises `ValueError`, naming the attribute and the remedy, when the overlay does not say where a broker is."""
        for name in (REGION, CLUSTER):
            if name not in attributes:
                raise ValueError(f"octopia routes on SCOT overlays only: broker {broker} has no {name}; {_REMEDY}")
        cluster = attributes[CLUSTER]
        if not isinstance(cluster, int) or isinstance(cluster, bool) or not 0 <= cluster < MOST_CLUSTERS:
            raise ValueError(
                f"octopia routes on SCOT overlays only: the cluster of broker {broker} is {cluster!r}; clusters have "
                f"the indexes 0, 1, 2, ..., at most {MOST_CLUSTERS} of them"
            )
        return cls(str(attributes[REGION]), cluster)


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A broker's own place, and its neighbours by theirs."""

    broker: BrokerId
    place: Place
    primary: Mapping[str, BrokerId]
    """The neighbours in the own cluster, by region."""
    secondary: Mapping[int, BrokerId]
    """The neighbours in the own region, by cluster."""
    places: Mapping[BrokerId, Place]
    """Of all neighbours."""

    @classmethod
    def read(
        cls, broker: BrokerId, attributes: Mapping[str, Any], neighbours: Mapping[BrokerId, Mapping[str, Any]]
    ) -> Neighbourhood:
        """Raises `ValueError` when this is no place in a SCOT."""
        own = Place.read(broker, attributes)
        places = {neighbour: Place.read(neighbour, said) for neighbour, said in neighbours.items()}
        primary: dict[str, BrokerId] = {}
        secondary: dict[int, BrokerId] = {}
        for neighbour, place in places.items():
            if (place.cluster == own.cluster) == (place.region == own.region):
                raise ValueError(
                    f"octopia routes on SCOT overlays only: the link {broker} - {neighbour} joins {_label(own)} and "
                    f"{_label(place)}; a link joins two brokers of one cluster or two of one region; {_REMEDY}"
                )
            other = (
                primary.setdefault(place.region, neighbour)
                if place.cluster == own.cluster
                else secondary.setdefault(place.cluster, neighbour)
            )
            if other != neighbour:
                raise ValueError(
                    f"octopia routes on SCOT overlays only: {other} and {neighbour} are both {_label(place)}; {_REMEDY}"
                )
        return cls(broker, own, primary, secondary, places)

    @property
    def clusters(self) -> int:
        """How many clusters the overlay has, as far as is seen from here: a region has a broker in every one."""
        return 1 + max([self.place.cluster, *self.secondary])

    def is_primary(self, neighbour: BrokerId) -> bool:
        return self.places[neighbour].cluster == self.place.cluster


def _label(place: Place) -> str:
    return f"({place.region}, {place.cluster})"
