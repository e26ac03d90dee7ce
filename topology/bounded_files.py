"""Reading of files that users bring, with a bound on their size."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from topology.link_properties import OverlayError


class Readable(Protocol):
    """A file that is open for reading, packed or not."""

    def read(self, size: int, /) -> bytes: ...


def read_bounded(file: Readable, path: Path, most: int, noun: str) -> bytes:
    """The whole content of an open file. Raises `OverlayError` for more than `most` bytes.

    `path` and `noun`, such as "an overlay file", are for the message.
    """
    content = file.read(most + 1)
    if len(content) > most:
        raise OverlayError(f"{path}: larger than the {most >> 20} MiB that {noun} may have")
    return content
