"""Retransmission queue of an overlay link: the messages that one incarnation of the neighbour has not acknowledged.

A message is *in flight* from the moment it is handed to the transport until the neighbour acknowledges it. One that
was in flight when a stream broke, and that the neighbour has not handled, is a *repeat*: it travels again on the next
stream.

Acknowledgements count messages, from the first one this incarnation of the broker sent to that incarnation of the
neighbour. The numbers of messages that are recalled while the link is down stay used: the neighbour may have handled
some, and reports so when the next stream opens.
"""

from __future__ import annotations

from broker_service.config import Limits
from broker_service.messages import BrokerId, Message


class RetransmissionQueue:
    """Messages in flight to one incarnation of a neighbour, within a window of messages and bytes, and repeats."""

    __slots__ = (
        "_neighbour",
        "_recalled",
        "acknowledged",
        "in_flight",
        "in_flight_bytes",
        "repeats",
        "window",
        "window_bytes",
    )

    def __init__(self, neighbour: BrokerId, limits: Limits) -> None:
        self.window = limits.window
        self.window_bytes = limits.window_bytes
        self.in_flight: list[Message] = []
        self.in_flight_bytes = 0
        self.repeats: list[Message] = []
        self.acknowledged = 0
        """Messages that the neighbour has handled."""
        self._neighbour = neighbour
        self._recalled = 0
        """Messages that were in flight when they were taken back, while the link was down."""

    @property
    def empty(self) -> bool:
        """True when the neighbour has acknowledged all messages."""
        return not (self.in_flight or self.repeats)

    def fits(self, size: int) -> bool:
        """True when the window has room for this many bytes; a single message always fits."""
        return not self.in_flight_bytes or self.in_flight_bytes + size <= self.window_bytes

    def take_repeats(self, messages: list[Message], most: int) -> int:
        """Appends repeats to a frame's messages, as far as the window has room. Returns their number."""
        taken = 0
        for message in self.repeats[:most]:
            if not self.fits(message.size):
                break
            self.in_flight_bytes += message.size
            messages.append(message)
            taken += 1
        del self.repeats[:taken]
        return taken

    def acknowledge(self, total: int) -> None:
        """Notes that the neighbour has handled `total` messages. Raises `ValueError` when it cannot have."""
        in_flight, acknowledged = self.in_flight, self.acknowledged
        if total == acknowledged:
            return
        if not acknowledged < total <= acknowledged + len(in_flight):
            raise ValueError(
                f"{self._neighbour} acknowledged {total} messages, "
                f"{acknowledged + len(in_flight)} were sent and {acknowledged} acknowledged before"
            )
        number = total - acknowledged
        for message in in_flight[:number]:
            self.in_flight_bytes -= len(message.body) + len(message.header)
        del in_flight[:number]
        self.acknowledged = total

    def check(self, handled: int) -> None:
        """Raises `ValueError` when the neighbour cannot have handled this many messages."""
        sent = self.acknowledged + self._recalled + len(self.in_flight) + len(self.repeats)
        claim = f"{self._neighbour} claims to have handled {handled} messages"
        if handled > sent:
            raise ValueError(f"{claim}, {sent} were sent")
        if handled < self.acknowledged:
            raise ValueError(f"{claim}, it acknowledged {self.acknowledged}")

    def resume(self, handled: int) -> None:
        """Notes that a stream is open and that the neighbour has handled that many messages: the others are repeats."""
        self.repeats[:0] = self.in_flight
        self._clear_in_flight()
        del self.repeats[: handled - self.acknowledged]
        self.acknowledged = handled
        self._recalled = 0

    def recall(self) -> list[Message]:
        """Takes back all messages that the neighbour has not acknowledged."""
        return self.recall_in_flight() + self.recall_repeats()

    def recall_in_flight(self) -> list[Message]:
        """Takes back the messages in flight of a link that is down."""
        messages = self.in_flight.copy()
        self._recalled += len(messages)
        self._clear_in_flight()
        return messages

    def recall_repeats(self) -> list[Message]:
        """Takes back the messages that would travel again."""
        messages, self.repeats = self.repeats, []
        return messages

    def _clear_in_flight(self) -> None:
        self.in_flight.clear()
        self.in_flight_bytes = 0
