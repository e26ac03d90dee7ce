"""The check that gauges of links have the messages and bytes of the `sent` records before them, since the broker
started.

Messages by gauges are what the page of a run shows. Gauges after clients began to leave are not looked at. Where
brokers log a sample of publications, gauges alone have the others, and where a broker writes no such gauge there is
nothing to compare.
"""

from __future__ import annotations

from collections.abc import Iterable

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import none_allowed, unmeasured
from analysis.reading.sent_gauges import SentGauge
from record.fidelity import Check

NAME = "gauges of links that contradict the records of messages"


def gauge_audit(evidence: Evidence) -> Iterable[Check]:
    """The check of one variant."""
    if evidence.variant.sample:
        yield unmeasured(NAME, "link directions", "brokers log a sample of publications")
        return
    links = set()
    wrong: dict[tuple[int, str, str], str] = {}
    for gauge in evidence.logs.sent.gauges(evidence.number):
        links.add(gauge.link)
        if not gauge.agrees:
            wrong.setdefault(gauge.link, _in_words(gauge))
    if not links:
        yield unmeasured(NAME, "link directions", "no gauge says how many messages its link has carried")
        return
    yield none_allowed(
        NAME, "link directions", list(wrong.values()),
        meaning="a broker counts wrongly what it sends, or records are missing, so a live page shows wrong numbers",
        otherwise=f"the gauges of {len(links):,} link directions have the messages that were recorded",
    )  # fmt: skip


def _in_words(gauge: SentGauge) -> str:
    broker, neighbour = gauge.link.broker, gauge.link.neighbour
    if gauge.messages != gauge.recorded:
        return (
            f"a gauge of {broker} has {gauge.messages:,} messages to {neighbour}, and {gauge.recorded:,} are recorded"
        )
    return f"a gauge of {broker} has {gauge.bytes:,} bytes to {neighbour}, and {gauge.recorded_bytes:,} are recorded"
