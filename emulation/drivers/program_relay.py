"""The relay of client programs: whatever passes between a program and its broker passes it, at the program's site.

`python -m emulation.drivers.program_relay RELAY.json` listens in the namespace of each program, in which there is
nothing else to reach, and prints a `Connecting` line. Once every program has opened a stream it prints
`{"event":"ready"}`, and reads `{"do":"start",...}` as a driver does. Only then does it open a stream to the broker for
each of a program, by a socket made inside the site, and passes the broker's welcome on. So programs, which wait for
their welcome, begin together with the drivers' clients. Frames are passed on as they are, but for the times of
publications, in both directions, each once the other end has room for it, and logged before (`seen_program`). It ends
as a driver does.

A program that a fault ends is ended by the parent, and its connection to the broker is reset here, as the kernel of a
host does for a process that crashes. For one that is frozen, nothing is read from that connection.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import logging
import socket
import sys
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import uvloop

from broker_service.tracing.process_gauges import Ticker
from broker_service.tracing.trace import FileTrace, Recorder
from broker_service.transport.channel import Call, dial
from broker_service.transport.methods import SESSION
from broker_service.transport.server import RpcServer, ServedStream, ServerLimits
from broker_service.transport.silence import SILENT_HEARTBEATS
from broker_service.transport.status import RpcError, StatusCode
from broker_service.transport.wire import (
    MalformedFrameError,
    decode_broker_frame,
    decode_client_frame,
    encode_client_frames,
    encode_first_frame,
    encode_processed,
)
from emulation.drivers.clients import Clients, SessionEnd
from emulation.drivers.driver import STATUS_TICKS
from emulation.drivers.instructions import Instruction, Leave, Pause, Resume, Return, Start
from emulation.drivers.parent import report, serve
from emulation.drivers.seen_program import HandedOver, NonsenseError, SeenProgram, SeenStream
from emulation.drivers.site_end import SiteEnd
from emulation.drivers.status import MOST_NAMED, Connecting, DriverStatus, Ready, Told
from emulation.host.priority import CLIENTS
from emulation.network.model import NetworkError
from emulation.network.namespaces import in_namespace
from record.exit_codes import ExitCode
from record.log import Event
from record.program import program_digest
from record.time_units import SECOND

PORT = 7000
"""The port of a program's broker, at 127.0.0.1 of its own namespace."""
_LARGEST_BROKER_FRAME = 1 << 26
"""Bytes of a frame from a broker."""
_DIAL_ATTEMPTS = 2
"""Longest back-offs that an attempt to connect to a broker may take."""
_MOST_STREAMS = 64
"""Streams of one program at a time."""
STALLED = 5 * SECOND
"""Nanoseconds after which a program that does not read is named."""


_log = logging.getLogger(__name__)


class ProgramEnd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The place of one program."""

    namespace: int
    """A process in the program's network namespace."""
    site: SiteEnd
    """The way to its broker."""

    def listener(self) -> socket.socket:
        """The socket that the program finds. Raises `NetworkError`, `OSError`."""
        return in_namespace(self.namespace, lambda: socket.create_server(("127.0.0.1", PORT)))


class RelayConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Configuration of the relay, one JSON file."""

    name: str
    """The node's name in the log."""
    variant: str
    log: str
    """Path of its log."""
    programs: dict[str, ProgramEnd]
    """Programs by the names of their clients."""
    message_bytes: int = 1 << 20
    """Largest frame that brokers take of clients."""
    heartbeat: float = 1.0
    """Seconds of which ten without a sign of life from the broker's host end a stream."""
    reconnect_last: float = 1.0
    """Half the seconds that opening a stream to a broker may take."""
    keeps_accepted: bool = False
    """True as in `DriverConfig`: the acknowledgement of each publication is logged."""


@dataclass(slots=True, eq=False)
class _Passage:
    """One stream of a program and the one to its broker that belongs to it."""

    client: str
    stream: ServedStream
    call: Call
    seen: SeenStream
    waits_since: int | None = None
    """The time since which the program has no room for a frame; None while it reads."""
    told: bool = False
    """True once it has been named for that."""
    broken: bool = False
    """True once the broker's side has ended, for whatever reason that is not the program's."""


