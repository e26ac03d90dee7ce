"""Exchanges with the parties around a broker: what each has acknowledged, and what is on the way to it.

A *party* is a neighbouring node, of which any member will do; a broker of the same node; or a certain broker whose link
has just come up. An exchange ends when the party has acknowledged all it is owed. Until then an awaited timer runs, by
which the sender repeats its offer, to the next member where there are several. The first wait is `again` and twice the
time that the party took lately; each further one is twice as long as the one before, up to `last`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_service.messages import BrokerId
from broker_service.routing.gryphon.timer_keys import Party
from broker_service.routing.gryphon.virtual_time.clock import VirtualTime
from broker_service.routing.gryphon.virtual_time.vectors import Leaf, Vector, dominates, raise_to

_SHARE = 0.125
"""Weight of the latest measurement in the mean of a party's times, as that of round trips in TCP."""


@dataclass(slots=True)
class Exchange:
    """The exchange with one party."""

    acknowledged: dict[Leaf, VirtualTime] = field(default_factory=dict)
    owed: dict[Leaf, VirtualTime] = field(default_factory=dict)
    """On the way; empty when all is acknowledged."""
    target: BrokerId = ""
    began: float = 0.0
    wait: float = 0.0
    """Seconds until the next repetition."""
    usual: float = 0.0
    """Mean time in seconds that the party took to acknowledge."""


class Exchanges(dict[Party, Exchange]):
    """The exchanges with all parties; looking up one that has not begun makes it."""

    def __init__(self, again: float, last: float) -> None:
        super().__init__()
        self._again = again
        self._last = last

    def __missing__(self, party: Party) -> Exchange:
        exchange = self[party] = Exchange()
        return exchange

    def has(self, party: Party, needed: Vector) -> bool:
        """True when a party has acknowledged all of a vector."""
        return dominates(self[party].acknowledged, needed)

    def is_owed(self, party: Party, needed: Vector) -> bool:
        """True when what a party has not acknowledged of a vector is on the way."""
        exchange = self[party]
        for leaf, time in needed.items():
            if exchange.acknowledged.get(leaf, 0) < time and exchange.owed.get(leaf, 0) < time:
                return False
        return True

    def owe(self, party: Party, needed: Vector, now: float) -> float:
        """Notes that a vector is on the way to a party; returns the seconds after which to repeat it."""
        exchange = self[party]
        if not exchange.owed:
            exchange.began = now
            exchange.wait = self._again + 2 * exchange.usual
        raise_to(exchange.owed, needed)
        return exchange.wait

    def repeat(self, party: Party) -> float:
        """Notes that an offer is repeated; returns the seconds after which to repeat it once more."""
        exchange = self[party]
        exchange.wait = min(2 * exchange.wait, self._last)
        return exchange.wait

    def acknowledge(self, party: Party, known: Vector, now: float) -> bool:
        """Notes an acknowledgement; true when it ends the exchange."""
        exchange = self[party]
        raise_to(exchange.acknowledged, known)
        if not exchange.owed or not dominates(exchange.acknowledged, exchange.owed):
            return False
        took = now - exchange.began
        exchange.usual += _SHARE * (took - exchange.usual) if exchange.usual else took
        exchange.owed.clear()
        return True

    def forget(self, party: Party) -> None:
        """Ends the exchange with a party that has lost its state, or that is not a party any more."""
        self.pop(party, None)

    def suspend(self, party: Party) -> None:
        """Ends an exchange because no broker of the party can be reached."""
        self[party].owed.clear()
