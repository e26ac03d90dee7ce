"""Sentences on verdicts agree with their numbers."""

from __future__ import annotations

import msgspec
import pytest

from analysis.report import sentences
from analysis.tables.summary import BestEffort, Delivery
from record.fidelity import Check, FidelityVerdict, VariantFidelity
from topology.full_mesh import drawn_full_mesh
from topology.links import LinkTemplate, LinkTemplates, Range
from topology.model import Broker, Overlay

GOOD = Delivery(
    verdicts=["correct"],
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
    sentence = sentences.delivery_sentence(GOOD)
    assert "all 1,200 expected notifications of 10 publications" in sentence


def test_excused_notifications_are_named() -> None:
    sentence = sentences.delivery_sentence(msgspec.structs.replace(GOOD, excused=7))
    assert sentence.endswith("7 optional notifications did not arrive, because something was in flight or broken.")


def test_every_defect_is_named() -> None:
    bad = msgspec.structs.replace(GOOD, verdicts=["lost", "spurious"], lost=3, spurious=1)
    assert sentences.delivery_sentence(bad) == (
        "3 of 1,200 expected notifications never arrived; 1 went to clients that must not get them."
    )


TRIED = BestEffort(due=200, missed=40, ratio=0.8, low=0.75, high=0.85, wanted=None)


def test_a_ratio_comes_before_everything_else() -> None:
    tried = msgspec.structs.replace(GOOD, best_effort=TRIED, delivered=160, expected=0)
    assert sentences.delivery_sentence(tried) == (
        "Delivery ratio 80.0% of 200 due notifications (95% interval 75.0% to 85.0%). None of 160 notifications "
        "arrived twice or at another client, and every broker notified its own clients of what it received."
    )
    bad = msgspec.structs.replace(tried, verdicts=["duplicated"], duplicate=3)
    assert sentences.delivery_sentence(bad).endswith("(95% interval 75.0% to 85.0%). 3 arrived more than once.")
    nothing = msgspec.structs.replace(tried, verdicts=["unjudged"], published=0)
    assert sentences.delivery_sentence(nothing) == "No client published anything, so there was nothing to deliver."


def test_a_ratio_says_what_is_not_known() -> None:
    few = msgspec.structs.replace(TRIED, low=None, high=None, wanted=0.85)
    assert few.in_words() == (
        "delivery ratio 80.0% of 200 due notifications (too few publications for an interval); 85.0% expected"
    )
    none = msgspec.structs.replace(few, due=0, missed=0, ratio=None)
    assert none.in_words() == "nothing was due, so there is no delivery ratio"


def test_what_came_against_the_order_of_its_stream_is_named() -> None:
    bad = msgspec.structs.replace(GOOD, verdicts=["reordered"], against_streams=2)
    assert sentences.delivery_sentence(bad) == "2 arrived against their stream's order."


def test_a_run_without_publications_is_not_called_correct() -> None:
    assert "nothing to deliver" in sentences.delivery_sentence(msgspec.structs.replace(GOOD, verdicts=["unjudged"]))


def test_text_between_backticks_becomes_code_and_nothing_else_is_markup() -> None:
    assert sentences.with_code("a < b: `--set x=<y>` helps") == "a &lt; b: <code>--set x=&lt;y&gt;</code> helps"


def test_reasons_follow_a_verdict_that_is_not_valid() -> None:
    def check(name: str, value: float, unit: str, limit: float, verdict: FidelityVerdict, detail: str) -> Check:
        return Check(name=name, value=value, unit=unit, limit=limit, verdict=verdict, detail=detail)

    degraded = check("event loop", 12.0, "ms", 10.0, FidelityVerdict.DEGRADED, "worst at B7")
    invalid = check("relay", 3.0, "ms", 1.0, FidelityVerdict.INVALID, "late")
    kept = check("CPU idle", 0.5, "share", 0.1, FidelityVerdict.VALID, "fine")
    judged = VariantFidelity(name="fixed", verdict=FidelityVerdict.INVALID, checks=[kept, degraded, invalid])
    found = sentences.fidelity_sentences(judged)
    assert found[1:] == ["relay: late", "event loop: worst at B7"]
    assert sentences.fidelity_sentences(None) == [sentences.FIDELITY_SENTENCES["UNKNOWN"]]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (LinkTemplate(delay=Range.fixed(0.002)), "one-way delay 2.0 ms"),
        (LinkTemplate(delay=Range.fixed(0.002), rate=Range.fixed(1e7)), "one-way delay 2.0 ms, 10 Mbit/s"),
        (LinkTemplate(delay=Range(0.002, 0.009), rate=Range(1e6, 2e6)), None),
    ],
)
def test_the_range_of_links_is_that_of_listed_links(template: LinkTemplate, expected: str | None) -> None:
    mesh = drawn_full_mesh("m", [Broker(f"B{number}") for number in range(30)], LinkTemplates(template), 1)
    listed = Overlay("m", mesh.brokers, tuple(mesh.links))
    of_mesh, of_list = sentences._link_range(mesh), sentences._link_range(listed)
    assert of_mesh.partition(",")[0] == of_list.partition(",")[0]
    if expected is not None:
        assert of_mesh == of_list == expected
    else:
        assert of_mesh.endswith(", 1-2 Mbit/s"), "a mesh states the range from which its links draw"


def test_an_overlay_without_links_has_no_range() -> None:
    assert sentences._link_range(Overlay("o", (Broker("B1"),), ())) == "none"


@pytest.mark.parametrize(
    ("value", "expected"), [(0.25, "0.2 ms"), (21.35, "21.4 ms"), (99.94, "99.9 ms"), (1234.4, "1,234 ms"), (None, "–")]
)
def test_a_delay_has_tenths_below_a_hundred(value: float | None, expected: str) -> None:
    assert sentences.milliseconds(value) == expected


def test_arrows_are_not_broken_from_their_brokers() -> None:
    assert sentences.unbroken("the link B5 → B6.") == "the link B5\u00a0→\u00a0B6."
