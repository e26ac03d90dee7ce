"""Structs made of others."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest

from analysis.tables.structs import struct_from


class Target(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    lost: int
    late: int = 7


@dataclass
class Source:
    lost: int
    other: int = 0


class Named(msgspec.Struct):
    name: str
    lost: int


def test_given_fields_come_before_sources_and_these_in_their_order() -> None:
    assert struct_from(Target, Source(1), Named("n", 2)) == Target(name="n", lost=1)
    assert struct_from(Target, Named("n", 2), Source(1), name="given", late=3) == Target(name="given", lost=2, late=3)


def test_a_field_that_nobody_has() -> None:
    with pytest.raises(TypeError, match="name"):
        struct_from(Target, Source(1))
