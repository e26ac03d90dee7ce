"""The runs that a list of claims needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from analysis.claims import Claim, ClaimKind, Claims, Paper, Recipe, load_claims
from emulation.planning.plan import make_plan
from emulation.runtimes.ladder import RUNTIMES
from record.errors import BadInputError, UserError
from scenario.loading import load
from scenario.model import Scenario
from scenario.sections.workload.quotes import QuoteSubscriptions
from studies.reproduction import (
    Experiment,
    Recorded,
    ReproductionCell,
    ReproductionPlan,
    cells,
    chosen_claims,
    costed,
    judgements,
    measurable_on,
    open_store,
    plan_experiments,
    planned_runs,
)
from studies.reproduction.plan import SCENARIOS, SEEDS, first_seeds
from tests.studies.reproduction.tiny import store_measured

SMALL = """\
name: small
topology: {kind: line, brokers: 3}
routing: {protocol: tid}
workload:
  publications: {publishers: 2, rate: 10/s}
  subscriptions: {subscribers: 3, selectivity: 20%}
timeline: {join: 2s, run: 2s, drain: 5s}
vary: {routing.publications: [fixed, dynamic]}
"""


def claim(id: str, scenario: str | None, measure: str = "relative delay", seeds: int | None = None) -> Claim:
    recipe = None if scenario is None else Recipe(scenario=scenario, measure=measure, seeds=seeds)
    return Claim(id=id, paper="tid", kind=ClaimKind.RATIO, what="x", published=-0.2, measured_by=recipe)


CLAIMS = Claims(
    papers={"tid": Paper(id="tid", system="x", year=2008, file="x")},
    claims=(
        claim("tid-5a", "a.yaml"),
        claim("tid-5a-queue", "a.yaml"),
        claim("tid-5b", "b.yaml"),
        claim("oct-1", None),
    ),
)


@pytest.fixture
def scenarios(tmp_path: Path) -> Path:
    (tmp_path / "a.yaml").write_text(SMALL)
    (tmp_path / "b.yaml").write_text(SMALL.replace("small", "large").replace("brokers: 3", "brokers: 30"))
    return tmp_path


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ([], ["tid-5a", "tid-5a-queue", "tid-5b"]),
        (["tid"], ["tid-5a", "tid-5a-queue", "tid-5b"]),
        (["tid-5b", "tid-5a"], ["tid-5a", "tid-5a-queue", "tid-5b"]),
        (["tid-5a-q"], ["tid-5a-queue"]),
    ],
)
def test_claims_are_chosen_by_the_begin_of_their_names(names: list[str], chosen: list[str]) -> None:
    assert [chosen_claim.id for chosen_claim in chosen_claims(CLAIMS, names)] == chosen


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tid-5c", r"no claim 'tid-5c'; did you mean 'tid-5a'\?|did you mean 'tid-5b'\?"),
        ("siena", "no claim 'siena'; `brokerlab reproduce --list` shows all"),
        ("oct-1", "oct-1: brokerlab has no scenario for it yet"),
    ],
)
def test_a_name_without_a_claim_to_measure(name: str, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        chosen_claims(CLAIMS, [name])


def test_claims_of_one_scenario_share_its_runs(scenarios: Path) -> None:
    small, large = plan_experiments(CLAIMS.measurable, None, scenarios)
    assert [measured.id for measured in small.claims] == ["tid-5a", "tid-5a-queue"]
    assert (small.name, small.seeds) == ("small", tuple(range(1, SEEDS + 1)))
    assert large.weight > small.weight > 0
    plan = ReproductionPlan(costed([small, large], Recorded(machine="")))
    planned = cells(plan, "simulated")
    assert len(planned) == 2 * SEEDS
    assert [cell.experiment.name for cell in planned] == ["large"] * SEEDS + ["small"] * SEEDS
    assert planned[0].key == "large-1"


def test_seeds_are_the_users_or_else_the_claims(scenarios: Path) -> None:
    many = claim("tid-p1", "a.yaml", seeds=20)
    assert len(plan_experiments([many], None, scenarios)[0].seeds) == 20
    assert plan_experiments([many], first_seeds(3), scenarios)[0].seeds == (1, 2, 3)
    assert plan_experiments([many], range(20, 22), scenarios)[0].seeds == (20, 21)


def test_the_fingerprint_is_of_scenario_and_recipe(scenarios: Path) -> None:
    def fingerprint(measured: Claim) -> str:
        return plan_experiments([measured], None, scenarios)[0].fingerprint

    first = fingerprint(claim("tid-5a", "a.yaml"))
    assert fingerprint(claim("tid-5a", "a.yaml", seeds=7)) == first
    assert fingerprint(claim("tid-5a", "a.yaml", "overload")) != first
    (scenarios / "a.yaml").write_text(SMALL.replace("10/s", "11/s"))
    assert fingerprint(claim("tid-5a", "a.yaml")) != first


def test_overrides_hold_in_every_run_and_make_another_experiment(scenarios: Path) -> None:
    def planned(**overrides: str) -> Experiment:
        named = {key.replace("__", "."): value for key, value in overrides.items()}
        return plan_experiments([claim("tid-5a", "a.yaml")], first_seeds(1), scenarios, named)[0]

    plain, slower, longer = planned(), planned(time_dilation="5"), planned(timeline__run="9s")
    assert len({experiment.fingerprint for experiment in (plain, slower, longer)}) == 3
    assert [found.resolved["time_dilation"] for found in (plain, slower)] == [1.0, 5.0]
    assert [dict(found.changed) for found in (plain, longer)] == [{}, {"timeline.run": "9s"}]
    assert longer.weight > plain.weight


def test_variants_of_a_cell_have_the_names_that_measures_use(tmp_path: Path) -> None:
    several = "vary: {size: {n-3: {topology.brokers: 3}}, routing.publications: [fixed, dynamic]}\n"
    (tmp_path / "a.yaml").write_text(SMALL.replace("vary: {routing.publications: [fixed, dynamic]}\n", several))
    (experiment,) = plan_experiments([claim("tid-5a", "a.yaml")], first_seeds(1), tmp_path)
    plan = ReproductionCell.of(experiment, 1, "simulated").plan()
    assert [variant.name for variant in plan.variants] == ["n-3+fixed", "n-3+dynamic"]


def test_a_smaller_form_is_an_experiment_of_its_own_whose_fields_the_user_can_set(scenarios: Path) -> None:
    def planned(quick_form: dict[str, str], **overrides: str) -> Experiment:
        named = {key.replace("__", "."): value for key, value in overrides.items()}
        return plan_experiments([claim("tid-5a", "a.yaml")], first_seeds(1), scenarios, named, {"a.yaml": quick_form})[
            0
        ]

    whole, smaller = planned({}), planned({"timeline.run": "1s"})
    assert (whole.name, smaller.name) == ("small", "small-quick")
    assert whole.fingerprint != smaller.fingerprint
    assert smaller.weight < whole.weight
    assert ReproductionCell.of(smaller, 1, "simulated").plan().scenario.timeline.run == 1.0
    set_by_user = planned({"timeline.run": "1s"}, timeline__run="3s")
    assert ReproductionCell.of(set_by_user, 1, "simulated").plan().scenario.timeline.run == 3.0
    assert set_by_user.quick_form


def test_a_verdict_from_a_smaller_form_is_provisional(scenarios: Path, tmp_path: Path) -> None:
    forms = {"a.yaml": {"timeline.run": "1s"}}
    experiments = plan_experiments(CLAIMS.measurable, first_seeds(1), scenarios, quick_forms=forms)
    store = open_store(tmp_path)
    runs = planned_runs(experiments, "simulated", store)
    assert not any(found.from_quick_form for found in judgements(runs)), "nothing was run"
    for experiment in experiments:
        store_measured(store, experiment, 1, -0.1)
    runs = planned_runs(experiments, "simulated", store)
    assert [(found.claim.id, found.from_quick_form) for found in judgements(runs)] == [
        ("tid-5a", True), ("tid-5a-queue", True), ("tid-5b", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("seed", r"--set seed: .*`--seeds` sets their number, or names them"),
        ("vary.routing.publications", r"--set vary.routing.publications: .*claims compare the variants"),
        ("time_dilatoin", r"time_dilatoin"),
    ],
)
def test_fields_that_the_user_cannot_set(scenarios: Path, key: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan_experiments([claim("tid-5a", "a.yaml")], first_seeds(1), scenarios, {key: "3"})


def test_claims_that_a_runtime_cannot_measure() -> None:
    everywhere, real = claim("x", "a.yaml"), claim("y", "b.yaml")
    assert real.measured_by is not None
    recipe = msgspec.structs.replace(real.measured_by, runtimes=("container", "process"))
    real = msgspec.structs.replace(real, measured_by=recipe)
    assert measurable_on("simulated", [everywhere, real]) == ((everywhere,), (real,))
    assert measurable_on("process", [everywhere, real]) == ((everywhere, real), ())


def test_the_shipped_claims_name_runtimes_that_exist() -> None:
    named = {
        name for shipped in load_claims().measurable if shipped.measured_by for name in shipped.measured_by.runtimes
    }
    assert {"container", "process"} < named <= set(RUNTIMES)


def test_mistakes_in_recipes_are_reported(scenarios: Path) -> None:
    with pytest.raises(BadInputError, match=r"claim x: measured_by.scenario: .*none.yaml does not exist"):
        plan_experiments([claim("x", "none.yaml")], None, scenarios)
    with pytest.raises(
        BadInputError, match=r"claim x: measured_by.measure: no measure 'relative dely'; did you mean 'rel"
    ):
        plan_experiments([claim("x", "a.yaml", "relative dely")], None, scenarios)


def test_the_shipped_claims_can_be_planned() -> None:
    asked = ["5a", "5b", "full", "5c", "5d", "5e", "t3", "match", "adv-flood", "p1", "p2"]
    chosen = chosen_claims(load_claims(), [f"tid-{name}" for name in asked])
    assert {measured.id for measured in chosen} == {f"tid-{name}" for name in [*asked, "5a-queue"]}
    experiments = plan_experiments(chosen, first_seeds(1))
    assert len(experiments) == 10


FIGURES = ("tid-5a", "tid-5b", "tid-full", "tid-5c", "tid-5d", "tid-5e")
LAYERED = ("tid-t3", "tid-overhead")


@pytest.mark.parametrize("figures", [FIGURES, LAYERED])
def test_figures_stand_on_the_same_assumptions(figures: Sequence[str]) -> None:
    """Assumptions about the paper are equal, and only rates and each figure's subject differ: in the figures on the
    paper's own overlay, and in the two that need brokers of many neighbours or many hops apart."""
    loaded = [load(SCENARIOS / "tid" / f"{name}.yaml") for name in figures]
    first = loaded[0]
    for scenario in loaded:
        assert scenario.brokers == first.brokers
        assert scenario.topology.link == first.topology.link
        assert _general(scenario) == _general(first)
        assert len(scenario.overlay().brokers) == 30
        assert list(scenario.vary) == ["routing.publications"]


