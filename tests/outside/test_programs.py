"""Programs in place of protocols: in scenarios and what they vary, in campaigns, in cases, and their determinism."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from analysis.run_files.run_directory import read_manifest
from broker_service.routing import PROTOCOLS
from broker_service.routing.program.references import (
    digest_of_program,
    file_name,
    named_program,
    reference_to,
)
from command_line.program import app
from emulation.planning.plan import make_plan
from emulation.runtimes.protocol_code import packed_protocols
from emulation.simulation.run import simulate
from record.errors import BadInputError
from record.files import LOGS
from record.manifest import ProtocolCode
from scenario.loading import load
from scenario.yaml_files.errors import ScenarioError
from studies.campaign.cells import cells
from studies.campaign.model import load_campaign
from studies.conformance import CaseVerdict
from studies.conformance.protocols import rows_of
from studies.conformance.repeats import run_twice
from studies.conformance.selection import select
from studies.exploration.surroundings import Surroundings
from studies.named_protocol import reference_named
from studies.protocol_kit.trial import trial
from tests.outside.programs import written
from tests.studies.conformance.cases import ADVERTISE, SUBSCRIBE, case, publish

SCENARIO = """
name: outside
topology: {kind: line, brokers: 3}
routing: {protocol: tid}
workload: {operations: [{at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}]}
timeline: {join: 1s, run: 1s}
"""
RANDOM = ("number = count", "number = 'x' * random.randrange(1000)")
CASE = case(ADVERTISE, SUBSCRIBE, publish("p1"), expect={"S": ["p1"]})


def scenario(directory: Path, rest: str) -> Path:
    path = directory / "scenario.yaml"
    path.write_text(SCENARIO + rest)
    return path


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ("[tid, {program: [./spread]}]", ["tid", "spread"]),
        ("{old: tid, mine: {program: [./spread]}}", ["old", "mine"]),
    ],
)
def test_a_program_varies_beside_built_in_protocols(tmp_path: Path, values: str, names: list[str]) -> None:
    path = written(tmp_path)
    variants = load(scenario(tmp_path, f"vary: {{routing.protocol: {values}}}\n")).variants()
    assert [variant.name for variant in variants] == names
    assert [variant.scenario.routing.protocol for variant in variants] == ["tid", reference_to([str(path)])]


def test_settings_of_ones_own_name_find_a_program(tmp_path: Path) -> None:
    path = written(tmp_path)
    text = "vary: {scheme: {mine: {routing.protocol: {program: [./spread]}}}}\n"
    (variant,) = load(scenario(tmp_path, text)).variants()
    assert variant.scenario.routing.protocol == reference_to([str(path)])


@pytest.mark.parametrize("argv", ["[]", "[1]", "[[./spread]]"])
def test_what_is_no_argument_vector_is_refused(tmp_path: Path, argv: str) -> None:
    with pytest.raises(ScenarioError, match="a program is written"):
        load(scenario(tmp_path, f"vary: {{routing.protocol: [tid, {{program: {argv}}}]}}\n"))


def test_a_campaign_has_a_program_among_its_factors(tmp_path: Path) -> None:
    path = written(tmp_path)
    scenario(tmp_path, "")
    file = tmp_path / "campaign.yaml"
    file.write_text(
        "name: c\nscenario: scenario.yaml\nseeds: [1]\nfactors: {routing.protocol: [tid, {program: [./spread]}]}\n"
    )
    planned = cells(load_campaign(file), file)
    assert [cell.key for cell in planned] == ["tid+as-written-1", "spread+as-written-1"]
    assert str(path) in planned[1].scenario
    path.write_text(path.read_text() + "# another one")
    again = cells(load_campaign(file), file)
    assert [one.fingerprint == other.fingerprint for one, other in zip(planned, again, strict=True)] == [True, False]


def test_a_looked_up_name_starts_no_program(tmp_path: Path) -> None:
    assert reference_to([str(tmp_path / "none")]) not in PROTOCOLS


@pytest.mark.parametrize(
    "text", ["./spread", "program:./spread", "program:python3 ./spread", "{program: [python3, ./spread]}"]
)
def test_the_command_line_and_scenarios_name_a_program(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path)
    planned = load(scenario(tmp_path, ""), {"routing.protocol": text})
    argv = [*(["python3"] if "python3" in text else []), str(path)]
    assert planned.routing.protocol == reference_to(argv)
    monkeypatch.chdir(tmp_path)
    (only,) = select([CASE], protocols=[text]).trials
    assert only.protocol.name == "spread"
    assert Surroundings.of(planned, text).protocol == planned.routing.protocol


def test_a_program_that_is_written_wrongly_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"--protocol \{program: ./spread\}: protocol: a program is written"):
        reference_named("{program: ./spread}")


def test_names_of_other_protocols_are_no_programs(tmp_path: Path) -> None:
    (tmp_path / "idea.py").touch()
    for text in ("tid", "./idea.py", "./none", "spread", "module:Name"):
        assert named_program(text, tmp_path) is None


def test_a_program_has_the_name_of_its_own_file() -> None:
    assert file_name(["/usr/bin/node", "/home/me/spread.js"]) == "spread.js"
    assert file_name(["java", "-cp", "."]) == "java"


def test_a_program_that_cannot_be_started_is_a_mistake_of_who_names_it(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"--protocol .*/router cannot be started: No such file .*; name it by"):
        select([CASE], protocols=["program:/no/such/router"])
    plain, garbage = tmp_path / "plain", tmp_path / "garbage"
    plain.write_text("#!/usr/bin/env node\n")
    with pytest.raises(BadInputError, match=r"plain cannot be started: Permission denied; make it executable"):
        select([CASE], protocols=[str(plain)])
    garbage.write_bytes(bytes(range(9)))
    garbage.chmod(0o755)
    with pytest.raises(BadInputError, match=r"garbage cannot be started: .*; name its interpreter before it"):
        select([CASE], protocols=[str(garbage)])
    with pytest.raises(BadInputError, match="No closing quotation"):
        select([CASE], protocols=["program:'/no"])


def test_a_program_passes_and_repeats(tmp_path: Path) -> None:
    results = list(trial(str(written(tmp_path)), ["single-broker"]))
    assert {result.verdict for result in results} == {CaseVerdict.PASSED}
    assert [result.note for result in results].count("run twice, logs compared") == 2


def test_a_program_with_numbers_of_its_own_is_named(tmp_path: Path) -> None:
    (row,) = rows_of(reference_to([str(written(tmp_path, *RANDOM))]))
    result = run_twice(CASE, row)
    assert result.verdict is CaseVerdict.FAILED
    assert "spread is not deterministic: run twice, record" in result.problem


def declaring_so(directory: Path) -> Path:
    path = written(directory, *RANDOM)
    path.write_text(path.read_text().replace('"contract": 1,', '"contract": 1, "deterministic": False,'))
    return path


def test_a_program_that_declares_so_is_not_compared(tmp_path: Path) -> None:
    (row,) = rows_of(reference_to([str(declaring_so(tmp_path))]))
    result = run_twice(CASE, row)
    assert (result.verdict, result.note) == (CaseVerdict.SKIPPED, "spread declares that it is not deterministic")


def test_a_simulated_run_says_so(tmp_path: Path) -> None:
    declaring_so(tmp_path)
    path = scenario(tmp_path, "vary: {routing.protocol: [tid, {program: [./spread]}]}\n")
    options = ["--runtime", "simulated", "--no-spark", "--no-report", "--out", str(tmp_path / "runs")]
    result = CliRunner().invoke(app, ["emulate", str(path), *options])
    assert result.output.count("spread declares that it is not deterministic: the same seed gives another run") == 1


def test_a_run_is_the_same_wherever_its_program_is(tmp_path: Path) -> None:
    logs = []
    for folder in (tmp_path / "here", tmp_path / "in a folder with a longer name"):
        folder.mkdir()
        written(folder)
        text = SCENARIO.replace("protocol: tid", "protocol: {program: [./spread]}")
        file = folder / "scenario.yaml"
        file.write_text(text.replace("brokers: 3", "brokers: 3, link: {delay: 2ms, bandwidth: 1mbit}"))
        directory = simulate(make_plan(load(file)), folder / "runs").directory
        logs.append({path.name: path.read_bytes() for path in (directory / LOGS).iterdir()})
    assert logs[0] == logs[1]


def test_the_manifest_tells_a_program_by_its_files(tmp_path: Path) -> None:
    path = written(tmp_path)
    text = SCENARIO.replace("protocol: tid", "protocol: {program: [./spread]}")
    (tmp_path / "scenario.yaml").write_text(text)
    directory = simulate(make_plan(load(tmp_path / "scenario.yaml")), tmp_path / "runs").directory
    (variant,) = read_manifest(directory).variants
    assert variant.protocol_code == ProtocolCode(digest=digest_of_program(reference_to([str(path)])))


def test_a_changed_program_is_another_one(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    path, copy = written(tmp_path), written(tmp_path / "there")
    reference = reference_to([str(path)])
    (packed,) = packed_protocols(["tid", reference])
    assert packed.digest == digest_of_program(reference_to([str(copy)]))
    packed.provide()
    path.write_text(path.read_text() + "# another one")
    with pytest.raises(BadInputError, match=f"or another one there; copy it to {path}"):
        packed.provide()
    path.unlink()
    with pytest.raises(BadInputError, match="the program spread is missing on the host"):
        packed.provide()
    assert digest_of_program(reference_to([str(path)])) != packed.digest
