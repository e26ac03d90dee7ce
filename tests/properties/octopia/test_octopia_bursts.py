"""OctopiA under bursts that congest links for real: by Eq. 3, from the queues that slow links build."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studies.conformance.model import Case
from tests.proof import tried
from tests.properties import checks
from tests.properties.octopia import octopia_checks
from tests.properties.octopia.octopia_checks import BEYOND, BOTH, IDR, SPR
from tests.properties.octopia.octopia_strategies import OF_ONE_CLASS, Product, scots
from tests.properties.trial import run

BURST = 220
"""Publications at once; a link has 128 of them in flight before others wait."""
SLOW, FAST = "40ms", "1ms"


def burst(scot: Product, publisher: str, subscribers: list[str]) -> Case:
    """A publisher's burst to subscribers who all want all of it."""
    steps: list[dict[str, Any]] = [
        {"op": "advertise", "client": "P", "broker": publisher, "id": "x", "text": OF_ONE_CLASS},
        *(
            {"op": "subscribe", "client": f"S{number}", "broker": broker, "id": "x", "text": OF_ONE_CLASS}
            for number, broker in enumerate(subscribers)
        ),
    ]
    for number in range(BURST):
        text = "[class,'A'],[price,3]"
        steps.append(
            {"op": "publish", "client": "P", "broker": publisher, "id": f"p{number}", "text": text, "wait": "0s"}
        )
    data = {"id": "burst", **scot.fields, "expect": {}}
    return Case.model_validate({**data, "steps": steps})


@st.composite
def bursts(draw: st.DrawFn) -> Case:
    scot = draw(scots(clusters=(2, 3), most_regions=3))
    for link in scot.links:
        link |= {"delay": draw(st.sampled_from((SLOW, FAST))), "jitter": "0ms"}
    subscribers = draw(st.lists(st.sampled_from(scot.brokers), min_size=1, max_size=5))
    return burst(scot, draw(st.sampled_from(scot.brokers)), subscribers)


@pytest.mark.parametrize("protocol", (*BOTH, BEYOND))
@settings(
    max_examples=tried(4), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(case=bursts())
def test_every_burst_arrives_once(protocol: str, case: Case) -> None:
    octopia_checks.delivered_exactly_once(case, protocol)
    if protocol != BEYOND:
        checks.no_broker_receives_twice(case, protocol)
        octopia_checks.only_target_clusters_receive(case, protocol)
        octopia_checks.clusters_are_entered_once(case, protocol)


def figure_7() -> Case:
    """Fig. 7: the iLink from B(b, 3) to B(b, 0) is slow."""
    regions = {region: [f"{region}{cluster}" for cluster in range(4)] for region in "abc"}
    pairs = [pair for a, b in ("ab", "bc") for pair in zip(regions[a], regions[b], strict=True)]
    pairs += [pair for brokers in regions.values() for pair in combinations(brokers, 2)]
    links = [{"between": pair, "delay": SLOW if pair == ("b0", "b3") else FAST} for pair in pairs]
    scot = Product([broker for brokers in regions.values() for broker in brokers], links, regions)
    return burst(scot, "b3", ["a0", "c1", "a1", "a2", "c3"])


def test_dynamic_routing_goes_round_a_congested_link_of_figure_7() -> None:
    """Publications go by way of clusters 1 and 2, whose brokers in region b have iLinks of their own (Case I), and of
    c3 (Case II)."""
    for protocol, goes_round in ((SPR, False), (IDR, True)):
        outcome = run(figure_7(), protocol)
        assert {client: len(ids) for client, ids in outcome.got.items()} == {f"S{n}": BURST for n in range(5)}
        came = [journey.hops for broker in ("a0", "b0", "c0") for journey in outcome.arrivals[broker].journeys]
        assert (sum(hops > 2 for hops in came) > 20) == goes_round
        assert (max(journey.hops for journey in outcome.arrivals["b0"].journeys) == 1) != goes_round