@pytest.mark.parametrize("figures", [(*FIGURES, "tid-5f", "tid-fail"), LAYERED])
def test_files_of_figures_state_the_same_assumptions(figures: Sequence[str]) -> None:
    files = [SCENARIOS / "tid" / f"{name}.yaml" for name in figures]
    # The first lines name the schema and the figure.
    assert len({file.read_text().split("# - Rate:")[0].split("\n", 2)[2] for file in files}) == 1


def test_planetlab_differs_in_its_sites_and_their_delays_only() -> None:
    first, planetlab = (load(SCENARIOS / "tid" / f"{name}.yaml") for name in ("tid-5a", "tid-5f"))
    assert planetlab.brokers == first.brokers
    assert _general(planetlab) == _general(first)
    assert list(planetlab.vary) == list(first.vary)
    assert planetlab.topology.link == first.topology.link.model_copy(update={"delay": planetlab.topology.link.delay})
    overlay = planetlab.overlay()
    assert (len(overlay.brokers), len(overlay.links)) == (50, 100)
    assert max(link.forward.delay for link in overlay.links) > 0.05


def test_publishers_join_until_the_second_from_which_stability_counts() -> None:
    scenario = load(SCENARIOS / "tid" / "tid-5f.yaml")
    (recipe,) = [shipped.measured_by for shipped in load_claims().claims if shipped.id == "tid-5f"]
    assert recipe is not None
    assert scenario.workload.publications is not None
    joins = [publisher.joins or 0.0 for publisher in scenario.workload.publications.individually.values()]
    assert recipe.arguments == (max(joins),)


