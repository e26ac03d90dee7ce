"""Notifications of one variant in columns, because a run of Table 2 has 1.5 million of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Integers = NDArray[np.int64]

COLUMNS = ("publication", "broker", "repeat", "delay_ms", "second", "hops")
"""Columns of the table of notifications that `Notified.of` reads."""
UNKNOWN = -1
"""Stands for a number that is not known."""


@dataclass(frozen=True)
class Notified:
    """The first notifications of each event and client whose delay is known, in no particular order."""

    event: Integers
    """The number of each one's event; `UNKNOWN` where servers logged a sample of events without it."""
    server: Integers
    hops: Integers
    """Links travelled."""

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch], events: Mapping[str, int], servers: Mapping[str, int]) -> Notified:
        """The notifications in some batches of `COLUMNS`, given the numbers of events and of servers."""
        found = [cls(*(np.empty(0, np.int64) for _ in range(3)))]
        for batch in batches:
            known = pc.and_(pc.is_valid(batch["delay_ms"]), pc.is_valid(batch["second"]))
            first = batch.filter(pc.and_(pc.equal(batch["repeat"], 0), known))
            hops = pc.fill_null(first["hops"], UNKNOWN).to_numpy()
            found.append(cls(_numbers(first["publication"], events), _numbers(first["broker"], servers), hops))
        return cls(*(np.concatenate([getattr(part, name) for part in found]) for name in ("event", "server", "hops")))


def _numbers(names: pa.StringArray, known: Mapping[str, int]) -> Integers:
    """The number of each name; `UNKNOWN` of one that has none."""
    encoded = pc.fill_null(names, "").dictionary_encode()
    numbers = np.array([known.get(name, UNKNOWN) for name in encoded.dictionary.to_pylist()], np.int64)
    found: Integers = numbers[encoded.indices.to_numpy()]
    return found
