"""Client programs in a scenario: which clients they are, and mistakes that name the field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from emulation.planning.plan import make_plan
from record.errors import BadInputError, HostError
from scenario.loading import load, load_text

PROGRAM = {"command": ["sh"]}
BASE: dict[str, Any] = {
    "name": "programs",
    "topology": {"kind": "line", "brokers": 2, "link": {"delay": "1ms"}},
    "routing": {"protocol": "tid"},
    "workload": {
        "publications": {"source": "stocks", "publishers": 1, "rate": "1/s", "placement": ["B1"]},
        "subscriptions": {"subscribers": 3, "selectivity": "10%", "placement": ["B2"]},
        "operations": [{"at": "1s", "client": "X", "broker": "B1", "id": "x", "subscribe": "[class,eq,'STOCK']"}],
    },
    "timeline": {"join": "2s", "run": "2s"},
    "seed": 1,
}
SITES = {"far": {"broker": "B2", "clients": ["S1..S2", "T", "X2"], "delay": "9ms"}}


def text(programs: object, **further: object) -> str:
    return yaml.safe_dump({**BASE, "clients": {"sites": SITES, "programs": programs}, **further})


def test_programs_have_no_operations_of_the_workload_and_are_at_their_site() -> None:
    programs = {"S1..S2": {**PROGRAM, "memory": "64MiB"}, "T": PROGRAM, "X2": PROGRAM}
    (variant,) = make_plan(load_text(text(programs), "programs.yaml")).variants
    assert list(variant.programs) == ["S1", "S2", "T", "X2"]
    assert variant.programs["S2"].memory == 64 << 20
    assert variant.sites[0].clients == ("S1", "S2", "T", "X2")
    assert {operation.client for operation in variant.workload.operations()} == {"P1", "S3", "X"}


def test_a_program_beside_the_scenario_is_found_there(tmp_path: Path) -> None:
    file = tmp_path / "programs.yaml"
    file.write_text(text({"S1..S2": {"command": ["./subscriber"]}, "T": PROGRAM, "X2": PROGRAM}))
    (variant,) = make_plan(load(file)).variants
    assert variant.programs["S1"].command == (str(tmp_path / "subscriber"),)


@pytest.mark.parametrize(
    ("programs", "further", "sentence"),
    [
        ({"T": PROGRAM}, {}, "clients.sites.far.clients: the workload has no client 'X2'"),
        ({"S3": PROGRAM}, {}, "clients.programs.S3: no site lists S3; a program runs at the site that lists it"),
        ({"S1..S2": PROGRAM, "S2": PROGRAM}, {}, "clients.programs.S2: S2 has another program already"),
        ({"S2..S1": PROGRAM}, {}, "'S2..S1' is no range of clients; write S1..S20"),
        ({"S1": {}}, {}, "clients.programs.S1: command: is missing; give the command of a program on this host, or an"),
        ({"S1": {**PROGRAM, "scratch": "1MiB"}}, {}, "clients.programs.S1: scratch: is for a program in a container"),
        ({"S1": PROGRAM}, {"time_dilation": "auto"}, "time_dilation: client programs cannot be rehearsed"),
        (
            {"S1": PROGRAM},
            {"timeline": {"join": "2s", "run": "2s", "withdraw": "1s"}},
            "timeline.withdraw: client programs do not leave in two groups",
        ),
    ],
)
def test_mistakes_name_the_field(programs: object, further: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadInputError, match=r"programs\.yaml") as raised:
        load_text(text(programs, **further), "programs.yaml")
    assert sentence in str(raised.value)


def test_the_simulator_refuses_programs_in_one_sentence() -> None:
    plan = make_plan(load_text(text({"S1..S2": PROGRAM, "T": PROGRAM, "X2": PROGRAM}), "programs.yaml"))
    with pytest.raises(HostError, match=r"^clients\.programs: the simulator has no real processes to speak to"):
        plan.require_possible("simulated")
    plan.require_possible("process")


@pytest.mark.parametrize("runtime", ["process", "simulated"])
def test_images_are_refused_where_there_are_no_containers(runtime: str) -> None:
    programs = {"S1..S2": {"image": "my/subscriber", "command": ["./in-the-image"]}, "T": PROGRAM, "X2": PROGRAM}
    plan = make_plan(load_text(text(programs), "programs.yaml"))
    (variant,) = plan.variants
    assert variant.programs["S1"].command == ("./in-the-image",)
    with pytest.raises(
        HostError, match=r"^clients\.programs(\.S1\.image: only containers have an image|: the simulator)"
    ):
        plan.require_possible(runtime)
    plan.require_possible("container")


@pytest.mark.parametrize("moving", ["faults", "roaming"])
def test_a_move_of_a_program_is_refused_with_its_reason(moving: str) -> None:
    programs = {"S1..S2": PROGRAM, "T": PROGRAM, "X2": PROGRAM}
    clients: dict[str, Any] = {"sites": SITES, "programs": programs}
    further: dict[str, Any] = {"faults": [{"at": "3s", "move": "far", "to": "B1"}]}
    if moving == "roaming":
        clients["roaming"], further = {"rate": "600/min"}, {}
    plan = make_plan(load_text(yaml.safe_dump({**BASE, "clients": clients, **further}), "programs.yaml"))
    with pytest.raises(HostError, match=r"S1 is a client program, which does not move, because its relay reaches one"):
        plan.require_possible("process")


def test_a_program_that_is_not_there_is_refused_before_anything_starts(tmp_path: Path) -> None:
    programs = {"S1..S2": {"command": [str(tmp_path / "none")]}, "T": PROGRAM, "X2": PROGRAM}
    plan = make_plan(load_text(text(programs), "programs.yaml"))
    with pytest.raises(HostError, match=r"^clients\.programs\.S1\.command: the program .*none is not on this host"):
        plan.require_possible("process")


@pytest.mark.parametrize("fault", [{"crash": "far"}, {"crash": "S2"}, {"vanish": "far"}, {"pause": "S1"}])
def test_faults_of_clients_take_programs(fault: dict[str, str]) -> None:
    programs = {"S1..S2": PROGRAM, "T": PROGRAM, "X2": PROGRAM}
    plan = make_plan(load_text(text(programs, faults=[{"at": "3s", "for": "1s", **fault}]), "programs.yaml"))
    plan.require_possible("process")
