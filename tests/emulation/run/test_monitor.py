"""When an overlay counts as quiet."""

from __future__ import annotations

from emulation.run.monitor import BrokerState, QuietWatch


def state(waiting: int = 0, moved: int = 0) -> BrokerState:
    return BrokerState(links=1, links_up=1, waiting=waiting, moved=(moved,))


def test_one_look_is_not_enough() -> None:
    assert not QuietWatch().look({"B1": state()})


def test_counters_that_stand_still_and_empty_queues_are_quiet() -> None:
    watch = QuietWatch(clock=lambda: 7.0)
    watch.look({"B1": state(moved=3), "B2": state()})
    assert watch.look({"B1": state(moved=3), "B2": state()})
    assert watch.quiet_since == 7.0


def test_a_counter_that_moved_names_its_broker() -> None:
    watch = QuietWatch()
    watch.look({"B1": state(moved=3), "B2": state()})
    assert not watch.look({"B1": state(moved=4), "B2": state()})
    assert watch.busy == ["B1"]


def test_a_queue_that_holds_something_is_not_quiet_even_if_nothing_moves() -> None:
    watch = QuietWatch()
    watch.look({"B1": state(waiting=1)})
    assert not watch.look({"B1": state(waiting=1)})


def test_a_broker_that_stops_answering_is_not_quiet() -> None:
    watch = QuietWatch()
    watch.look({"B1": state(), "B2": state()})
    assert not watch.look({"B1": state()})
    assert watch.busy == ["B2"]


def test_quiet_ends_when_something_moves_again() -> None:
    times = iter([1.0, 2.0])
    watch = QuietWatch(clock=lambda: next(times))
    for moved in (0, 0, 1, 1):
        watch.look({"B1": state(moved=moved)})
    assert watch.quiet_since == 2.0