def test_composite_subscriptions_stand_on_the_same_assumptions() -> None:
    """The rates of the two publishers are exchanged on the same overlay, and the longer paths have the same clients."""
    first, swapped, longer = (
        load(SCENARIOS / "tid" / f"{name}.yaml") for name in ("tid-cs", "tid-cs-swap", "tid-cs-longer")
    )
    assert swapped.topology == first.topology
    assert swapped.brokers == first.brokers
    assert longer.brokers.limits == first.brokers.limits
    for scenario in (first, swapped, longer):
        assert len(scenario.overlay().brokers) == 30
        assert scenario.workload.publications is not None
        assert scenario.workload.publications.rate == first.workload.publications.rate
        assert scenario.workload.subscriptions.subscribers + len(scenario.workload.operations) == 30
        (composite,) = scenario.workload.operations
        assert (composite.composite, composite.within) == (first.workload.operations[0].composite, 0.05)


def _general(scenario: Scenario) -> QuoteSubscriptions | None:
    """The figure's subscribers, without the few whom it puts at a distance from a publisher."""
    subscriptions = scenario.workload.subscriptions
    return None if subscriptions is None else subscriptions.model_copy(update={"followers": ()})


def test_failures_stand_on_them_too_and_strike_brokers_without_clients() -> None:
    first, failing = (load(SCENARIOS / "tid" / f"{name}.yaml") for name in ("tid-full", "tid-fail"))
    assert failing.brokers == first.brokers
    assert failing.topology == first.topology
    assert failing.timeline == first.timeline
    calm, killing = failing.variants()
    assert not calm.scenario.faults
    wanted, interested = failing.workload.publications, failing.workload.subscriptions
    assert wanted is not None
    assert interested is not None
    assert first.workload.subscriptions == interested.model_copy(update={"placement": "uniform"})
    (variant,) = [variant for variant in make_plan(failing).variants if variant.name == killing.name]
    killed = variant.schedule().brokers
    assert len(killed) == 2
    assert killed.isdisjoint([*wanted.placement, *interested.placement])


