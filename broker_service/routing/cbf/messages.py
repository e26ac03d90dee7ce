"""Headers of control messages that tell a neighbour several changes of its sum at once. They have no body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import msgspec

from broker_service.messages import Kind
from broker_service.routing.cbf.sums import Change, Entry
from broker_service.routing.common.decoding import decode_subscription, encode_header, header_decoder

MOST_BUNDLED = 64 << 10
"""Bytes of the changes in a message, about, so that it fits into a frame."""
_REST = 4
"""Bytes of a change besides its content, about."""


class BundledChange(NamedTuple):
    """One change of a sum."""

    withdrawn: bool
    """True for a content that leaves the sum, False for one that joins it."""
    body: bytes


_Changes: Any = Annotated[tuple[BundledChange, ...], msgspec.Meta(max_length=MOST_BUNDLED // _REST)]
_decode: Callable[[bytes], Any] = header_decoder(_Changes)


def decode_changes(header: bytes) -> Sequence[BundledChange]:
    """Raises `MalformedMessageError` for a header that cannot be decoded."""
    changes: Sequence[BundledChange] = _decode(header)
    return changes


def encoded_bundles(changes: Iterable[Change]) -> Iterator[bytes]:
    """Changes in headers of a limited size, in their order."""
    bundle: list[BundledChange] = []
    held = 0
    for kind, entry in changes:
        size = _REST + len(entry.body)
        if bundle and held + size > MOST_BUNDLED:
            yield encode_header(bundle)
            bundle, held = [], 0
        bundle.append(BundledChange(kind is Kind.UNSUBSCRIBE, entry.body))
        held += size
    if bundle:
        yield encode_header(bundle)


@lru_cache(maxsize=4096)
def bundled_entry(body: bytes) -> Entry:
    """The entry of a content in a bundle, the same for servers of one process. It has no identifier.

    Raises `MalformedMessageError` for a content that cannot be decoded.
    """
    return Entry("", body, decode_subscription(body))
