"""A protocol that floods publications, as a file from outside the tree, and defects to be put into it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from studies.protocol_kit import flooding

DEFECTS: Mapping[str, tuple[str, str]] = {
    "none": ("", ""),
    "forgets what it has seen": ("in self._seen else", "in () else"),
    "forgets for 100 links": ("in self._seen else", "in (self._seen if message.hops > 100 else ()) else"),
    "keeps subscriptions": ("        self._matching.remove((client, id))\n", ""),
    "notifies twice": ("Deliver(tuple(clients), message)", "*(2 * [Deliver(tuple(clients), message)])"),
    "ends the process": ("self._published += 1", "__import__('os')._exit(3)"),
    "fails": ("self._published += 1", "self._published //= 0"),
}
"""A text of the file and what stands in its place, by the name of the defect."""


def protocol_with(defect: str, directory: Path) -> Path:
    """Writes the file of the protocol with a defect; returns its path."""
    source = Path(flooding.__file__).read_text()
    right, wrong = DEFECTS[defect]
    assert right in source
    directory.mkdir(exist_ok=True)
    path = directory / "faulty.py"
    path.write_text(source.replace(right, wrong) if right else source)
    return path
