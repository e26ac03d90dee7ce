"""Bytes of a bucket that is too large to be held: in an unnamed file, mapped into memory, which the system pages."""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from itertools import accumulate, pairwise
from tempfile import TemporaryFile


def spooled(parts: Iterable[bytes]) -> list[memoryview]:
    """The same parts, outside of this process's own memory. The file goes when the last of them does."""
    with TemporaryFile(prefix="brokerlab-") as file:
        ends = list(accumulate((file.write(part) for part in parts), initial=0))
        if ends[-1] == 0:
            return []
        file.flush()
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return [mapped[start:end] for start, end in pairwise(ends)]
