"""The turns that a message waits for where a broker sends over one link after the other."""

from __future__ import annotations

from record.service_time import SendingOrder
from topology.link_properties import BrokerId
from topology.model import Overlay


def sendings_ahead(sending: SendingOrder, overlay: Overlay, broker: BrokerId) -> int:
    """The most sendings in which the first message of an output queue leaves: its own, and where a broker's links send
    in turn, one of each other link."""
    return len(overlay.neighbours(broker)) if sending is SendingOrder.IN_TURN else 1
