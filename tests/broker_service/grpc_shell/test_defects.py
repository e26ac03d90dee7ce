"""A broker process whose router has a defect ends loudly; what it was sent is not to blame."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec
import pytest

from broker_service.client_library.client import Session
from broker_service.config import PROTOCOL_FOLDER
from broker_service.routing.interface import SetTimer
from record.errors import BrokerDefectError
from record.exit_codes import ExitCode
from tests.broker_service.defective import DEFECTIVE, registered
from tests.broker_service.loopback import QUOTES, WITHIN, Loopback, calls_of, events, until

SENTENCE = (
    f"broker defect: B1 (protocol {DEFECTIVE}) failed on advertise 'B2.1.1' from B2: "
    "ValueError: too many values to unpack (expected 2)"
)


async def test_a_defect_ends_the_process_with_its_stack_trace_and_a_record(tmp_path: Path) -> None:
    with registered():
        async with Loopback(tmp_path) as overlay:
            overlay.link("B1", "B2")
            second = await overlay.start("B2", protocol=DEFECTIVE, options={"fails_in": "nothing"})
            ups = calls_of(second.broker.neighbours, "link_up")
            (tmp_path / "B1.json").write_bytes(msgspec.json.encode(overlay.config("B1", protocol=DEFECTIVE)))
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.broker_service.defective", str(tmp_path / "B1.json"),
                cwd=Path(__file__).parents[3], stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            try:
                await until(ups, lambda *_: True)
                async with Session(overlay.address("B2")) as session:
                    client = await session.client("P")
                    await client.advertise("a", QUOTES)
                    _, errors = await asyncio.wait_for(process.communicate(), WITHIN)
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
    assert process.returncode == ExitCode.BROKER_DEFECT
    lines = errors.decode().splitlines()
    assert lines[-1] == SENTENCE
    assert "    a, b = (1, 2, 3)  # type: ignore[misc]" in lines
    last = events(overlay.log("B1"))[-1]
    assert last["event"] == "defect"
    assert str(last["text"]).startswith(SENTENCE)


ENDLESS = """
from brokerlab.protocol import Protocol, Router


class Endless(Router):
    def __init__(self, context):
        pass

    def advertise(self, client, id, advertisement):
        print("loops", flush=True)
        while True:
            pass

    def publish(self, client, message, publication, advertisement):
        return ()

    subscribe = unsubscribe = receive = publish


PROTOCOL = Protocol(Endless)
"""


async def test_a_broker_in_an_endless_loop_names_it_when_it_is_asked_to_end(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        folder = tmp_path / PROTOCOL_FOLDER
        folder.mkdir()
        (folder / "endless.py").write_text(ENDLESS)
        config = msgspec.structs.replace(overlay.config("B1", protocol="/home/endless.py"), protocol_from="endless.py")
        (tmp_path / "B1.json").write_bytes(msgspec.json.encode(config))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "broker_service", str(tmp_path / "B1.json"),
            cwd=Path(__file__).parents[3], stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            async with Session(overlay.address("B1")) as session:
                client = await session.client("P")
                advertising = asyncio.ensure_future(client.advertise("a", QUOTES))
                assert process.stdout is not None
                await asyncio.wait_for(process.stdout.readline(), WITHIN)
                process.terminate()
                _, errors = await asyncio.wait_for(process.communicate(), WITHIN)
                advertising.cancel()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert process.returncode == ExitCode.BROKER_DEFECT
    assert errors.decode().splitlines()[-1] == (
        "broker defect: B1 (protocol /home/endless.py) failed on advertise 'a' of client 'P': the call has not "
        "returned for 2 s; is there an endless loop? (/home/endless.py:11, in advertise)"
    )
    assert "Traceback" not in errors.decode()
    assert events(overlay.log("B1"))[-1]["event"] == "defect"


async def test_a_defect_in_a_timer_reaches_whoever_stops_the_server(tmp_path: Path) -> None:
    """The event loop only reports what its callbacks raise, so the server keeps it."""
    with registered():
        overlay = Loopback(tmp_path)
        with pytest.raises(BrokerDefectError, match="failed on the timer 't'"):
            async with overlay:
                server = await overlay.start("B1", protocol=DEFECTIVE, options={"fails_in": "timer"})
                server.broker._actions.timers.set(SetTimer("t", 0.0))
                await asyncio.wait_for(asyncio.shield(server.defect), WITHIN)
