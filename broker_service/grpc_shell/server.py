"""A broker process: the core of `broker`, with gRPC around it.

`python -m broker_service CONFIG.json` serves until SIGTERM or SIGINT, then passes on what waits (for at most
`Limits.stop_within` seconds), logs its end and exits with 0. A config or an address that it cannot use makes it exit
with 2 and one line that names the reason. Nothing a client or a neighbour sends ends it. A defect of its own code,
nearly always of the router, ends it at once: with a record in the log, the stack trace on stderr and the exit code
`BROKER_DEFECT`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import uvloop

from broker_service.config import PROTOCOL_FOLDER, BrokerConfig, load
from broker_service.core.broker import Broker
from broker_service.core.gauges import Gauges
from broker_service.core.storage import FileStorage
from broker_service.grpc_shell.control import Control
from broker_service.grpc_shell.health import HEALTH
from broker_service.grpc_shell.link_ports import LinkPorts
from broker_service.grpc_shell.listening import CannotListenError, bind
from broker_service.grpc_shell.refusals import RefusalLog
from broker_service.grpc_shell.service import make_service, paced_work
from broker_service.grpc_shell.streams import SessionStream
from broker_service.links.greeting import RefusedError
from broker_service.links.session import LinkViolationError
from broker_service.routing.failures import LONGEST_AT_THE_END, allow_calls
from broker_service.routing.interface import SetTimer
from broker_service.routing.registry import provide_from
from broker_service.tracing.process_gauges import SECOND, Ticker, processor_time, resident_memory
from broker_service.tracing.sampled_trace import long_waits, recorder_of
from broker_service.tracing.trace import FileTrace, NullTrace
from broker_service.transport.duplex import StreamClosedError
from broker_service.transport.methods import SESSION
from broker_service.transport.server import RpcServer, ServedStream, ServerLimits
from broker_service.transport.silence import SILENT_HEARTBEATS
from broker_service.transport.status import RpcError, StatusCode
from broker_service.transport.wire import MalformedFrameError
from record.errors import BrokerDefectError, ProtocolCodeError
from record.exit_codes import ExitCode
from record.log import Event
from record.program import program_digest
from record.service_time import ServiceTime

_LOOK_INTERVAL = 0.005
"""Seconds between two checks, while stopping, of whether everything was passed on."""

_BRIEF_CALLS = 64
"""Calls at a time to control and health. Further ones are refused with RESOURCE_EXHAUSTED."""

_log = logging.getLogger(__name__)


class BrokerServer:
    """One broker and all its streams. It must be made and used within a running event loop."""

    def __init__(
        self, config: BrokerConfig, *, kind: type[Broker] = Broker, trace: FileTrace | NullTrace | None = None
    ) -> None:
        """`kind` is that of its core; `trace` is its log, that of the configuration when None.

        Raises `OSError` when the log or the stable storage cannot be opened, `ValueError` for an unknown protocol or
        option."""
        self.config = config
        self.malformed = 0
        """Frames that could not be read, on streams that were opened by the other end."""
        self._loop = asyncio.get_running_loop()
        self._trace = trace or _trace_of(config)
        self._recorder = recorder_of(config, self._trace, time.monotonic_ns)
        self.defect: asyncio.Future[BrokerDefectError] = self._loop.create_future()
        """Set when the broker's own code fails, because an event loop that catches the error would continue."""
        self._stored = FileStorage(Path(config.stored)) if config.stored else None
        self._service = make_service(config, long_waits(self._recorder))
        try:
            self.broker = kind(
                config,
                time.monotonic_ns,
                self._trace,
                self._schedule,
                stored=self._stored,
                on_defect=self._fail,
                service=self._service.totals,
            )
        except BrokerDefectError:
            self.flush_log()
            raise
        if self._stored is not None:
            self._service.due_writes.before = self.broker.commit
        self._gauges = Gauges(
            self.broker,
            self._service,
            self._recorder,
            lambda: processor_time(self.broker.processes),
            lambda: resident_memory(self.broker.processes),
        )
        self._ticker = Ticker(self._trace, self._recorder, (SECOND, self._gauges.take))
        self._refusals = RefusalLog()
        self._links = LinkPorts(self.broker, config, self._service, self._serve, self._refusals.add)
        self._sessions: set[SessionStream] = set()
        self._servers: list[RpcServer] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False

    async def start(self) -> None:
        """Listens and begins to dial. Raises `CannotListenError`; nothing stays open then."""
        self._gauges.begin(program_digest())
        try:
            for address in self.config.listen:
                listening = bind(address)
                server = self._client_server()
                self._servers.append(server)
                await server.listen(listening)
            await self._links.listen()
        except BaseException:
            await self._close()
            raise
        self._run(self._ticker.run())
        self._links.dial()

    async def stop(self) -> None:
        """Ignores new requests of clients, passes on what waits, closes every stream and the log.

        Raises `BrokerDefectError` in the end when the broker had one.
        """
        self._stopping = True
        for session in self._sessions:
            session.stop_handling()
        within = self.config.limits.stop_within
        ends = [asyncio.ensure_future(server.stop(within)) for server in self._all_servers]
        deadline = self._loop.time() + within
        while not self._flushed() and self._loop.time() < deadline:  # noqa: ASYNC110 (many conditions, once for each process)
            await asyncio.sleep(_LOOK_INTERVAL)
        for session in self._sessions:
            session.close("the broker stops")
        await self._links.close("the broker stops")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, *ends, return_exceptions=True)
        await self._close()
        if self.defect.done():
            raise self.defect.result()

    def flush_log(self) -> None:
        """Writes the records that wait, when the process ends without `stop`."""
        self._trace.flush()

    def _fail(self, defect: BrokerDefectError) -> None:
        if not self.defect.done():
            self.defect.set_result(defect)

    def _flushed(self) -> bool:
        return not self._service.waiting and self.broker.flushed and all(session.drained for session in self._sessions)

    async def _close(self) -> None:
        for server in self._all_servers:
            await server.stop()
        self.broker.cancel_timers()
        self._service.close()
        if self._stored is not None:
            self._stored.close()
        self._gauges.queues.take_sent()
        self._trace.flush()
        self._recorder.note(Event.STOPPED, count=self._trace.lost, records=self._trace.written + 1)
        self._trace.close()

    # Servers

    @property
    def _all_servers(self) -> list[RpcServer]:
        return [*self._servers, *self._links.servers.values()]

    def _client_server(self) -> RpcServer:
        limits = ServerLimits(self.config.limits.message_bytes, self.config.limits.sessions + _BRIEF_CALLS)
        control = Control(self.broker, self._links, self._count_malformed, lambda: self._trace.lost, self._set_pace)
        handlers = {SESSION: self._serve_session, **control.handlers(), **HEALTH}
        return RpcServer(handlers, limits, self._refusals.add)

    async def _serve_session(self, served: ServedStream) -> None:
        name = f"session of {served.peer}"
        if len(self._sessions) >= self.config.limits.sessions:
            reason = f"{self.config.limits.sessions} sessions are open already (limits.sessions)"
            raise self._refusal(StatusCode.RESOURCE_EXHAUSTED, name, reason)
        served.expect_signs_of_life(SILENT_HEARTBEATS * self.config.limits.heartbeat)
        stream = SessionStream(served, self.broker, self._service, self.config.limits)
        self._sessions.add(stream)
        try:
            await self._serve(stream.run(), name)
        finally:
            self._sessions.discard(stream)
            if not self._stopping:
                stream.end()

    async def _serve(self, stream: Coroutine[Any, Any, None], name: str) -> None:
        """Runs a stream that the other end opened. Raises `RpcError`, whose status names whose fault its end was."""
        try:
            await stream
        except StreamClosedError as error:
            _log.info("%s ended: %s", name, error)
        except TimeoutError:
            raise self._refusal(StatusCode.DEADLINE_EXCEEDED, name, "no hello came") from None
        except RefusedError as error:
            raise self._refusal(StatusCode.FAILED_PRECONDITION, name, str(error)) from None
        except (MalformedFrameError, LinkViolationError) as error:
            self.malformed += 1
            raise self._refusal(StatusCode.INVALID_ARGUMENT, name, f"malformed frame: {error}") from None
        except RpcError as error:
            raise self._refusal(error.code, name, error.details) from None
        except asyncio.CancelledError:
            _log.info("%s broke: the connection is lost, or the other end cancelled", name)
            raise
        except Exception:
            _log.exception("%s ended by a fault of this broker", name)
            raise self._refusal(StatusCode.INTERNAL, name, "internal error") from None

    def _refusal(self, code: int, name: str, reason: str) -> RpcError:
        self._refusals.add(name, reason)
        return RpcError(code, reason)

    # Time

    def _schedule(self, timer: SetTimer, call: Callable[[], None]) -> asyncio.TimerHandle:
        return self._loop.call_later(timer.after, call)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work))

    def _count_malformed(self) -> int:
        return self.malformed + sum(port.malformed for port in self._links)

    def _set_pace(self, service_time: ServiceTime) -> None:
        self._service.change(paced_work(self.config, service_time))


