"""The section `motion`: each kind resolves to one evolution, and each mistake is named with its place."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from emulation.planning.dilation import dilate
from emulation.planning.plan import make_plan
from scenario.loading import load, load_to_view
from scenario.model import Scenario
from scenario.sections.motion import MOTIONS
from scenario.yaml_files.errors import ScenarioError
from topology.evolutions.evolution import Appears, Evolution, Vanishes
from topology.mobility.movement_files import load_movements

SCENARIO = """
name: s
topology: {%s}
motion: {%s}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {publishers: 1, rate: 2/s}
  subscriptions: {subscribers: 1}
timeline: {join: 2s, run: 10s, drain: 3s}
seed: %d
"""
DISK = "kind: unit-disk, brokers: 12, area: [300m, 200m], range: 120m"
REGULAR = "kind: random-regular, brokers: 20, degree: 4, link: {delay: 1ms..5ms}"
EXAMPLES = {
    "rewire": (REGULAR, "every: 100ms, repaired_after: 50ms, degree: 4, burn_in: 1s"),
    "random-direction": (DISK, "speed: 5m/s..20m/s, partitions: allowed"),
    "random-waypoint": (DISK, "speed: 10m/s, pause: 1s, partitions: allowed, begins: join"),
    "trace": ("kind: unit-disk, positions: a.movements, range: 10m", "partitions: allowed"),
    "script": ("kind: ring, brokers: 4", "changes: [{at: 1s, vanish: [B1, B2]}, {at: 2s, appear: [B2, B4]}]"),
}
MOVEMENTS = "0 0 0\n0 5 0 4 25 0 8 5 0\n"
"""B2 leaves the range of B1, 10 m, after 1 s and is back in it 7 s after the start."""


def scenario(directory: Path, topology: str, motion: str, seed: int = 1) -> Scenario:
    (directory / "a.movements").write_text(MOVEMENTS)
    (directory / "s.yaml").write_text(SCENARIO % (topology, motion, seed))
    return load_to_view(directory / "s.yaml")


def example(directory: Path, kind: str, seed: int = 1) -> Scenario:
    topology, motion = EXAMPLES[kind]
    return scenario(directory, topology, f"kind: {kind}, {motion}", seed)


def test_movements_are_those_that_make_the_links(tmp_path: Path) -> None:
    made = example(tmp_path, "random-direction")
    ways, join = made.movements(), made.timeline.join
    assert list(ways) == [f"B{number}" for number in range(1, 13)]
    change = next(change for change in evolution_of(made).changes if isinstance(change, Appears))
    (x1, y1), (x2, y2) = (ways[broker].at(change.at) for broker in (change.link.a, change.link.b))
    assert math.hypot(x1 - x2, y1 - y2) == pytest.approx(120)
    assert ways["B1"].at(0) == ways["B1"].at(join) != ways["B1"].at(join + 1)
    assert example(tmp_path, "trace").movements()["B2"].at(join + 4) == (25, 0)
    assert example(tmp_path, "rewire").movements() == {}


def evolution_of(made: Scenario) -> Evolution:
    evolution = made.evolution()
    assert evolution is not None
    return evolution


def test_every_kind_has_an_example() -> None:
    assert list(EXAMPLES) == list(MOTIONS)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_every_kind_makes_the_same_evolution_each_time(tmp_path: Path, kind: str) -> None:
    made = example(tmp_path, kind)
    evolution = evolution_of(made)
    assert evolution.changes
    assert evolution == made.evolution()
    assert made.overlay() == evolution.start
    begin = 0 if made.motion is not None and made.motion.begins == "join" else 2
    assert all(begin < change.at <= 15 for change in evolution.changes)
    (tmp_path / "resolved.yaml").write_text(json.dumps(made.resolved()))
    assert load_to_view(tmp_path / "resolved.yaml").evolution() == evolution, "a resolved scenario means the same"
    (plan,) = make_plan(made).variants
    assert (plan.evolution, plan.overlay) == (evolution, evolution.start)


@pytest.mark.parametrize("kind", ["rewire", "random-direction", "random-waypoint"])
def test_another_seed_is_another_evolution(tmp_path: Path, kind: str) -> None:
    assert evolution_of(example(tmp_path, kind, 1)).changes != evolution_of(example(tmp_path, kind, 2)).changes


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_moment_is_that_of_the_evolution(tmp_path: Path, kind: str) -> None:
    made = example(tmp_path, kind)
    for time in (0.0, 1.0, 4.5, 9.99):
        moment, expected = made.moment(time), evolution_of(made).at(time)
        assert {frozenset((link.a, link.b)) for link in moment.links} == {
            frozenset((link.a, link.b)) for link in expected.links
        }


@pytest.mark.parametrize("kind", ["random-direction", "random-waypoint", "trace"])
def test_brokers_are_drawn_where_they_are(tmp_path: Path, kind: str) -> None:
    made = example(tmp_path, kind)
    radius = 10.0 if kind == "trace" else 120.0
    moment = made.moment(7.0)
    assert [b.attributes["position"] for b in moment.brokers] != [
        b.attributes["position"] for b in made.moment(2.0).brokers
    ]
    for a, b in combinations(moment.brokers, 2):
        ends = a.attributes["position"], b.attributes["position"]
        assert isinstance(ends[0], tuple) and isinstance(ends[1], tuple)
        assert (b.id in moment.neighbours(a.id)) == (math.dist(*ends) <= radius)


def test_a_script_and_a_trace_change_what_they_say(tmp_path: Path) -> None:
    script = evolution_of(example(tmp_path, "script"))
    assert [(change.at, type(change)) for change in script.changes] == [(3.0, Vanishes), (4.0, Appears)]
    trace = evolution_of(example(tmp_path, "trace"))
    assert [(change.at, type(change)) for change in trace.changes] == [(3.0, Vanishes), (9.0, Appears)]
    assert list(load_movements(tmp_path / "a.movements")) == [broker.id for broker in trace.start.brokers]


def test_a_link_that_appears_again_has_the_properties_it_had(tmp_path: Path) -> None:
    made = scenario(
        tmp_path,
        "kind: explicit, links: [[A, B], {between: [B, C], delay: 7ms}, [A, C]]",
        "kind: script, changes: [{at: 1s, vanish: [B, C]}, {at: 2s, appear: [C, B]}]",
    )
    assert evolution_of(made).at(5.0).link("B", "C").forward.delay == 0.007


def test_new_links_have_the_delays_of_the_underlay(tmp_path: Path) -> None:
    made = scenario(
        tmp_path,
        "kind: planetlab, data: measured, brokers: 12, overlay: cyclic, degree: 4",
        "kind: rewire, every: 100ms, degree: 4",
    )
    mesh = made.topology.mesh("s", 1)
    for link in evolution_of(made).links():
        assert link.forward.delay == mesh.delay(link.a, link.b)


def test_dilation_stretches_the_changes(tmp_path: Path) -> None:
    (plan,) = make_plan(example(tmp_path, "rewire")).variants
    slow = dilate(replace(plan, scenario=plan.scenario.model_copy(update={"time_dilation": 3.0})))
    assert plan.evolution is not None and slow.evolution is not None
    for was, now in zip(plan.evolution.changes, slow.evolution.changes, strict=True):
        assert now.at == 3 * was.at
        if isinstance(was, Appears) and isinstance(now, Appears):
            assert now.link.forward.delay == 3 * was.link.forward.delay
    assert slow.evolution.start == slow.overlay


def test_motion_is_refused_for_a_protocol_that_does_not_bear_it(tmp_path: Path) -> None:
    example(tmp_path, "script")
    with pytest.raises(ScenarioError) as raised:
        load(tmp_path / "s.yaml")
    assert str(raised.value) == (
        f"{tmp_path}/s.yaml:4: motion: neighbours of a broker that routes by tid do not change; remove it, or route by "
        "semi-probabilistic"
    )


DOCUMENT = Path("docs/topologies.md").read_text(encoding="utf-8")
DOCUMENTED = re.findall(r"```yaml\ntopology: \{(.*)\}\nmotion: \{(.*)\}\n```", DOCUMENT)


def test_every_kind_is_documented() -> None:
    table = DOCUMENT[DOCUMENT.index("## Overlays that change") :].partition("```")[0]
    assert re.findall(r"^\| `([\w-]+)` \| .*$", table, re.MULTILINE) == ["kind", *MOTIONS]


@pytest.mark.parametrize(("topology", "motion"), DOCUMENTED)
def test_documented_examples_change(tmp_path: Path, topology: str, motion: str) -> None:
    assert evolution_of(scenario(tmp_path, topology, motion)).changes


def test_documented_examples_are_found() -> None:
    assert len(DOCUMENTED) == 3


@pytest.mark.parametrize(
    ("topology", "motion", "message"),
    [
        (REGULAR, "kind: rewrite", "motion: unknown kind 'rewrite'; did you mean 'rewire'?"),
        (REGULAR, "kind: rewire, every: 0s, degree: 4", "motion: `every` must be more than 0"),
        (REGULAR, "kind: rewire, every: 1s, degree: 9", "motion: no link may be rewired"),
        (REGULAR, "kind: rewire, every: 1s, degree: 4, often: yes", "motion.often: unknown field 'often'"),
        (REGULAR, "kind: rewire, every: 1us, degree: 4", "motion: more than 2,000,000 changes"),
        (REGULAR, "kind: random-direction, speed: 1m/s", "motion: brokers that move need a topology of kind unit-disk"),
        (DISK, "kind: random-direction, speed: 0m/s", "`speed` is more than 0"),
        (DISK, "kind: random-direction, speed: 1mph", "unknown unit 'mph'"),
        (DISK, "kind: trace", "motion: brokers that move by a trace need a file of `positions`"),
        (
            EXAMPLES["trace"][0],
            "kind: random-waypoint, speed: 1m/s",
            "motion: brokers that start at random places need `brokers` and `area`",
        ),
        (EXAMPLES["trace"][0], "kind: trace", "motion: 1 s after its start the overlay is disconnected"),
        ("kind: ring, brokers: 4", "kind: script, changes: [{at: 1s}]", "motion.changes[0]: give either"),
        (
            "kind: ring, brokers: 4",
            "kind: script, changes: [{at: 1s, vanish: [B1, B9]}]",
            "motion: change at 1 s: the overlay has no broker 'B9'",
        ),
        (
            "kind: line, brokers: 4",
            "kind: script, changes: [{at: 1s, vanish: [B1, B2]}]",
            "motion: 1 s after its start the overlay is disconnected",
        ),
        ("kind: unit-disk, range: 5m", "kind: trace", "topology: needs `brokers` and `area`"),
        (
            "kind: unit-disk, range: 5m, area: 1km, brokers: 9",
            "kind: random-waypoint, speed: 1m/s",
            "topology: none of 1,000 random placements",
        ),
        ("kind: unit-disk, range: 5m, positions: b.movements", "kind: trace", "topology: "),
        (
            "kind: unit-disk, range: 5m, positions: a.movements, area: 1m",
            "kind: trace",
            "leave `brokers` and `area` out",
        ),
        ("kind: unit-disk, range: 0m, area: 1m, brokers: 2", "kind: trace", "`range` and `area` are more than 0"),
        (
            "kind: unit-disk, range: 5m, area: [1m, 2m, 3m], brokers: 2",
            "kind: trace",
            "the side of a square, or a list",
        ),
    ],
)
def test_each_mistake_is_named(tmp_path: Path, topology: str, motion: str, message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        scenario(tmp_path, topology, motion)
    assert message in str(raised.value)
    assert str(raised.value).startswith(f"{tmp_path}/s.yaml:")
