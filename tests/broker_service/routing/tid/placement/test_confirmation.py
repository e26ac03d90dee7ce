from __future__ import annotations

import msgspec
import pytest

from broker_service.routing.common.identifiers import Home
from broker_service.routing.interface import MalformedMessageError, Send
from broker_service.routing.tid.placement.confirmation import BindingAsked, BindingConfirmed, Confirmations, Join
from broker_service.routing.tid.tables import AdvertisementRow, SubscriptionRoutingTable

JOIN = Join("B6.1.1", 1, 2)
TREE = "B1.1.1"


def broker(name: str, last_hop: str | None, neighbours: str, *, known: bool = True) -> Confirmations:
    """A broker of the line B1-B2-B3, on which the tree is rooted at B1."""
    table = SubscriptionRoutingTable()
    if known:
        table.add(AdvertisementRow(TREE, b"", last_hop, (), Home("B1", 1)))
    return Confirmations(name, neighbours.split(), table)


def carried(send: Send) -> object:
    return msgspec.msgpack.decode(send.message.header, type=BindingAsked | BindingConfirmed)


def test_a_question_goes_to_the_root_and_the_answer_back() -> None:
    root, middle, asking = broker("B1", None, "B2"), broker("B2", "B1", "B1 B3"), broker("B3", "B2", "B2")
    (first,) = asking.ask(JOIN, [TREE])
    assert (first.neighbour, carried(first)) == ("B2", BindingAsked(JOIN, TREE, ("B3",)))
    (second,) = middle.receive_question("B3", BindingAsked(JOIN, TREE, ("B3",)))
    assert (second.neighbour, carried(second)) == ("B1", BindingAsked(JOIN, TREE, ("B3", "B2")))
    (third,) = root.receive_question("B2", BindingAsked(JOIN, TREE, ("B3", "B2")))
    assert (third.neighbour, carried(third)) == ("B2", BindingConfirmed(JOIN, TREE, ("B3", "B2")))
    (fourth,) = middle.pass_on(BindingConfirmed(JOIN, TREE, ("B3", "B2")))
    assert (fourth.neighbour, carried(fourth)) == ("B3", BindingConfirmed(JOIN, TREE, ("B3",)))
    assert asking.pass_on(BindingConfirmed(JOIN, TREE, ("B3",))) == []


def test_only_a_tree_that_is_rooted_here_is_certain() -> None:
    assert broker("B1", None, "B2").is_certain(TREE)
    assert not broker("B2", "B1", "B1 B3").is_certain(TREE)
    assert not broker("B1", None, "B2", known=False).is_certain(TREE)


def test_a_question_about_an_unknown_tree_ends() -> None:
    middle = broker("B2", "B1", "B1 B3", known=False)
    assert middle.ask(JOIN, [TREE]) == []
    assert middle.receive_question("B3", BindingAsked(JOIN, TREE, ("B3",))) == []


def test_a_question_that_comes_round_in_a_circle_ends() -> None:
    assert broker("B2", "B1", "B1 B3").receive_question("B3", BindingAsked(JOIN, TREE, ("B2", "B3"))) == []


@pytest.mark.parametrize("path", [(), ("B9",), ("B3", "B1")])
def test_a_question_that_comes_from_elsewhere_is_malformed(path: tuple[str, ...]) -> None:
    with pytest.raises(MalformedMessageError):
        broker("B2", "B1", "B1 B3").receive_question("B3", BindingAsked(JOIN, TREE, path))


@pytest.mark.parametrize("path", [(), ("B3",), ("B9", "B2"), ("B2", "B3")])
def test_an_answer_that_no_question_led_to_is_malformed(path: tuple[str, ...]) -> None:
    with pytest.raises(MalformedMessageError):
        broker("B2", "B1", "B1 B3").pass_on(BindingConfirmed(JOIN, TREE, path))
