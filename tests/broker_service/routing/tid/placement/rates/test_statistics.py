from __future__ import annotations

import msgspec
import pytest

from broker_service.language import Publication
from broker_service.language.notation import parse_advertisement, parse_publication
from broker_service.routing.tid.placement.rates.statistics import (
    DESCRIBED,
    GUESSED_RATE,
    GUESSED_VALUES,
    LARGEST_SAMPLED,
    SAMPLE,
    Sample,
    Statistics,
    guess,
)

STOCKS = parse_advertisement("[class,eq,'STOCK'],[symbol,isPresent,''],[price,>=,0],[price,<,100],[volume,>,5]")


def stock(price: float, symbol: str = "YHOO") -> Publication:
    return parse_publication(f"[class,'STOCK'],[symbol,'{symbol}'],[price,{price}]")


def test_the_rate_is_that_since_the_last_description() -> None:
    sample = Sample(STOCKS, now=10)
    for price in range(20):
        sample.add(stock(price))
    assert sample.describe(now=15).rate == 4
    sample.add(stock(1))
    assert sample.describe(now=25).rate == 0.1
    assert sample.describe(now=26).rate == 0


def test_a_description_is_due_once_time_has_passed() -> None:
    sample = Sample(STOCKS, now=10)
    assert not sample.is_due(now=10)
    assert sample.is_due(now=15)
    sample.describe(now=15)
    assert not sample.is_due(now=15)


def test_distributions_are_those_of_the_latest_publications() -> None:
    sample = Sample(STOCKS, now=0)
    sample.add(stock(99, "OLD"))
    for price in range(SAMPLE):
        sample.add(stock(price % 4, "IBM" if price % 4 else "YHOO"))
    attributes = sample.describe(now=5).attributes
    assert attributes.keys() == {"class", "symbol", "price", "volume"}
    assert attributes["symbol"].strings.listed == (("IBM", 0.75), ("YHOO", 0.25))
    assert attributes["price"].histogram.high == 3
    assert attributes["price"].numbers.share_of(2) == 0.25
    assert attributes["volume"].numbers.total == attributes["volume"].histogram.total == 0


def test_before_the_first_publication_distributions_are_guessed_and_the_rate_is_not() -> None:
    statistics = Sample(STOCKS, now=0).describe(now=5)
    assert statistics == Statistics(0.0, guess(STOCKS).attributes)


def test_a_large_publication_counts_and_is_not_kept() -> None:
    sample = Sample(STOCKS, now=0)
    sample.add(stock(1, "x" * LARGEST_SAMPLED))
    assert sample.describe(now=1) == Statistics(1.0, guess(STOCKS).attributes)


def test_guesses_are_what_the_advertisement_states() -> None:
    guessed = guess(STOCKS)
    assert guessed.guessed and guessed.rate == GUESSED_RATE
    assert guessed.attributes.keys() == {"class", "price"}
    assert guessed.attributes["class"].strings.listed == (("STOCK", 1.0),)
    assert guessed.attributes["price"].histogram.between(25, 75) == pytest.approx(0.5)
    assert guessed.attributes["price"].numbers.different == GUESSED_VALUES
    certain = guess(parse_advertisement("[class,eq,'A'],[x,=,7],[x,>,1]")).attributes["x"]
    assert certain.numbers.listed == ((7, 1.0),) and certain.histogram.between(7, 7) == 0
    assert certain.histogram.total == 1


def test_attributes_are_described_in_the_order_of_the_advertisement_up_to_a_bound() -> None:
    names = [f"a{number}" for number in range(DESCRIBED)]
    text = "[class,eq,'A']," + ",".join(f"[{name},=,1]" for name in names)
    assert list(guess(parse_advertisement(text)).attributes) == ["class", *names[:-1]]


def test_statistics_are_sent_again_after_a_noticeable_change() -> None:
    former = guess(STOCKS)
    assert not former.differs(former)
    assert former.differs(msgspec.structs.replace(former, guessed=False))
    assert not former.differs(msgspec.structs.replace(former, rate=1.2))
    assert former.differs(msgspec.structs.replace(former, rate=1.21))
    assert former.differs(msgspec.structs.replace(former, rate=0.79))
    moved = guess(parse_advertisement("[class,eq,'STOCK'],[symbol,isPresent,''],[price,>=,30],[price,<,130]"))
    assert former.differs(moved)
    near = guess(parse_advertisement("[class,eq,'STOCK'],[symbol,isPresent,''],[price,>=,15],[price,<,115]"))
    assert not former.differs(near)
    assert former.differs(msgspec.structs.replace(former, attributes={}))


def test_statistics_survive_the_way_to_a_neighbour() -> None:
    sample = Sample(STOCKS, now=0)
    for price in range(50):
        sample.add(stock(price * 1.5, f"S{price}"))
    sent = sample.describe(now=1)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=Statistics) == sent


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf")])
def test_a_rate_is_a_number_of_publications(rate: float) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode([rate, {}]), type=Statistics)
