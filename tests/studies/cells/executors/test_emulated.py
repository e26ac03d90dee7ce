"""A campaign in containers through the real ansible-runner: killed in the middle, gone on with, nothing left behind."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from analysis.tables.summary import violated
from emulation.host.docker_host import docker_client
from emulation.host.processes import processes_of_run
from emulation.host.registry import runs
from emulation.upkeep.clean import RUN_LABEL
from studies.campaign import load_campaign
from studies.campaign.cells import cells
from studies.campaign.directory import CampaignDirectory

ROOT = Path(__file__).resolve().parents[4]
CAMPAIGN = f"""\
name: small
scenario: {ROOT}/scenarios/line-3.yaml
runtime: container
set: {{timeline: {{join: 2s, run: 3s, drain: 1s}}}}
seeds: 1..2
faults:
  kill: [{{at: run+500ms, kill: B2, for: 1s}}]
retries: 0
"""
_WITHIN = 240

pytestmark = [pytest.mark.proof, pytest.mark.container, pytest.mark.timeout(900)]


def command(file: Path, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "command_line", "campaign", str(file), "--out", str(out)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def await_file(out: Path, pattern: str, process: subprocess.Popen[str]) -> Path:
    deadline = time.monotonic() + _WITHIN
    while (found := next(out.glob(pattern), None)) is None:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, f"{pattern}: not within {_WITHIN} s"
        time.sleep(0.05)
    return found


def left_of(run: str) -> list[str]:
    """The remains of a run on this host: containers, processes, its registration."""
    with closing(docker_client()) as client:
        # Not `client.containers`, which fails when a container that it lists is removed meanwhile.
        containers = client.api.containers(all=True, filters={"label": f"{RUN_LABEL}={run}"})
        names = [container["Names"][0] for container in containers]
    processes = [f"process {process.pid}" for process in processes_of_run(run)]
    return [*names, *processes, *(name for name, _ in runs() if name == run)]


def await_nothing_left_of(run: str) -> None:
    """The cell of a campaign that was killed ends by itself, and removes what its run made."""
    deadline = time.monotonic() + _WITHIN
    while left := left_of(run):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def test_killed_in_the_second_cell_and_gone_on_with(tmp_path: Path) -> None:
    """The test checks that nothing went wrong, and not whether the host was idle enough for the judge."""
    file, out = tmp_path / "small.yaml", tmp_path / "out"
    file.write_text(CAMPAIGN)
    first = command(file, out)
    await_file(out, "cells/kill-1/result.json", first)
    log = await_file(out, "cells/kill-2/work-*/runs/*/logs/B1.jsonl", first)
    first.kill()
    first.wait()
    killed = log.parents[1].name
    await_nothing_left_of(killed)
    done = (out / "cells" / "kill-1" / "result.json").stat().st_mtime_ns
    second = command(file, out)
    output, _ = second.communicate(timeout=_WITHIN)
    assert second.returncode in {0, 3}, output
    assert "2 cells, 1 of them done before" in output
    assert (out / "cells" / "kill-1" / "result.json").stat().st_mtime_ns == done
    directory = CampaignDirectory(out)
    for cell in cells(load_campaign(file), file):
        result = directory.result(cell)
        assert result is not None
        assert result.runtime == "container"
        assert not violated(result.delivery, result.fidelity), result
        assert [fault.what for fault in result.variants[0].faults] == [["B2"]]
        assert len(directory.attempts(cell)) == 1
    assert not list(out.glob("cells/*/work-*"))
    assert not (out / "plays").exists()
