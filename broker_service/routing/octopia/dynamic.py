"""Inter-cluster dynamic routing of publications in OctopiA (IDR, section 9.2, Algorithm 4).

A broker that has a publication for other clusters forwards it over those target iLinks that are not overloaded, and
passes the remaining clusters to one of the brokers it forwards it to anyway. That broker reads them from CIV_p in the
header and does the same; its region has other iLinks. The remaining clusters are passed to:

- Case I, some target iLink is not overloaded: the broker behind the least loaded of those.
- Case II, all target iLinks are overloaded, some target aLink is not: the primary neighbour behind the least loaded of
  those.
- Case III, all target links are overloaded: one copy goes over the least loaded target iLink nevertheless, and carries
  the other remaining clusters.

No loop is possible: a copy crosses an iLink only into a cluster whose bit it takes out of the vector (there is one
vector, in one copy, and it never gains a bit), and within a cluster it moves away from where it entered, along a tree.
So every target cluster is entered exactly once, after at most as many crossings as there are clusters, and no broker
receives a publication twice.

Decisions where the listing leaves something open:

*The least loaded link.* The listing takes the least loaded of all aLinks (mu1) and iLinks (mu2), and then asks whether
that one is overloaded. The text takes the least loaded of those that are not. By Eq. 3 a link with a short queue can be
overloaded and one with a longer queue not, so the two differ; here the text holds. Of equals, the first is taken: the
aLink of the smaller name, the iLink to the cluster of smaller index.

*Candidates for mu2.* Only target iLinks: in Case II of Fig. 7(c) the idle iLink to cluster 1, which is no target, "is
not useful"; another cluster's brokers may get a publication only when it is meant for their cluster.

*Case III, mu1 or mu2.* The listing sends the publication to mu1, the least loaded aLink, and clears the bit of j. The
text sends it over the target iLink with the shortest queue, and explains why no aLink is taken; Fig. 7(d) shows it; and
only over an iLink is there a cluster j whose bit could be cleared. So it is mu2, and j is the cluster behind it.

*No primary neighbour left.* A secondary broker at the edge of the tree, or one whose subscribers are all behind the
link that the publication came by, has no target aLink (alpha = 0). Then no aLink is "not overloaded", and Case III
applies, as at B(a, 0) in Fig. 7(d): "as a last option" the publication takes the overloaded iLink.

*`get_iLink` for a cluster that is not adjacent.* The case does not occur: a region is a complete graph, so every broker
has an iLink to each cluster. If the overlay lacks one nevertheless, its cluster is passed to others, over any target
aLink if necessary; without one it is given up, with a record in the log.

Two variants go beyond the paper (a third, detours within a cluster, is in `detours`):

*Links outside the subscription tree* (`off_tree_links`). Before Case III, the remaining clusters may be passed to a
primary neighbour without subscribers behind it, over a link that is not overloaded, as over l((b, 3), (a, 3)) in
Fig. 7(d). It still moves away from where the publication entered the cluster, so the argument above holds.

*Links that are down* (`round_dead_brokers`) count as overloaded and are taken only when no other is left; then the
publication waits for the link, as it would in static routing. A cluster behind an iLink that is down is passed to
primary neighbours, with subscribers behind them or without, whose regions have iLinks of their own to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from broker_service.messages import BrokerId
from broker_service.routing.common.congestion import UNUSABLE, Congestion, CongestionOrFailure, LinkCondition
from broker_service.routing.interface import LinkStatus
from broker_service.routing.octopia.detours import (
    CongestionDetours,
    Detours,
    EitherDetours,
    FailureDetours,
)
from broker_service.routing.octopia.forwarding import Copy, Forwarding, ForwardingDecision, Onward, StaticRouting
from broker_service.routing.octopia.neighbourhood import Neighbourhood
from broker_service.routing.octopia.options import OctopiaOptions
from broker_service.routing.octopia.vector import ClusterIndexVector, bit, clusters_of

SpareLinks = Callable[[Onward, ClusterIndexVector], list[BrokerId]]
"""The aLinks outside the subscription tree over which these clusters may be passed to others."""


class InterClusterDynamicRouting:
    """IDR. Without `spare` and `detours` it is the paper's: publications stay on the tree of their cluster."""

    def __init__(
        self,
        i_links: Mapping[int, BrokerId],
        condition: LinkCondition,
        spare: SpareLinks | None = None,
        detours: Detours | None = None,
    ) -> None:
        self._i_links = i_links
        self._condition = condition
        self._spare = spare or _none
        self._detours = detours

    def route(self, onward: Onward) -> ForwardingDecision:
        """Lines 1 to 26: all target aLinks, and the target iLinks that are not overloaded."""
        detours = self._detours
        copies = {
            neighbour: Copy(neighbour) if detours is None else detours.round(neighbour) or Copy(neighbour)
            for neighbour in onward.a_links
        }
        free: list[BrokerId] = []
        left = 0
        for cluster in clusters_of(onward.civ):
            neighbour = self._i_links.get(cluster)
            if neighbour is None or self._condition.is_overloaded(neighbour):
                left |= bit(cluster)
            else:
                free.append(neighbour)
                copies[neighbour] = Copy(neighbour)
        unreachable = 0
        if left:
            carrier = self._carrier(left, free, onward)
            if carrier is None:
                unreachable = left
            else:
                copies[carrier.neighbour] = carrier
        return ForwardingDecision(list(copies.values()), unreachable)

    def _carrier(self, left: ClusterIndexVector, free_i_links: list[BrokerId], onward: Onward) -> Copy | None:
        """Lines 27 to 40: the copy that carries the vector of the remaining clusters; None when no link leads there."""
        spare = self._spare(onward, left)
        # Case I, Case II, and links beyond the paper
        for links in free_i_links, self._not_overloaded(onward.a_links), self._not_overloaded(spare):
            best = self._best(links)
            if best is not None:
                return Copy(best, left)
        # Case III
        clusters = {neighbour: cluster for cluster in clusters_of(left) if (neighbour := self._i_links.get(cluster))}
        crossing = self._best(clusters)
        if crossing is None or self._condition.load(crossing) == UNUSABLE:
            best = self._best([*onward.a_links, *spare])
            if best is not None and self._condition.load(best) != UNUSABLE:
                return Copy(best, left)
            back = None if self._detours is None else self._detours.back(onward.source, left)
            if back is not None:
                return back
        if crossing is None:
            return None
        return Copy(crossing, left & ~bit(clusters[crossing]))

    def _not_overloaded(self, links: Iterable[BrokerId]) -> list[BrokerId]:
        return [neighbour for neighbour in links if not self._condition.is_overloaded(neighbour)]

    def _best(self, links: Iterable[BrokerId]) -> BrokerId | None:
        """The least loaded of these links, if there are any; of equals the first."""
        return min(links, key=self._condition.load, default=None)


