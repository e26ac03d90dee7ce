"""Run directories in the state after an analysis, with made-up numbers."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from analysis.tables.budget import DelayParts
from analysis.tables.deliveries import Notification
from analysis.tables.results import write_table
from analysis.tables.summary import (
    Delay,
    DelayBudget,
    DelayWithoutContention,
    Delivery,
    Matching,
    Summary,
    VariantSummary,
    write_summary,
)
from analysis.tables.traffic import BrokerMessages
from record.manifest import FORMAT, PhaseName
from record.time_units import SECOND

Struct = TypeVar("Struct", bound=msgspec.Struct)
SPACING = 0.5
"""Seconds between two publications."""


def neutral(struct: type[Struct], **given: Any) -> Struct:
    """A struct whose fields are the given ones, and zero, empty, absent or null otherwise."""
    return struct(**{name: _neutral_value(kind) for name, kind in _kinds(struct).items()} | given)


@functools.cache
def _kinds(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The kinds of a struct's fields, read from its annotations once."""
    hints = typing.get_type_hints(struct)
    return {field.name: hints[field.name] for field in msgspec.structs.fields(struct)}


def _neutral_value(kind: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return msgspec.UNSET if msgspec.UnsetType in typing.get_args(kind) else None
    if origin is not None:
        return origin()
    return neutral(kind) if issubclass(kind, msgspec.Struct) else kind()


def messages(broker: str, kind: str = "publish", *, received: int, from_clients: int = 0) -> BrokerMessages:
    return neutral(BrokerMessages, broker=broker, kind=kind, received=received, from_clients=from_clients)


def _run_phase(publications: int) -> dict[str, Any]:
    return {"name": PhaseName.RUN, "start": 0, "end": round(publications * SPACING * SECOND)}


def notifications(variant: str, delays: Sequence[float], *, spacing: float = SPACING) -> list[Notification]:
    """One publication every `spacing` seconds, delivered to S1 with these delays in milliseconds."""
    return [
        neutral(
            Notification,
            variant=variant,
            publication=f"P1:{number}",
            client="S1",
            delay_ms=delay,
            second=int(number * spacing),
        )
        for number, delay in enumerate(delays)
    ]


def variant(
    name: str,
    *,
    rows: Sequence[BrokerMessages] = (),
    operations: int = 0,
    parts: DelayParts | None = None,
    without_contention: float | None = None,
    **delivery: int,
) -> VariantSummary:
    """`without_contention` is the mean delay of a replay, milliseconds."""
    budget = UNSET if parts is None else neutral(DelayBudget, parts=parts)
    replayed = UNSET if without_contention is None else neutral(DelayWithoutContention, mean_ms=without_contention)
    return neutral(
        VariantSummary,
        name=name,
        delay=neutral(Delay, budget=budget, without_contention=replayed),
        delivery=neutral(Delivery, **delivery),
        matching=neutral(Matching, operations=operations),
        broker_messages=list(rows),
    )


def make_run(
    directory: Path,
    variants: Sequence[VariantSummary],
    delays: Mapping[str, Sequence[float]],
    runtime: str = "simulated",
) -> Path:
    """Writes the run; returns its directory."""
    directory.mkdir()
    (directory / "results").mkdir()
    manifest = {
        "format": FORMAT,
        "run_id": directory.name,
        "scenario": {"name": "trial"},
        "seed": 3,
        "runtime": {"name": runtime, "reason": ""},
        "links": {"name": "modelled", "reason": ""},
        "variants": [{"name": name, "phases": [_run_phase(len(values))]} for name, values in delays.items()],
    }
    (directory / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    write_summary(neutral(Summary, run_id=directory.name, fidelity="VALID", variants=list(variants)), directory)
    rows = [row for name, values in delays.items() for row in notifications(name, values)]
    write_table(rows, directory / "results", Notification)
    return directory
