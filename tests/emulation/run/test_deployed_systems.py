"""Whole runs of deployed systems: correct ones, and planted defects that the verdict or the start names."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from record.exit_codes import ExitCode

ROOT = Path(__file__).resolve().parents[3]
LOSSY = ROOT / "tests" / "foreign" / "lossy_adapter.py"
_WITH_DEFECT = """\
import sys
import emulation.runtimes.foreign as foreign
foreign.ADAPTER_COMMAND = (sys.executable, sys.argv.pop(1))
from command_line import main
main()
"""
_SCENARIO = """\
name: deployed
topology: {{kind: line, brokers: 3, link: {{delay: 5ms}}}}
routing: {{system: {system}}}
workload:
  publications: {{source: stocks, symbols: 3, publishers: 2, rate: 10/s}}
  subscriptions: {{subscribers: 4, selectivity: 30%}}
timeline: {{join: 3s, run: 4s, drain: 5s}}
"""

pytestmark = [
    pytest.mark.container,
    pytest.mark.skipif(
        os.geteuid() != 0
        or not all(map(shutil.which, ("mnexec", "docker")))
        or shutil.which("mosquitto", path="/usr/sbin:/usr/bin") is None
        or shutil.which("activemq") is None
        or any(importlib.util.find_spec(module) is None for module in ("paho", "zenoh", "stomp")),
        reason="needs root, Docker, Mininet, Mosquitto, Zenoh and ActiveMQ",
    ),
]


def _run(
    folder: Path, system: str, defect: str | None = None, *, runtime: str = "process"
) -> tuple[int, str, dict[str, Any]]:
    """Exit code, output and the summary of the only variant."""
    (scenario := folder / "deployed.yaml").write_text(_SCENARIO.format(system=system))
    program = ["-m", "command_line"] if defect is None else ["-c", _WITH_DEFECT, str(LOSSY)]
    command = [sys.executable, *program, "emulate", str(scenario), "--runtime", runtime, "--no-spark"]
    environment = {**os.environ, "BROKERLAB_TEST_DEFECT": defect or ""}
    done = subprocess.run(
        [*command, "--out", str(folder / "runs")],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    summary = next((folder / "runs").glob("*/summary.json"), None)
    variants = [] if summary is None else json.loads(summary.read_bytes())["variants"]
    return done.returncode, done.stdout + done.stderr, variants[0] if variants else {}


@pytest.mark.proof
@pytest.mark.parametrize(
    ("system", "runtime"),
    [("mosquitto", "process"), ("zenoh", "process"), ("activemq", "process"), ("mosquitto", "container")],
)
def test_a_run_is_correct_and_tells_what_can_be_seen_from_outside(tmp_path: Path, system: str, runtime: str) -> None:
    _, printed, variant = _run(tmp_path, system, runtime=runtime)
    assert variant["delivery"]["verdicts"] == ["correct"], printed
    assert variant["delivery"]["delivered"] == variant["delivery"]["expected"] > 0
    assert (variant["system"]["not_wanted"] > 0) is (system != "activemq")  # whose selectors say all that was asked for
    assert variant["sent"]["bytes"] > 0
    assert {row["hops"] for row in variant["delay_by_hops"]} <= {0, 1, 2}
    assert "matching" not in variant
    assert f"servers of {system} keep no logs" in printed


@pytest.mark.proof
def test_the_verdict_names_what_an_adapter_loses(tmp_path: Path) -> None:
    code, printed, variant = _run(tmp_path, "mosquitto", "loses each tenth")
    assert code == ExitCode.VIOLATED, printed
    delivery = variant["delivery"]
    assert delivery["verdicts"] == ["lost"], printed
    assert delivery["lost"] == delivery["expected"] - delivery["delivered"] > 0


@pytest.mark.proof
def test_selectors_spare_links_where_servers_tell_of_them(tmp_path: Path) -> None:
    sent = {}
    for number, conduit in enumerate(("true", "false")):
        (folder := tmp_path / str(number)).mkdir()
        _, printed, variant = _run(folder, f"activemq, conduit: {conduit}", runtime="container")
        assert variant["delivery"]["verdicts"] == ["correct"], printed
        sent[conduit] = variant["sent"]["bytes"]
    assert sent["false"] < sent["true"]


@pytest.mark.proof
def test_the_verdict_names_what_a_wrong_selector_loses(tmp_path: Path) -> None:
    code, printed, variant = _run(tmp_path, "activemq", "selects the wrong ones")
    assert code == ExitCode.VIOLATED, printed
    assert variant["delivery"]["verdicts"] == ["lost"], printed


@pytest.mark.proof
def test_a_missing_bridge_is_named_before_clients_begin(tmp_path: Path) -> None:
    code, printed, variant = _run(tmp_path, "mosquitto", "a bridge is missing")
    assert code != ExitCode.CORRECT
    assert "canaries have not come from B1 to B2" in printed, printed
    assert not variant