class OffTreeLinks:
    """All primary neighbours except the targets and the one that the publication came from."""

    def __init__(self, neighbourhood: Neighbourhood) -> None:
        self._primary = sorted(neighbourhood.primary.values())

    def __call__(self, onward: Onward, left: ClusterIndexVector) -> list[BrokerId]:
        return [link for link in self._primary if link != onward.source and link not in onward.a_links]


class OffTreeLinksRoundFailures:
    """The links of `OffTreeLinks`, but only while an iLink to one of the remaining clusters is down."""

    def __init__(self, neighbourhood: Neighbourhood, link_status: Mapping[BrokerId, LinkStatus]) -> None:
        self._links = OffTreeLinks(neighbourhood)
        self._i_links = neighbourhood.secondary
        self._link_status = link_status

    def __call__(self, onward: Onward, left: ClusterIndexVector) -> list[BrokerId]:
        behind = [self._i_links.get(cluster) for cluster in clusters_of(left)]
        if all(neighbour is not None and self._link_status[neighbour].up for neighbour in behind):
            return []
        return self._links(onward, left)


def _none(onward: Onward, left: ClusterIndexVector) -> list[BrokerId]:
    return []


def make_forwarding(
    options: OctopiaOptions, neighbourhood: Neighbourhood, link_status: Mapping[BrokerId, LinkStatus]
) -> Forwarding:
    """The forwarding that the options select."""
    if options.publications == "static":
        return StaticRouting(neighbourhood.secondary)
    condition: LinkCondition
    spare: SpareLinks | None = None
    detours: list[Detours] = []
    if options.round_dead_brokers:
        condition = CongestionOrFailure(link_status, options.congestion_threshold, options.status_interval)
        spare = OffTreeLinksRoundFailures(neighbourhood, link_status)
        detours.append(FailureDetours(neighbourhood, condition, link_status))
    else:
        condition = Congestion(link_status, options.congestion_threshold, options.status_interval)
    if options.off_tree_links:
        spare = OffTreeLinks(neighbourhood)
    if options.intra_cluster_dynamic:
        detours.append(CongestionDetours(neighbourhood, condition))
    return InterClusterDynamicRouting(
        neighbourhood.secondary, condition, spare, EitherDetours(detours) if detours else None
    )