class ProgramRelay:
    """The relay. Made within a running event loop."""

    def __init__(self, config: RelayConfig) -> None:
        """Raises `OSError` when the log cannot be opened."""
        self.status = DriverStatus(done=True)
        self._config = config
        self._trace = FileTrace(Path(config.log), config.name, config.variant)
        self._recorder = Recorder(self._trace, time.monotonic_ns)
        ends, handed_over = config.programs, HandedOver()
        self._clients = Clients(
            {SessionEnd(end.site.broker, client).key: handed_over for client, end in ends.items()},
            self._recorder,
            self.status,
            keeps_accepted=config.keeps_accepted,
            at_sites=ends,
        )
        self._seen = {
            client: SeenProgram(client, end.site.broker, self._clients, handed_over) for client, end in ends.items()
        }
        self._servers: list[RpcServer] = []
        self._passages: set[_Passage] = set()
        self._waiting = dict.fromkeys(ends)
        """Programs that have opened no stream yet."""
        self._away: set[str] = set()
        """Programs that a fault has ended."""
        self._paused: set[str] = set()
        self._told: set[Told] = set()
        self._begun = asyncio.Event()
        self._ticking: asyncio.Task[None] | None = None
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Never done: whatever goes wrong is one program's."""

    async def open(self) -> None:
        """Listens for all programs. Raises `NetworkError`, `OSError`."""
        self._recorder.note(Event.STARTED, count=1, text=program_digest())
        limits = ServerLimits(self._config.message_bytes, _MOST_STREAMS)
        for client, end in self._config.programs.items():
            server = RpcServer({SESSION: functools.partial(self._serve, client)}, limits, self._refuse)
            self._servers.append(server)
            await server.listen(end.listener())
        self._report_streams()
        self._ticking = asyncio.create_task(Ticker(self._trace, self._recorder, (STATUS_TICKS, self._report)).run())

    def follow(self, instruction: Instruction) -> None:
        """Carries out an instruction that concerns client programs: their start, absence and pauses. Ignores all
        others."""
        match instruction:
            case Start(start, clock_offset):
                self._clients.clock_offset = clock_offset
                delay = (start - time.monotonic_ns()) / SECOND
                asyncio.get_running_loop().call_later(max(0.0, delay), self._begun.set)
            case Leave(clients):
                self._away.update(clients)
                for passage in self._passages_of(clients):
                    passage.call.reset()
            case Return(clients):
                self._away.difference_update(clients)
            case Pause(clients):
                self._paused.update(clients)
                for passage in self._passages_of(clients):
                    passage.call.pause_reading()
            case Resume(clients):
                self._resume(clients)

    def _passages_of(self, clients: Container[str]) -> list[_Passage]:
        return [passage for passage in self._passages if passage.client in clients]

    def _resume(self, clients: Sequence[str]) -> None:
        self._paused.difference_update(clients)
        for passage in self._passages_of(clients):
            passage.call.resume_reading()
            if passage.waits_since is not None:  # a frozen program cannot read
                passage.waits_since = time.monotonic_ns()

    async def close(self) -> None:
        """Ends all streams and the log."""
        for client, seen in self._seen.items():
            if self._begun.is_set() and not seen.has_attached:
                self._tell(client, "asked its broker for nothing in the whole run")
        await asyncio.gather(*(server.stop() for server in self._servers))
        if self._ticking is not None:
            self._ticking.cancel()
        self._trace.flush()
        self._recorder.note(Event.STOPPED, count=self._trace.lost, records=self._trace.written + 1)
        self._trace.close()

    # Streams

    async def _serve(self, client: str, stream: ServedStream) -> None:
        """Serves one stream of a program from its opening to its end. Raises `RpcError` for the program."""
        if client in self._waiting:
            del self._waiting[client]
            self._report_streams()
        await self._begun.wait()
        if client in self._away:
            raise RpcError(StatusCode.UNAVAILABLE, "a fault has ended this program")
        site = self._config.programs[client].site
        call = await self._dial(site)
        passage = _Passage(client, stream, call, SeenStream(self._seen[client]))
        self._passages.add(passage)
        try:
            await self._pass(passage)
        finally:
            self._passages.discard(passage)
            passage.seen.end()
            call.close()
            if not passage.broken:
                self._recorder.note(Event.STREAM_ENDED, peer=site.broker, client=client)

    async def _dial(self, site: SiteEnd) -> Call:
        """Opens a stream to the broker of a site. Raises `RpcError` when none answers in time: the program may try
        again, and finds a network that works again sooner than the kernel, which repeats ever more rarely."""
        try:
            async with asyncio.timeout(_DIAL_ATTEMPTS * self._config.reconnect_last):
                call = await dial(site.address, SESSION, _LARGEST_BROKER_FRAME, site.socket)
        except TimeoutError:
            raise RpcError(StatusCode.UNAVAILABLE, f"{site.broker} does not answer") from None
        call.expect_signs_of_life(SILENT_HEARTBEATS * self._config.heartbeat)
        return call

    async def _pass(self, passage: _Passage) -> None:
        """Passes frames on until the broker's side has ended."""
        asking = asyncio.create_task(self._pass_requests(passage))
        telling = asyncio.create_task(self._pass_events(passage))
        try:
            done, _ = await asyncio.wait((asking, telling), return_when=asyncio.FIRST_COMPLETED)
            if asking in done:
                asking.result()
            await telling
        finally:
            asking.cancel()
            telling.cancel()
            await asyncio.gather(asking, telling, return_exceptions=True)

    async def _pass_requests(self, passage: _Passage) -> None:
        try:
            while (data := await passage.stream.read()) is not None:
                for part in self._passed_on(data, passage.seen):
                    await passage.call.write(part)
        except (MalformedFrameError, NonsenseError) as error:
            text = f"{error}" if isinstance(error, NonsenseError) else f"sent a frame that cannot be read: {error}"
            self._tell(passage.client, f"{text}; its stream was ended")
            raise RpcError(StatusCode.INVALID_ARGUMENT, text) from None
        except RpcError as error:
            if passage.call.error is not None:  # the broker's end is at fault, of which the other direction tells
                return
            if error.code is StatusCode.RESOURCE_EXHAUSTED:
                self._tell(passage.client, f"sent a frame that is too large: {error.details}; its stream was ended")
            raise
        passage.call.done_writing()

    def _passed_on(self, data: bytes, seen: SeenStream) -> Sequence[bytes]:
        """The frames by which a frame of a program is passed on. Raises `MalformedFrameError`, `NonsenseError`."""
        frame = decode_client_frame(data)
        requests = seen.ask(frame)
        if requests == frame.requests:
            return (data,)
        parts = [encode_first_frame(frame)] if frame.session else []
        parts += [encode_processed(frame.acknowledged)] if frame.acknowledged else []
        return [*parts, *encode_client_frames(requests, self._config.message_bytes)]

    async def _pass_events(self, passage: _Passage) -> None:
        broker, welcomed = self._seen[passage.client].broker, False
        try:
            while (data := await passage.call.read()) is not None:
                frame = decode_broker_frame(data)
                if not welcomed:
                    welcomed = True
                    self._recorder.note(Event.LINK_UP, peer=broker, client=passage.client)
                passage.seen.tell(frame)
                passage.waits_since = time.monotonic_ns()
                await passage.stream.write(data)
                passage.waits_since, passage.told = None, False
            if passage.stream.ended:
                return
            reason = f"{broker} closed the session"
        except MalformedFrameError as error:
            reason = f"{broker} sent a frame that cannot be read: {error}"
        except RpcError as error:
            if passage.stream.error is not None or passage.client in self._away:
                raise
            reason = f"{broker}: {error.details}"
        passage.broken = True
        if welcomed:
            self._recorder.note(Event.LINK_DOWN, peer=broker, client=passage.client)
        raise RpcError(StatusCode.UNAVAILABLE, reason)

    # Reports

    def _refuse(self, connection: str, reason: str) -> None:
        _log.warning("%s: %s", connection, reason)

    def _report_streams(self) -> None:
        connected = len(self._config.programs) - len(self._waiting)
        report(Connecting(connected=connected, waiting=list(self._waiting)[:MOST_NAMED]))
        if not self._waiting:
            report(Ready())

    def _tell(self, client: str, text: str) -> None:
        """Tells the parent something about a program, once: one that tries again and again fails by it each time."""
        if (told := Told(client, text)) not in self._told:
            self._told.add(told)
            report(told)

    def _report(self) -> None:
        now = time.monotonic_ns()
        for passage in self._passages:
            if passage.client in self._paused or passage.waits_since is None or passage.told:
                continue
            if now - passage.waits_since > STALLED:
                passage.told = True
                text = f"has not read for {STALLED // SECOND} s; what comes for it waits at its broker"
                self._tell(passage.client, text)
        report(self.status)


async def relay(config: RelayConfig) -> None:
    """Serves from the first program to the end of standard input or SIGTERM."""
    await serve(ProgramRelay(config))


def main(arguments: list[str] | None = None) -> int:
    """The process. Returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m emulation.drivers.program_relay",
        description="Passes on what client programs and their brokers say to each other, and logs it.",
        epilog="example: python -m emulation.drivers.program_relay programs.json",
    )
    parser.add_argument("config", type=Path, help="the relay's configuration, JSON (RelayConfig)")
    path: Path = parser.parse_args(arguments).config
    logging.basicConfig(level=logging.INFO, format="%(asctime)s relay %(levelname)s %(message)s")
    try:
        uvloop.run(relay(msgspec.json.decode(path.read_bytes(), type=RelayConfig)))
    except (OSError, NetworkError, msgspec.MsgspecError) as error:
        print(f"the relay of client programs cannot work ({path}): {error}", file=sys.stderr)
        return ExitCode.BAD_INPUT
    return ExitCode.CORRECT


if __name__ == "__main__":
    CLIENTS.take()
    sys.exit(main())
