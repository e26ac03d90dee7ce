"""The directions of an overlay's links, looked up in the overlay when they are asked for first.

A full mesh of 1,000 brokers has a million directions, most of which no message ever takes. A table of all, for each
variant of a run, would take most of the memory of its analysis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from topology.link_properties import LinkProperties
from topology.model import Overlay


class LinkDirections(Mapping[tuple[str, str], LinkProperties]):
    """Properties of links by source and target: those from `a` to `b` in the order of the links, then all others."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self._asked: dict[tuple[str, str], LinkProperties] = {}
        """Directions that were asked for, because a mesh makes each of its links anew."""

    def __getitem__(self, ends: tuple[str, str]) -> LinkProperties:
        found = self._asked.get(ends)
        if found is None:
            source, target = ends
            found = self._asked[ends] = self._overlay.link(source, target).properties_from(source)
        return found

    def __iter__(self) -> Iterator[tuple[str, str]]:
        yield from self._overlay.pairs
        for a, b in self._overlay.pairs:
            yield b, a

    def __len__(self) -> int:
        return 2 * len(self._overlay.links)
