"""Proofs that the overlay has recovered between two clients."""

from __future__ import annotations

import pytest

from analysis.judging.evidence.recovery import Recoveries
from analysis.judging.histories.losses import LossyOutage
from analysis.judging.judged import JudgedPublication, PublicationOutcome, Receipt
from analysis.tables.deliveries import Right
from record.time_units import SECOND

SUBSCRIPTIONS = {"S": 1, "T": 2, "U": 3}
TREE = 7


def outage(element: str) -> LossyOutage:
    return LossyOutage(1 * SECOND, "kill", element, end=3 * SECOND, recovered=9 * SECOND)


def publication(second: float, notified: str, missed: str = "", broker: str = "B3") -> JudgedPublication:
    """A publication at B1 for the clients named by the letters; all are at one broker, behind B2."""
    receipt = Receipt(broker, round((second + 0.1) * SECOND), 0, 2, 0, ("B1", "B2", broker))
    outcomes = [
        PublicationOutcome(client, Right.MUST, None, [receipt], SUBSCRIPTIONS[client], broker) for client in notified
    ]
    outcomes += [PublicationOutcome(client, Right.MUST, None, [], None, broker) for client in missed]
    published = round(second * SECOND)
    return JudgedPublication(
        0, f"P:{second}", "P", published, published, 0, "B1", False, published, ("B1", "B2"), TREE, outcomes, [], [], []
    )


@pytest.mark.parametrize(
    ("element", "former", "missing", "proven"),
    [
        ("B3", "S", "S", True),
        ("B3", "ST", "S", False),  # the subscription of T may have drawn the former one to B3
        ("B3", "ST", "ST", True),
        ("B3", "ST", "STU", True),
        ("B3", "ST", "SU", False),
        ("B2", "ST", "S", True),  # B2 did not match it for its own clients
        ("B4", "S", "S", False),  # it did not pass there
    ],
)
def test_a_notification_proves_recovery_for_those_whom_it_was_for(
    element: str, former: str, missing: str, proven: bool
) -> None:
    lost = outage(element)
    recoveries = Recoveries.of([publication(5.0, former)], [lost])
    assert recoveries.recovered(publication(6.0, "", missing), "S", [1], lost) is proven


def test_a_notification_from_before_the_heal_or_after_the_loss_proves_nothing() -> None:
    lost = outage("B3")
    recoveries = Recoveries.of([publication(6.0, "S"), publication(2.0, "S")], [lost])
    assert not recoveries.recovered(publication(5.0, "", "S"), "S", [1], lost)
    assert recoveries.recovered(publication(7.0, "", "S"), "S", [1], lost)


def test_the_earliest_proofs_are_kept() -> None:
    lost = outage("B3")
    recoveries = Recoveries()
    for number in range(100, 0, -1):
        recoveries.prove(("S", 1, TREE, lost), round((3 + number / 100) * SECOND), frozenset({"S", f"T{number}"}))
    assert recoveries.recovered(publication(6.0, "", "S"), "S", [1], lost) is False
    (kept,) = recoveries.proven.values()
    assert sorted(kept.values()) == [round((3 + number / 100) * SECOND) for number in range(1, 17)]
