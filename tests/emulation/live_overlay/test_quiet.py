"""Detection of quiet among brokers that report their status."""

from __future__ import annotations

from collections.abc import Sequence

from emulation.live_overlay import BrokerStatus, ExpectedOverlay, LinkEndStatus, QuietDetector
from emulation.live_overlay.quiet import Statuses, too_slow
from topology.link_properties import Link, LinkDirection, LinkProperties

LINK = Link("A", "B")
AB = LinkDirection("A", "B")


def end(neighbour: str, *, up: bool = True, **values: int) -> LinkEndStatus:
    return LinkEndStatus(neighbour=neighbour, up=up, **values)


def statuses(a: LinkEndStatus, b: LinkEndStatus, **counters: int) -> Statuses:
    return {"A": BrokerStatus(links=(a,), **counters), "B": BrokerStatus(links=(b,))}


def expected(
    brokers: Sequence[str] = ("A", "B"), down: str = "", cut: tuple[LinkDirection, ...] = ()
) -> ExpectedOverlay:
    return ExpectedOverlay((LINK,), brokers, set(down), set(cut))


def quiet(*looks: Statuses, expecting: ExpectedOverlay | None = None) -> bool:
    detector = QuietDetector()
    return [detector.look(look, expecting or expected()) for look in looks][-1]


QUIET = statuses(end("B", sent=3), end("A", received=3))


def test_two_looks_alike_are_needed() -> None:
    assert not quiet(QUIET)
    assert quiet(QUIET, QUIET)
    assert not quiet(QUIET, statuses(end("B", sent=4), end("A", received=4)))
    assert not quiet(QUIET, statuses(end("B", sent=3), end("A", received=3), published=1))


def test_a_message_that_was_not_handled_yet_is_in_flight() -> None:
    in_flight = statuses(end("B", sent=3, in_flight=1), end("A", received=2))
    assert not quiet(in_flight, in_flight)
    queued = statuses(end("B", sent=3, queued=1), end("A", received=3))
    assert not quiet(queued, queued)


def test_a_message_that_was_handled_need_not_be_acknowledged() -> None:
    handled = statuses(end("B", sent=3, in_flight=2), end("A", received=3))
    assert quiet(handled, handled)


def test_after_a_restart_acknowledgements_decide() -> None:
    restarted = statuses(end("B", sent=7), end("A", received=3))
    assert quiet(restarted, restarted)
    waiting = statuses(end("B", sent=7, in_flight=1), end("A", received=3))
    assert not quiet(waiting, waiting)


def test_links_that_should_work_must_be_up_and_those_that_should_not_down() -> None:
    half = statuses(end("B", up=False), end("A"))
    assert not quiet(half, half)
    down = statuses(end("B", up=False, queued=2), end("A", up=False))
    assert not quiet(down, down)
    for cut in ((AB,), (AB.reverse,), (AB, AB.reverse)):
        assert quiet(down, down, expecting=expected(cut=cut))
        assert not quiet(half, half, expecting=expected(cut=cut))


def test_brokers_that_are_down_are_not_asked_and_running_ones_must_answer() -> None:
    alone = {"A": BrokerStatus(links=(end("B", up=False),))}
    assert not quiet(alone, alone)
    assert quiet(alone, alone, expecting=expected(down="B"))
    stale = {"A": BrokerStatus(links=(end("B"),))}
    assert not quiet(stale, stale, expecting=expected(down="B"))


def test_links_to_brokers_that_run_elsewhere_should_work() -> None:
    here = {"A": BrokerStatus(links=(end("B", sent=3),))}
    assert quiet(here, here, expecting=expected(["A"]))
    waiting = {"A": BrokerStatus(links=(end("B", sent=3, in_flight=1),))}
    assert not quiet(waiting, waiting, expecting=expected(["A"]))


def test_the_obstacle_and_the_busy_brokers_are_named() -> None:
    detector = QuietDetector()
    detector.look({}, expected())
    assert (detector.obstacle, detector.busy) == ("broker A does not answer", ["A", "B"])
    detector.look(statuses(end("B", sent=3, in_flight=1), end("A", received=2)), expected())
    assert detector.obstacle == "1 message is in flight from A to B"
    detector.look(QUIET, expected())
    detector.look(statuses(end("B", sent=3), end("A", received=3), published=1), expected())
    assert (detector.obstacle, detector.busy) == ("broker A still handles messages", ["A"])


def test_quiet_lasts_until_something_moves_again() -> None:
    times = iter([2.0, 5.0])
    detector = QuietDetector(times.__next__)
    for _ in range(3):
        detector.look(QUIET, expected())
    assert detector.quiet_for == 3.0
    detector.look(statuses(end("B", sent=4), end("A", received=4)), expected())
    assert detector.quiet_for == 0.0


def test_an_awaited_timer_is_work() -> None:
    timed = statuses(end("B", sent=3), end("A", received=3), awaited_timers=2)
    detector = QuietDetector()
    assert [detector.look(look, expected()) for look in (timed, timed)] == [False, False]
    assert detector.obstacle == "broker A awaits 2 of its router's timers"
    assert detector.busy == ["A"]
    assert quiet(timed, QUIET, QUIET)


def test_publications_that_are_held_are_work() -> None:
    holding = statuses(end("B", sent=3), end("A", received=3), held=7)
    detector = QuietDetector()
    assert [detector.look(look, expected()) for look in (holding, holding)] == [False, False]
    assert detector.obstacle == "broker A holds 7 requests of clients back"
    assert detector.busy == ["A"]


def test_the_slowest_link_is_named_where_heartbeats_are_too_early_for_it() -> None:
    near, far = LinkProperties(delay=0.05), LinkProperties(delay=0.1)
    links = [Link("A", "B", near, near), Link("A", "C", far, near)]
    (problem,) = too_slow(links, heartbeat=0.15)
    assert "between A and C takes 0.15 s" in problem
    assert "brokers.limits.heartbeat" in problem
    assert not list(too_slow(links, heartbeat=0.2))
