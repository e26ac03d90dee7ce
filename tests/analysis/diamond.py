"""Hand-written histories over a diamond of brokers, of protocols that survive the crash of other brokers.

The publisher P at B1 and the subscriber S at B3 are joined by way of B2 and of B4. Client T is at B2, client U at B1.
"""

from __future__ import annotations

from typing import Any

import msgspec

from record.faults import FaultKind
from record.promises import Loss, Order, Promises
from tests.analysis.history import STOCK, History, predicate
from topology.link_properties import Link
from topology.model import Broker, Overlay

DIAMOND = Overlay(
    "diamond",
    (Broker("B1"), Broker("B2"), Broker("B3"), Broker("B4")),
    (Link("B1", "B2"), Link("B2", "B3"), Link("B1", "B4"), Link("B4", "B3")),
)
HOMES = {"P": "B1", "S": "B3", "T": "B2", "U": "B1"}
DELAYS = dict.fromkeys(FaultKind, Loss.NOTHING)
GAPLESS = Promises(
    order=Order.PUBLISHER, survives={**DELAYS, FaultKind.KILL: Loss.UNACCEPTED, FaultKind.STOP: Loss.UNACCEPTED}
)
ANNOUNCING = msgspec.structs.replace(GAPLESS, announces_starts=True)
GIVING_UP = msgspec.structs.replace(GAPLESS, gives_up=True)
UNORDERED = Promises(survives={**DELAYS, FaultKind.KILL: Loss.OWN_CLIENTS})
MIXED = Promises(survives={**DELAYS, FaultKind.KILL: Loss.OWN_CLIENTS, FaultKind.STOP: Loss.UNACCEPTED})
ORDERED = Promises(order=Order.PUBLISHER, survives=MIXED.survives)
MIDDLING = [STOCK, predicate("price", ">", 50)]
"""Matches what `EXPENSIVE` matches, and more."""

LOST = {"lost": 1}
SPURIOUS = {"spurious": 1, "spurious_causes": {"no subscription matches": 1}}


def crossing(variant: str, promises: Promises = GAPLESS, **options: Any) -> History:
    """A publisher at one end of the diamond, whose subscribers come later."""
    return History(variant, promises=promises, homes=HOMES, **options).advertise()


def settled(variant: str, promises: Promises = GAPLESS, **options: Any) -> History:
    return crossing(variant, promises, **options).subscribe()


def starting(variant: str, **options: Any) -> History:
    """A subscription in flight, which the first publication proves to have started."""
    return crossing(variant, **options).subscribe(at=110).publish("P:1", 110.3).notify("P:1", at=110.4)
