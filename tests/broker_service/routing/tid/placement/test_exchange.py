from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.tid.placement.decision.queueing import BrokerTimes
from broker_service.routing.tid.placement.exchange import OwnUnit, StatisticsReport
from broker_service.service import ServiceTotals
from record.time_units import SECOND
from tests.broker_service.language.strategies import unhurried
from tests.broker_service.routing.tid.placement.exchanging import Network, random_network

TREE = "T.1.1"
LINE = {"B0": None, "B1": "B0", "B2": "B1", "B3": "B2"}
"""B0 publishes."""


def ask(network: Network, broker: str) -> None:
    network.perform(broker, network.brokers[broker].exchange.want(TREE, OwnUnit("C")))


def take_back(network: Network, broker: str) -> None:
    network.perform(broker, network.brokers[broker].exchange.unwant(TREE, OwnUnit("C")))


def rate_at(network: Network, broker: str) -> float | None:
    statistics = network.brokers[broker].exchange.statistics(TREE)
    return None if statistics is None else statistics.rate


def test_nothing_is_sent_or_counted_while_nobody_asks() -> None:
    network = Network(LINE)
    network.publish("B0", 10)
    network.pass_interval()
    assert not network.sent
    assert rate_at(network, "B0") is None


def test_statistics_go_to_those_who_ask_and_no_further() -> None:
    network = Network(LINE)
    ask(network, "B2")
    network.publish("B0", 10)
    network.pass_interval()
    assert [rate_at(network, broker) for broker in LINE] == [2.0, 2.0, 2.0, None]
    assert network.sent[("B0", "B1", "StatisticsReport")] == network.sent[("B1", "B2", "StatisticsReport")] == 1


def test_a_later_request_is_answered_at_once_and_not_passed_on() -> None:
    network = Network(LINE)
    ask(network, "B2")
    network.publish("B0", 10)
    network.pass_interval()
    network.sent.clear()
    ask(network, "B3")
    assert rate_at(network, "B3") == 2.0
    assert network.sent == {("B3", "B2", "StatisticsWanted"): 1, ("B2", "B3", "StatisticsReport"): 1}


def test_what_has_not_changed_noticeably_is_not_sent_again() -> None:
    network = Network(LINE)
    ask(network, "B3")
    for count in (10, 11):
        network.publish("B0", count)
        network.pass_interval()
    assert rate_at(network, "B3") == 2.0
    network.publish("B0", 13)
    network.pass_interval()
    assert rate_at(network, "B3") == 2.6
    assert network.sent[("B2", "B3", "StatisticsReport")] == 2


def test_times_are_reported_to_those_who_ask_after_a_noticeable_change() -> None:
    network = Network(LINE)
    ask(network, "B1")
    for messages, expected in [(100, 0.01), (200, 0.01), (250, 0.02)]:
        network.brokers["B0"].service = ServiceTotals(messages, 0, SECOND if messages == 100 else 2 * SECOND)
        if messages == 250:
            network.brokers["B0"].service = ServiceTotals(messages, 0, 3 * SECOND)
        network.pass_interval()
        assert network.brokers["B1"].exchange.times == {"B0": BrokerTimes(0.0, expected, 0.0)}
    assert network.sent[("B0", "B1", "TimesReport")] == 2
    assert not any(receiver == "B0" and kind == "TimesReport" for _, receiver, kind in network.sent)


def test_times_are_those_since_the_first_request_and_are_reported_anew_to_who_asks_again() -> None:
    network = Network(LINE)
    network.brokers["B0"].service = ServiceTotals(1000, 0, 1000 * SECOND)
    for messages in (1010, 1020):
        ask(network, "B1")
        network.brokers["B0"].service = ServiceTotals(messages, 0, 1000 * SECOND + messages)
        network.pass_interval()
        assert network.brokers["B1"].exchange.times["B0"].service < 0.001
        take_back(network, "B1")
    assert network.sent[("B0", "B1", "TimesReport")] == 2
    network.perform("B1", network.brokers["B1"].exchange.restarted("B0"))
    assert not network.brokers["B1"].exchange.times


def test_statistics_count_only_along_the_tree() -> None:
    network = Network({"B0": None, "B1": "B0", "B2": "B0"})
    ask(network, "B1")
    ask(network, "B2")
    network.publish("B0", 5)
    network.pass_interval()
    stranger = network.brokers["B2"].exchange
    forged = stranger.statistics(TREE)
    assert forged is not None
    target = network.brokers["B1"].exchange
    before = target.statistics(TREE)
    assert target.receive("B2", StatisticsReport(TREE, type(forged)(99.0, {}))) == []
    assert target.statistics(TREE) == before


def test_a_request_waits_for_a_tree_that_is_not_known_yet() -> None:
    network = Network(LINE)
    network.brokers["B1"].table.remove(TREE)
    ask(network, "B2")
    assert network.sent == {("B2", "B1", "StatisticsWanted"): 1}
    network.brokers["B1"].add_tree(TREE, "B0")
    network.perform("B1", network.brokers["B1"].exchange.announced(TREE))
    network.publish("B0", 5)
    network.pass_interval()
    assert rate_at(network, "B2") == 1.0


def test_a_restarted_neighbour_asks_for_nothing_and_is_asked_again() -> None:
    network = Network(LINE)
    ask(network, "B3")
    network.sent.clear()
    network.perform("B1", network.brokers["B1"].exchange.restarted("B2"))
    assert network.sent == {("B1", "B0", "StatisticsUnwanted"): 1}
    network.perform("B3", network.brokers["B3"].exchange.restarted("B2"))
    assert network.sent[("B3", "B2", "StatisticsWanted")] == 1


def test_a_tree_that_has_ended_is_forgotten_without_a_message() -> None:
    network = Network(LINE)
    ask(network, "B1")
    network.sent.clear()
    network.brokers["B1"].table.remove(TREE)
    network.perform("B1", network.brokers["B1"].exchange.forget(TREE))
    assert not network.sent and not network.brokers["B1"].ticking
    take_back(network, "B1")
    assert not network.sent


@unhurried
@given(st.randoms(use_true_random=False))
def test_whoever_asks_has_the_latest_statistics_and_in_the_end_nothing_remains(rng: random.Random) -> None:
    network = random_network(rng)
    asking: set[str] = set()
    for _ in range(rng.randrange(1, 12)):
        broker = rng.choice(sorted(network.brokers))
        if broker in asking:
            asking.discard(broker)
            take_back(network, broker)
        else:
            asking.add(broker)
            ask(network, broker)
        network.sent.clear()
        rate = rng.randrange(1, 100)
        network.publish("B0", 5 * rate)
        network.pass_interval()
        needed = {passed for broker in asking for passed in network.way_to_root(broker)}
        for name, state in network.brokers.items():
            assert (TREE in state.exchange.wanted) == (name in needed) == state.ticking
        latest = rate_at(network, "B0")
        for name in needed:
            assert rate_at(network, name) == latest
        if latest is not None:
            assert abs(latest - rate) <= 0.2 * latest
        assert all(count == 1 for count in network.sent.values())
    for broker in sorted(asking):
        take_back(network, broker)
    network.sent.clear()
    network.pass_interval()
    assert not network.sent
    assert not any(state.exchange.wanted or state.ticking for state in network.brokers.values())
