"""Histories with a client program whose notifications are numbered, with the verdicts of the delivery oracle."""

from __future__ import annotations

from record.log import Event
from record.promises import Completeness, Promises
from tests.analysis.history import DRIVER, History, joined
from tests.analysis.oracle_cases import Case

UNPROCESSED = "it came to its client's site, and the client left without having acknowledged it"


def _left(history: History, *unprocessed: str, at: float = 140, node: str = DRIVER) -> History:
    """The client ends its stream, without having acknowledged some notifications."""
    for number, publication in enumerate(unprocessed, 7):
        history.add(node, Event.UNPROCESSED, at, kind="publish", id=publication, client="S", peer="B3", count=number)
    return history.unsubscribe(at)


def _misnumbered(history: History, node: str = DRIVER) -> History:
    return history.add(
        node, Event.MISNUMBERED, 110.05, kind="publish", id="P:1", client="S", peer="B3", count=9, text="7 was due"
    )  # fmt: skip


_BEST_EFFORT = Promises(delivery=Completeness.BEST_EFFORT)

NUMBERED = [
    Case(_left(joined("came and was acknowledged").publish().notify()), ["correct"], 1, 1),
    Case(
        _left(joined("came and was not acknowledged").publish().publish("P:2", 111).notify("P:1", "P:2"), "P:2"),
        ["correct"],
        2,
        1,
        {"not_judged": 1},
    ),
    Case(
        _left(joined("lost before what was not acknowledged").publish().publish("P:2", 111).notify("P:2"), "P:2"),
        ["lost"],
        2,
        0,
        {"lost": 1, "not_judged": 1},
    ),
    Case(
        _left(joined("came in flight and was not acknowledged").publish(at=139.9).notify(at=139.95), "P:1"),
        ["correct"],
        0,
        0,
    ),
    Case(
        _left(joined("came twice and was not acknowledged").publish().notify("P:1", "P:1"), "P:1"),
        ["duplicated"],
        1,
        2,
        {"duplicate": 1},
    ),
    Case(
        _left(joined("came without a right and was not acknowledged").publish(price=50).notify(), "P:1"),
        ["spurious"],
        0,
        1,
        {"spurious": 1, "spurious_causes": {"no subscription matches": 1}},
    ),
    Case(
        _left(joined("only its broker says that it was not acknowledged").publish().notify(), "P:1", node="B3"),
        ["correct"],
        1,
        1,
    ),
    Case(_misnumbered(joined("misnumbered").publish().notify()), ["misnumbered"], 1, 1),
    Case(_misnumbered(joined("only its broker says that it was misnumbered").publish().notify(), "B3"), ["correct"],
         1, 1),
    Case(
        _left(
            History("came by best effort and was not acknowledged", promises=_BEST_EFFORT)
            .advertise().subscribe().publish().notify(), "P:1",
        ),
        ["correct"], 0, 0,
    ),
]  # fmt: skip
