"""Starts are announced in time where a fault makes that slow, and the verdict names those that never are.

Each bound was seen to fail: without the round trip in `Exchanges.owe`, offers fill the window of two messages after the
crash, and without the one that it assumes at first, where the restarted broker has a subscription as well; where the
judge leaves out faults of clients, it blames the frozen one's broker.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.properties.gryphon.gryphon_checks import findings
from tests.properties.gryphon.gryphon_mutants import AnnouncesNoStarts

UNANNOUNCED = "start not announced"
_STOCKS = "[class,eq,'STOCK']"


AFTER_A_CRASH = (2, "386ms", "", "window: 2", "{at: join+1s, kill: B, for: 9s}")
AFTER_A_CRASH_WITH_A_SUBSCRIBER = (
    2,
    "386ms",
    "    - {at: 1s, client: T, broker: B, id: t, subscribe: \"[class,eq,'B']\"}",
    "window: 2",
    "{at: join+0s, kill: B, for: 10s}",
)
OF_A_FROZEN_CLIENT = (
    4,
    "79.2ms",
    "clients: {sites: {site: {broker: A, delay: 144us, clients: [S]}}}",
    "window: 128",
    "{at: join+1.01s, pause: S, for: 7.8s}",
)
OVER_A_DAMAGED_LINK = (2, "327ms", "", "window: 128", "{at: join+1s, corrupt: A-B, share: 50%, for: 6s}")
AFTER_LOST_MESSAGES = (
    3,
    "326ms",
    "    - {at: 2.9s, client: T, broker: A, id: t, subscribe: \"[class,eq,'B']\"}",
    "heartbeat: 100ms",
    "{at: join+2.9s, disturb: A->B1, lose: 100%, for: 400ms}",
)
AFTER_A_PARTITION = (3, "330ms", "", "heartbeat: 100ms", "{at: join+0s, partition: [[A], [rest]], for: 2s}")
SLOW = pytest.mark.parametrize(
    "parts",
    [
        AFTER_A_CRASH,
        AFTER_A_CRASH_WITH_A_SUBSCRIBER,
        OF_A_FROZEN_CLIENT,
        OVER_A_DAMAGED_LINK,
        AFTER_LOST_MESSAGES,
        AFTER_A_PARTITION,
    ],
)
Parts = tuple[int, str, str, str, str]


def _scenario(nodes: int, delay: str, more: str, limits: str, fault: str) -> str:
    """A scenario in which S subscribes at A when the fault begins, or just before."""
    return "\n".join(
        [
            "name: contract",
            f"topology: {{kind: redundant-tree, tree: line, nodes: {nodes}, replicas: 1, link: {{delay: {delay}}}}}",
            "routing: {protocol: gryphon, paths: message}",
            "workload:",
            "  operations:",
            "    - {at: 1s, client: S, broker: A, id: s, subscribe: \"[class,eq,'STOCK']\"}",
            more,
            f"brokers: {{limits: {{{limits}}}}}",
            "timeline: {join: 3s, run: 60s, drain: 60s}",
            f"faults: [{fault}]",
            "seed: 6",
        ]
    )


@SLOW
def test_a_start_is_announced_in_time(parts: Parts, tmp_path: Path) -> None:
    assert UNANNOUNCED not in findings(_scenario(*parts), tmp_path)


@SLOW
def test_a_start_that_is_not_announced_is_named_in_the_end(parts: Parts, tmp_path: Path) -> None:
    assert UNANNOUNCED in findings(_scenario(*parts), tmp_path, AnnouncesNoStarts)
