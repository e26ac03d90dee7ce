"""Content survives the wire, and nothing else gets in."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker_service.generated.content_pb2 import Attribute, Content, Predicates, Value
from broker_service.language import ContentError, Operator, Predicate, Publication, Subscription
from broker_service.language.content import (
    decode_predicates,
    decode_publication,
    decode_subscription,
    encode_predicates,
    encode_publication,
)
from tests.broker_service.language.strategies import any_publications, any_subscriptions, unhurried


@unhurried
@given(any_publications)
@example(Publication({"class": "", "a": 0, "b": 0.0, "c": -0.0, "d": ""}))
@example(Publication({"class": "S", "low": -(2**63), "high": 2**63 - 1, "lower": -(2**63) - 1, "higher": 2**63}))
def test_a_publication_returns(publication: Publication) -> None:
    returned = decode_publication(encode_publication(publication))
    assert list(map(repr, returned.attributes.items())) == list(map(repr, publication.attributes.items()))


@unhurried
@given(any_subscriptions)
def test_predicates_return(subscription: Subscription) -> None:
    returned = decode_predicates(encode_predicates(subscription.predicates))
    assert list(map(repr, returned)) == list(map(repr, subscription.predicates))


@unhurried
@given(st.binary(max_size=200))
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    for decode in (_decode_as_the_model_takes_it, decode_predicates):
        try:
            decode(data)
        except ContentError as error:
            assert str(error)


@unhurried
@given(any_publications, st.data())
def test_damaged_bytes_decode_or_are_refused(publication: Publication, data: st.DataObject) -> None:
    intact = bytearray(encode_publication(publication))
    index = data.draw(st.integers(0, len(intact) - 1))
    intact[index] = data.draw(st.integers(0, 255))
    try:
        _decode_as_the_model_takes_it(bytes(intact))
    except ContentError:
        return


def _decode_as_the_model_takes_it(data: bytes) -> None:
    """Decodes a publication, and requires that the model's own checks find nothing wrong with it."""
    returned = decode_publication(data)
    try:
        assert Publication(returned.attributes) == returned
    except ContentError as error:
        raise AssertionError(f"what the decoder takes, the model does not: {error}") from error


def _content(*attributes: tuple[str, str, object], class_: bool = True) -> bytes:
    content = Content()
    if class_:
        content.attributes.add(name="class").value.text = "S"
    for name, kind, value in attributes:
        added = content.attributes.add(name=name)
        if kind:
            setattr(added.value, kind, value)
    return content.SerializeToString()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "must carry the attribute 'class'"),
        (b"\xff", "cannot be decoded"),
        (_content(("price", "integer", 5), class_=False), "must carry the attribute 'class'"),
        (_content(("class", "integer", 5), class_=False), "must be a string, not 5"),
        (_content(("price", "integer", 5), ("price", "integer", 5)), "'price' occurs more than once"),
        (_content(("price", "decimal", math.nan)), "not a finite number"),
        (_content(("price", "decimal", math.inf)), "not a finite number"),
        (_content(("price", "decimal", -math.inf)), "not a finite number"),
        (_content(("price", "", None)), "'price' has no value"),
        (_content(("", "integer", 5)), "name of 0 characters"),
        (_content(("n" * 257, "integer", 5)), "name of 257 characters"),
        (_content(("price", "big_integer", "")), "decimal digits"),
        (_content(("price", "big_integer", "1e5")), "decimal digits"),
        (_content(("price", "big_integer", "٣")), "decimal digits"),
        (_content(("price", "big_integer", "--1")), "decimal digits"),
        (_content(("price", "big_integer", "9" * 1001)), "decimal digits"),
        (_content(*((f"a{n}", "integer", n) for n in range(256))), "257 attributes"),
        (_content(("symbol", "text", "aa")).replace(b"aa", b"\xed\xa0"), "cannot be decoded"),
    ],
)
def test_publications_refused(data: bytes, message: str) -> None:
    with pytest.raises(ContentError, match=message):
        decode_publication(data)


def _predicates(operator: str, fill: Callable[[Predicates], object] = lambda _: None, **value: object) -> bytes:
    message = Predicates()
    predicate = message.predicates.add(attribute="price", operator=operator)
    for kind, content in value.items():
        setattr(predicate.value, kind, content)
    fill(message)
    return message.SerializeToString()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 predicates"),
        (b"\xff", "cannot be decoded"),
        (_predicates("<"), "'price' has no value"),
        (_predicates("", integer=1), "'' is not an operator"),
        (_predicates("like", text="a"), "'like' is not an operator"),
        (_predicates("<", text="a"), "'<' does not go with a string"),
        (_predicates("<", decimal=math.nan), "not a finite number"),
        (_predicates("eq", text="x" * 5000), "at most 4096"),
        (_predicates("<", lambda m: [m.predicates.add() for _ in range(1024)], integer=1), "1025 predicates"),
    ],
)
def test_predicates_refused(data: bytes, message: str) -> None:
    with pytest.raises(ContentError, match=message):
        decode_predicates(data)


@pytest.mark.parametrize("values", [[Value()], [Value(decimal=math.nan)], [Value(integer=1)] * 2, [Value(text="x")]])
def test_an_error_does_not_repeat_a_name_of_any_length(values: list[Value]) -> None:
    """It goes back to the client and into the log."""
    content = Content(attributes=[Attribute(name="n" * 100_000, value=value) for value in values])
    content.attributes.add(name="class", value=Value(text="STOCK"))
    with pytest.raises(ContentError) as raised:
        decode_publication(content.SerializeToString())
    assert len(str(raised.value)) < 300


def test_eq_serves_numbers_on_the_wire_too() -> None:
    assert decode_predicates(_predicates("eq", integer=5)) == (Predicate("price", Operator.EQUAL, 5),)


@pytest.mark.parametrize("length", [1, 1_000])
def test_a_subscription_has_the_predicates_of_its_bytes_each_time(length: int) -> None:
    """Small ones are kept, others are not."""
    for text in ("a" * length, "b" * length, "a" * length):
        data = _predicates("eq", text=text)
        assert decode_subscription(data) == Subscription((Predicate("price", Operator.STRING_EQUAL, text),))


def test_an_error_in_a_subscription_is_raised_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ContentError, match="0 predicates"):
            decode_subscription(b"")


def test_brokers_share_the_names_of_attributes() -> None:
    first, second = decode_predicates(_predicates("<", integer=1)), decode_predicates(_predicates(">", integer=2))
    assert first[0].attribute is second[0].attribute
