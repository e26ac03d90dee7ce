"""When an overlay of real brokers counts as settled."""

from __future__ import annotations

from broker_service.generated import broker_pb2 as pb
from studies.conformance.host.quiet import Expectation, Replies, Settling
from topology import Link


def end(neighbour: str, **values: int) -> pb.LinkState:
    return pb.LinkState(**({"neighbour": neighbour, "up": True} | values))


def replies(a: pb.LinkState, b: pb.LinkState, **counters: int) -> Replies:
    return {"A": pb.StatusReply(broker="A", links=[a], **counters), "B": pb.StatusReply(broker="B", links=[b])}


def settled(*looks: Replies, expected: Expectation | None = None) -> bool:
    settling = Settling(expected or Expectation((Link("A", "B"),), ["A", "B"]))
    return [settling.look(look) for look in looks][-1]


QUIET = replies(end("B", sent=3), end("A", received=3))


def test_two_looks_alike_are_needed() -> None:
    assert not settled(QUIET)
    assert settled(QUIET, QUIET)
    assert not settled(QUIET, replies(end("B", sent=4), end("A", received=4)))
    assert not settled(QUIET, replies(end("B", sent=3), end("A", received=3), published=1))


def test_what_was_not_handled_yet_is_under_way() -> None:
    under_way = replies(end("B", sent=3, in_flight=1), end("A", received=2))
    assert not settled(under_way, under_way)
    queued = replies(end("B", sent=3, queued=1), end("A", received=3))
    assert not settled(queued, queued)


def test_what_was_handled_need_not_be_acknowledged() -> None:
    handled = replies(end("B", sent=3, in_flight=2), end("A", received=3))
    assert settled(handled, handled)


def test_after_a_restart_acknowledgements_decide() -> None:
    restarted = replies(end("B", sent=7), end("A", received=3))
    assert settled(restarted, restarted)
    waiting = replies(end("B", sent=7, in_flight=1), end("A", received=3))
    assert not settled(waiting, waiting)


def test_links_that_should_work_must_be_up_and_those_that_should_not_down() -> None:
    half = replies(end("B", up=False), end("A"))
    assert not settled(half, half)
    down = replies(end("B", up=False, queued=2), end("A", up=False))
    assert not settled(down, down)
    cut = Expectation((Link("A", "B"),), ["A", "B"], {frozenset("AB")})
    assert settled(down, down, expected=cut)
    assert not settled(half, half, expected=cut)


def test_the_dead_are_not_asked_and_the_living_must_answer() -> None:
    alone = {"A": pb.StatusReply(broker="A", links=[end("B", up=False)])}
    assert not settled(alone, alone)
    assert settled(alone, alone, expected=Expectation((Link("A", "B"),), ["A"]))
    stale = {"A": pb.StatusReply(broker="A", links=[end("B")])}
    assert not settled(stale, stale, expected=Expectation((Link("A", "B"),), ["A"]))


def test_the_obstacle_is_named() -> None:
    settling = Settling(Expectation((Link("A", "B"),), ["A", "B"]))
    settling.look({})
    assert settling.obstacle == "broker A does not answer"
    settling.look(replies(end("B", sent=3, in_flight=1), end("A", received=2)))
    assert settling.obstacle == "1 messages are under way from A to B"
