"""Values of legal grammar and hostile size, generated from the very types that decoders of headers accept."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import inspect

from broker_service.language import Operator, Predicate
from broker_service.language.content import encode_predicates

LARGEST = 1 << 31


@dataclass(frozen=True, slots=True)
class Grammar:
    """A generator of values."""

    source: random.Random
    names: tuple[str, ...]
    """Names and identifiers that mean something to the receiver; others are made up."""
    numbers: int
    """Servers, channels or leaves that the receiver knows, by numbers from 0."""
    epoch: int
    """Digest of a plan that all brokers have."""
    made: Mapping[type, Callable[[Grammar, int], Any]]
    """Makers of structs whose fields must fit together."""

    def value(self, kind: Any, size: int) -> Any:
        """A value of a type, with sequences of about so many items."""
        return self._value(inspect.type_info(kind), size)

    def _value(self, kind: inspect.Type, size: int) -> Any:
        match kind:
            case inspect.Metadata():
                return self._value(kind.type, size)
            case inspect.UnionType():
                return self._value(self.source.choice(kind.types), size)
            case inspect.StructType():
                if kind.cls in self.made:
                    return self.made[kind.cls](self, size)
                return kind.cls(*(self._value(field.type, size) for field in kind.fields))
            case inspect.NamedTupleType():
                return tuple(self._value(field.type, size) for field in kind.fields)
            case inspect.TupleType():
                return tuple(self._value(item, size) for item in kind.item_types)
            case inspect.VarTupleType() | inspect.ListType():
                count = size if kind.max_length is None else min(size, kind.max_length)
                return tuple(self._value(kind.item_type, max(1, size // 20)) for _ in range(count))
            case inspect.DictType():
                pairs = [(self._value(kind.key_type, 1), self._value(kind.value_type, size)) for _ in range(20)]
                return dict(pairs)
            case inspect.RawType():
                return msgspec.Raw(b"\xc0")
            case _:
                return self._scalar(kind, size)

    def _scalar(self, kind: inspect.Type, size: int) -> Any:
        source = self.source
        match kind:
            case inspect.StrType():
                return self.name()
            case inspect.BytesType():
                return self.content() if kind.max_length is None else source.randbytes(min(size, kind.max_length))
            case inspect.IntType():
                return source.choice([source.randrange(max(1, self.numbers)), source.randrange(1, LARGEST), 1, 2])
            case inspect.FloatType():
                return source.random()
            case inspect.BoolType():
                return source.random() < 0.5
            case inspect.NoneType():
                return None
            case _:
                raise AssertionError(f"no value is known of {kind}")

    def name(self) -> str:
        source = self.source
        return source.choice([source.choice(self.names), f"{source.choice(self.names)}.1.{source.randrange(LARGEST)}"])

    def id(self) -> str:
        """An identifier, of one of a few advertisements or subscriptions or of one that nobody knows."""
        number = self.source.choice([self.source.randrange(9), self.source.randrange(LARGEST)])
        return f"{self.source.choice(self.names)}.1.{number}"

    def content(self) -> bytes:
        """Encoded predicates, of which there are many different ones."""
        value = self.source.randrange(LARGEST)
        return encode_predicates(
            (
                Predicate("class", Operator.STRING_EQUAL, self.source.choice(["STOCK", "NEW"])),
                Predicate("price", Operator.GREATER, value),
            )
        )
