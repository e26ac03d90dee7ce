"""Stock and what is asked of it, as the papers' examples have them."""

from __future__ import annotations

from broker_service.language import Operator, Predicate

STOCK = Predicate("class", Operator.STRING_EQUAL, "STOCK")


def above(price: float) -> tuple[Predicate, ...]:
    return STOCK, Predicate("price", Operator.GREATER, price)


def between(low: float, high: float) -> tuple[Predicate, ...]:
    return (*above(low), Predicate("price", Operator.LESS, high))


def quote(price: float) -> dict[str, str | float]:
    return {"class": "STOCK", "price": price}
