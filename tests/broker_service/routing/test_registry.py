"""Declarations of the protocols, on which the rest of the tree relies."""

from __future__ import annotations

import pytest

from broker_service.routing import PROTOCOLS, protocol_named, read_options
from record.promises import Order, Promises


@pytest.mark.parametrize(
    ("protocol", "publications", "order"),
    [
        ("tid", "fixed", Order.ADVERTISEMENT),
        ("tid", "dynamic", Order.NONE),
        ("octopia", "static", Order.ADVERTISEMENT),
        ("octopia", "inter-cluster-dynamic", Order.NONE),
    ],
)
def test_only_routing_on_one_path_promises_an_order(protocol: str, publications: str, order: Order) -> None:
    """Everything else both protocols promise alike: every publication, less what is in the queues of a broker that
    ends."""
    assert read_options(protocol, {"publications": publications}).promises == Promises(order=order)


@pytest.mark.parametrize("name", ["tid", "octopia"])
def test_the_time_to_reconcile_is_the_protocols_option(name: str) -> None:
    assert read_options(name, {"reconcile_after": 2.5}).reconciles_within == 2.5


def test_sums_are_whole_when_two_announcements_have_been_passed_on() -> None:
    assert read_options("medym", {"announce_every": 2.5, "pass_on_every": 1}).reconciles_within == 13


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name not in {"channelization", "semi-probabilistic"}])
def test_times_are_options_in_seconds(name: str) -> None:
    options = read_options(name, {})
    assert options.times
    assert all(isinstance(getattr(options, time), float) for time in options.times)


def test_only_octopia_needs_attributes_of_brokers() -> None:
    assert protocol_named("octopia").options.attributes == ("region", "cluster")
    assert protocol_named("tid").options.attributes == ()


def test_unknown_options_and_protocols_are_refused() -> None:
    with pytest.raises(ValueError, match="speed"):
        read_options("tid", {"speed": 1})
    with pytest.raises(ValueError, match="unknown routing protocol"):
        read_options("nonsense", {})
