"""Measures of the claims of the OctopiA paper (section 10), by the names that recipes use."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.claims.measure import Measure
from analysis.claims.papers.octopia import bursts, control_traffic, router_work, scot_properties

TIMED = frozenset({"matching delay", "path selection"})
"""Measures of the time that routers themselves take."""

MEASURES: Mapping[str, Measure] = {
    "path lengths": scot_properties.path_lengths,
    "arrivals in clusters": scot_properties.arrivals_in_clusters,
    "advertisement delay": control_traffic.advertisement_delay,
    "stored advertisements": control_traffic.stored_advertisements,
    "advertisement messages": control_traffic.advertisement_messages,
    "subscription delay": control_traffic.subscription_delay,
    "stored subscriptions": control_traffic.stored_subscriptions,
    "subscription messages": control_traffic.subscription_messages,
    "publication messages": control_traffic.publication_messages,
    "publication delay": control_traffic.publication_delay,
    "idle penalty": bursts.idle_penalty,
    "matching delay": router_work.matching_delay,
    "path selection": router_work.path_selection,
    "stabilisation": bursts.stabilisation,
    "burst messages": bursts.messages,
    "burst queue": bursts.queue_length,
    "timely share": bursts.timely_share,
    "burst delay": bursts.delay,
    "burst delay of dynamic routing": bursts.dynamic_delay,
}
