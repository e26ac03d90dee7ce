"""The subscription table by the letter of section 3, "Subscription Propagation" (option `withdrawals: naive`).

The text propagates withdrawals "analogously to subscriptions, although at each hop entries in the subscription table
are removed rather than inserted", and has a lost link treated "as if it received an unsubscription message for all
patterns associated to that link". Read literally:

1. A subscription at a distance below phi is passed on to all neighbours but its sender, each time with one more hop,
   but not over a link that has carried it, "unless an unsubscription occurs in between the two". A shorter way that is
   found later is thus not announced.
2. A withdrawal removes the entry of the link that it came by. If the entry's distance is below phi, the withdrawal is
   passed on over all other links that have carried the subscription, also where another link still leads to the
   subscriber. A lost link withdraws all its entries.
3. A new link gets the subscriptions of the table at their least distance, as in `subscriptions`.

So each withdrawal may take entries that are right from brokers farther away, which get them again only when the
subscription is passed on anew, such as over a new link. Two things hold all the same when messages have settled. Each
entry has another entry of one hop less behind it, down to the subscriber's broker, because the loss of that one would
have withdrawn it: so nothing stays of a subscription that its client has withdrawn. And a broker never withdraws a
standing subscription of its own client, so entries of adjacent subscribers are always right.
"""

from __future__ import annotations

from broker_service.messages import BrokerId
from broker_service.routing.semi_probabilistic.subscriptions import Change, Row, SubscriptionTable


class NaiveSubscriptionTable(SubscriptionTable):
    """A subscription table whose withdrawals are passed on naively; `_announced` has what each link has carried."""

    def _gained(self, row: Row, neighbour: BrokerId | None, distance: int) -> list[Change]:
        changes: list[Change] = []
        if distance < self._horizon:
            for other, announced in self._announced.items():
                if other != neighbour and row.id not in announced:
                    announced[row.id] = distance + 1
                    changes.append(Change(other, row.id, row.pattern.body, distance + 1))
        row.pattern.note_change()
        return changes

    def _lost(self, row: Row, neighbour: BrokerId | None, distance: int) -> list[Change]:
        changes: list[Change] = []
        if distance < self._horizon:
            for other, announced in self._announced.items():
                if other != neighbour and announced.pop(row.id, None) is not None:
                    changes.append(Change(other, row.id, row.pattern.body, None))
        self._note_loss(row)
        return changes
