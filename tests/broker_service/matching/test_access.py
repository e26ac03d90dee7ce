from __future__ import annotations

from broker_service.language import Operator, Predicate, Subscription
from broker_service.matching.access import ALWAYS, Access, AccessStatistics, equality, remaining_predicates

STOCK = Predicate("class", Operator.STRING_EQUAL, "STOCK")


def _stock(symbol: str) -> Subscription:
    return Subscription(
        (STOCK, Predicate("symbol", Operator.STRING_EQUAL, symbol), Predicate("price", Operator.GREATER, 80))
    )


def test_the_rarest_equality_is_chosen() -> None:
    statistics = AccessStatistics()
    chosen = {statistics.add(_stock(f"S{number}"))[0] for number in range(50)}
    assert chosen == {Access("symbol", f"S{number}") for number in range(50)}


def test_an_equality_is_better_than_the_presence_of_its_attribute() -> None:
    statistics = AccessStatistics()
    assert statistics.add(Subscription((STOCK,)))[0] == Access("class", "STOCK")


def test_without_equality_the_rarest_attribute_is_chosen() -> None:
    statistics = AccessStatistics()
    often, rare = Predicate("price", Operator.LESS, 5), Predicate("humidity", Operator.LESS, 5)
    assert statistics.add(Subscription((often,)))[0] == Access("price", None)
    assert statistics.add(Subscription((often, rare)))[0] == Access("humidity", None)


def test_without_predicates_every_publication_leads_there() -> None:
    assert AccessStatistics().add(Subscription(())) == (ALWAYS, ())


def test_removal_takes_back_the_count() -> None:
    statistics = AccessStatistics()
    statistics.add(_stock("DELL"))
    statistics.add(_stock("DELL"))
    statistics.remove(_stock("DELL"))
    statistics.remove(_stock("DELL"))
    assert not statistics._carriers


def test_no_lookup_can_stand_for_another_operator() -> None:
    assert equality(Predicate("price", Operator.NOT_EQUAL, 1)) is None
    assert equality(Predicate("symbol", Operator.STRING_NOT_EQUAL, "DELL")) is None


def test_only_the_access_predicate_is_not_checked_again() -> None:
    subscription = Subscription(
        (
            STOCK,
            Predicate("class", Operator.STRING_PREFIX, "ST"),
            Predicate("price", Operator.EQUAL, 1),
            Predicate("price", Operator.EQUAL, 1.0),
        )
    )
    assert remaining_predicates(subscription, Access("class", "STOCK")) == subscription.predicates[1:]
    assert remaining_predicates(subscription, Access("price", 1)) == subscription.predicates[:2]
    assert remaining_predicates(subscription, Access("price", None)) == subscription.predicates
