"""Operations of logical clients as the drivers read them: JSON lines sorted by time, one for each operation."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from broker_service.language import Value
from record.log import PredicateRecord

BY_HAND = "by-hand-"
"""Beginning of the names of clients that did something by hand in a run that was held."""


class OperationKind(enum.StrEnum):
    """The kinds of operation."""

    ADVERTISE = "advertise"
    UNADVERTISE = "unadvertise"
    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    PUBLISH = "publish"
    COMPOSE = "compose"
    """A composite subscription."""


class PlannedOperation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One operation of one client."""

    at: int
    """Nanoseconds since the start of the workload, which is the start of the join phase."""
    client: str
    """Unique in a run; always at the same broker."""
    broker: str
    operation: OperationKind
    id: str
    """The client's own name for its advertisement, subscription or composite subscription (`a1`, `s1`); a publication's
    `<client>:<n>`."""
    attributes: Mapping[str, Value] | None = None
    """A publication's content."""
    predicates: list[PredicateRecord] | None = None
    """The content of a subscription or an advertisement."""
    pattern: str | None = None
    """The pattern of a composite subscription, in notation."""
    within: int | None = None
    """Nanoseconds between the first and the last publication of a detection at most."""


def write_operations(path: Path, operations: Iterable[PlannedOperation]) -> int:
    """Writes a file without holding it in memory. Returns the number of operations."""
    encoder = msgspec.json.Encoder()
    written = 0
    with path.open("wb") as file:
        for operation in operations:
            file.write(encoder.encode(operation) + b"\n")
            written += 1
    return written


def read_operations(path: Path) -> Iterator[PlannedOperation]:
    """Reads a file one line at a time. Raises `msgspec.DecodeError` or `OSError`."""
    decoder = msgspec.json.Decoder(PlannedOperation)
    with path.open("rb") as file:
        for line in file:
            yield decoder.decode(line)
