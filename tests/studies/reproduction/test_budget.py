"""Plans that fit into a time, and the costs and verdicts that are recorded beside the claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims import Claim, ClaimKind, Claims, ClaimVerdict, Measurement, Paper, judge, load_claims
from record.errors import BadInputError
from studies.reproduction import CellResult, Experiment, Recorded, costed, load_recorded, quick, whole
from studies.reproduction.__main__ import README, with_table
from studies.reproduction.budget import LEAST_SEEDS, CostedExperiment
from studies.reproduction.plan_sentences import announcement, plan_table
from studies.reproduction.progress import RemainingTime
from studies.reproduction.recorded import (
    RecordedClaim,
    RecordedScenario,
    save_recorded,
    table_of_verdicts,
)


def claim(id: str) -> Claim:
    return Claim(id=id, paper="tid", kind=ClaimKind.PROPERTY, what=id)


def experiment(name: str, seeds: int = 6, weight: float = 10.0) -> Experiment:
    return Experiment(
        Path(f"{name}.yaml"),
        f"x/{name}.yaml",
        name,
        (claim(name), claim("all")),
        tuple(range(1, seeds + 1)),
        weight,
        "",
    )


def entry(name: str, seconds: float, seeds: int = 6) -> CostedExperiment:
    return CostedExperiment(experiment(name, seeds), seconds, measured=True)


COSTS = st.lists(st.tuples(st.floats(0.1, 500), st.integers(1, 8)), min_size=1, max_size=12)


@given(COSTS, st.floats(1, 5000))
def test_a_whole_reproduction_gives_up_seeds_until_it_fits(costs: list[tuple[float, int]], limit: float) -> None:
    entries = [entry(f"e{number}", *cost) for number, cost in enumerate(costs)]
    plan = whole(entries, limit)
    kept = [len(fitted.experiment.seeds) for fitted in plan.chosen]
    assert all(min(before, LEAST_SEEDS) <= after <= before for after, (_, before) in zip(kept, costs, strict=True))
    assert plan.seconds <= limit or all(after <= LEAST_SEEDS for after in kept)
    assert plan.left_out == ()
    if sum(seconds * seeds for seconds, seeds in costs) <= limit:
        assert kept == [seeds for _, seeds in costs]


def test_the_dearest_scenario_gives_up_seeds_first() -> None:
    plan = whole([entry("cheap", 1), entry("dear", 10)], 50)
    assert [len(fitted.experiment.seeds) for fitted in plan.chosen] == [6, 4]


@given(COSTS, st.floats(1, 2000))
def test_a_quick_reproduction_takes_the_cheapest(costs: list[tuple[float, int]], limit: float) -> None:
    entries = [entry(f"e{number}", seconds, 1) for number, (seconds, _) in enumerate(costs)]
    plan = quick(entries, limit)
    assert plan.seconds <= limit + 1e-6
    assert sorted(map(str, [*plan.chosen, *plan.left_out])) == sorted(map(str, entries))
    if plan.left_out:
        cheapest = min(left.seconds for left in plan.left_out)
        assert plan.seconds + cheapest > limit - 1e-6
        assert all(chosen.seconds <= cheapest for chosen in plan.chosen)


def test_a_scenario_besides_another_one_comes_last() -> None:
    besides = replace(entry("b", 1, 1), experiment=replace(experiment("b", 1), supplementary=True))
    plan = quick([besides, entry("dear", 10, 1)], 10)
    assert [chosen.experiment.name for chosen in plan.chosen] == ["dear"]
    assert plan.claims_left_out[0].id == "b"


def test_a_claim_is_left_out_when_none_of_its_scenarios_is_run() -> None:
    plan = quick([entry("cheap", 1, 1), entry("dear", 10, 1)], 5)
    assert [left.id for left in plan.claims_left_out] == ["dear"]
    lines = list(announcement(plan, []))
    assert lines[0] == "2 claims from 1 runs, 1 of them done before; 1 scenarios"
    assert lines[1:] == ["left out, because they take too long: dear", "claims left out with them: dear"]
    assert plan_table(plan).row_count == 2


def test_costs_are_scaled_by_the_weight_and_guessed_where_none_is_recorded() -> None:
    recorded = Recorded(
        machine="",
        scenarios={
            "x/a.yaml": RecordedScenario(cpu_seconds=20, weight=10),
            "x/b.yaml": RecordedScenario(cpu_seconds=50, weight=10),
            "x/c.yaml": RecordedScenario(cpu_seconds=30, weight=10),
            "y/d.yaml": RecordedScenario(cpu_seconds=900, weight=10),
            "y/e.yaml": RecordedScenario(cpu_seconds=900, weight=10),
        },
    )
    known, larger, unknown = costed([experiment("a"), experiment("a", weight=30), experiment("d")], recorded)
    assert [(found.seed_seconds, found.measured) for found in (known, larger, unknown)] == [
        (20, True), (60, True), (30, False),
    ]  # fmt: skip
    assert known.seconds == 120


def result(seed: int, cpu_seconds: float) -> CellResult:
    return CellResult(
        scenario="a", seed=seed, runtime="simulated", fingerprint="", measurements={}, delivery=["correct"],
        fidelity="VALID", seconds=0.0, cpu_seconds=cpu_seconds,
    )  # fmt: skip


def test_records_are_renewed_by_what_was_measured_with_as_many_seeds(tmp_path: Path) -> None:
    before = Recorded(
        machine="old",
        scenarios={"x/b.yaml": RecordedScenario(cpu_seconds=5, weight=1)},
        claims={
            "few": RecordedClaim(verdict=ClaimVerdict.DIFFERS, seeds=1),
            "many": RecordedClaim(verdict=ClaimVerdict.DIFFERS, seeds=9),
        },
    )
    holds = [Measurement(values=(0.0,), checked=3)] * 2
    judged = [judge(claim(id), holds) for id in ("few", "many")] + [judge(claim("new"), [])]
    after = before.renewed([(experiment("a"), [result(1, 10), result(2, 20)]), (experiment("c"), [])], judged, "new")
    assert after.scenarios == before.scenarios | {"x/a.yaml": RecordedScenario(cpu_seconds=15, weight=10)}
    assert {id: (found.verdict.value, found.seeds) for id, found in after.claims.items()} == {
        "few": ("reproduced", 2), "many": ("differs", 9), "new": ("not measured", 0),
    }  # fmt: skip
    save_recorded(after, tmp_path / "recorded.json")
    assert load_recorded(tmp_path / "recorded.json") == after
    with pytest.raises(BadInputError, match="none"):
        load_recorded(tmp_path / "none.json")


def test_the_table_counts_what_is_recorded() -> None:
    claims = Claims(
        papers={"tid": Paper(id="tid", system="PADRES", year=2008, file="x")},
        claims=(claim("a"), claim("b"), claim("c")),
    )
    recorded = Recorded(
        machine="",
        claims={
            "a": RecordedClaim(verdict=ClaimVerdict.REPRODUCED, seeds=1),
            "b": RecordedClaim(verdict=ClaimVerdict.DIFFERS, seeds=1),
        },
    )
    lines = table_of_verdicts(claims, recorded)
    assert lines[2:] == ["| PADRES (2008) | 2 | 1 | 0 | 1 | 0 |", "| all | 2 | 1 | 0 | 1 | 0 |"]


def test_the_readme_has_the_table_of_what_is_recorded() -> None:
    text, table = README.read_text(encoding="utf-8"), table_of_verdicts(load_claims(), load_recorded())
    assert with_table(text, table) == text, "run: python -m studies.reproduction --table"
    assert with_table(text, ["| other |"]) != text


def test_what_is_recorded_is_of_shipped_claims() -> None:
    known = {shipped.id for shipped in load_claims().claims}
    assert set(load_recorded().claims) <= known
    files = {
        file for shipped in load_claims().measurable if shipped.measured_by for file in shipped.measured_by.scenarios
    }
    assert set(load_recorded().scenarios) <= files
    assert msgspec.json.decode(msgspec.json.encode(load_recorded()), type=Recorded) == load_recorded()


def test_the_time_left_follows_the_pace_of_the_runs_that_are_done() -> None:
    remaining = RemainingTime(100, in_parallel=2)
    assert remaining.left == 50
    remaining.note(20, 40)
    assert remaining.left == 80
    remaining.note(80, 160)
    assert remaining.left == 0
