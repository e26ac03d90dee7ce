"""Headers of semi-probabilistic routing. Whatever a correct neighbour does not send raises `MalformedMessageError`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Annotated

import msgspec

from broker_service.routing.common.decoding import encode_header, header_decoder
from broker_service.routing.interface import MalformedMessageError
from broker_service.routing.semi_probabilistic.options import SemiProbabilisticOptions

_Left = Annotated[int, msgspec.Meta(ge=0)]
_LONGEST_PUBLISHER = 512
"""Most characters of a publisher's name: more than a file's name may have, and brokers' logs are named after brokers.
The bound keeps headers that are stored small."""


class EventHeader(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """Header of a publication. The first two fields identify the event (section 3, "Dealing with loops")."""

    publisher: Annotated[str, msgspec.Meta(max_length=_LONGEST_PUBLISHER)]
    """Broker and incarnation at which the event was published, `<broker>.<incarnation>`."""
    number: Annotated[int, msgspec.Meta(ge=1, lt=1 << 62)]
    """Counts the events published there, from 1."""
    ttl: _Left | None = None
    """Hops left to this copy; None where the options do not limit them."""
    deterministic_ttl: _Left | None = None
    """Deterministic hops left to this copy; None where the options do not limit them."""
    probabilistic_ttl: _Left | None = None
    """Random hops left to this copy; None where the options do not limit them."""

    @property
    def spent(self) -> bool:
        """True when the copy must not travel any further."""
        return self.ttl == 0 or self.deterministic_ttl == 0 or self.probabilistic_ttl == 0

    def after_deterministic_hop(self) -> EventHeader:
        """The header of the copy that goes on; this very one where no limit counts the hop."""
        if self.ttl is None and self.deterministic_ttl is None:
            return self
        return EventHeader(
            self.publisher, self.number, _lowered(self.ttl), _lowered(self.deterministic_ttl), self.probabilistic_ttl
        )

    def after_random_hop(self) -> EventHeader:
        """The header of the copy that goes on over a random link; this very one where no limit counts the hop."""
        if self.ttl is None and self.probabilistic_ttl is None:
            return self
        return EventHeader(
            self.publisher, self.number, _lowered(self.ttl), self.deterministic_ttl, _lowered(self.probabilistic_ttl)
        )


def published(publisher: str, number: int, options: SemiProbabilisticOptions) -> EventHeader:
    """The header of an event at its publisher's broker."""
    return EventHeader(publisher, number, options.ttl, options.deterministic_ttl, options.probabilistic_ttl)


_OPTIONS_KEPT = 16
"""Options of which the decoder of headers is kept."""
_HEADERS_KEPT = 1_024
"""Headers that a decoder keeps: more than those of the events in flight."""
_decode_event: Callable[[bytes], EventHeader] = header_decoder(EventHeader)
_decode_distance: Callable[[bytes], int] = header_decoder(int)
_decode_leaf: Callable[[bytes], bool] = header_decoder(bool)


@lru_cache(maxsize=_OPTIONS_KEPT)
def event_decoder(options: SemiProbabilisticOptions) -> Callable[[bytes], EventHeader]:
    """The function that decodes the header of a publication of a neighbour, which routes with the same options.

    It keeps the latest headers, and all brokers of a process share it, because most copies of an event have one header.
    """
    limits = options.ttl, options.deterministic_ttl, options.probabilistic_ttl

    @lru_cache(maxsize=_HEADERS_KEPT)
    def decode_event(header: bytes) -> EventHeader:
        event = _decode_event(header)
        left = event.ttl, event.deterministic_ttl, event.probabilistic_ttl
        if left != limits and not all(map(_is_left_of, left, limits)):
            raise MalformedMessageError(
                "its times-to-live are not those of an event that has travelled by these options"
            )
        return event

    return decode_event


def decode_distance(header: bytes, horizon: int) -> int:
    """The hops to the subscriber of a subscription that a neighbour announces."""
    distance = _decode_distance(header)
    if not 1 <= distance <= horizon:
        raise MalformedMessageError(f"a subscriber at distance {distance}, with a horizon of {horizon}")
    return distance


def decode_leaf(header: bytes) -> bool:
    """True when the neighbour has become a leaf, false when it has ceased to be one."""
    return _decode_leaf(header)


def encode(value: EventHeader | int | bool) -> bytes:
    """A header in bytes."""
    return encode_header(value)


def _lowered(left: int | None) -> int | None:
    return None if left is None else left - 1


def _is_left_of(left: int | None, option: int | None) -> bool:
    """True for hops that can be left of those that the option allows; both are None where hops are not limited."""
    if option is None or left is None:
        return option is left
    return left <= option
