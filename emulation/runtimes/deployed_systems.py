"""Deployed systems on this host: what their adapters need, and the remedy where it is missing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from broker_service.routing.systems import MOSQUITTO, ZENOH
from emulation.host.system_parts import SystemParts
from record.errors import HostError
from record.extras import SYSTEMS

ADAPTER_MODULE = "emulation.adapters"
ADAPTER_COMMAND: Sequence[str] = (sys.executable, "-m", ADAPTER_MODULE)
_PLACES = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
"""Directories of programs for administrators, which not every user's path names."""


@dataclass(frozen=True, slots=True)
class _Needs:
    package: str
    """The distribution of the package by which the adapter speaks to the system."""
    module: str
    """The package's module."""
    program: str | None = None
    """The program of its server; None for one that comes with the package."""


_NEEDS: Mapping[str, _Needs] = {
    MOSQUITTO: _Needs("paho-mqtt", "paho", "mosquitto"),
    ZENOH: _Needs("eclipse-zenoh", "zenoh"),
}


def require_system(name: str) -> None:
    """Raises `HostError`, with the remedy, where a system is not installed on this host."""
    needs = _NEEDS[name]
    for program in _programs(needs):
        if shutil.which(program, path=_PLACES) is None:
            raise HostError(f"routing.system: the program {program} is not on this host: `apt install {program}`")
    if find_spec(needs.module) is None:
        raise HostError(f"routing.system: {SYSTEMS.sentence(needs.module)}")


def parts_of(name: str) -> SystemParts:
    """The parts of a system for its image. Raises `HostError` where it is not installed on this host."""
    require_system(name)
    needs = _NEEDS[name]
    found = [shutil.which(program, path=_PLACES) for program in _programs(needs)]
    return SystemParts([needs.package], [Path(program) for program in found if program is not None])


def _programs(needs: _Needs) -> list[str]:
    return [] if needs.program is None else [needs.program]
