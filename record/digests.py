"""Digests of what clients do, by which a plan is compared with a log without keeping either.

The digests of operations are added up, so that they can be counted in any order and by several workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from zlib import adler32, crc32

import msgspec

from record.log import PredicateRecord

_encode = msgspec.json.Encoder().encode
_HALF: Final = 32
_KEPT: Final = (1 << 63) - 1


def digest_of(data: bytes) -> int:
    """Two checksums of 32 bits: no protection from an adversary, but one from any mistake."""
    return crc32(data) << _HALF | adler32(data)


def summed(digests: int) -> int:
    """A sum of digests as it is kept, in 63 bits."""
    return digests & _KEPT


def publication_digest(id: str, content: bytes) -> int:
    """The digest of a publication; `content` is that of `encode_content`."""
    return digest_of(id.encode() + content)


def encode_content(numbers: Mapping[str, float] | None, strings: Mapping[str, str] | None) -> bytes:
    """A publication's content as JSON: its numbers before its strings, each in the order of the publication."""
    return _encode({**(numbers or {}), **(strings or {})})


def operation_digest(kind: str, id: str, predicates: Iterable[PredicateRecord] | None, pattern: str | None) -> int:
    """The digest of another operation, by its predicates, or by its pattern where it is a composite subscription."""
    return digest_of(_encode([kind, id, list(predicates or ()), pattern]))


def place_digest(id: str, broker: str, within: int | None) -> int:
    """The digest of an operation's identifier, the broker at which it is made, and the window of a composite
    subscription in nanoseconds of the scenario's time."""
    return digest_of(_encode([id, broker, within]))
