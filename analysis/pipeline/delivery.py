"""The delivery part of a summary: counts, verdicts and examples of one variant, and the verdict on all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from analysis.judging.deliveries.counts import DeliveryCounts
from analysis.judging.deliveries.operations import OPERATION_DEFECTS, OperationDefect
from analysis.judging.deliveries.starts import start_figures
from analysis.judging.examples import MOST, examples_of
from analysis.judging.rights.standing import unconfirmed
from analysis.pipeline.incomplete_logs import without_losses
from analysis.pipeline.judgement import Judgement
from analysis.pipeline.power import below_wanted, power_of, proves_nothing
from analysis.pipeline.real_time import unjudged_times
from analysis.reading.log_events import BrokerDefect
from analysis.reading.stream_positions import Fall
from analysis.tables.deliveries import Defect
from analysis.tables.detections import DetectionDefect
from analysis.tables.reasons import by_reason
from analysis.tables.starts import START_NOT_ANNOUNCED, Start
from analysis.tables.structs import struct_from
from analysis.tables.summary import (
    BELOW_EXPECTATION,
    BROKER_DEFECT,
    CORRECT,
    HELD_UP,
    POWER_BELOW,
    STATE_LEFT,
    UNJUDGED,
    BestEffort,
    Delivery,
    Example,
)
from record.log import Event
from record.manifest import VariantRecord
from record.promises import Completeness, Order
from record.time_units import MILLISECOND, SECOND


def delivery_of(
    number: int,
    variant: VariantRecord,
    judgement: Judgement,
    starving: Sequence[str],
    lacking: Sequence[str],
    *,
    held_up: Sequence[OperationDefect] = (),
) -> Delivery:
    """The delivery part of the summary of variant `number`; `starving` are the reasons why its host was starved, and
    `lacking` those why its logs are incomplete. `held_up` are brokers that delay others because of a slow reader."""
    publications = judgement.publications.counts.of(number)
    counts = judgement.publishers.counts.of(number)
    if lacking and counts.lost:
        counts = without_losses(counts, lacking)
    defects = [defect for defect in judgement.logs.defects if defect.variant == number]
    problems = [*map(_defect_example, sorted(defects)), *map(_state_example, (variant.remaining_state or {}).items())]
    promises_order = variant.promises.order is Order.PUBLISHER
    falls = list(judgement.logs.streams.falls(number, judgement.stays[number])) if promises_order else []
    problems += map(_fall_example, falls[:MOST])
    operations = [defect for defect in judgement.operations[number] if not (starving and defect.late)]
    problems += [] if defects else map(_operation_example, operations[:MOST])
    problems += [] if starving else map(_operation_example, held_up)
    starts = judgement.starts[number]
    missing = [start for start in starts if start.missing]
    problems += [] if starving else map(_start_example, missing[:MOST])
    best_effort = _best_effort(number, variant, counts, judgement)
    detections = judgement.detections.counts.of(number)
    lifetimes = judgement.lifetimes[number]
    composites = sum(lifetime.made is Event.COMPOSE for lifetime in lifetimes)
    power, delays = power_of(counts), judgement.detections.delays_of(number)
    found = {problem.defect for problem in problems} | {defect.value for defect in detections.defects()}
    found |= {POWER_BELOW} if below_wanted(power, variant) else set()
    late = bool(starving and (missing or len(operations) < len(judgement.operations[number])))
    unknown = late or proves_nothing(power, detections) or _ratio_unknown(best_effort)
    return struct_from(
        Delivery,
        publications,
        counts,
        verdicts=_defects(counts, best_effort, found) or [UNJUDGED if unknown else CORRECT],
        power=power,
        expected_judged=variant.expected_judged,
        unjudged=unjudged_times(starving) if late else msgspec.UNSET,
        excused=by_reason(counts.excused).total(),
        not_judged=by_reason(counts.not_judged).total(),
        doubled=counts.doubled or msgspec.UNSET,
        settles_within_s=judgement.settling[number].within / SECOND,
        best_effort=best_effort,
        against_streams=len(falls) or msgspec.UNSET,
        spurious_causes=dict(by_reason(counts.spurious_causes)),
        unconfirmed=unconfirmed(lifetimes),
        detections=detections.figures(composites, delays) if composites or detections.delivered else msgspec.UNSET,
        starts=start_figures(starts) if variant.promises.announces_starts else msgspec.UNSET,
        examples=[*problems, *_examples(number, judgement, lacking)],
    )


def _examples(number: int, judgement: Judgement, lacking: Sequence[str]) -> list[Example]:
    """Examples of deliveries, and of detections."""
    found = examples_of(number, judgement.publishers.examples)
    if lacking:
        found = [example for example in found if example.defect != Defect.LOST]
    return [*found, *examples_of(number, judgement.detections.examples)]


def overall(verdicts: Iterable[list[str]]) -> list[str]:
    """The verdict on a run: a broker defect alone; else every defect found in any variant; without defects, unjudged if
    a variant is; else correct."""
    found = {verdict for of_variant in verdicts for verdict in of_variant}
    if BROKER_DEFECT in found:
        return [BROKER_DEFECT]
    detections = (defect.value for defect in DetectionDefect)
    expectations = BELOW_EXPECTATION, POWER_BELOW
    kinds = (*(defect.value for defect in Defect), START_NOT_ANNOUNCED, *detections, *expectations)
    names = (*kinds, *OPERATION_DEFECTS, HELD_UP, STATE_LEFT)
    defects = [name for name in names if name in found]
    return defects or ([UNJUDGED] if UNJUDGED in found else [CORRECT])


def _best_effort(
    number: int, variant: VariantRecord, counts: DeliveryCounts, judgement: Judgement
) -> BestEffort | msgspec.UnsetType:
    if variant.promises.delivery is not Completeness.BEST_EFFORT:
        return msgspec.UNSET
    found = judgement.publishers.due.ratio(number)
    return BestEffort(
        due=counts.expected + counts.due,
        missed=counts.lost + counts.missed,
        ratio=None if found is None else found.ratio,
        low=None if found is None else found.low,
        high=None if found is None else found.high,
        wanted=variant.expected_delivery or None,
    )


def _defects(
    counts: DeliveryCounts, best_effort: BestEffort | msgspec.UnsetType, problems: Collection[str]
) -> list[str]:
    """The defects of a variant, given the kinds of its brokers' problems and the defects of its detections. A defect
    that was found is one, however little could be judged."""
    if BROKER_DEFECT in problems:
        return [BROKER_DEFECT]
    found: dict[str, bool] = {
        Defect.LOST: counts.lost > 0,
        Defect.DUPLICATED: counts.duplicate > 0,
        Defect.SPURIOUS: counts.spurious > 0,
        Defect.REORDERED: counts.reordered > 0 or Defect.REORDERED in problems,
        START_NOT_ANNOUNCED: START_NOT_ANNOUNCED in problems,
        **{defect: defect.value in problems for defect in DetectionDefect},
        BELOW_EXPECTATION: best_effort is not msgspec.UNSET and _below_expectation(best_effort),
        POWER_BELOW: POWER_BELOW in problems,
        **{kind: kind in problems for kind in (*OPERATION_DEFECTS, HELD_UP)},
        STATE_LEFT: STATE_LEFT in problems,
    }
    return [str(name) for name, is_found in found.items() if is_found]


def _ratio_unknown(best_effort: BestEffort | msgspec.UnsetType) -> bool:
    """True where a ratio is expected and too few publications give no interval."""
    return best_effort is not msgspec.UNSET and best_effort.wanted is not None and best_effort.high is None


def _below_expectation(best_effort: BestEffort) -> bool:
    high, wanted = best_effort.high, best_effort.wanted
    return high is not None and wanted is not None and high < wanted


def _defect_example(defect: BrokerDefect) -> Example:
    return Example(
        defect=BROKER_DEFECT,
        publication="",
        client="",
        publisher=None,
        published_ns=None,
        detail=defect.text,
        reached=[defect.broker],
        paths=[],
    )


def _fall_example(fall: Fall) -> Example:
    return Example(
        defect=Defect.REORDERED.value,
        publication="",
        client=fall.client,
        publisher=None,
        published_ns=None,
        detail=f"position {fall.position} of the stream {fall.stream} came after position {fall.later}",
        reached=[],
        paths=[],
    )


def _start_example(start: Start) -> Example:
    late = start.due_ns is not None and start.announced_ns is not None
    after = (start.due_ns or 0) - start.issued_ns
    was = f"was announced {start.latency_ms or 0:,.0f} ms after it was made" if late else "was not announced"
    return Example(
        defect=START_NOT_ANNOUNCED,
        publication="",
        client=start.client,
        publisher=None,
        published_ns=None,
        detail=f"subscription {start.subscription} of {start.client} at {start.broker} {was};"
        f" it had to be within {after / MILLISECOND:,.0f} ms",
        reached=[],
        paths=[],
    )


def _operation_example(found: OperationDefect) -> Example:
    return Example(
        defect=found.kind,
        publication="",
        client=found.client,
        publisher=None,
        published_ns=None,
        detail=found.detail,
        reached=[found.broker],
        paths=[],
    )


def _state_example(remaining: tuple[str, list[str]]) -> Example:
    broker, rows = remaining
    return Example(
        defect=STATE_LEFT,
        publication="",
        client="",
        publisher=None,
        published_ns=None,
        detail=f"{broker}, after all clients had left: {'; '.join(rows)}",
        reached=[broker],
        paths=[],
    )
