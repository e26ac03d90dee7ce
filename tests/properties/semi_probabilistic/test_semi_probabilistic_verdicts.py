"""Semi-probabilistic routers that are broken on purpose, and the verdicts that the delivery oracle gives their runs.

Delivery is best effort, so a lower ratio is no defect. These routers break what is promised all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from emulation.planning.plan import Plan, make_plan
from emulation.simulation.run import simulate
from scenario.loading import load
from tests.proof import drawn
from tests.properties.semi_probabilistic.mutants.every import MUTANTS
from tests.properties.semi_probabilistic.mutants.mutant import in_place_of_the_right

SCENARIO = """
name: verdicts
topology: {kind: random-regular, brokers: 12, degree: 4, link: {delay: 1ms}}
motion: {kind: rewire, every: 500ms, repaired_after: 100ms, degree: 4}
routing: {protocol: semi-probabilistic, horizon: 2, threshold: 0.25, deterministic_ttl: 9, probabilistic_ttl: 6}
workload: {kind: patterns, patterns: 20, publications: {rate: 2/s, receivers: 25%}}
timeline: {join: 3s, run: 8s, drain: 3s}
seed: 5
"""
BROKEN = {
    "NotifiesOnDuplicates": "duplicated",
    "NotifiesEveryoneOnTheWay": "spurious",
    "NotifiesNobody": "lost",
    "PublishesWithoutEffectOnItself": "lost",
    "LimitsAdjacentSubscribers": "lost",
    "ChoosesAtRandomOnly": "lost",
    "AnnouncesNothingToNewLinks": "lost",
    "DropsEveryThirdCopy": "lost",
}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    file = tmp_path_factory.mktemp("verdicts") / "verdicts.yaml"
    file.write_text(SCENARIO)
    return make_plan(load(file))


def verdicts(plan: Plan, directory: Path) -> Sequence[str]:
    (variant,) = analyze(simulate(plan, directory).directory, PlainEngine()).variants
    return variant.delivery.verdicts


def test_the_right_router_keeps_what_it_promises(plan: Plan, tmp_path: Path) -> None:
    assert verdicts(plan, tmp_path) == ["correct"]


@pytest.mark.parametrize("options", [{"routing.withdrawals": "naive"}, {"routing.noticed_after": "1s"}])
def test_it_keeps_that_with_other_withdrawals_and_late_notice(options: Mapping[str, str], tmp_path: Path) -> None:
    file = tmp_path / "verdicts.yaml"
    file.write_text(SCENARIO)
    plan = make_plan(load(file, options))
    assert verdicts(plan, tmp_path / "run") == ["correct"]


@pytest.mark.parametrize("variant", drawn(BROKEN))
def test_a_broken_router_breaks_its_promises(variant: str, plan: Plan, tmp_path: Path) -> None:
    with in_place_of_the_right(MUTANTS[variant]):
        assert BROKEN[variant] in verdicts(plan, tmp_path)
