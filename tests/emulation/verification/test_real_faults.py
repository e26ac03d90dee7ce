"""Faults of real brokers and links that do not happen: the verifier looks from outside, finds that, and names them.

One run of a few seconds with brokers as processes. A cut that cuts nothing, a pause that does not pause and an access
link that is still there when its site has moved are planted beside a kill that does kill. What is looked at (echoes
that come through, the state and the age of a process) does not depend on how fast the host is.
"""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from emulation.fidelity import thresholds
from emulation.network.network import EmulatedNetwork
from emulation.planning.plan import make_plan
from emulation.run import emulate
from emulation.runtimes import ProcessRuntime
from emulation.runtimes.ladder import Rungs
from record.callbacks import do_nothing
from record.fidelity import FidelityVerdict
from record.manifest import RungChoice
from scenario.loading import load

pytestmark = [
    pytest.mark.container,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mnexec") is None, reason="needs root and Mininet"),
]

SCENARIO = """
name: real
topology: {kind: line, brokers: 4, link: {delay: 2ms}}
routing: {protocol: tid}
workload: {operations: [{at: 0s, client: C, broker: B1, id: c, subscribe: "[class,eq,'A']"}]}
clients: {sites: {home: {broker: B1, clients: C, delay: 2ms}}}
timeline: {join: 200ms, run: 2500ms, drain: 200ms}
brokers: {limits: {heartbeat: 200ms, reconnect_last: 200ms}}
faults:
  - {at: run+200ms, link_down: B1-B2, for: 1500ms}
  - {at: run+200ms, pause: B2, for: 1500ms}
  - {at: run+200ms, kill: B3, for: 1500ms}
  - {at: run+200ms, move: home, to: B4}
seed: 1
"""


@pytest.mark.proof
@pytest.mark.parametrize("runtime", ["process"])
def test_real_faults_that_do_not_happen_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runtime: str
) -> None:
    monkeypatch.setattr("emulation.fidelity.planned_faults._SHOWN", 100)
    monkeypatch.setattr(EmulatedNetwork, "cut", do_nothing)
    monkeypatch.setattr(ProcessRuntime, "pause", do_nothing)
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO, encoding="utf-8")
    rungs = Rungs(RungChoice(runtime, "asked for"), RungChoice("userspace", "asked for"), None)
    outcome = emulate(make_plan(load(file)), rungs, tmp_path, Console(file=io.StringIO()), do_nothing)
    (variant,) = outcome.fidelity.variants
    (found,) = [check for check in variant.checks if check.name == thresholds.PLANNED_FAULTS.name]
    assert found.verdict is FidelityVerdict.INVALID, found.detail
    assert "link_down of B1->B2 at 0.4 s: " in found.detail
    assert "link_down of B2->B1 at 0.4 s: " in found.detail
    assert "pause of B2 at 0.4 s: it goes on working" in found.detail
    assert "kill of B3 at 0.4 s" not in found.detail
    assert "departure over home->B1 at 0.4 s: " in found.detail
    assert "departure over B1->home at 0.4 s: " in found.detail
    assert "over home->B4" not in found.detail
