"""The broker in Node among brokerlab's own: the verdict is `correct`, and names a defect that is planted in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.node_packages import node_packages

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "brokers" / "node"

pytestmark = [
    pytest.mark.container,
    pytest.mark.proof,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("mnexec") is None,
        reason="needs root and Mininet",
    ),
]
_FORWARDS = "if (name !== source && wanting.has(name))"
_FORWARDS_MOST = "if (name !== source && wanting.has(name) && message.id.length % 2)"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may read, as brokers have to; those of pytest are root's alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.parametrize(("forwards", "verdict"), [(_FORWARDS, "correct"), (_FORWARDS_MOST, "lost")])
def test_the_verdict_on_a_broker_in_node_among_native_ones(open_folder: Path, forwards: str, verdict: str) -> None:
    program = open_folder / "examples" / "brokers" / "node"
    shutil.copytree(EXAMPLE, program)
    (open_folder / "proto").symlink_to(ROOT / "proto")
    (open_folder / "node_modules").symlink_to(node_packages(EXAMPLE, "node-broker"))
    tree = program / "wire" / "tree.js"
    assert _FORWARDS in tree.read_text()
    tree.write_text(tree.read_text().replace(_FORWARDS, forwards))
    scenario = (EXAMPLE / "mixed.yaml").read_text().replace("image: my/broker", "command: [node, ./broker.js]")
    (program / "mixed.yaml").write_text(scenario)
    command = [sys.executable, "-m", "command_line", "emulate", str(program / "mixed.yaml"), "--runtime", "process"]
    done = subprocess.run(
        [*command, "--no-spark", "--no-report", "--out", str(open_folder / "runs")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    summary = next((open_folder / "runs").glob("*/summary.json"), None)
    assert summary is not None, done.stdout + done.stderr
    (variant,) = msgspec.json.decode(summary.read_bytes())["variants"]
    assert variant["delivery"]["verdicts"] == [verdict], done.stdout + done.stderr
