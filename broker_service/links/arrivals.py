"""Times at which frames arrived whose messages or requests wait for service, for the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Arrivals:
    """The frames of one stream of which something waits for service, in order."""

    __slots__ = ("frames",)

    def __init__(self) -> None:
        self.frames: list[tuple[int, int]] = []
        """Time of arrival, in nanoseconds, and number of items that wait, of each frame."""

    def parts(self, items: Sequence[Item]) -> Iterator[tuple[int | None, Sequence[Item]]]:
        """Divides items of several frames, or of a part of one, by the frames they came in. Yields the arrival of each
        part, which is None where it is not known."""
        begin, frames = 0, self.frames
        while begin < len(items):
            arrived, count = frames.pop(0) if frames else (None, len(items))
            part = items[begin : begin + count]
            if arrived is not None and len(part) < count:
                frames.insert(0, (arrived, count - len(part)))
            begin += len(part)
            yield arrived, part
