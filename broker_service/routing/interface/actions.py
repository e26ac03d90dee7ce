"""Actions of every routing protocol: messages, notifications, timers."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from broker_service.messages import BrokerId, ClientId, Message, StreamPosition

TimerKey = Hashable
"""Identifies a timer of a router: a value of the router's own, such as a frozen struct that names a neighbour."""


class Send(msgspec.Struct, frozen=True, gc=False):
    """Put a message into the output queue of a neighbour."""

    neighbour: BrokerId
    message: Message
    label: str = ""
    """Purpose of the message in a word or two ("change", "nack"), logged at both ends; empty: the message's own label,
    which a message that is passed on keeps."""
    ahead: bool = False
    """True: before all waiting messages that are not `ahead`, behind those that are."""


class Deliver(msgspec.Struct, frozen=True, gc=False):
    """Notify clients of this broker of a publication, each once."""

    clients: tuple[ClientId, ...]
    message: Message
    position: StreamPosition | None = None
    """Place of the publication in a stream, which clients are told and which is logged."""


class SetTimer(msgspec.Struct, frozen=True):
    """Call `Router.timer(key)` after `after` seconds; a timer of the same key that still runs is replaced."""

    key: TimerKey
    after: float
    awaited: bool = False
    """True for work that is yet to be done, such as a retransmission: while the timer runs, the overlay is not settled,
    and a run does not end early. A timer for housekeeping, which would run for ever, is not awaited."""


class CancelTimer(msgspec.Struct, frozen=True):
    """End the timer of this key; has no effect when none runs."""

    key: TimerKey
