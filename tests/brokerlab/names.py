"""The names of the library and of the contract of a routing protocol: what `brokerlab` promises to keep.

python -m tests.brokerlab.names     # writes names.json anew, when something was added
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec

import brokerlab
from brokerlab import protocol

NAMES = Path(__file__).with_name("names.json")

Described = dict[str, str]
"""Members of one class by name, each with its type, its parameters, or its value."""


def present_names() -> dict[str, Described]:
    """Every class of the contract with its members, and every function with its parameters; those of the library under
    `brokerlab.NAME`."""
    described = {name: _described(getattr(protocol, name)) for name in protocol.__all__}
    described["Action"] = {action.__name__: "action" for action in get_args(protocol.Action)}
    described["CAPABILITIES"] = {
        name: " ".join([one.declared_by.__name__, *(action.__name__ for action in one.actions)])
        for name, one in protocol.CAPABILITIES.items()
    }
    return described | {f"brokerlab.{name}": _described(getattr(brokerlab, name)) for name in brokerlab.__all__}


def _described(exported: object) -> Described:
    if inspect.isclass(exported):
        return _members(exported)
    return {"()": _signature(exported)} if inspect.isfunction(exported) else {}


def changed(former: Mapping[str, Described], present: Mapping[str, Described]) -> list[str]:
    """The promises that are broken: names that are gone, and members that are gone, changed, or new and required."""
    broken = []
    for name, members in former.items():
        if name not in present:
            broken.append(f"{name} is gone")
            continue
        for member, meaning in members.items():
            now = present[name].get(member)
            if now != meaning:
                broken.append(f"{name}.{member} was {meaning!r} and is {now!r}")
        added = present[name].keys() - members.keys()
        broken += [
            f"{name}.{member} is new and required" for member in sorted(added) if present[name][member].endswith("!")
        ]
    return broken


def _members(exported: type) -> Described:
    return dict(_described_members(exported))


def _described_members(exported: type) -> Iterator[tuple[str, str]]:
    if issubclass(exported, enum.Enum):
        yield from ((member.name, repr(member.value)) for member in exported)
        return
    yield from _fields(exported)
    for name, member in inspect.getmembers(exported):
        if name.startswith("_") and (name != "__init__" or dataclasses.is_dataclass(exported)):
            continue
        if inspect.isfunction(member) and member.__module__.split(".")[0] in ("broker_service", "brokerlab", "record"):
            required = "!" if getattr(member, "__isabstractmethod__", False) else ""
            yield name, _signature(member) + required
        elif isinstance(member, property) and member.fget is not None:
            yield name, f"property{_signature(member.fget)}"


def _fields(exported: type) -> Iterator[tuple[str, str]]:
    """Fields with their types; `!` marks those without a default."""
    if dataclasses.is_dataclass(exported):
        for field in dataclasses.fields(exported):
            if field.init:
                is_optional = (field.default, field.default_factory) != (dataclasses.MISSING, dataclasses.MISSING)
                yield field.name, f"{field.type}{'' if is_optional else '!'}"
    elif issubclass(exported, msgspec.Struct):
        for struct_field in msgspec.structs.fields(exported):
            required = "!" if struct_field.required else ""
            yield struct_field.name, f"{_annotation(exported, struct_field.name)}{required}"
    for name, annotation in inspect.get_annotations(exported).items():
        if str(annotation).startswith("ClassVar"):
            yield name, f"{annotation} = {getattr(exported, name)!r}"


def _annotation(exported: type, field: str) -> Any:
    return next(kind.__annotations__[field] for kind in exported.__mro__ if field in kind.__annotations__)


def _signature(function: Any) -> str:
    return str(inspect.signature(function)).replace("'", "")


if __name__ == "__main__":
    NAMES.write_bytes(msgspec.json.format(msgspec.json.encode(present_names()), indent=2) + b"\n")
