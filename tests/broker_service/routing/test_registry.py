from __future__ import annotations

import pytest

from broker_service.routing.registry import keeps_order, reconciles_within, status_interval


@pytest.mark.parametrize(("publications", "kept"), [("fixed", True), ("dynamic", False)])
def test_only_fixed_routing_promises_an_order(publications: str, kept: bool) -> None:
    assert keeps_order("tid", {"publications": publications}) is kept


@pytest.mark.parametrize(("publications", "kept"), [("static", True), ("inter-cluster-dynamic", False)])
def test_only_static_routing_of_octopia_promises_an_order(publications: str, kept: bool) -> None:
    assert keeps_order("octopia", {"publications": publications}) is kept


def test_the_link_status_table_counts_as_long_as_the_protocol_says() -> None:
    assert status_interval("octopia", {}) == status_interval("tid", {}) == 0.05
    assert status_interval("octopia", {"status_interval": 0.2}) == 0.2


def test_the_time_to_reconcile_is_the_protocols_option() -> None:
    assert reconciles_within("tid", {"reconcile_after": 2.5}) == 2.5


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ValueError, match="speed"):
        keeps_order("tid", {"speed": 1})
    with pytest.raises(ValueError, match="unknown routing protocol"):
        keeps_order("nonsense", {})
