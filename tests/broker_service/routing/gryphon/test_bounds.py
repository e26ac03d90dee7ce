"""State that does not grow with the number of publications or of clients that there ever were."""

from __future__ import annotations

import pytest

from tests.broker_service.routing.gryphon.router_overlay import FIGURE_7, RouterOverlay


def ranges_kept(overlay: RouterOverlay) -> dict[str, int]:
    """Ranges of positions that each broker keeps of all streams."""
    return {
        name: sum(
            ranges.count
            for state in running.router._forwarding.streams.values()
            for sets in (state.silent_for, state.unannounced, state.unsent, state.asked)
            for ranges in (state.silent, state.relayed, *sets.values())
        )
        for name, running in overlay.brokers.items()
    }


@pytest.mark.parametrize("options", [{}, {"hash_by": "n"}, {"paths": "message"}, {"paths": "least-loaded"}])
def test_no_broker_keeps_what_all_leaves_have(options: dict[str, str]) -> None:
    overlay = RouterOverlay(FIGURE_7, 1, **options)
    overlay.subscribe("S@s1", "s1", "[class,eq,'E'],[n,<,3]")
    overlay.subscribe("S@s2", "s2", "[class,eq,'E'],[n,>,1]")
    overlay.settle()
    for number in range(400):
        overlay.publish("pb", overlay.random.randrange(6))
        overlay.pass_time(0.05)
        if number == 99:
            overlay.settle()
            early = ranges_kept(overlay)
    overlay.settle()
    late = ranges_kept(overlay)
    assert all(late[name] <= early[name] + 30 for name in late), (early, late)


def test_clients_that_publish_no_more_take_no_stable_storage_for_ever() -> None:
    overlay = RouterOverlay(FIGURE_7, 2, log_bytes=8_000)
    for number in range(1_000):
        overlay.publish("pb", client=f"a client with a name of its own, number {number}")
        overlay.settle()
        assert sum(len(key) + len(value) for key, value in overlay.stored["pb"].items()) < 12_000
    assert not overlay.publishers_held