async def serve_until_stopped(config: BrokerConfig) -> None:
    """Serves until SIGTERM or SIGINT. A defect of the broker's own code ends the process."""
    stop_requested = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop_requested.set)
        signal.signal(number, lambda *_: allow_calls(LONGEST_AT_THE_END))  # called within an endless loop, too
    server = BrokerServer(config)
    server.defect.add_done_callback(functools.partial(_exit_at_once, server))
    await server.start()
    _log.info("broker %s (incarnation %d, %s) serves", config.id, config.incarnation, config.protocol)
    gc.freeze()  # leaves what was loaded alone for good
    gc.enable()
    await stop_requested.wait()
    await server.stop()


def _trace_of(config: BrokerConfig) -> FileTrace | NullTrace:
    """The log that a configuration asks for."""
    if config.log:
        return FileTrace(Path(config.log), config.id, config.variant)
    return NullTrace(config.id, config.variant)


def _exit_at_once(server: BrokerServer, failed: asyncio.Future[BrokerDefectError]) -> NoReturn:
    """Exits without closing streams, because a router that failed must not be called again.

    It must be a callback of the future itself: those of streams that the defect ends come later and call the router.
    """
    defect = failed.result()
    server.flush_log()
    print(f"{defect.shown_trace}{defect}", file=sys.stderr, flush=True)
    os._exit(ExitCode.BROKER_DEFECT)


