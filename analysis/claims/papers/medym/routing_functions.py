"""MEDYM's routing functions by themselves (section 4.1, Table 1): their time on this host, and the trees they make.

Destination lists are drawn at random among all servers of a run's network; the run itself is not looked at. A tree
results when every server that an event reaches applies the same function to its list.

- *Time* is that of one decision of the publication server, without a cache, in processor time of this thread; the
  median over lists. A tenth of the servers are overloaded.
- *NRU* is that of `analysis.judging.journeys.network`, the mean over lists. Loads change with each event: a server is
  overloaded under BalancedMST when it has sent more than `recipe.arguments[2]` copies for each event that it received.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean, median

import numpy as np

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.papers.medym.network_usage import networks
from analysis.claims.papers.medym.variants import BALANCED, CLOSE, MST, MULTICASTS
from analysis.claims.verdict import Measurement
from analysis.judging.journeys.network import Network
from broker_service.routing.common.distances import Distances, Servers
from broker_service.routing.common.spanning_tree import spanning_tree
from broker_service.routing.medym.multicast.routing_functions import (
    Multicast,
    balanced_mst,
    close_mst,
    mst,
    multicast_tree,
)

SHORT = 100
"""Servers in a short list; a long one names all servers but the publisher's."""
_SIMILAR = 1.5
"""Largest factor between times that are close to each other."""
_OVERLOADED = 0.1
"""Share of servers that are overloaded while decisions are timed."""
_SEED = 1
"""Seed of the lists; the scenario's seed already decides on the servers' places in the network."""

Edges = Sequence[tuple[int, int]]


def decision_times(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """For short and for long lists: the share by which CloseMST and BalancedMST are faster than MST, then `_SIMILAR`
    minus the factor between the slower and the faster of the two. `recipe.arguments` are the numbers of short and of
    long lists."""
    network, lists = _drawn(run, recipe)
    distances = Distances(network.latencies)
    overloaded = np.random.default_rng(_SEED).random(len(distances)) < _OVERLOADED
    functions: Mapping[str, Multicast] = {
        MST: mst,
        CLOSE: close_mst,
        BALANCED: partial(balanced_mst, overloaded=overloaded),
    }
    margins = []
    for drawn in lists:
        taken = {
            name: median(_seconds(function, distances, source, listed) for source, listed in drawn)
            for name, function in functions.items()
        }
        full, close, balanced = (taken[name] for name in MULTICASTS)
        margins += [1 - close / full, 1 - balanced / full, _SIMILAR - max(close, balanced) / min(close, balanced)]
    return Measurement(values=tuple(margins))


def tree_quality(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Normalised resource usage (NRU) of MST, CloseMST and BalancedMST, each for short and for long destination lists.

    `recipe.arguments` are the number of short lists, the number of long lists, and the overload threshold.
    """
    network, lists = _drawn(run, recipe)
    threshold = recipe.arguments[2]
    distances = Distances(network.latencies)
    quality = {
        (name, length): fmean(
            network.usage(edges) / network.ideal(source, listed.astype(np.int64))
            for (source, listed), edges in zip(drawn, _trees(name, distances, drawn, threshold), strict=True)
        )
        for length, drawn in enumerate(lists)
        for name in MULTICASTS
    }
    return Measurement(values=tuple(quality[name, length] for name in MULTICASTS for length in range(len(lists))))


Drawn = Sequence[tuple[int, Servers]]
"""Publication servers, each with a destination list."""


def _drawn(run: MeasuredRun, recipe: Recipe) -> tuple[Network, tuple[Drawn, Drawn]]:
    """The network of the run's one variant, with short and long destination lists."""
    if len(run.variants) != 1:
        raise ClaimsError(f"{run.directory}: {len(run.variants)} variants; one is needed")
    (network,) = networks(run.variants).values()
    servers = len(network.servers)
    if servers <= SHORT:
        raise ClaimsError(f"{run.directory}: {servers} servers; more than {SHORT} are needed")
    rng = random.Random(_SEED)
    drawn = []
    for length, count in zip((SHORT, servers - 1), recipe.arguments, strict=False):
        lists = []
        for _ in range(round(count)):
            source, *others = rng.sample(range(servers), length + 1)
            lists.append((source, np.array(sorted(others), np.uint16)))
        drawn.append(lists)
    return network, (drawn[0], drawn[1])


def _seconds(function: Multicast, distances: Distances, source: int, listed: Servers) -> float:
    begin = time.thread_time_ns()
    function(distances, source, listed)
    return (time.thread_time_ns() - begin) / 1e9


def _trees(scheme: str, distances: Distances, drawn: Drawn, threshold: float) -> Iterator[Edges]:
    """The edges of the tree for each list, from the server that sends a copy to the one that receives it."""
    servers = len(distances)
    sent, received = np.zeros(servers, np.int64), np.zeros(servers, np.int64)
    for source, listed in drawn:
        if scheme == MST:
            yield spanning_tree(distances.ranks, source, listed)
            continue
        function: Multicast = close_mst
        if scheme == BALANCED:
            function = partial(balanced_mst, overloaded=(received > 0) & (sent > threshold * received))
        edges = [(hop.sender, hop.receiver) for hop in multicast_tree(distances, source, listed, function)]
        received[source] += 1
        np.add.at(sent, [sender for sender, _ in edges], 1)
        np.add.at(received, [receiver for _, receiver in edges], 1)
        yield edges
