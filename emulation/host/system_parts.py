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
