"""Sentences on the delivery verdict agree with their numbers."""

from __future__ import annotations

import msgspec

from analysis.report.sentences.delivery import delivery_sentence, power_sentence
from analysis.tables.power import Power
from analysis.tables.summary import BestEffort, Delivery

GOOD = Delivery(
    verdicts=["correct"],
    power=Power(owed=1200, excused={}, not_judged={}, implied=0),
    published=10,
    rejected=0,
    expected=1200,
    delivered=1200,
    optional=0,
    lost=0,
    duplicate=0,
    spurious=0,
    spurious_causes={},
    reordered=0,
    overtaken=0,
    unconfirmed=0,
    examples=[],
)


def test_the_sentence_on_a_correct_run_has_its_numbers() -> None:
    sentence = delivery_sentence(GOOD)
    assert "all 1,200 expected notifications of 10 publications" in sentence


def test_excused_notifications_are_named() -> None:
    sentence = delivery_sentence(msgspec.structs.replace(GOOD, excused=7, not_judged=3))
    assert "all 1,190 notifications that had to come of 10 publications arrived" in sentence
    assert sentence.endswith("7 optional notifications did not arrive, because something was in flight or broken.")
    one = delivery_sentence(msgspec.structs.replace(GOOD, excused=1))
    assert one.endswith("1 optional notification did not arrive, because something was in flight or broken.")


def test_notifications_that_moves_doubled_are_no_lie() -> None:
    doubled = msgspec.structs.replace(GOOD, doubled=50)
    assert "arrived, none twice but 50 (as the terms of moves allow), and none at another" in delivery_sentence(doubled)
    tried = msgspec.structs.replace(doubled, best_effort=TRIED)
    assert "arrived twice but 50 (as the terms of moves allow) or at another client" in delivery_sentence(tried)


def test_every_defect_is_named() -> None:
    bad = msgspec.structs.replace(GOOD, verdicts=["lost", "spurious"], lost=3, spurious=1)
    assert delivery_sentence(bad) == (
        "3 of 1,200 expected notifications never arrived; 1 went to clients that must not get them."
    )


TRIED = BestEffort(due=200, missed=40, ratio=0.8, low=0.75, high=0.85, wanted=None)


def test_a_ratio_comes_before_everything_else() -> None:
    tried = msgspec.structs.replace(GOOD, best_effort=TRIED, delivered=160, expected=0)
    assert delivery_sentence(tried) == (
        "Delivery ratio 80.0% of 200 due notifications (95% interval 75.0% to 85.0%). None of 160 notifications "
        "arrived twice or at another client, and every broker notified its own clients of what it received."
    )
    bad = msgspec.structs.replace(tried, verdicts=["duplicated"], duplicate=3)
    assert delivery_sentence(bad).endswith("(95% interval 75.0% to 85.0%). 3 arrived more than once.")
    nothing = msgspec.structs.replace(tried, verdicts=["unjudged"], published=0)
    assert delivery_sentence(nothing) == "No client published anything, so there was nothing to deliver."


def test_a_ratio_says_what_is_not_known() -> None:
    few = msgspec.structs.replace(TRIED, low=None, high=None, wanted=0.85)
    assert few.in_words() == (
        "delivery ratio 80.0% of 200 due notifications (too few publications for an interval); 85.0% expected"
    )
    none = msgspec.structs.replace(few, due=0, missed=0, ratio=None)
    assert none.in_words() == "nothing was due, so there is no delivery ratio"


def test_what_came_against_the_order_of_its_stream_is_named() -> None:
    bad = msgspec.structs.replace(GOOD, verdicts=["reordered"], against_streams=2)
    assert delivery_sentence(bad) == "2 arrived against their stream's order."


def test_a_run_without_publications_is_not_called_correct() -> None:
    silent = msgspec.structs.replace(GOOD, verdicts=["unjudged"], published=0)
    assert "nothing to deliver" in delivery_sentence(silent)


def test_a_run_that_owed_nothing_or_could_not_be_judged_is_not_called_correct() -> None:
    nothing = msgspec.structs.replace(GOOD, verdicts=["unjudged"], power=Power.total([]))
    assert delivery_sentence(nothing) == "None of 10 publications was owed to any client, so nothing is proved."
    little = Power(owed=100, excused={}, not_judged={"outside of the logged sample": 60}, implied=0)
    unknown = msgspec.structs.replace(nothing, power=little)
    assert delivery_sentence(unknown) == (
        "Less than half of the owed notifications could be judged, so nothing is proved about the others."
    )
    wanted = msgspec.structs.replace(unknown, verdicts=["power below expectation"], expected_judged=0.95)
    assert delivery_sentence(wanted) == ("Fewer of the owed notifications could be judged than the scenario expects.")
    assert power_sentence(wanted) == (
        "Judged 40% of 100 owed notifications; 60 not judged: outside of the logged sample; 95% expected."
    )
