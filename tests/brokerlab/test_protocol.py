"""`brokerlab.protocol` keeps its names and their meanings; what is added is written down."""

from __future__ import annotations

import copy

import msgspec
import pytest

from broker_service.routing import interface
from brokerlab import protocol
from tests.brokerlab.names import NAMES, Described, changed, present_names

WRITTEN = msgspec.json.decode(NAMES.read_bytes(), type=dict[str, Described])


def test_no_name_of_the_contract_is_gone_or_means_something_else() -> None:
    assert changed(WRITTEN, present_names()) == []


def test_what_was_added_is_written_down() -> None:
    assert present_names() == WRITTEN, "run `python -m tests.brokerlab.names`"


def test_all_actions_and_classes_of_capabilities_are_exported() -> None:
    classes = {one.declared_by.__name__ for one in interface.CAPABILITIES.values()}
    assert {*WRITTEN["Action"], *classes} <= set(protocol.__all__)


@pytest.mark.parametrize(
    ("name", "member", "meaning", "objection"),
    [
        ("Send", "ahead", None, "Send.ahead was 'bool' and is None"),
        ("Send", "neighbour", "int!", "Send.neighbour was 'BrokerId!' and is 'int!'"),
        ("Send", "urgency", "int!", "Send.urgency is new and required"),
        ("Send", "urgency", "int", None),
        ("StoresValues", "stored", "(self)!", "StoresValues.stored is new and required"),
        ("ProtocolOptions", "times", None, "ProtocolOptions.times was 'ClassVar[tuple[str, ...]] = ()' and is None"),
        ("Kind", "PUBLISH", "6", "Kind.PUBLISH was '5' and is '6'"),
    ],
)  # fmt: skip
def test_a_broken_promise_is_named(name: str, member: str, meaning: str | None, objection: str | None) -> None:
    present = copy.deepcopy(WRITTEN)
    if meaning is None:
        del present[name][member]
    else:
        present[name][member] = meaning
    assert changed(WRITTEN, present) == ([objection] if objection else [])


def test_a_name_that_is_gone_is_named() -> None:
    present = {name: members for name, members in WRITTEN.items() if name != "Recall"}
    assert changed(WRITTEN, present) == ["Recall is gone"]
