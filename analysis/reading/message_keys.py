"""Numbers that stand for messages, the same in every log, and the buckets to which they assign publications."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar
from zlib import adler32, crc32

import numpy as np
from numpy.typing import NDArray

from broker_service.messages import Kind

_Keys = TypeVar("_Keys", int, NDArray[np.int64])
_PUBLISH = Kind.PUBLISH.word
_BEGIN = f"{_PUBLISH} ".encode()


def message_key(kind: str, id: str) -> int:
    """The number that stands for a message: 63 bits made of its kind and its identifier."""
    name = f"{kind} {id}".encode()
    return crc32(name) << 31 ^ adler32(name)


def publication_key(publication: str) -> int:
    return message_key(_PUBLISH, publication)


def publication_keys(publications: Iterable[str]) -> list[int]:
    """The keys of many publications, whose names begin alike."""
    crc, adler = crc32(_BEGIN), adler32(_BEGIN)
    return [crc32(name, crc) << 31 ^ adler32(name, adler) for name in map(str.encode, publications)]


def bucket_of_key(key: _Keys, buckets: int) -> _Keys:
    """The number of the bucket that holds everything about a publication with this key. The upper half of a key is
    spread more evenly than the lower one."""
    return (key >> 31) % buckets