def test_the_burst_that_is_measured_is_the_scenarios() -> None:
    scenario = load(SCENARIOS / "tid" / "tid-5e.yaml")
    assert scenario.workload.publications is not None
    (publisher,) = scenario.workload.publications.individually.values()
    (recipe,) = [shipped.measured_by for shipped in load_claims().claims if shipped.id == "tid-5e"]
    assert recipe is not None
    assert recipe.arguments == (publisher.joins, publisher.leaves)


def test_a_claim_may_be_measured_in_several_scenarios(scenarios: Path) -> None:
    several = claim("x", "a.yaml")
    assert several.measured_by is not None
    several = msgspec.structs.replace(
        several, measured_by=msgspec.structs.replace(several.measured_by, also=("b.yaml",))
    )
    small, large = plan_experiments([several, claim("y", "b.yaml")], first_seeds(2), scenarios)
    assert ([measured.id for measured in small.claims], [measured.id for measured in large.claims]) == (
        ["x"],
        ["x", "y"],
    )
    store = open_store(scenarios / "out")
    for experiment, values in ((small, (0.1, 0.2)), (large, (0.3, 0.6))):
        for seed, value in zip(experiment.seeds, values, strict=True):
            store_measured(store, experiment, seed, value)
    pooled, alone = judgements(planned_runs([small, large], "simulated", store))
    assert (pooled.claim.id, pooled.seeds, alone.claim.id, alone.seeds) == ("x", 4, "y", 2)
    assert pooled.parts[0].measured is not None
    assert pooled.parts[0].measured.mean == pytest.approx(0.3)


def test_scenarios_that_a_claim_is_about_alike_have_seeds_of_their_own(scenarios: Path) -> None:
    single = claim("x", "a.yaml")
    assert single.measured_by is not None
    several = msgspec.structs.replace(single, measured_by=msgspec.structs.replace(single.measured_by, also=("b.yaml",)))
    small, large = plan_experiments([several], first_seeds(2), scenarios)
    assert (small.seeds, large.seeds) == ((1, 2), (3, 4))
    small, large = plan_experiments([several], range(20, 23), scenarios)
    assert (small.seeds, large.seeds) == ((20, 21, 22), (23, 24, 25))


def test_all_of_octopias_claims_are_measured_with_one_set_of_assumptions() -> None:
    """Overlay, links, brokers, variants and the choice of subscriptions are equal in all of octopia/*.yaml."""
    chosen = chosen_claims(load_claims(), ["oct"])
    assert len(chosen) == 19
    files = sorted(
        {
            SCENARIOS / file
            for measured in chosen
            if measured.measured_by is not None
            for file in measured.measured_by.scenarios
        }
    )
    assert files == sorted((SCENARIOS / "octopia").glob("*.yaml"))
    resolved = [load(file).resolved() for file in files]
    for field in ("topology", "brokers"):
        assert len({json.dumps(scenario[field], sort_keys=True) for scenario in resolved}) == 1
    assert all(scenario["topology"]["name"] == "octopia-s-e" for scenario in resolved)
    rivals = {json.dumps(scenario["vary"]["routing"], sort_keys=True) for scenario in resolved}
    assert len(rivals) == 2, "SPR, IDR, TID-S and TID-D, or OctopiA and PADRES"
    wanting = [
        scenario["workload"]["subscriptions"] for scenario in resolved if "subscriptions" in scenario["workload"]
    ]
    assert {(section["popularity"], section["range_over"]) for section in wanting} == {("uniform", "symbols")}
    bursts = [scenario for scenario in resolved if scenario["name"].startswith("oct-burst-")]
    assert len(bursts) == 4
    alike = [
        json.dumps({**scenario, "name": "", "description": "", "workload": ""}, sort_keys=True) for scenario in bursts
    ]
    assert len(set(alike)) == 1
