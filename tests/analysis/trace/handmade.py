"""A hand-written journey: P at B1 publishes, B1 sends a copy to B2, and B2 to B3, whose client S is notified.

Times are in milliseconds after the publishing, which is 10 s into the run.
"""

from __future__ import annotations

from record.log import Event
from record.time_units import MILLISECOND, SECOND
from tests.analysis.history import History, across

START = 110 * SECOND


def ms(milliseconds: float) -> int:
    return round(milliseconds * MILLISECOND)


def at(milliseconds: float) -> float:
    """Seconds of the run's clock."""
    return 110 + milliseconds / 1e3


def copied(history: History, broker: str, came: float, turn: float, peer: str | None, hops: int) -> History:
    """A copy arrives at a broker, and has its turn; its router works for a millisecond."""
    return history.add(
        broker, Event.RECEIVED, at(turn), kind="publish", id="P:1", client=None if peer else "P", peer=peer, hops=hops,
        arrived=None if came == turn else START + ms(came), duration=ms(1),
    )  # fmt: skip


def left(history: History, broker: str, peer: str, entered: float, leaves: float, hops: int) -> History:
    """A copy leaves the queue for a neighbour, and is sent for two milliseconds."""
    return history.add(
        broker, Event.SENT, at(leaves), kind="publish", id="P:1", peer=peer, hops=hops, queue=3, bytes=99,
        duration=ms(leaves - entered), written=START + ms(leaves + 2),
    )  # fmt: skip


def notified(history: History, time: float = 50) -> History:
    return history.add("driver", Event.NOTIFIED, at(time), kind="publish", id="P:1", client="S", peer="B3", hops=2)


def half_a_journey(variant: str = "base") -> History:
    """The copy left B2, and no other broker has it."""
    history = across(variant).publish("P:1", 110)
    copied(history, "B1", 5, 5, None, 0)
    history.add("B1", Event.MATCHED, at(6), kind="publish", id="P:1", duration=ms(0.5), count=2)
    left(history, "B1", "B2", 6, 16, 1)
    copied(history, "B2", 26, 30, "B1", 1)
    return left(history, "B2", "B3", 31, 31, 2)


def whole_journey(variant: str = "base") -> History:
    history = copied(half_a_journey(variant), "B3", 41, 41, "B2", 2)
    history.add("B3", Event.DELIVERED, at(43), kind="publish", id="P:1", client="S", hops=2)
    return notified(history)
