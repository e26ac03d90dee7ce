"""Publications that a client got from its old broker and from its new one, between which it moved: doubles and order.

A handover may double a publication where the routing's manifest says so. Then each of the two brokers may notify the
client of it once, each while the client had a session with it. Whatever is got twice from one broker, from a broker at
which the client was not, or across a handover that doubles nothing, is *duplicated*. A handover may cost the order
between the two brokers, and never that of what one of them delivers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from analysis.judging.histories.history import History
from analysis.judging.judged import Receipt
from analysis.reading.stays import Stay
from record.handover import MoveCost


def may_be_doubled(history: History, client: str, receipts: Sequence[Receipt]) -> bool:
    """True when moves of a client explain all of its notifications of one publication but the first."""
    stays = [_stay_of(history.stays.of(client), receipt, history.settling.within) for receipt in receipts]
    if None in stays or len(set(stays)) < len(stays):
        return False
    crossed = history.stays.of(client)
    places = sorted(crossed.index(stay) for stay in stays if stay is not None)
    if any(crossed[place].broker == crossed[before].broker for before, place in pairwise(places) if place - before > 1):
        return False  # a broker that the client has come back to passes a publication on once
    handovers = [crossed[place].handover for place in range(places[0] + 1, places[-1] + 1)]
    return all(handover is not None and history.move_costs.get(handover, MoveCost()).doubles for handover in handovers)


def reordering_handovers(history: History, client: str, receipt: Receipt) -> int:
    """The number of handovers that may cost the order which a client had behind it when it was notified."""
    stays = history.stays.of(client)
    stay = _stay_of(stays, receipt, history.settling.within)
    crossed = () if stay is None else stays[1 : stays.index(stay) + 1]
    costs = [history.move_costs.get(later.handover, MoveCost()) for later in crossed if later.handover is not None]
    return sum(cost.reorders for cost in costs)


def _stay_of(stays: Sequence[Stay], receipt: Receipt, lag: int) -> Stay | None:
    """The stay in which a client got a notification; None of one that it got from a broker where it was not. What is on
    its way when a client leaves in order may still come, for a time of `lag` nanoseconds."""
    found = [
        stay for stay in stays if stay.broker == receipt.broker and stay.begin <= receipt.notified <= stay.end + lag
    ]
    return found[-1] if found else None