def main(arguments: list[str] | None = None) -> int:
    """The process. Returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m broker_service",
        description="Runs one broker until SIGTERM.",
        epilog="example: python -m broker_service /etc/brokerlab/broker.json",
    )
    parser.add_argument("config", type=Path, help="the broker's configuration, JSON (broker_service/config.py)")
    path: Path = parser.parse_args(arguments).config
    try:
        config = load(path)
        if config.protocol_from:
            provide_from(config.protocol, config.protocol_from, path.parent / PROTOCOL_FOLDER)
        logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {config.id} %(levelname)s %(message)s")
        with contextlib.suppress(KeyboardInterrupt):
            uvloop.run(serve_until_stopped(config))
    except (OSError, CannotListenError, msgspec.MsgspecError, ValueError) as error:
        print(f"broker cannot start ({path}): {_one_line(error)}", file=sys.stderr)
        return ExitCode.BAD_INPUT
    except BrokerDefectError as defect:
        print(f"{defect.shown_trace}{defect}", file=sys.stderr, flush=True)
        return ExitCode.BROKER_DEFECT
    except ProtocolCodeError as error:
        print(f"broker defect: {config.id}: {error}", file=sys.stderr, flush=True)
        return ExitCode.BROKER_DEFECT
    return ExitCode.CORRECT


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
    return " ".join(str(error).split())
