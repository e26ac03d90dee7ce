"""Plans that fit into a time, and the costs and verdicts that are recorded beside the claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from analysis.claims import Claim, ClaimKind, ClaimVerdict, Measurement, judge, load_claims
from analysis.claims.quick_forms import load_quick_forms
from record.errors import BadInputError
from studies.reproduction import (
    Experiment,
    Recorded,
    ReproductionCell,
    ReproductionPlan,
    cells,
    costed,
    load_recorded,
    measurable_on,
    whole,
)
from studies.reproduction.budget import LEAST_SEEDS, QUICK_SECONDS, WHOLE_SECONDS, CostedExperiment
from studies.reproduction.plan import SCENARIOS
from studies.reproduction.plan_sentences import announcement, plan_table
from studies.reproduction.recorded import (
    RecordedClaim,
    RecordedScenario,
    save_recorded,
)
from studies.reproduction.results import MeasuredCell
from tests.studies.reproduction.tiny import attempt, measured


def claim(id: str) -> Claim:
    return Claim(id=id, paper="tid", kind=ClaimKind.PROPERTY, what=id)


def experiment(name: str, seeds: int = 6, weight: float = 10.0) -> Experiment:
    return Experiment(
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
    if sum(seconds * seeds for seconds, seeds in costs) <= limit:
        assert kept == [seeds for _, seeds in costs]


def test_the_dearest_scenario_gives_up_seeds_first() -> None:
    plan = whole([entry("cheap", 1), entry("dear", 10)], 50)
    assert [len(fitted.experiment.seeds) for fitted in plan.chosen] == [6, 4]


def test_what_a_plan_announces() -> None:
    smaller = replace(entry("b", 1, 1), experiment=replace(experiment("b", 1), quick_form={"timeline.run": "1s"}))
    plan = ReproductionPlan((entry("a", 20, 2), smaller))
    lines = list(announcement(plan, cells(plan, "simulated")))
    assert lines[0] == "3 claims from 3 runs; 2 scenarios; about 41 s of processor time"
    assert lines[1].startswith("1 of the scenarios run in a smaller form (*)")
    assert len(lines) == 2
    assert next(announcement(plan, [])) == "3 claims from 3 runs, 3 of them done before; 2 scenarios"
    assert list(plan_table(plan).columns[0].cells) == [Text("x/a.yaml"), Text("x/b.yaml*")]


def shipped_scenarios() -> set[str]:
    claims, _ = measurable_on("simulated", load_claims().measurable)
    return {file for found in claims if found.measured_by for file in found.measured_by.scenarios}


def test_one_seed_of_everything_takes_less_than_twenty_minutes_of_two_processors() -> None:
    recorded, forms = load_recorded(), load_quick_forms()
    costs = [(recorded.quick_forms if file in forms else recorded.scenarios)[file] for file in shipped_scenarios()]
    assert sum(cost.cpu_seconds for cost in costs) < QUICK_SECONDS


def test_two_seeds_of_everything_fit_into_a_whole_reproduction() -> None:
    costs = [load_recorded().scenarios[file] for file in shipped_scenarios()]
    assert LEAST_SEEDS * sum(cost.cpu_seconds for cost in costs) < WHOLE_SECONDS


@pytest.mark.parametrize("file", sorted(load_quick_forms()))
def test_a_smaller_form_is_of_a_shipped_scenario_and_changes_fields_that_it_has(file: str) -> None:
    assert file in shipped_scenarios()
    given = yaml.safe_load((SCENARIOS / file).read_text(encoding="utf-8"))
    for field in load_quick_forms()[file]:
        found = given
        for name in field.split("."):
            assert name in found, f"{field} keeps its default in {file}, so that a smaller form cannot need it"
            found = found[name]
        assert not any(field == path or field.startswith(f"{path}.") for path in given.get("vary", {})), (
            f"{field}: claims compare the variants"
        )


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
    form = replace(experiment("a", weight=5), quick_form={"timeline.run": "1s"})
    (guessed,) = costed([form], recorded)
    assert (guessed.seed_seconds, guessed.measured) == (15, False)
    cost = RecordedScenario(cpu_seconds=3, weight=5)
    (smaller,) = costed([form], msgspec.structs.replace(recorded, quick_forms={"x/a.yaml": cost}))
    assert (smaller.seed_seconds, smaller.measured) == (3, True)


def run(of: Experiment, seed: int, cpu_seconds: float) -> MeasuredCell:
    return attempt(measured(ReproductionCell.of(of, seed, "simulated"), 0.0), cpu_seconds)


def test_the_latest_measurements_are_recorded_with_what_they_come_from(tmp_path: Path) -> None:
    before = Recorded(
        machine="old",
        scenarios={"x/b.yaml": RecordedScenario(cpu_seconds=5, weight=1)},
        claims={
            "a": RecordedClaim(verdict=ClaimVerdict.DIFFERS, seeds=9),
            "all": RecordedClaim(verdict=ClaimVerdict.DIFFERS, seeds=9),
        },
    )
    holds = [Measurement(values=(0.0,), checked=3)] * 2
    judged = [judge(claim("a"), holds), judge(claim("new"), [])]
    a = replace(experiment("a"), fingerprint="f", program="p")
    after = before.renewed([(a, [run(a, 1, 10), run(a, 2, 20)]), (experiment("c"), [])], judged, "new")
    assert after.scenarios == before.scenarios | {"x/a.yaml": RecordedScenario(cpu_seconds=15, weight=10)}
    assert after.claims == before.claims | {
        "a": RecordedClaim(verdict=ClaimVerdict.REPRODUCED, seeds=2, checked=6, scenario="f", program="p")
    }
    form = replace(experiment("a"), quick_form={"timeline.run": "1s"})
    provisional = [msgspec.structs.replace(judge(claim("a"), holds), from_quick_form=True)]
    quick = before.renewed([(form, [run(form, 1, 4)])], provisional, "new")
    assert (quick.scenarios, quick.claims) == (before.scenarios, before.claims)
    assert quick.quick_forms == {"x/a.yaml": RecordedScenario(cpu_seconds=4, weight=10)}
    changed = [msgspec.structs.replace(judge(claim("a"), holds), changed="timeline.run=9s")]
    assert before.renewed([], changed, "new").claims == before.claims
    save_recorded(after, tmp_path / "recorded.json")
    assert load_recorded(tmp_path / "recorded.json") == after
    with pytest.raises(BadInputError, match="none"):
        load_recorded(tmp_path / "none.json")


def test_what_is_recorded_is_of_shipped_claims() -> None:
    known = {shipped.id for shipped in load_claims().claims}
    assert set(load_recorded().claims) <= known
    files = {
        file for shipped in load_claims().measurable if shipped.measured_by for file in shipped.measured_by.scenarios
    }
    assert set(load_recorded().scenarios) <= files
    assert set(load_recorded().quick_forms) <= set(load_quick_forms())
    assert msgspec.json.decode(msgspec.json.encode(load_recorded()), type=Recorded) == load_recorded()


def test_recorded_verdicts_follow_from_the_recorded_numbers() -> None:
    shipped = {found.id: found for found in load_claims().claims}
    for id, found in load_recorded().claims.items():
        assert found.judged(shipped[id]).verdict is found.verdict, id
