"""Sockets that a broker has replaced by links to others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from broker_service.transport.channel import dial
from broker_service.transport.methods import SESSION
from broker_service.transport.status import RpcError, StatusCode
from emulation.runtimes import control
from emulation.runtimes.control import BrokerControls
from record.errors import HostError
from record.service_time import ServiceTime
from tests.broker_service.loopback import MB, Loopback


async def test_a_link_in_place_of_a_socket_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "_ANSWER_WITHIN", 0.2)
    async with Loopback(tmp_path) as overlay:
        await overlay.start("B1")
        honest = overlay.address("B1")
        link = tmp_path / "link.sock"
        link.symlink_to(honest.removeprefix("unix:"))
        with pytest.raises(RpcError, match="cannot connect: not a socket") as refused:
            await dial(f"unix:{link}", SESSION, MB)
        assert refused.value.code == StatusCode.UNAVAILABLE
        with BrokerControls({"B1": f"unix:{link}", "B2": honest, "B3": f"unix:{tmp_path}/nothing"}) as controls:
            assert (await asyncio.to_thread(controls.status, ["B1", "B2", "B3"])).keys() == {"B2"}
            with pytest.raises(HostError, match=r"broker B1 does not accept another service time: .*not a socket"):
                await asyncio.to_thread(controls.set_service_time, "B1", ServiceTime())
            call = await dial(honest, SESSION, MB)
            call.close()


async def test_a_control_channel_turns_to_the_socket_of_the_next_incarnation(tmp_path: Path) -> None:
    async with Loopback(tmp_path) as overlay:
        first = await overlay.start("B1")
        with BrokerControls({"B1": overlay.address("B1")}) as controls:
            assert (await asyncio.to_thread(controls.status, ["B1"])).keys() == {"B1"}
            await first.stop()
            asking = asyncio.create_task(asyncio.to_thread(controls.set_service_time, "B1", ServiceTime()))
            await asyncio.sleep(0)
            await overlay.start("B1")
            await asking
            assert (await asyncio.to_thread(controls.status, ["B1"])).keys() == {"B1"}
