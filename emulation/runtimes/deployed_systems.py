"""Deployed systems on this host: what their adapters need, and the remedy where it is missing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from broker_service.routing.systems import ACTIVEMQ, MOSQUITTO, ZENOH
from emulation.host.system_parts import SystemParts
from record.errors import HostError
from record.extras import SYSTEM_CLIENTS

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
    """The program of its server, named as its Debian package; None for one that comes with the package of Python."""
    home: Path | None = None
    """The directory of its server where Java runs it."""


_NEEDS: Mapping[str, _Needs] = {
    MOSQUITTO: _Needs("paho-mqtt", "paho", "mosquitto"),
    ZENOH: _Needs("eclipse-zenoh", "zenoh"),
    ACTIVEMQ: _Needs("stomp.py", "stomp", "activemq", Path("/usr/share/activemq")),
}
_LOADED_BY_JAVA = ("bin/java", "lib/server/libjvm.so")
"""Files of Java whose libraries it needs."""


def require_system(name: str) -> None:
    """Raises `HostError`, with the remedy, where a system is not installed on this host."""
    needs = _NEEDS[name]
    for program in _programs(needs):
        if shutil.which(program, path=_PLACES) is None:
            raise HostError(f"routing.system: the program {program} is not on this host: `apt install {program}`")
    if find_spec(needs.module) is None:
        raise HostError(f"routing.system: {SYSTEM_CLIENTS[name].sentence(needs.module)}")


def parts_of(name: str) -> SystemParts:
    """The parts of a system for its image. Raises `HostError` where it is not installed on this host."""
    require_system(name)
    needs = _NEEDS[name]
    if needs.home is not None:
        return _with_java([needs.package], needs.home)
    found = [shutil.which(program, path=_PLACES) for program in _programs(needs)]
    return SystemParts([needs.package], [Path(program) for program in found if program is not None])


def _with_java(packages: Sequence[str], home: Path) -> SystemParts:
    """The parts of a system that Java runs. Raises `HostError` where there is no Java."""
    if (java := shutil.which("java", path=_PLACES)) is None:
        raise HostError("routing.system: there is no Java on this host: `apt install default-jre-headless`")
    machine = Path(java).resolve().parents[1]
    return SystemParts(packages, trees=[home, machine], loaded=[machine / name for name in _LOADED_BY_JAVA])


def _programs(needs: _Needs) -> list[str]:
    return [] if needs.program is None else [needs.program]
