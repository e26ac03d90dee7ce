"""Load of servers (MEDYM, Table 2).

- *Node stress* of a server is the number of bits that it receives and sends for an event, on average over events
  (section 5.1.3): 8 times the bytes of contents and headers, and `HEADERS` for each copy. Means and maxima are over all
  servers, those that no event reaches included.
- A server is *traversed* by an event that it receives from another server, or publishes and wants itself. The paper
  counts those of 1,000 servers; a network of another size is brought to that number.
"""

from __future__ import annotations

import numpy as np

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.model import Recipe
from analysis.claims.papers.medym.traffic import Numbers, Traffic, traffic_of
from analysis.claims.papers.medym.variants import SCHEMES, by_point
from analysis.claims.verdict import Measurement

HEADERS = 40
"""Bytes of TCP and IP of a message. With them, the paper's messages of 200 bytes of content are the 240 bytes from
which its Table 2 follows. The 44 bytes of its section 5.1.3 would make a difference of at most 2%."""

PAPERS_SERVERS = 1000


def node_stress(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """For each scheme, the mean node stress at each matching ratio, then the servers that an event traverses."""
    found, points = traffic_of(run), by_point(run, SCHEMES)
    values: list[float | None] = []
    for scheme in SCHEMES:
        variants = [schemes[scheme] for schemes in points.values()]
        values += [mean_stress(found[variant.name]) for variant in variants]
        shares = [traversed_share(found[variant.name]) for variant in variants]
        values += [None if share is None else share * PAPERS_SERVERS for share in shares]
    return Measurement(values=tuple(values))


def balance(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """For each scheme, the node stress of the most loaded server over the mean, at each matching ratio."""
    found, points = traffic_of(run), by_point(run, SCHEMES)
    return Measurement(
        values=tuple(
            largest_over_mean(found[schemes[scheme].name]) for scheme in SCHEMES for schemes in points.values()
        )
    )


def stress_of(traffic: Traffic) -> Numbers:
    """Node stress of each server in bits. Needs an event."""
    bits = 8.0 * (traffic.size + HEADERS)
    servers = len(traffic.servers)
    received = np.bincount(traffic.receiver, bits, servers)
    sent = np.bincount(traffic.sender, bits, servers)
    return (received + sent) / len(traffic.events)


def mean_stress(traffic: Traffic) -> float | None:
    """Mean node stress in bits; None without an event."""
    return float(stress_of(traffic).mean()) if traffic.events else None


def largest_over_mean(traffic: Traffic) -> float | None:
    """The largest node stress over the mean; None without a copy."""
    return float((stress := stress_of(traffic)).max() / stress.mean()) if len(traffic.event) else None


def traversed_share(traffic: Traffic) -> float | None:
    """Mean share of the servers that an event traverses; None without an event."""
    if not traffic.events:
        return None
    wanted_at_home = np.unique(traffic.notified.event[traffic.notified.hops == 0])
    at_home = np.count_nonzero(wanted_at_home >= 0)
    return (float(traffic.copies.mean()) + at_home / len(traffic.events)) / len(traffic.servers)
