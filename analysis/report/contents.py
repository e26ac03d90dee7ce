"""The contents of a page: its sections in order, each with an anchor that a link leads to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Entry:
    """A section in a page's table of contents."""

    title: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Contents:
    """Collects the sections of a page while it is made."""

    entries: list[Entry] = field(default_factory=list)

    def add(self, title: str) -> str:
        """Adds a section and returns its anchor, which is unique on the page."""
        anchor = wanted = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
        taken = {entry.anchor for entry in self.entries}
        number = 1
        while anchor in taken:
            number += 1
            anchor = f"{wanted}-{number}"
        self.entries.append(Entry(title, anchor))
        return anchor
