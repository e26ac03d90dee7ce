"""Inter-cluster dynamic routing of publications in OctopiA (IDR, section 9.2, Algorithm 4).

A broker that has a publication for other clusters forwards it over those target iLinks that are not overloaded, and
leaves the other clusters to one of the brokers it forwards it to anyway. That one learns of them from CIV_p in the
header, and does the same; the iLinks between its region's brokers are others. Who is left with them:

- Case I, some target iLink is not overloaded: the broker behind the least loaded of those.
- Case II, all target iLinks are, some target aLink is not: the primary neighbour behind the least loaded of those.
- Case III, all target links are: one copy goes over the least loaded target iLink nevertheless, and takes what is left
  besides.

No loop is possible: a copy crosses an iLink only into a cluster whose bit it takes out of the vector (there is one
vector, in one copy, and it never gains a bit), and within a cluster it moves away from where it entered, along a tree.
So every target cluster is entered exactly once, after at most as many crossings as there are clusters, and no broker
gets a publication twice.

How the gaps of the listing are settled:

*The least loaded link.* The listing takes the least loaded of all aLinks (mu1) and iLinks (mu2), and then asks whether
that one is overloaded. The text takes the least loaded of those that are not. By Eq. 3 a link with a short queue can be
overloaded and one with a longer queue not, so the two differ; here the text holds. Of equals, the first is taken: the
aLink of the smaller name, the iLink to the cluster of smaller index.

*Which iLinks mu2 may be.* Only target iLinks: in Case II of Fig. 7(c) the idle iLink to cluster 1, which is no target,
"is not useful"; another cluster's brokers may get a publication only when it is meant for their cluster.

*Case III, mu1 or mu2.* The listing sends the publication to mu1, the least loaded aLink, and clears the bit of j. The
text sends it over the target iLink with the shortest queue, and says why no aLink is taken; Fig. 7(d) shows it; and
only over an iLink is there a cluster j whose bit could be cleared. So it is mu2, and j is the cluster behind it.

*No primary neighbour left.* A secondary broker at the edge of the tree, or one whose subscribers are all behind the
link the publication came by, has no target aLink (alpha = 0). Then no aLink is "not overloaded", and Case III applies,
as at B(a, 0) in Fig. 7(d): "as a last option" the publication takes the overloaded iLink.

*`get_iLink` for a cluster that is not adjacent.* There is none: a region is a complete graph, so every broker has an
iLink to each cluster. Should the overlay lack one nevertheless, its cluster is left to others, over any target aLink if
need be, and is given up, with a word in the log, where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from broker_service.messages import BrokerId
from broker_service.routing.congestion import Congestion, LinkCondition
from broker_service.routing.interface import LinkStatus
from broker_service.routing.octopia_forwarding import Copy, Forwarding, Onward, Route, StaticRouting
from broker_service.routing.octopia_neighbourhood import Neighbourhood
from broker_service.routing.octopia_options import OctopiaOptions
from broker_service.routing.octopia_vector import ClusterIndexVector, bit, clusters_of


class InterClusterDynamicRouting:
    """IDR."""

    def __init__(self, i_links: Mapping[int, BrokerId], condition: LinkCondition) -> None:
        self._i_links = i_links
        self._condition = condition

    def route(self, onward: Onward) -> Route:
        """Lines 1 to 26: all target aLinks, and the target iLinks that are not overloaded."""
        copies = dict.fromkeys(onward.a_links, 0)
        free: list[BrokerId] = []
        left = 0
        for cluster in clusters_of(onward.civ):
            neighbour = self._i_links.get(cluster)
            if neighbour is None or self._condition.is_overloaded(neighbour):
                left |= bit(cluster)
            else:
                free.append(neighbour)
                copies[neighbour] = 0
        unreachable = self._leave_to_others(left, free, onward, copies) if left else 0
        return Route([Copy(neighbour, civ) for neighbour, civ in copies.items()], unreachable)

    def _leave_to_others(
        self,
        left: ClusterIndexVector,
        free_i_links: list[BrokerId],
        onward: Onward,
        copies: dict[BrokerId, ClusterIndexVector],
    ) -> ClusterIndexVector:
        """Lines 27 to 40: one copy takes the vector of the clusters that are left. Returns those that none can take."""
        carrier = self._best(free_i_links)
        if carrier is None:
            carrier = self._best(each for each in onward.a_links if not self._condition.is_overloaded(each))
        if carrier is not None:
            copies[carrier] = left
            return 0
        return self._cross_anyway(left, onward, copies)

    def _cross_anyway(
        self, left: ClusterIndexVector, onward: Onward, copies: dict[BrokerId, ClusterIndexVector]
    ) -> ClusterIndexVector:
        """Case III."""
        clusters = {neighbour: cluster for cluster in clusters_of(left) if (neighbour := self._i_links.get(cluster))}
        carrier = self._best(clusters)
        if carrier is not None:
            copies[carrier] = left & ~bit(clusters[carrier])
            return 0
        carrier = self._best(onward.a_links)
        if carrier is not None:
            copies[carrier] = left
            return 0
        return left

    def _best(self, links: Iterable[BrokerId]) -> BrokerId | None:
        """The least loaded of these links, if there are any; of equals the first."""
        return min(links, key=self._condition.load, default=None)


def make_forwarding(
    options: OctopiaOptions, neighbourhood: Neighbourhood, link_status: Mapping[BrokerId, LinkStatus]
) -> Forwarding:
    """The forwarding that the options ask for."""
    if options.publications == "static":
        return StaticRouting(neighbourhood.secondary)
    return InterClusterDynamicRouting(neighbourhood.secondary, Congestion(link_status, options.congestion_threshold))
