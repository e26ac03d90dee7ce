"""Sites in explored runs: they are drawn with their clients, and shrunk to what a finding needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

from scenario.loading import load_text
from scenario.sections.faults import FaultItem
from scenario.yaml_files.source import as_yaml
from studies.exploration.coverage import features_of
from studies.exploration.drawing import Drawing
from studies.exploration.judged_run import Defect, JudgedRun, judging_room
from studies.exploration.moments import moments_of
from studies.exploration.mutation import Mutation, Parent
from studies.exploration.shrinking import Shrinking
from studies.exploration.surroundings import Shape, Surroundings
from tests.studies.exploration.faulty import protocol_with

TREE = Surroundings(Shape.TREE, "tid")
MOVED = """
name: moved
topology: {{kind: explicit, links: [{{between: [B1, B2], delay: 5ms}}, {{between: [B2, B3], delay: 5ms}}]}}
routing: {{protocol: {protocol}}}
workload:
  operations:
    - {{at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'A']"}}
    - {{at: 1s, client: S, broker: B3, id: s, subscribe: "[class,eq,'A']"}}
    - {{at: 1s, client: T, broker: B3, id: s, subscribe: "[class,eq,'B']"}}
    - {{at: 4s, client: P, broker: B1, publish: "[class,'A']"}}
    - {{at: 12s, client: P, broker: B1, publish: "[class,'A']"}}
clients:
  sites:
    home: {{broker: B3, clients: [S], delay: 10ms, jitter: 1ms, loss: 1%, to_clients: {{delay: 30ms}}, reads: 9/s}}
    other: {{broker: B3, clients: [T], delay: 10ms}}
timeline: {{join: 3s, run: 10s, drain: 1min, withdraw: 1min}}
faults:
  - {{at: 5s, move: home, to: B2, handover: announced, away: 50ms}}
  - {{at: 6s, crash: other, for: 1s}}
"""


def with_a_loss_where_home_moves(run: JudgedRun, faults: tuple[FaultItem, ...]) -> JudgedRun:
    """The run, with a planted defect that takes a move of the site `home`."""
    shows = any("home" in (fault.move or ()) for fault in faults)
    return replace(run, defects=(Defect("lost", "planted"),) if shows else ())


def test_runs_have_sites_whose_clients_are_those_of_their_operations() -> None:
    runs = [Drawing(TREE).drawn(Random(number)) for number in range(40)]
    with_sites = [run for run in runs if run.clients is not None]
    assert 5 < len(with_sites) < 25
    for run in with_sites:
        assert run.clients is not None
        homes = {item.client: item.broker for item in run.workload.operations}
        for site in run.clients.sites.values():
            assert {homes[client] for client in site.clients or ()} <= {site.broker}
    assert {fault.verb for run in with_sites for fault in run.faults} >= {"move", "crash", "vanish"}


def test_a_run_with_sites_repeats_from_its_file() -> None:
    scenario = next(run for number in range(40) if (run := Drawing(TREE).drawn(Random(number))).clients and run.faults)
    with judging_room() as room:
        first, again = (room.judged(one) for one in (scenario, load_text(as_yaml(scenario.resolved()), "its file")))
    assert first.records == again.records


def test_a_move_is_a_moment_and_a_behaviour() -> None:
    scenario = load_text(MOVED.format(protocol="tid"), "moved")
    with judging_room() as room:
        run = room.judged(scenario)
    assert run.defects == ()
    assert {"fault move, announced", "healed by arrive, announced", "fault crash"} <= features_of(run)
    moments = moments_of(run.records, run.begin, Random(1))
    move = next(moment for moment in moments if moment.words == "fault the first move of home")
    assert set(move.concerned) >= {"home"}
    changed = [Mutation(Parent(scenario, moments), TREE, Random(number)).mutated() for number in range(30)]
    faults = [fault for one in changed if one is not None for fault in one.faults if fault not in scenario.faults]
    assert any(fault.at is not None and 0 <= fault.at.seconds - 5.0 < 0.1 for fault in faults)


def test_sites_and_moves_are_left_out_where_a_defect_does_not_need_them(tmp_path: Path) -> None:
    surroundings = Surroundings(Shape.TREE, str(protocol_with("notifies twice", tmp_path)))
    scenario = load_text(MOVED.format(protocol=surroundings.protocol), "moved")
    with judging_room() as room:
        found = Shrinking(surroundings, "duplicated", room.judged).shrunk(scenario)
    assert found is not None
    assert (found.scenario.clients, found.scenario.faults) == (None, ())


def test_moves_and_access_links_are_made_plain_where_a_defect_needs_them() -> None:
    scenario = load_text(MOVED.format(protocol="tid"), "moved")
    with judging_room() as room:
        shrinking = Shrinking(TREE, "lost", lambda one: with_a_loss_where_home_moves(room.judged(one), one.faults))
        found = shrinking.shrunk(scenario)
    assert found is not None and found.scenario.clients is not None
    assert list(found.scenario.clients.sites) == ["home"]
    assert found.scenario.clients.sites["home"].model_fields_set == {"broker", "clients", "delay"}
    (fault,) = found.scenario.faults
    assert (fault.move, fault.to, fault.handover, fault.away) == (("home",), "B2", None, None)
