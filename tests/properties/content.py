"""The little language the generated workloads speak, and a naive evaluation of it from the text of a step alone.

A publication has a class and a price; advertisements and subscriptions bound the price and may name the class. That is
enough for overlaps, coverings and mismatches of every kind; the content model itself is tested elsewhere.
"""

from __future__ import annotations

import functools
import re

from hypothesis import strategies as st

from tests.properties.drawing import integers, one_of

CLASSES = ("A", "A", "A", "B")
PRICES = range(6)
LOWEST = (0, 0, 0, 1, 3)
WIDTHS = (5, 5, 5, 2, 0)
"""Most subscriptions and publications overlap, because workloads without notifications show little."""

_CLASS = re.compile(r"\[class,(?:eq,)?'(\w)'\]")
_LOWEST = re.compile(r"\[price,>=,(\d+)\]")
_HIGHEST = re.compile(r"\[price,<=,(\d+)\]")
_PRICE = re.compile(r"\[price,(\d+)\]")


@st.composite
def filters(draw: st.DrawFn, *, any_class: bool) -> str:
    """A range of prices of one class, or (as a subscription may) of any class."""
    lowest = draw(one_of(LOWEST))
    highest = min(PRICES[-1], lowest + draw(one_of(WIDTHS)))
    classes = (*CLASSES, "") if any_class else CLASSES
    name = draw(one_of(classes))
    return (f"[class,eq,'{name}']," if name else "") + f"[price,>=,{lowest}],[price,<=,{highest}]"


advertisements = filters(any_class=False)
subscriptions = filters(any_class=True)


@functools.cache
def publications(advertisement: str | None) -> st.SearchStrategy[str]:
    """Publications that conform to the advertisement; without one, any."""
    return _publications(advertisement)


@st.composite
def _publications(draw: st.DrawFn, advertisement: str | None) -> str:
    if advertisement is None:
        name, lowest, highest = draw(one_of(CLASSES)), PRICES[0], PRICES[-1]
    else:
        name, lowest, highest = _class(advertisement), *_range(advertisement)
    return f"[class,'{name}'],[price,{draw(integers(lowest, highest))}]"


def meet(advertisement: str, subscription: str) -> bool:
    """True when some publication conforms to an advertisement and matches a subscription."""
    return any(
        suits(advertisement, publication) and suits(subscription, publication)
        for publication in (f"[class,'{name}'],[price,{price}]" for name in CLASSES for price in PRICES)
    )


def suits(predicates: str, publication: str) -> bool:
    """True when a publication matches a subscription; it conforms then as well, because all carry both attributes."""
    lowest, highest = _range(predicates)
    price = _PRICE.search(publication)
    assert price is not None
    return _class(predicates) in ("", _class(publication)) and lowest <= int(price[1]) <= highest


def _class(text: str) -> str:
    found = _CLASS.search(text)
    return found[1] if found else ""


def _range(text: str) -> tuple[int, int]:
    lowest, highest = _LOWEST.search(text), _HIGHEST.search(text)
    assert lowest is not None
    assert highest is not None
    return int(lowest[1]), int(highest[1])
