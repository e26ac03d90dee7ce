"""Load of the network under the servers, from a run's copies, measured by `analysis.judging.journeys.network`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from analysis.claims.measured_run import MeasuredVariant
from analysis.claims.model import ClaimsError
from analysis.claims.papers.medym.notified import Integers
from analysis.claims.papers.medym.traffic import Numbers, Traffic
from analysis.judging.journeys.network import Network, networks_of


def networks(variants: Sequence[MeasuredVariant]) -> Mapping[str, Network]:
    """The network of each variant, by the variant's name; variants over the same network share one.

    Raises `ClaimsError` for a variant that has none.
    """
    laid = {}
    for variant in variants:
        if variant.underlay is None:
            raise ClaimsError(f"variant {variant.name}: there is no network of routers under its overlay")
        laid[variant.name] = variant.underlay, variant.overlay
    return networks_of(laid)


def stress_of(traffic: Traffic, network: Network) -> Numbers:
    """Link stress of each link, those between routers first. Needs an event."""
    return network.crossings(traffic.sender, traffic.receiver) / len(traffic.events)


def usage_of(traffic: Traffic, network: Network) -> Numbers:
    """Usage of each event, in seconds."""
    latencies = network.latencies[traffic.sender, traffic.receiver]
    return np.bincount(traffic.event, latencies, len(traffic.events)).astype(np.float64)


def unicast_usage_of(traffic: Traffic, network: Network, destinations: Sequence[Integers]) -> Numbers:
    """Usage of each event, in seconds, if its publication server sent a copy to each destination by itself."""
    sources = traffic.publishers.tolist()
    return np.array(
        [network.latencies[source, wanted].sum() for source, wanted in zip(sources, destinations, strict=True)]
    )


def normalized_usage(
    usages: Numbers, traffic: Traffic, network: Network, destinations: Sequence[Integers]
) -> float | None:
    """NRU of events with these usages and destinations; None without an event that has a destination."""
    ratios = [
        float(usage) / network.ideal(source, wanted)
        for usage, source, wanted in zip(usages, traffic.publishers.tolist(), destinations, strict=True)
        if len(wanted)
    ]
    return fmean(ratios) if ratios else None
