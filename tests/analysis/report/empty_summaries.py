"""Summaries of variants in which nothing happened, for tests that fill in what they are about."""

from __future__ import annotations

import msgspec

from analysis.tables.detections import DetectionFigures
from analysis.tables.power import Power
from analysis.tables.summary import Delay, Delivery, Matching, VariantSummary

_NOT_COUNTS = ("budget", "without_contention", "without_access", "figures")
_LEFT_OUT = ("best_effort", "detections", "starts", "expected_judged", "unjudged")


def empty_variant(name: str) -> VariantSummary:
    """A variant without messages."""
    counts = dict.fromkeys((field for field in Delivery.__struct_fields__ if field not in _LEFT_OUT), 0)
    lists = {"verdicts": [], "spurious_causes": {}, "examples": [], "power": Power.total([])}
    delivery = msgspec.convert(counts | lists, Delivery)
    delay = msgspec.convert({name: 0 for name in Delay.__struct_fields__ if name not in _NOT_COUNTS}, Delay)
    matching = msgspec.convert(dict.fromkeys(Matching.__struct_fields__, 0), Matching)
    return VariantSummary(
        name=name, fidelity="VALID", interrupted=False, delivery=delivery, delay=delay, delay_by_hops=[], messages=[],
        broker_messages=[], matching=matching, drops=[],
    )  # fmt: skip


def detected(variant: VariantSummary, mean_ms: float | None) -> VariantSummary:
    """The variant with detections of this mean delay; none where it is None."""
    counts = dict.fromkeys(DetectionFigures.__struct_fields__, 0)
    kinds = {"spurious_causes": {}, "excused": {}, "not_judged": {}}
    figures = msgspec.convert(counts | kinds | {"mean_ms": mean_ms}, DetectionFigures)
    return msgspec.structs.replace(variant, delivery=msgspec.structs.replace(variant.delivery, detections=figures))
