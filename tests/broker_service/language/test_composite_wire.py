"""Composite subscriptions survive the wire, and nothing else gets in."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.generated.content_pb2 import Composite as WireComposite
from broker_service.generated.content_pb2 import Pattern, Variable
from broker_service.language import ContentError
from broker_service.language.composite import MAX_DEPTH, Composite
from broker_service.language.composite_subscription import MAX_WITHIN, CompositeSubscription
from broker_service.language.composite_wire import decode_composite, encode_composite
from broker_service.language.content import decode_predicates
from broker_service.language.notation import parse_composite
from tests.broker_service.language.strategies import composites, small_patterns, unhurried


@unhurried
@given(st.one_of(composites, small_patterns), st.none() | st.integers(0, MAX_WITHIN))
def test_a_composite_subscription_returns(pattern: Composite, within: int | None) -> None:
    try:
        subscription = CompositeSubscription(pattern, within)
    except ContentError:  # a variable is tested that nothing binds
        return
    assert repr(decode_composite(encode_composite(subscription))) == repr(subscription)


@unhurried
@given(st.binary(max_size=200))
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    try:
        decode_composite(data)
    except ContentError as error:
        assert str(error)


@unhurried
@given(small_patterns, st.data())
def test_damaged_bytes_decode_or_are_refused(pattern: Composite, data: st.DataObject) -> None:
    intact = bytearray(encode_composite(CompositeSubscription(pattern)))
    index = data.draw(st.integers(0, len(intact) - 1))
    intact[index] = data.draw(st.integers(0, 255))
    try:
        returned = decode_composite(bytes(intact))
    except ContentError:
        return
    assert repr(decode_composite(encode_composite(returned))) == repr(returned)


def _part(pattern: Pattern, attribute: str = "x") -> None:
    predicate = pattern.part.predicates.add(attribute=attribute, operator="=")
    predicate.value.integer = 1


def _nested(levels: int) -> WireComposite:
    message = WireComposite()
    pattern = message.pattern
    for _ in range(levels - 1):
        _part(pattern.all.operands.add())
        pattern = pattern.all.operands.add()
    _part(pattern)
    return message


def _made(fill: Callable[[Pattern], object]) -> bytes:
    message = WireComposite()
    fill(message.pattern)
    return message.SerializeToString()


def _operand(operator: str, variable: Variable) -> bytes:
    return _made(lambda pattern: pattern.part.predicates.add(attribute="x", operator=operator, variable=variable))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a pattern without content"),
        (b"\xff", "cannot be decoded"),
        (_made(lambda pattern: pattern.part.SetInParent()), "0 predicates"),
        (_made(lambda pattern: pattern.all.SetInParent()), "take two operands or more, not 0"),
        (_made(lambda pattern: _part(pattern.any.operands.add())), "take two operands or more, not 1"),
        (_made(lambda pattern: pattern.part.predicates.add(attribute="x", operator="=")), "'x' has no value"),
        (_operand("=", Variable(type="F", name="X")), "'F' is not a type of variables; use one of: S I"),
        (_operand("=", Variable(type="I", name="1")), "cannot name a variable"),
        (_operand("<", Variable(type="S", name="X")), "'<' does not go with a string"),
        (_operand("<", Variable(type="I", name="X")), r"part 1, .*: nothing binds \$I\$X"),
        (_made(lambda pattern: [_part(pattern.all.operands.add()) for _ in range(65)]), "65 operands; .* 64 parts"),
        (_nested(MAX_DEPTH + 1).SerializeToString(), "nested deeper than 32 levels"),
        (_nested(1).SerializeToString() + WireComposite(within=1 << 63).SerializeToString(), "a window of"),
        (_nested(300).SerializeToString(), "cannot be decoded|nested deeper"),
    ],
)
def test_composite_subscriptions_refused(data: bytes, message: str) -> None:
    with pytest.raises(ContentError, match=message):
        decode_composite(data)


def test_the_greatest_depth_and_width_return() -> None:
    data = _nested(MAX_DEPTH).SerializeToString()
    assert encode_composite(decode_composite(data)) == data
    wide = CompositeSubscription(parse_composite("&".join(f"[x{number},=,1]" for number in range(64))), 0)
    assert decode_composite(encode_composite(wide)) == wide


def test_a_subscription_takes_no_variable() -> None:
    """Its body is another message than that of a composite subscription."""
    body = encode_composite(CompositeSubscription(parse_composite("[x,=,$I$X]")))
    with pytest.raises(ContentError):
        decode_predicates(body)
