"""The example routers in other languages pass conformance cases, where their languages are installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from broker_service.routing.program.references import reference_to
from scenario.loading import load_text
from studies.conformance import Case, CaseVerdict, SimulatedCaseRunner, read, run_case
from studies.conformance.protocols import ConformanceProtocol
from studies.conformance.repeats import run_twice
from studies.exploration.judged_run import judging_room
from tests.documentation.markdown import ROOT

EXAMPLES = ROOT / "examples" / "routers"
MOST_LINES = 150
CASES = (
    ("lines", "line-publisher-in-the-middle"),
    ("cycles", "ring-of-3-all-subscribe"),
    ("single-broker", "two-clients-use-one-id"),
)


RING = """
name: ring
topology:
  kind: explicit
  links: [{{between: [B1, B2], delay: 7ms}}, {{between: [B2, B3], delay: 30ms}}, {{between: [B1, B3], delay: 30ms}}]
routing: {{protocol: {{program: [{program}]}}}}
workload:
  operations:
    - {{at: 10s, client: S2, broker: B3, id: s1, subscribe: "[class,eq,'B'],[x,>=,0],[x,<=,5]"}}
    - {{at: 10s, client: S2, broker: B3, unsubscribe: s1}}
timeline: {{join: 8s, run: 9s, drain: 1min, withdraw: 1min}}
faults: [{{at: join+12s, kill: [B3], for: 3s}}]
"""
RESTARTED = """
name: restarted
topology: {{kind: explicit, links: [[B1, B2], [B2, B3], [B3, B4]]}}
routing: {{protocol: {{program: [{program}]}}}}
workload:
  operations:
    - {{at: 1s, client: C, broker: B4, subscribe: "[x,>,0]", id: s}}
timeline: {{join: 3s, run: 9s, drain: 1min, withdraw: 1min}}
faults: [{{at: run+1s, stop: [{failed}], for: 2s}}]
"""


def _case(file: str, id: str) -> Case:
    cases = [case for case in read(ROOT / "tests" / "conformance" / f"{file}.json") if isinstance(case, Case)]
    return next((case for case in cases if case.id == id), cases[0])


def _assert_passes(argv: Sequence[str]) -> None:
    """Runs the cases one after another, and the first one twice."""
    protocol = ConformanceProtocol("example", reference_to(argv))
    results = [run_case(_case(*case), protocol, SimulatedCaseRunner()) for case in CASES]
    results.append(run_twice(_case(*CASES[0]), protocol))
    assert [(result.verdict, result.problem, result.differences) for result in results] == [
        (CaseVerdict.PASSED, "", ())
    ] * len(results)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
@pytest.mark.parametrize("program", ["flooding.js", "reverse_paths.js"])
def test_a_program_in_node_passes(program: str) -> None:
    _assert_passes([str(EXAMPLES / program)])


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_a_withdrawal_does_not_chase_its_subscription_round_a_cycle() -> None:
    """A broker that has restarted is sent a subscription of which the withdrawal is already on its way there."""
    scenario = load_text(RING.format(program=EXAMPLES / "reverse_paths.js"), "ring")
    with judging_room() as room:
        assert room.judged(scenario).kinds == ()


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
@pytest.mark.parametrize("failed", ["B4", "B3, B4"])
def test_clients_of_a_broker_that_was_restarted_are_forgotten(failed: str) -> None:
    scenario = load_text(RESTARTED.format(program=EXAMPLES / "reverse_paths.js", failed=failed), "restarted")
    with judging_room() as room:
        judged = room.judged(scenario)
    assert (judged.refused, judged.defects) == ("", ())


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
@pytest.mark.parametrize("program", ["flooding", "reverse_paths"])
def test_a_program_in_go_passes(program: str, tmp_path: Path) -> None:
    sources = [str(EXAMPLES / f"{program}.go"), str(EXAMPLES / "brokerlab.go")]
    subprocess.run(["go", "vet", *sources], check=True)
    subprocess.run(["go", "build", "-o", tmp_path / program, *sources], check=True)
    _assert_passes([str(tmp_path / program)])


@pytest.mark.skipif(shutil.which("g++") is None, reason="a C++ compiler is not installed")
def test_a_program_in_cpp_passes(tmp_path: Path) -> None:
    binary, options = tmp_path / "flooding", ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-static"]
    subprocess.run(["g++", *options, "-o", binary, EXAMPLES / "flooding.cpp"], check=True)
    _assert_passes([str(binary)])


@pytest.mark.proof
@pytest.mark.skipif(shutil.which("javac") is None, reason="a Java compiler is not installed")
def test_a_program_in_java_passes(tmp_path: Path) -> None:
    sources = [EXAMPLES / "Brokerlab.java", EXAMPLES / "Flooding.java"]
    subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", tmp_path, *sources], check=True)
    _assert_passes(["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", str(tmp_path), "Flooding"])


@pytest.mark.parametrize("file", sorted(EXAMPLES.iterdir()), ids=lambda file: file.name)
def test_an_example_is_short(file: Path) -> None:
    assert len(file.read_text().splitlines()) < MOST_LINES
