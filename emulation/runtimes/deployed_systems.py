"""Deployed systems on this host: what their adapters need, and the remedy where it is missing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from broker_service.routing.systems import MOSQUITTO, ZENOH
from record.errors import HostError
from record.extras import SYSTEMS

ADAPTER_MODULE = "emulation.adapters"
ADAPTER_COMMAND: Sequence[str] = (sys.executable, "-m", ADAPTER_MODULE)
_PLACES = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
"""Directories of programs for administrators, which not every user's path names."""


@dataclass(frozen=True, slots=True)
class _Needs:
    module: str
    """The package of Python by which the adapter speaks to the system."""
    program: str | None = None
    """The program of its server; None for one that comes with the package."""


_NEEDS: Mapping[str, _Needs] = {MOSQUITTO: _Needs("paho", "mosquitto"), ZENOH: _Needs("zenoh")}


def require_system(name: str) -> None:
    """Raises `HostError`, with the remedy, where a system is not installed on this host."""
    needs = _NEEDS[name]
    if needs.program is not None and shutil.which(needs.program, path=_PLACES) is None:
        raise HostError(
            f"routing.system: the program {needs.program} is not on this host: `apt install {needs.program}`"
        )
    if find_spec(needs.module) is None:
        raise HostError(f"routing.system: {SYSTEMS.sentence(needs.module)}")
