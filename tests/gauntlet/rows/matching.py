"""Defects of matching, and of the relations between subscriptions and advertisements."""

from __future__ import annotations

import math
import operator

from broker_service.language import content, relations
from broker_service.language.model import Operator
from broker_service.matching import bounds, index
from broker_service.matching.block import Block
from broker_service.matching.bounds import AttributeLimits
from broker_service.matching.index import MatchIndex
from broker_service.routing.interface import Matcher
from tests.gauntlet import scenarios
from tests.gauntlet.model import Area
from tests.gauntlet.planting import EveryNth, around, constant
from tests.gauntlet.rows.routers import LOST, SPURIOUS

AREA = Area("matching")

_QUOTES = scenarios.TID_FIXED
_ON_THE_WAY = scenarios.CBF


def _interval(which: Operator, changed) -> None:
    """Replaces the interval of an operator."""
    bounds._INTERVALS[which] = changed


def _test(which: Operator, changed) -> None:
    """Replaces the test of an operator, for all that evaluate predicates one by one."""
    tests = {**content.TESTS, which: changed}
    constant(content, "TESTS", tests)
    constant(content, "test_of", tests.__getitem__)


@AREA.row(_QUOTES, LOST)
def index_loses_every_other_cent() -> None:
    def match(original, self, attributes):
        price = attributes.get("close", 0)
        return [] if round(price * 100) % 2 else original(self, attributes)

    around(MatchIndex, "match", match)


@AREA.row(_ON_THE_WAY, LOST)
def index_finds_nothing_every_ninth_time() -> None:
    skip = EveryNth(9)
    around(MatchIndex, "match", lambda original, self, attributes: [] if skip() else original(self, attributes))


@AREA.row(_QUOTES, LOST)
def index_returns_one_match_too_few() -> None:
    around(MatchIndex, "match", lambda original, self, attributes: original(self, attributes)[:-1])


@AREA.row(_QUOTES, SPURIOUS)
def index_returns_every_subscription() -> None:
    around(MatchIndex, "match", lambda original, self, attributes: list(self._entries))


@AREA.row(scenarios.OCTOPIA, SPURIOUS)
def index_keeps_removed_subscriptions() -> None:
    around(MatchIndex, "remove", lambda original, self, key: None)


@AREA.row(scenarios.LANGUAGE_CBF, LOST)
def greater_or_equal_is_greater() -> None:
    _interval(Operator.GREATER_OR_EQUAL, lambda v: (math.nextafter(v, math.inf), -math.inf))
    _test(Operator.GREATER_OR_EQUAL, operator.gt)


@AREA.row(scenarios.LANGUAGE_CBF, SPURIOUS)
def less_is_less_or_equal() -> None:
    _interval(Operator.LESS, lambda v: (-math.inf, -v))
    _test(Operator.LESS, operator.le)


@AREA.row(scenarios.LANGUAGE_TID, SPURIOUS)
def not_equal_always_holds() -> None:
    _test(Operator.NOT_EQUAL, lambda value, wanted: True)


@AREA.row(scenarios.LANGUAGE_TID, LOST)
def prefix_asks_for_equality() -> None:
    _test(Operator.STRING_PREFIX, operator.eq)


@AREA.row(scenarios.LANGUAGE_CBF, LOST)
def contains_looks_at_the_beginning() -> None:
    _test(Operator.STRING_CONTAINS, str.startswith)


@AREA.row(scenarios.LANGUAGE_CBF, SPURIOUS)
def strings_are_compared_without_case() -> None:
    _test(Operator.STRING_EQUAL, lambda value, wanted: value.lower() == wanted.lower())
    around(
        MatchIndex,
        "match",
        lambda original, self, attributes: list(
            dict.fromkeys(
                [
                    *original(self, attributes),
                    *original(
                        self, {n: v.lower() if isinstance(v, str) and n == "s" else v for n, v in attributes.items()}
                    ),
                ]
            )
        ),
    )


@AREA.row(scenarios.LANGUAGE_TID, SPURIOUS)
def large_integers_are_rounded() -> None:
    def limits(original, self, value):
        if isinstance(value, int):
            return bounds.double_not_below(value), -bounds.double_not_above(value)
        return original(self, value)

    around(AttributeLimits, "_pair", limits)
    _test(Operator.GREATER, lambda value, wanted: float(math.nextafter(value, math.inf)) > float(wanted))


@AREA.row(scenarios.LANGUAGE_CBF, SPURIOUS)
def upper_bounds_of_blocks_are_ignored() -> None:
    around(bounds, "intersection", lambda original, left, right: (max(left[0], right[0]), -math.inf))
    around(
        index,
        "all_hold",
        lambda original, predicates, attributes: original(
            [one for one in predicates if one.operator is not Operator.LESS_OR_EQUAL], attributes
        ),
    )


@AREA.row(scenarios.LANGUAGE_CBF, LOST)
def blocks_leave_out_their_last_row() -> None:
    around(Block, "_within", lambda original, self, limits: original(self, limits)[:-1])
    around(index.Bucket, "match", _without_the_last)


def _without_the_last(original, self, attributes, limits, keys):
    before = len(keys)
    original(self, attributes, limits, keys)
    if len(keys) - before > 1:
        del keys[-1]


@AREA.row(scenarios.LANGUAGE_TID, LOST)
def numbers_are_read_as_single_precision() -> None:
    def decoded(original, body):
        publication = original(body)
        for name, value in publication.attributes.items():
            if isinstance(value, float):
                publication.attributes[name] = math.floor(value)
        return publication

    around(content, "decode_publication", decoded)
    around(Matcher, "match_decoded", _floored)


def _floored(original, self, id, publication):
    publication.attributes.update(
        {name: math.floor(value) for name, value in publication.attributes.items() if isinstance(value, float)}
    )
    return original(self, id, publication)


@AREA.row(scenarios.CBF_COVERING, LOST)
def advertisements_intersect_no_open_interval() -> None:
    around(
        relations,
        "intersects",
        lambda original, advertisement, subscription: (
            len(subscription.predicates) < 3 and original(advertisement, subscription)
        ),
    )


@AREA.row(scenarios.TID_FIXED, LOST)
def subscriptions_with_several_predicates_intersect_nothing() -> None:
    around(
        relations,
        "intersects",
        lambda original, advertisement, subscription: (
            len(subscription.predicates) < 3 and original(advertisement, subscription)
        ),
    )


@AREA.row(scenarios.CBF, r"[Rr]eject|conforms|" + LOST)
def publications_conform_to_no_advertisement_now_and_then() -> None:
    skip = EveryNth(5)
    around(
        content,
        "conforms",
        lambda original, publication, advertisement: not skip() and original(publication, advertisement),
    )
