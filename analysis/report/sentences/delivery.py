"""The delivery verdict of a variant in words."""

from __future__ import annotations

from msgspec import UNSET

from analysis.tables.summary import BROKER_DEFECT, CORRECT, HELD_UP, POWER_BELOW, STATE_LEFT, UNJUDGED, Delivery
from analysis.tables.wording import capitalised
from record.wording import count_of


def delivery_sentence(delivery: Delivery) -> str:
    """Verdict of the delivery oracle, in one sentence; of a best-effort protocol, after its delivery ratio."""
    if delivery.best_effort is not UNSET and delivery.published:
        ratio = capitalised(delivery.best_effort.in_words())
        return f"{ratio}. {_best_effort_sentence(delivery)}"
    if delivery.verdicts == [UNJUDGED]:
        return _unjudged(delivery)
    if delivery.verdicts == [BROKER_DEFECT]:
        return "A broker failed by a defect of its own code, which ended the run, so deliveries are not judged."
    if delivery.verdicts == [CORRECT]:
        proven = delivery.expected - delivery.excused - delivery.not_judged
        owed = "expected notifications" if proven == delivery.expected else "notifications that had to come"
        return (
            f"Every subscriber received exactly what it should: all {proven:,} {owed} of {delivery.published:,} "
            f"publications arrived, none twice{_doubled(delivery)}, and none at another client."
            f"{_detected(delivery)}{_excused(delivery)}"
        )
    return _wrong(delivery)


def power_sentence(delivery: Delivery) -> str:
    """The power of the verdict as a sentence."""
    return f"{capitalised(delivery.power_in_words())}."


def _unjudged(delivery: Delivery) -> str:
    if not delivery.published:
        return "No client published anything, so there was nothing to deliver."
    if not delivery.power.owed:
        return f"None of {count_of(delivery.published, 'publication')} was owed to any client, so nothing is proved."
    if delivery.unjudged is not UNSET:
        return f"Not all could be judged: {delivery.unjudged}."
    return "Less than half of the owed notifications could be judged, so nothing is proved about the others."


def _best_effort_sentence(delivery: Delivery) -> str:
    """Everything but the ratio."""
    wrong = delivery.lost or delivery.duplicate or delivery.spurious or delivery.reordered or delivery.against_streams
    if wrong or any(_detections_wrong(delivery)):
        return _wrong(delivery)
    return (
        f"None of {count_of(delivery.delivered, 'notification')} arrived twice{_doubled(delivery)} or at another "
        f"client, and every broker notified its own clients of what it received.{_excused(delivery)}"
    )


def _doubled(delivery: Delivery) -> str:
    """The exception for notifications that came from both brokers of clients that moved."""
    return f" but {delivery.doubled:,} (as the terms of moves allow)" if delivery.doubled else ""


def _wrong(delivery: Delivery) -> str:
    due = count_of(delivery.expected, "expected notification")
    found = [
        f"{delivery.lost:,} of {due} never arrived" if delivery.lost else "",
        f"{delivery.duplicate:,} arrived more than once" if delivery.duplicate else "",
        f"{delivery.spurious:,} went to clients that must not get them" if delivery.spurious else "",
        f"{delivery.reordered:,} arrived after a later one, although routing promises order"
        if delivery.reordered
        else "",
        ""
        if delivery.against_streams is UNSET
        else f"{delivery.against_streams:,} arrived against their stream's order",
        _starts_wrong(delivery),
        *_detections_wrong(delivery),
        "fewer of the owed notifications could be judged than the scenario expects"
        if POWER_BELOW in delivery.verdicts
        else "",
        "notifications of other clients waited for a slow reader" if HELD_UP in delivery.verdicts else "",
        "routing tables hold rows that no client stands for any more" if STATE_LEFT in delivery.verdicts else "",
    ]
    return capitalised("; ".join(part for part in found if part)) + "." + _excused(delivery)


def _detected(delivery: Delivery) -> str:
    """Detections of which none is wrong."""
    found = delivery.detections
    if found is UNSET:
        return ""
    if found.expected == 1:
        return " So did the expected detection of a composite subscription."
    composites = count_of(found.composites, "composite subscription")
    return f" So did all {found.expected:,} expected detections of {composites}."


def _detections_wrong(delivery: Delivery) -> list[str]:
    found = delivery.detections
    if found is UNSET:
        return []
    due = count_of(found.expected, "expected detection")
    dropped = f", {found.dropped:,} of them beside a recorded drop" if found.dropped else ""
    return [
        f"{found.lost:,} of {due} never arrived{dropped}" if found.lost else "",
        f"{count_of(found.duplicate, 'detection')} arrived more than once" if found.duplicate else "",
        f"{count_of(found.spurious, 'detection')} went to clients that must not get them" if found.spurious else "",
    ]


def _starts_wrong(delivery: Delivery) -> str:
    found = delivery.starts
    return (
        f"{count_of(found.missing, 'subscription')} not announced as started in time" if found and found.missing else ""
    )


def _excused(delivery: Delivery) -> str:
    if not delivery.excused:
        return ""
    optional = count_of(delivery.excused, "optional notification")
    return f" {optional} did not arrive, because something was in flight or broken."
