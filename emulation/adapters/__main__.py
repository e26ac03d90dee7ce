"""`python -m emulation.adapters BROKER_JSON`: a broker of level 0, the server of a deployed system and its adapter.

Ends as the contract of a broker asks: with 0 after SIGTERM, with 2 for a configuration that it cannot use, with 4 where
the system is not installed or its server ends by itself, and with 5 for a defect of its own.
"""

from __future__ import annotations

import asyncio
import importlib
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from broker_service.config import BrokerConfig, load
from broker_service.grpc_shell.listening import CannotListenError
from broker_service.grpc_shell.server import BrokerServer
from broker_service.routing import PROTOCOLS
from broker_service.routing.declaration import Protocol
from broker_service.routing.systems import ACTIVEMQ, MOSQUITTO, ZENOH
from broker_service.transport.methods import UNIX
from emulation.adapters.edge import EdgeBroker, EdgeRouter, EdgeTrace
from emulation.adapters.system import System, SystemEndedError
from record.errors import BrokerDefectError
from record.exit_codes import ExitCode

_MODULES = {
    MOSQUITTO: "emulation.adapters.mosquitto",
    ZENOH: "emulation.adapters.zenoh_router",
    ACTIVEMQ: "emulation.adapters.activemq",
}


def main(arguments: list[str]) -> int:
    """The process. Returns its exit code."""
    try:
        config = load(Path(arguments[-1]))
        make: Callable[[BrokerConfig, Path], System] = importlib.import_module(_MODULES[config.protocol]).make
        uvloop.run(_serve(config, make))
    except (OSError, CannotListenError, KeyError, ValueError, msgspec.MsgspecError) as error:
        return _ended(f"the adapter cannot start: {' '.join(str(error).split())}", ExitCode.BAD_INPUT)
    except (ImportError, SystemEndedError) as error:
        return _ended(str(error), ExitCode.HOST)
    except BrokerDefectError as defect:
        return _ended(f"{defect.shown_trace}{defect}", ExitCode.BROKER_DEFECT)
    return ExitCode.CORRECT


async def _serve(config: BrokerConfig, make: Callable[[BrokerConfig, Path], System]) -> None:
    """Serves clients from the moment when the system's server has accepted the adapter, until SIGTERM."""
    stop_requested = asyncio.Event()
    loop = asyncio.get_running_loop()
    failed: asyncio.Future[None] = loop.create_future()
    loop.set_exception_handler(partial(_note_failure, failed))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop_requested.set)
    socket = next(address for address in config.listen if address.startswith(UNIX)).removeprefix(UNIX)
    system = make(config, Path(socket).parent)
    options = PROTOCOLS[config.protocol].options
    PROTOCOLS[config.protocol] = Protocol(lambda context: EdgeRouter(context, system), options)
    without_links = msgspec.structs.replace(config, links=())
    server = BrokerServer(without_links, kind=EdgeBroker, trace=EdgeTrace(Path(config.log), config.id, config.variant))
    assert isinstance(server.broker, EdgeBroker)
    try:
        await system.start(server.broker.arrive)
        await server.start()
        waits = [asyncio.ensure_future(each) for each in (stop_requested.wait(), system.ended(), server.defect, failed)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if waits[1].done():
            raise SystemEndedError(str(waits[1].result()))
        if failed.done():
            failed.result()
        await server.stop()
    finally:
        await system.stop()


def _note_failure(failed: asyncio.Future[None], _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Keeps what a call of the event loop has raised, which would be logged and forgotten."""
    error = context.get("exception")
    if error is not None and not failed.done():
        failed.set_exception(error)


def _ended(sentence: str, code: ExitCode) -> int:
    print(sentence, file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv))
