"""The build of brokerlab that this interpreter runs: its sources, or the compiled build of some of them."""

from __future__ import annotations

import enum
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import find_spec

_CORE = "broker_service.broker"
"""A module that every compiled build has."""
_FINDER = "brokerlab_compiled"
"""The finder that `make compiled` puts into the virtual environment (`setup/compiled_finder.py`)."""


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
    finder = sys.modules.get(_FINDER)
    return Build.STALE if finder is not None and finder.active() else Build.SOURCE
