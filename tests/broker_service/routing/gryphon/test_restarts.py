"""Publishers' brokers that are restarted while messages are lost, and whose clients then publish for seconds.

The positions of a restarted broker begin far behind its former ones. Its first publication tells leaves that those
between hold nothing; where it is lost, they ask for them.
"""

from __future__ import annotations

from collections import Counter

import pytest

from broker_service.routing.gryphon import GryphonRouter
from tests.broker_service.routing.gryphon.router_overlay import LINES, RouterOverlay
from tests.broker_service.routing.gryphon.stream_checks import NUMBERS, Trial
from tests.properties.gryphon import gryphon_mutants as mutants

MOST_REQUESTS = 100
"""Requests for missing positions on one link in one history."""


def history_of_restarts(seed: int, router: type[GryphonRouter] = GryphonRouter, *, paths: str = "message") -> Trial:
    """A run in which all clients want everything and brokers are restarted one after another, with seconds between."""
    trial = Trial(RouterOverlay(LINES, seed, router, paths=paths))
    overlay, rng = trial.overlay, trial.overlay.random
    for broker in LINES.brokers:
        trial.subscribe(broker, NUMBERS)
    overlay.settle()
    overlay.loss = 0.2
    for broker in rng.choices(LINES.brokers, k=5):
        if rng.random() < 0.5:
            trial.publish(broker, rng.choice(NUMBERS))  # it is in the log alone when the broker fails
        trial.kill(broker)
        overlay.pass_time(rng.random())
        overlay.restart(broker)
        trial.subscribe(broker, NUMBERS)
        for place in range(20):
            trial.publish(broker if place < 5 else rng.choice(LINES.brokers), rng.choice(NUMBERS))
            overlay.pass_time(0.2 * rng.random())
    trial.end()
    return trial


def most_requests(trial: Trial) -> int:
    """Requests for missing positions on the link that has carried most of them."""
    requests = Counter((sender, receiver) for sender, receiver, _, label in trial.overlay.sent if label == "nack")
    return max(requests.values(), default=0)


@pytest.mark.parametrize("paths", ["hash", "message", "least-loaded"])
@pytest.mark.parametrize("seed", range(3))
def test_restarted_brokers_lose_nothing_and_cost_few_requests(seed: int, paths: str) -> None:
    trial = history_of_restarts(seed, paths=paths)
    assert trial.findings() == []
    assert 0 < most_requests(trial) <= MOST_REQUESTS


def requests_for_what_is_skipped(router: type[GryphonRouter]) -> int:
    """Requests of a broker that was told nothing of where the positions of a restarted broker begin."""
    trial = Trial(RouterOverlay(LINES, 1, router))
    trial.subscribe("d", NUMBERS)
    trial.overlay.settle()
    trial.publish("a", 1)
    while trial.overlay.deliver():
        pass
    trial.kill("a")  # before anybody has acknowledged the publication
    trial.overlay.loss = 1.0
    trial.overlay.restart("a")
    trial.publish("a", 1)
    while trial.overlay.deliver():
        pass
    trial.overlay.loss = 0.0
    trial.publish("a", 1)
    trial.overlay.settle()
    assert trial.overlay.notified["S0"] == ["e1", "e2", "e3"]
    return sum(sender == "d" for sender, _, _, label in trial.overlay.sent if label == "nack")


def test_all_positions_that_a_restarted_broker_skips_are_answered_at_once() -> None:
    assert 0 < requests_for_what_is_skipped(GryphonRouter) <= 3
    assert requests_for_what_is_skipped(mutants.AnswersNoMoreThanWasAsked) > 15
