"""The start of a broker process: modules that it loads, and the garbage collector meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from broker_service.config import BrokerConfig

ROOT = Path(__file__).parents[2]
LOADED = """
import gc, sys
import broker_service.__main__
names = ("broker_service.routing.tid", "broker_service.routing.octopia", "sqlite3", "numpy")
print(gc.isenabled(), [name for name in names if name in sys.modules])
"""
WITHOUT_ARRAYS = ("tid", "octopia", "gryphon", "semi-probabilistic")
"""Protocols whose brokers need no NumPy, which takes a third of a broker's start and of its memory."""
SERVING = """
import gc, os, signal, sys
from unittest import mock
from broker_service.grpc_shell import server

def note(text, *arguments):
    if text.endswith("serves"):
        server.asyncio.get_running_loop().call_soon(ask)

def ask():
    print(gc.isenabled(), gc.get_freeze_count() > 0)
    os.kill(os.getpid(), signal.SIGTERM)

gc.disable()
with mock.patch.object(server._log, "info", note):
    sys.exit(server.main(sys.argv[1:]))
"""


def output(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT, timeout=60).stdout.strip()


def test_its_program_loads_no_protocol_no_database_and_no_numpy_and_collects_no_garbage() -> None:
    assert output(LOADED) == "False []"


@pytest.mark.parametrize("protocol", WITHOUT_ARRAYS)
def test_a_protocol_without_arrays_loads_no_numpy(protocol: str) -> None:
    loading = (
        f"import broker_service.routing as r; r.protocol_named({protocol!r}); import sys; print('numpy' in sys.modules)"
    )
    assert output(loading) == "False"


def test_garbage_is_collected_once_the_broker_serves(tmp_path: Path) -> None:
    config = BrokerConfig(id="A", incarnation=1, protocol="tid", listen=(f"unix:{tmp_path}/A.sock",))
    path = tmp_path / "A.json"
    path.write_bytes(msgspec.json.encode(config))
    assert output(SERVING, str(path)) == "True True"
