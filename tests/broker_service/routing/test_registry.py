"""Declarations of the protocols, on which the rest of the tree relies."""

from __future__ import annotations

import pytest

from broker_service.routing import PROTOCOLS, protocol_named, read_options


@pytest.mark.parametrize(("publications", "kept"), [("fixed", True), ("dynamic", False)])
def test_only_fixed_routing_promises_an_order(publications: str, kept: bool) -> None:
    assert read_options("tid", {"publications": publications}).keeps_order is kept


@pytest.mark.parametrize(("publications", "kept"), [("static", True), ("inter-cluster-dynamic", False)])
def test_only_static_routing_of_octopia_promises_an_order(publications: str, kept: bool) -> None:
    assert read_options("octopia", {"publications": publications}).keeps_order is kept


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_time_to_reconcile_is_the_protocols_option(name: str) -> None:
    assert read_options(name, {"reconcile_after": 2.5}).reconciles_within == 2.5


@pytest.mark.parametrize("name", PROTOCOLS)
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
