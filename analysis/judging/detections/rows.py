"""Rows of the tables of detections, and examples of defects."""

from __future__ import annotations

from analysis.judging.detections.events import NOT_PUBLISHED, CompositeName, PlacedDetection
from analysis.judging.detections.evidence import Weighed
from analysis.judging.detections.oracle import JudgedDetection
from analysis.judging.variant_context import VariantContext
from analysis.reading.detections import NotifiedDetection
from analysis.run_files.time_units import second_due
from analysis.tables.deliveries import Cause, Right
from analysis.tables.detections import Detection, DetectionDefect, ExpectedDetection
from analysis.tables.summary import Example
from record.time_units import MILLISECOND
from record.wording import count_of


def notification_row(
    variant: VariantContext,
    composite: CompositeName,
    notified: NotifiedDetection,
    repeat: int,
    judged: JudgedDetection | None,
) -> Detection:
    """The row of one notification; `judged` is None where the set is no detection."""
    first = last = second = delay = spread = None
    if judged is not None:
        first, last = judged.members[0].stamp, judged.members[-1].stamp
        second = second_due(judged.intended, variant.run_start)
        delay = (notified.time - judged.intended) / MILLISECOND
        spread = judged.spread / MILLISECOND
    return Detection(
        variant=variant.name,
        client=composite.client,
        composite=composite.name,
        publications=list(notified.publications),
        repeat=repeat,
        broker=notified.broker,
        first_published_ns=first,
        last_published_ns=last,
        notified_ns=notified.time,
        delay_ms=delay,
        spread_ms=spread,
        second=second,
    )


def expected_row(variant: str, composite: CompositeName, judged: JudgedDetection) -> ExpectedDetection:
    """The row of a set of which the client must or may be notified."""
    defect, weighed = judged.defect, judged.weighed or Weighed()
    excuse = weighed.excuse
    return ExpectedDetection(
        variant=variant,
        client=composite.client,
        composite=composite.name,
        publications=judged.publications,
        right=judged.right.value,
        notifications=len(judged.notified),
        defect=None if defect is None else defect.value,
        cause=None,
        drops=judged.drops if defect is DetectionDefect.LOST else [],
        excuse=None if excuse is None else excuse.kind,
        evidence=None if excuse is None else excuse.evidence,
        not_judged=weighed.not_judged,
        last_seen=weighed.last_seen if defect is DetectionDefect.LOST else None,
        last_published_ns=judged.members[-1].stamp,
    )


def spurious_row(
    variant: str, composite: CompositeName, publications: tuple[str, ...], notifications: int, cause: Cause
) -> ExpectedDetection:
    """The row of a set that is no detection."""
    return ExpectedDetection(
        variant=variant,
        client=composite.client,
        composite=composite.name,
        publications=list(publications),
        right=Right.NONE.value,
        notifications=notifications,
        defect=DetectionDefect.SPURIOUS.value,
        cause=cause.value,
        drops=[],
        last_published_ns=None,
    )


def defect_example(composite: CompositeName, judged: JudgedDetection, defect: DetectionDefect) -> Example:
    """The example of a set that was lost or duplicated."""
    if defect is DetectionDefect.DUPLICATED:
        detail = f"notified {count_of(len(judged.notified), 'time')}"
    else:
        drops = f"detections dropped at {'; '.join(judged.drops)}" if judged.drops else "no broker recorded a drop"
        seen = "" if judged.weighed is None else f"; {judged.weighed.last_seen}"
        detail = f"published within {judged.spread / MILLISECOND:.3f} ms of each other; {drops}{seen}"
    return _example(composite, defect, judged.publications, judged.members[-1].stamp, detail)


def spurious_example(composite: CompositeName, stray: PlacedDetection, cause: Cause) -> Example:
    """The example of a set that is no detection."""
    published = None if stray.stamp == NOT_PUBLISHED else stray.stamp
    return _example(composite, DetectionDefect.SPURIOUS, list(stray.detection.publications), published, cause.value)


def _example(
    composite: CompositeName, defect: DetectionDefect, publications: list[str], published: int | None, detail: str
) -> Example:
    return Example(
        defect=defect.value,
        publication=publications[-1] if publications else "",
        client=composite.client,
        composite=composite.name,
        publications=publications,
        publisher=None,
        published_ns=published,
        detail=detail,
        reached=[],
        paths=[],
    )
