"""Objections to answers of a router that cannot be performed."""

from __future__ import annotations

from broker_service.core.contract import objection
from broker_service.routing.interface import CancelTimer


class CancelTimerLater(CancelTimer):
    """An action of a designer's own, which no broker can perform."""

    seconds: int = 0


def test_an_action_of_a_class_of_ones_own_is_named() -> None:
    reason = objection([CancelTimerLater("announce", 1)], TypeError(), ())
    assert reason == (
        "it returned a list with CancelTimerLater(key='announce', seconds=1), and only actions are expected, "
        "such as `Send` and `Deliver`"
    )
