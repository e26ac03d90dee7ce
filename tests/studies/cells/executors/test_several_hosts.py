"""A campaign on hosts that are reached by ssh: one queue, this version of brokerlab, run directories brought here."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from studies.campaign import cells, load_campaign
from studies.campaign.directory import CampaignDirectory
from tests.emulation.multi_host.laboratory import Laboratory
from tests.studies.campaign.made_up import CAMPAIGN, write_campaign

pytestmark = [pytest.mark.proof, pytest.mark.timeout(400)]
PATIENCE = 200.0
ONE_SEED = CAMPAIGN.replace("1..2", "[1]")


def test_hosts_share_the_cells_and_keep_nothing(laboratory: Laboratory, tmp_path: Path) -> None:
    """Four cells for three hosts, one of which lacks this version of brokerlab. The cells are simulated, because that
    takes little of this machine; everything else is as with containers."""
    without = laboratory.hosts[-1]
    for product in without.directory.glob("product-*"):
        shutil.rmtree(product)
    file, out = write_campaign(tmp_path, ONE_SEED), tmp_path / "out"
    code, output = laboratory.control(
        "campaign", file, "--hosts", laboratory.inventory, "--out", out, "--keep-runs", "all"
    )
    assert code == 0, output
    assert "runtime   simulated on h1, h2, h3" in output
    directory = CampaignDirectory(out)
    used = set()
    for cell in cells(load_campaign(file), file):
        (attempt,) = directory.attempts(cell)
        used.add(attempt.host)
        assert attempt.run is not None
        run = directory.cell(cell.key) / "runs" / attempt.run
        assert json.loads((run / "summary.json").read_bytes())["delivery"] == ["correct"]
    assert used == {"h1", "h2", "h3"}
    assert list(without.directory.glob("product-*/.complete"))
    assert not list(out.glob("cells/*/work-*"))
    assert not (out / "plays").exists()
    for host in laboratory.hosts:
        assert not list((host.directory / "cells").glob("*"))


def test_a_cell_elsewhere_ends_when_the_user_ends_the_campaign(laboratory: Laboratory, tmp_path: Path) -> None:
    """Two hosts are several; each of them simulates as fast as it can until it is asked to end."""
    hosts = laboratory.hosts[:2]
    file, out = write_campaign(tmp_path, ONE_SEED), tmp_path / "out"
    scenario = tmp_path / "little.yaml"
    scenario.write_text(scenario.read_text().replace("run: 12s", "run: 100h"))
    inventory = laboratory.inventory_of(hosts, tmp_path)
    command = laboratory.controlled("campaign", file, "--hosts", inventory, "--out", out)
    try:
        deadline = time.monotonic() + PATIENCE
        while not all(list(host.directory.glob("cells/*/runs/*/logs")) for host in hosts):
            assert command.poll() is None, command.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.1)
        command.terminate()
        output, _ = command.communicate(timeout=PATIENCE)
    finally:
        command.kill()
        command.wait()
    assert command.returncode == 130, output
    assert "ending the running cells in order" in output
    assert "the same command continues with the rest" in output
    for host in hosts:
        assert not list((host.directory / "cells").glob("*"))
        assert "studies.on_host" not in host.run("ps", "-eo", "args").stdout
