"""An analysis and a campaign on a server of Spark Connect, which is a process of its own."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.engines.spark_session import open_session
from analysis.pipeline import analyze
from analysis.tables.deliveries import Notification
from analysis.tables.results import read_table
from record.errors import HostError
from studies.campaign import cells, load_campaign
from tests.analysis.engines.spark_processes import ROOT, connect_server, require_java
from tests.analysis.history import joined, write_run
from tests.studies.campaign.made_up import CAMPAIGN, write_campaign
from tests.studies.cells.here import run_here


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_java()
    with connect_server(tmp_path_factory.mktemp("server")) as address:
        yield address


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a command of brokerlab to its end."""
    return subprocess.run(
        [sys.executable, "-m", "command_line", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.proof
@pytest.mark.spark
def test_cells_of_a_campaign_run_on_a_server_of_spark_connect(server: str, tmp_path: Path) -> None:
    file, out = write_campaign(tmp_path, CAMPAIGN.replace("1..2", "[1]")), tmp_path / "out"
    done = command("campaign", file, "--runtime", "simulated", "--master", server, "--out", out)
    assert f"on Spark at {server}" in done.stderr
    for cell in cells(load_campaign(file), file):
        assert (out / "cells" / cell.key / "result.json").read_bytes() == run_here(cell, tmp_path).encode()


@pytest.mark.proof
@pytest.mark.spark
def test_a_server_of_spark_connect_gives_the_same_results(server: str, tmp_path: Path) -> None:
    history = joined("base").publish("P:1").notify("P:1").publish("P:2").notify("P:2")
    there = write_run(tmp_path / "there", [history])
    here = Path(shutil.copytree(there, tmp_path / "here"))
    analyze(here, PlainEngine())
    done = command("analyze", there, "--master", server)
    assert (there / "summary.json").exists(), done.stderr
    assert (there / "summary.json").read_bytes() == (here / "summary.json").read_bytes()
    notified = [sorted(map(str, read_table(run / "results", Notification))) for run in (there, here)]
    assert notified[0] == notified[1]
    assert len(notified[0]) == 2


@pytest.mark.parametrize(
    ("address", "words"),
    [("127.0.0.1:{port}", "no server of Spark Connect answers"), ("host:x", "write sc://host:15002")],
)
def test_a_server_that_does_not_answer_is_told_at_once(address: str, words: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        master = f"sc://{address.format(port=closed.getsockname()[1])}"
    with pytest.raises(HostError, match=words), open_session(master, tmp_path):
        pytest.fail("no session is opened")
