"""The build of brokerlab that this interpreter runs: its sources, or the compiled build of some of them."""

from __future__ import annotations

import enum
import platform
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import find_spec
from pathlib import Path

_CORE = "broker_service.broker"
"""A module that every compiled build has."""
FINDER = "brokerlab_compiled"
"""Name of the finder's module (`setup/compiled_finder.py`) in the virtual environment into which `make compiled` puts
it."""
_IMAGE_LIBC = (2, 36)
"""Version of the C library of the broker image's base, Debian 12."""


class Build(enum.StrEnum):
    """The build in use."""

    COMPILED = "compiled"
    SOURCE = "source"
    STALE = "source, because the compiled build is of other sources"


def build() -> Build:
    """The build that this process runs."""
    spec = find_spec(_CORE)
    if spec is not None and isinstance(spec.loader, ExtensionFileLoader):
        return Build.COMPILED
    finder = sys.modules.get(FINDER)
    return Build.STALE if finder is not None and finder.active() else Build.SOURCE


def extensions(package: str) -> tuple[Path, list[Path]]:
    """Folder of the compiled build and its extensions that a package needs; none unless this process runs the build.

    There are none either where the C library is newer than that of images, which could not load them.
    """
    spec = find_spec(_CORE)
    if build() is not Build.COMPILED or spec is None or spec.origin is None or _libc() > _IMAGE_LIBC:
        return Path(), []
    folder = Path(spec.origin).parents[1]
    return folder, sorted([*folder.glob("*.so"), *(folder / package).rglob("*.so")])


def _libc() -> tuple[int, ...]:
    return tuple(int(part) for part in platform.libc_ver()[1].split(".") if part.isdigit())
