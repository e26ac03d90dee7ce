"""Composite subscriptions as bytes: the message `Composite` of proto/content.proto.

Input is not trusted: bytes that do not decode to a composite subscription raise `ContentError`, which gives the reason.
The form keeps what was written; `canonical` compares what is meant.
"""

from __future__ import annotations

from google.protobuf.message import DecodeError

from broker_service.generated.content_pb2 import Composite as WireComposite
from broker_service.generated.content_pb2 import OpenPredicate
from broker_service.generated.content_pb2 import Pattern as WirePattern
from broker_service.generated.content_pb2 import Variable as WireVariable
from broker_service.language.composite import (
    MAX_DEPTH,
    And,
    Atomic,
    Composite,
    Or,
    Variable,
    VariablePredicate,
    VariableType,
)
from broker_service.language.composite_subscription import MAX_PARTS, CompositeSubscription
from broker_service.language.content import get_value, set_value
from broker_service.language.model import ContentError, Predicate, operator_named, shortened

_TYPES = {type.value: type for type in VariableType}


def encode_composite(subscription: CompositeSubscription) -> bytes:
    """The bytes `decode_composite` takes; operands and predicates keep their order."""
    message = WireComposite()
    _write(message.pattern, subscription.pattern)
    if subscription.within is not None:
        message.within = subscription.within
    return message.SerializeToString()


def decode_composite(data: bytes) -> CompositeSubscription:
    """The composite subscription these bytes encode. Raises `ContentError`."""
    try:
        message = WireComposite.FromString(data)
    except DecodeError as error:
        raise ContentError(f"a composite subscription cannot be decoded: {error}") from None
    within = message.within if message.HasField("within") else None
    return CompositeSubscription(_read(message.pattern, MAX_DEPTH), within)


def _write(wire: WirePattern, pattern: Composite) -> None:
    match pattern:
        case Atomic(predicates):
            for predicate in predicates:
                _write_predicate(wire.part.predicates.add(), predicate)
        case And(operands):
            for operand in operands:
                _write(wire.all.operands.add(), operand)
        case Or(operands):
            for operand in operands:
                _write(wire.any.operands.add(), operand)


def _write_predicate(wire: OpenPredicate, predicate: Predicate | VariablePredicate) -> None:
    wire.attribute = predicate.attribute
    wire.operator = predicate.operator.value
    if isinstance(predicate, Predicate):
        set_value(wire.value, predicate.value)
    else:
        wire.variable.type = predicate.variable.type.value
        wire.variable.name = predicate.variable.name


def _read(wire: WirePattern, levels: int) -> Composite:
    """Reads a pattern that may have this many levels. Raises `ContentError`."""
    if levels == 0:
        raise ContentError(f"nested deeper than {MAX_DEPTH} levels")
    kind = wire.WhichOneof("kind")
    if kind is None:
        raise ContentError("a pattern without content")
    if kind == "part":
        return Atomic(tuple(map(_read_predicate, wire.part.predicates)))
    operands = (wire.all if kind == "all" else wire.any).operands
    if len(operands) > MAX_PARTS:
        raise ContentError(f"{len(operands)} operands", f"a pattern takes at most {MAX_PARTS} parts")
    read = tuple(_read(operand, levels - 1) for operand in operands)
    return And(read) if kind == "all" else Or(read)


def _read_predicate(wire: OpenPredicate) -> Predicate | VariablePredicate:
    if wire.WhichOneof("operand") == "variable":
        variable = _read_variable(wire.variable)
        return VariablePredicate(wire.attribute, operator_named(wire.operator, variable.type.sample), variable)
    value = get_value(wire.attribute, wire.value)
    return Predicate(wire.attribute, operator_named(wire.operator, value), value)


def _read_variable(wire: WireVariable) -> Variable:
    if wire.type not in _TYPES:
        raise ContentError(f"{shortened(wire.type)} is not a type of variables", f"use one of: {' '.join(_TYPES)}")
    return Variable(_TYPES[wire.type], wire.name)
