"""Lines have the names and fields of the contract in Python, and the schema is that of the lines."""

from __future__ import annotations

import inspect
from typing import get_args

import msgspec
import pytest

from broker_service.routing.interface import CAPABILITIES, Action, Router
from broker_service.routing.program import lines, schema

ALSO = {"init", "declare", "prepare"}
"""Calls that are no methods of a router."""
OWN = {"now", "broker"}
"""Fields of every call."""
OF_THE_PROCESS = {"close", "processes"}
"""Calls that are about the program's process, which answers them by being one."""


def _calls() -> dict[str, type[msgspec.Struct]]:
    return {call.__struct_config__.tag: call for call in get_args(lines.AnyCall)}


def _methods() -> dict[str, list[str]]:
    """The calls of a router and of its capabilities, with their parameters."""
    classes = [Router, *(one.declared_by for one in CAPABILITIES.values())]
    return {
        name: list(inspect.signature(method).parameters)[1:]
        for made in classes
        for name, method in inspect.getmembers(made, inspect.isfunction)
        if not name.startswith("_") and name not in OF_THE_PROCESS
    }


def test_there_is_a_call_for_each_method_of_a_router() -> None:
    assert _calls().keys() - ALSO == _methods().keys()


@pytest.mark.parametrize("name", sorted(_methods()))
def test_a_call_has_the_parameters_of_its_method(name: str) -> None:
    fields = [field for field in _calls()[name].__struct_fields__ if field not in OWN]
    assert fields == [parameter for parameter in _methods()[name] if parameter != "publication"]


@pytest.mark.parametrize("action", get_args(Action), ids=lambda action: action.__name__)
def test_an_action_has_the_fields_of_its_line(action: type[msgspec.Struct]) -> None:
    line = getattr(lines, f"{action.__name__}Line")
    assert line.__struct_fields__ == action.__struct_fields__
    words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in action.__name__)
    assert line.__struct_config__.tag == words.removeprefix("_")


def test_the_schema_is_that_of_the_lines() -> None:
    assert schema.FILE.read_bytes() == schema.text(), "run `python -m broker_service.routing.program.schema`"


def test_the_schema_knows_every_line() -> None:
    known = schema.schema()["$defs"]
    for line in (
        *get_args(lines.AnyCall),
        *get_args(lines.AnyAction),
        *get_args(lines.AnyAsk),
        *get_args(lines.AnyTell),
    ):
        assert set(known[line.__name__]["properties"]) >= set(line.__struct_fields__), line
