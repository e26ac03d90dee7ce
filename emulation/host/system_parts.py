"""The parts of a deployed system that brokers of it are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SystemParts:
    """The parts of a system that its image needs."""

    packages: Sequence[str]
    """Packages of Python, by the names of their distributions."""
    programs: Sequence[Path] = ()
    """Programs of this host."""
    trees: Sequence[Path] = ()
    """Directories of this host, which have the same place in the image."""
    loaded: Sequence[Path] = ()
    """Files of these directories that need shared libraries of this host."""
