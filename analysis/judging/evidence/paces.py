"""Paces: the time that a message takes at most to leave a queue, by what the scenario asked for and what was sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec import UNSET

from analysis.judging.histories.settling import VARIATION, WORK_SECONDS
from analysis.judging.histories.turns import sendings_ahead
from analysis.reading.traffic import Activity, Amount
from record.log import Event
from record.manifest import VariantRecord
from record.service_time import SendingOrder
from topology.link_properties import BrokerId, LinkProperties
from topology.model import Overlay

RETRANSMISSION_SECONDS = 1.0
"""The most that TCP waits, as a mean over lost packets, before it sends one again."""
_LEAST_WINDOW = 8
"""Messages that may be in flight on a link, at least: the others wait for an acknowledgement."""
_BITS = 8


@dataclass(frozen=True, slots=True)
class Paces:
    """The paces of the queues of one variant's brokers."""

    overlay: Overlay
    """With all links that it ever has."""
    service: float
    """Mean seconds of modelled work of a broker on each message."""
    sending: SendingOrder = SendingOrder.SIDE_BY_SIDE
    sizes: dict[tuple[BrokerId, BrokerId], float] = field(default_factory=dict)
    """Mean bytes of the messages that were sent, by source and target."""

    @classmethod
    def of(cls, variant: VariantRecord, overlay: Overlay, sent: Iterable[tuple[Activity, Amount]]) -> Paces:
        """The paces of one variant; `sent` are the amounts of its messages that were sent."""
        bytes_of: dict[tuple[BrokerId, BrokerId], tuple[int, int]] = {}
        for activity, amount in sent:
            if activity.event is Event.SENT and activity.peer is not None:
                ends = activity.node, activity.peer
                messages, size = bytes_of.get(ends, (0, 0))
                bytes_of[ends] = messages + amount.records, size + amount.bytes
        service = 0.0 if variant.service_time is UNSET else variant.service_time
        sizes = {ends: size / messages for ends, (messages, size) in bytes_of.items() if messages}
        return cls(overlay, service, variant.sending_order, sizes)

    def seconds(self, broker: BrokerId, neighbour: BrokerId | None) -> float:
        """Seconds for each message of a broker's queue to a neighbour; of None, of that for its own service."""
        if neighbour is None:
            return WORK_SECONDS + VARIATION * self.service
        asked = self._asked(broker, neighbour)
        size = self.sizes.get((broker, neighbour), 0.0)
        return (
            WORK_SECONDS
            + VARIATION * (self.service + sendings_ahead(self.sending, self.overlay, broker) * asked.send_time.mean)
            + VARIATION * (0.0 if asked.rate is None else size * _BITS / asked.rate)
            + RETRANSMISSION_SECONDS * asked.loss
            + 2 * asked.delay / _LEAST_WINDOW
        )

    def _asked(self, broker: BrokerId, neighbour: BrokerId) -> LinkProperties:
        """The properties of a direction; those of the best link for one that the overlay does not know."""
        try:
            return self.overlay.link(broker, neighbour).properties_from(broker)
        except KeyError:
            return LinkProperties()
