"""The systems' own servers on this host, two of them with a link: what one publishes comes to the other."""

from __future__ import annotations

import asyncio
import importlib
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from broker_service.config import BrokerConfig, LinkConfig
from broker_service.language import Operator, Predicate, Publication, Subscription
from emulation.adapters.system import System, SystemEndedError
from emulation.adapters.topics import Filter
from tests.ports import free_port

_PLACES = "/usr/local/sbin:/usr/sbin:/usr/bin"


def _needs(module: str, program: str | None = None) -> pytest.MarkDecorator:
    missing = importlib.util.find_spec(module) is None
    if program is not None:
        missing = missing or shutil.which(program, path=_PLACES) is None
    return pytest.mark.skipif(missing, reason=f"needs {program or module}")


_CONTENT = {name: Publication({"class": name}) for name in "AB"}
_OF_A = Subscription((Predicate("class", Operator.STRING_EQUAL, "A"),))
_SYSTEMS = [
    pytest.param("emulation.adapters.mosquitto", id="mosquitto", marks=_needs("paho", "mosquitto")),
    pytest.param("emulation.adapters.zenoh_router", id="zenoh", marks=_needs("zenoh")),
    pytest.param("emulation.adapters.activemq", id="activemq", marks=[_needs("stomp", "activemq"), pytest.mark.proof]),
]


@asynccontextmanager
async def _pair(module: str, folder: Path) -> AsyncIterator[tuple[System, System, asyncio.Queue[bytes]]]:
    """Two systems with a link, and what comes to the second."""
    port, came = free_port(), asyncio.Queue[bytes]()
    ends = [f"127.0.0.1:{port}", f"127.0.0.2:{port}"]

    def take(payload: bytes, _chosen: Filter | None) -> None:
        came.put_nowait(payload)

    made: list[System] = []
    for number, name in enumerate(("B1", "B2")):
        link = LinkConfig(neighbour=f"B{2 - number}", local=ends[number], remote=ends[1 - number], dial=number == 1)
        (directory := folder / name).mkdir()
        config = BrokerConfig(id=name, incarnation=1, protocol=module.rsplit(".", 1)[1].split("_")[0], links=(link,))
        made.append(importlib.import_module(module).make(config, directory))
    try:
        for system in made:
            await system.start(take)
        yield made[0], made[1], came
    finally:
        for system in made:
            await system.stop()


@pytest.mark.parametrize("module", _SYSTEMS)
async def test_publications_cross_the_link_once_in_order_and_by_topic(module: str, tmp_path: Path) -> None:
    async with _pair(module, tmp_path) as (first, second, came):
        second.watch(second.cover(_OF_A))
        while came.empty():  # until the servers have found each other
            first.publish(_CONTENT["A"], b"early")
            await asyncio.sleep(0.05)
        for number in range(50):
            first.publish(_CONTENT["B"], b"of another topic")
            first.publish(_CONTENT["A"], b"%d" % number)
        first.publish(_CONTENT["A"], b"last")
        found: list[bytes] = []
        while not found or found[-1] != b"last":
            found.append(await came.get())
        assert [each for each in found if each != b"early"] == [*(b"%d" % number for number in range(50)), b"last"]


@pytest.mark.parametrize("module", [_SYSTEMS[0], _SYSTEMS[2]])
async def test_a_server_that_cannot_start_is_told_in_a_sentence(module: str, tmp_path: Path) -> None:
    name = module.rsplit(".", 1)[1]
    link = LinkConfig(neighbour="B2", local="192.0.2.1:7000", remote="192.0.2.2:7000", dial=False)
    config = BrokerConfig(id="B1", incarnation=1, protocol=name, links=(link,))
    system: System = importlib.import_module(module).make(config, tmp_path)
    with pytest.raises(SystemEndedError, match=f"{name} ended with exit code"):
        await system.start(lambda *_: None)
    await system.stop()
