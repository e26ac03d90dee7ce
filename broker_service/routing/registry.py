"""The routing protocols by the names that scenarios use.

A built-in protocol is a package beside this module that has a module `protocol`, which declares it; its name is the
package's, with hyphens. It is imported when it is first looked up, because a broker uses one protocol only, and the
others would make its start longer. All other names are references to protocols from outside (`outside`).
A reference to a program stands for the protocol that the program declares, and `foreign` for the routing of brokers of
others (`foreign`), or a deployed system (`systems`).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import msgspec

from broker_service.routing import foreign, outside
from broker_service.routing.declaration import Protocol
from broker_service.routing.failures import FAILURES
from broker_service.routing.foreign import FOREIGN
from broker_service.routing.options import ProtocolOptions
from broker_service.routing.program.references import PREFIX
from broker_service.routing.requirements import Requirement, require_installed, requirements_at
from broker_service.routing.systems import SYSTEMS, is_system
from record.errors import ProtocolCodeError

_PACKAGE = "broker_service.routing"


def built_in(directory: Traversable, package: str) -> dict[str, str]:
    """The protocols whose packages are in a directory, in alphabetical order, with the modules that declare them.

    The directory may be in an archive, as on a worker of Spark.
    """
    names = sorted(found.name for found in directory.iterdir() if found.joinpath("protocol.py").is_file())
    return {name.replace("_", "-"): f"{package}.{name}.protocol" for name in names}


class _Protocols(MutableMapping[str, Protocol]):
    """Protocols by name, each imported when it is first looked up."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules
        self._loaded: dict[str, Protocol | None] = dict.fromkeys(modules)

    def __getitem__(self, name: str) -> Protocol:
        if name.startswith(PREFIX):
            return _program(name)
        if name == FOREIGN:
            return foreign.PROTOCOL
        if name in SYSTEMS and name not in self._loaded:
            return SYSTEMS[name]
        protocol = self._loaded[name]
        if protocol is None:
            protocol = self._loaded[name] = importlib.import_module(self._modules[name]).PROTOCOL
        return protocol

    def __contains__(self, name: object) -> bool:
        return name in self._loaded  # and not by looking it up, which would start a program

    def __setitem__(self, name: str, protocol: Protocol) -> None:
        self._loaded[name] = protocol

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)


@cache
def _program(reference: str) -> Protocol:
    """The protocol of a program, which declares itself once. Raises `ProtocolError` where there is no such program."""
    from broker_service.routing.program.channel import NoProgramError  # noqa: PLC0415 - as below
    from broker_service.routing.program.declaring import declaration_of  # noqa: PLC0415 - few brokers run a program

    try:
        return declaration_of(reference)
    except NoProgramError as error:
        raise outside.ProtocolError(str(error)) from None


PROTOCOLS: MutableMapping[str, Protocol] = _Protocols(
    built_in(files("broker_service.routing"), "broker_service.routing")
)


_from_outside: dict[str, Protocol] = {}
"""Protocols from outside that have been loaded, by their references."""
_provided: dict[str, str] = {}
"""Paths and `module:Name`s at which the code of references was provided."""
_homes: dict[str, str] = {}
"""Beginnings of the paths of code that was provided, and those of the author's own files in their place."""


def provide_from(reference: str, place: str, folder: Path) -> None:
    """Makes a reference mean the protocol at this place in a folder. Raises `ProtocolError`."""
    if outside.is_path(place) or ":" not in place:
        place = str(folder / place)
        _homes[place] = reference
    else:
        sys.path.append(str(folder))
        _homes[f"{folder}/"] = ""
    _from_outside[reference], _provided[reference] = outside.load(place), place


def at_home(line: str) -> str:
    """A line of code that was provided (`FILE:NUMBER...`) as one of the author's own file, which has another path; that
    of a module is relative to Python's path."""
    return next((home + line.removeprefix(copy) for copy, home in _homes.items() if line.startswith(copy)), line)


def is_ours(reference: str) -> bool:
    """True for a protocol that the product has, whose routers its own tests hold to the contract."""
    return not reference.startswith(PREFIX) and reference in PROTOCOLS


def place_of(reference: str) -> str | None:
    """The path or `module:Name` of the code of a protocol from outside; None for any other reference."""
    if reference.startswith(PREFIX) or reference in PROTOCOLS or reference == FOREIGN or is_system(reference):
        return None
    return _provided.get(reference) or outside.resolved(reference)


def requirements_of(reference: str) -> tuple[Requirement, ...]:
    """The requirements of a protocol from outside; none of any other. Raises `ProtocolError`."""
    place = place_of(reference)
    return () if place is None else requirements_at(place)


def found_protocol(reference: str) -> Protocol | None:
    """The protocol that a scenario names; None when there is none. Raises `ProtocolError` for one with a mistake."""
    protocol = PROTOCOLS.get(reference) or _from_outside.get(reference)
    if protocol is None and (place := outside.resolved(reference)) is not None:
        require_installed(place)
        protocol = _from_outside[reference] = outside.load(place)
    return protocol


def protocol_named(reference: str) -> Protocol:
    """The protocol that a scenario names. Raises `ValueError` when there is none."""
    protocol = found_protocol(reference)
    if protocol is None:
        raise ValueError(f"unknown routing protocol {reference!r}; known: {', '.join(PROTOCOLS)}")
    return protocol


def read_options(reference: str, options: Mapping[str, Any]) -> ProtocolOptions:
    """A protocol's options, with defaults for those not given. Raises `ValueError` that names an option unfit."""
    struct = protocol_named(reference).options
    try:
        return msgspec.convert(dict(options), struct)
    except ValueError:
        raise
    except FAILURES as error:
        raise failed_planning(reference, "its options", error) from error


def failed_planning(reference: str, occasion: str, error: BaseException) -> ProtocolCodeError:
    """The error for a protocol whose code failed before any broker ran."""
    module = protocol_named(reference).options.__module__.partition(".")[0]
    return ProtocolCodeError(f"protocol {reference} failed on {occasion}: {outside.in_words(error, module)}")
