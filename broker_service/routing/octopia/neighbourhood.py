"""The label of a broker in a structured cyclic overlay topology (SCOT), and those of its neighbours (OctopiA, sec. 4).

A broker B(x, y) is in region x and in cluster y. Its *primary neighbours* are those in its own cluster, over aLinks;
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
class ScotLabel:
    """The label (x, y) of a broker."""

    region: str
    cluster: int

    def __str__(self) -> str:
        return f"({self.region}, {self.cluster})"

    @classmethod
    def read(cls, broker: BrokerId, attributes: Mapping[str, Any]) -> ScotLabel:
        """Raises `ValueError`, naming the attribute and the remedy, when the overlay does not label the broker."""
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
    """A broker's own label, and its neighbours by theirs."""

    broker: BrokerId
    label: ScotLabel
    primary: Mapping[str, BrokerId]
    """The neighbours in the own cluster, by region."""
    secondary: Mapping[int, BrokerId]
    """The neighbours in the own region, by cluster."""
    labels: Mapping[BrokerId, ScotLabel]
    """Labels of all neighbours."""

    @classmethod
    def read(
        cls, broker: BrokerId, attributes: Mapping[str, Any], neighbours: Mapping[BrokerId, Mapping[str, Any]]
    ) -> Neighbourhood:
        """Raises `ValueError` when the broker and its links cannot be part of a SCOT."""
        own = ScotLabel.read(broker, attributes)
        labels = {neighbour: ScotLabel.read(neighbour, known) for neighbour, known in neighbours.items()}
        primary: dict[str, BrokerId] = {}
        secondary: dict[int, BrokerId] = {}
        for neighbour, label in labels.items():
            if (label.cluster == own.cluster) == (label.region == own.region):
                raise ValueError(
                    f"octopia routes on SCOT overlays only: the link {broker} - {neighbour} joins {own} and {label}; "
                    f"a link joins two brokers of one cluster or two of one region; {_REMEDY}"
                )
            other = (
                primary.setdefault(label.region, neighbour)
                if label.cluster == own.cluster
                else secondary.setdefault(label.cluster, neighbour)
            )
            if other != neighbour:
                raise ValueError(
                    f"octopia routes on SCOT overlays only: {other} and {neighbour} are both {label}; {_REMEDY}"
                )
        return cls(broker, own, primary, secondary, labels)

    @property
    def clusters(self) -> int:
        """Number of clusters in the overlay, as far as it is known here: a region has a broker in every one."""
        return 1 + max([self.label.cluster, *self.secondary])

    def is_primary(self, neighbour: BrokerId) -> bool:
        """True for a neighbour in the own cluster; otherwise it is in the own region."""
        return self.labels[neighbour].cluster == self.label.cluster
