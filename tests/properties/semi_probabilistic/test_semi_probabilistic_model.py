"""The router in the simulator, compared with an independent model over the same overlay, subscriptions and events."""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from statistics import fmean

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.results import read_table
from analysis.tables.summary import BestEffort
from analysis.tables.traffic import BrokerMessages
from emulation.planning.plan import VariantPlan, make_plan
from emulation.simulation.run import simulate
from record.files import RESULTS
from scenario.loading import load
from scenario.workload.operations import OperationKind, PlannedOperation
from tests.proof import IS_WHOLE
from tests.properties.semi_probabilistic.semi_probabilistic_model import PlainModel

SCENARIO = """
name: model
topology: {kind: random-regular, brokers: 60, degree: 5, link: {delay: 1ms}}
routing: {protocol: semi-probabilistic}
workload: {kind: patterns, publications: {rate: 20/s, receivers: 10%}}
timeline: {join: 2s, run: SECONDS, drain: 1s}
vary:
  routing:
    - {protocol: semi-probabilistic, horizon: 1, threshold: 0.25}
    - {protocol: semi-probabilistic, horizon: 3, threshold: 0.25}
seed: 5
"""
SECONDS = 2 if IS_WHOLE else 1
"""Seconds of publications. In two, 2,400 events, the delivery ratio has a standard error of 0.004 in each variant; in
one, 0.006."""
REPEATS = 2
"""Courses of each event in the model, so that its own error is less than that of the run."""

pytestmark = pytest.mark.timeout(900)
"""10 s of processor time, which a busy host may give to others first."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[VariantPlan, ...]]:
    file = tmp_path_factory.mktemp("model") / "model.yaml"
    file.write_text(SCENARIO.replace("SECONDS", f"{SECONDS}s"))
    plan = make_plan(load(file))
    return simulate(plan, file.parent).directory, plan.variants


def numbers(operation: PlannedOperation) -> set[int]:
    """The numbers of an event or of a subscription."""
    named = operation.attributes or [predicate.attribute for predicate in operation.predicates or ()]
    return {int(name[1:]) for name in named if name[1:].isdigit()}


def model_of(variant: VariantPlan) -> tuple[PlainModel, list[tuple[str, set[int]]]]:
    """The model of a variant, and the publisher's broker and the numbers of each event."""
    neighbours: dict[str, list[str]] = defaultdict(list)
    for link in variant.overlay.links:
        neighbours[link.a].append(link.b)
        neighbours[link.b].append(link.a)
    wanted: dict[str, set[int]] = defaultdict(set)
    events = []
    for operation in variant.workload.operations():
        if operation.operation is OperationKind.SUBSCRIBE:
            wanted[operation.broker] |= numbers(operation)
        elif operation.operation is OperationKind.PUBLISH:
            events.append((operation.broker, numbers(operation)))
    options = variant.scenario.routing.options
    return PlainModel(neighbours, wanted, options["horizon"], Fraction(str(options["threshold"]))), events


def test_delivery_and_messages_are_those_of_the_model(run: tuple[Path, tuple[VariantPlan, ...]]) -> None:
    directory, variants = run
    found = analyze(directory, PlainEngine()).variants
    sent: dict[str, int] = defaultdict(int)
    for row in read_table(directory / RESULTS, BrokerMessages):
        if row.kind == "publish":
            sent[row.variant] += row.sent
    for variant, summary in zip(variants, found, strict=True):
        model, events = model_of(variant)
        distances, rng = model.distances(), random.Random(1)
        spreads = [[model.spread(*event, distances, rng) for _ in range(REPEATS)] for event in events]
        due = sum(len(model.interested(event)) for _, event in events)
        notified = sum(fmean(len(spread.notified) for spread in courses) for courses in spreads)
        messages = sum(fmean(spread.messages for spread in courses) for courses in spreads)
        result = summary.delivery.best_effort
        assert isinstance(result, BestEffort)
        assert result.due == due
        assert result.ratio == pytest.approx(notified / due, abs=0.01)
        assert sent[variant.name] == pytest.approx(messages, rel=0.02)
