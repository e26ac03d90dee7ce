"""Eclipse Mosquitto: a server for each broker, with a bridge along each link that passes all topics both ways.

Bridges know nothing of subscriptions: each publication floods the overlay, which must be a tree, because it would go
round in a cycle for ever. A bridge's sessions outlast its connections. The server's client is at a Unix socket, so that
clients' traffic touches no link.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import paho.mqtt.client as mqtt

from broker_service.config import BrokerConfig, LinkConfig
from broker_service.language import Publication, Subscription
from broker_service.routing.systems import MosquittoOptions
from emulation.adapters.system import Arrivals, Arrived, SystemEndedError, end_of_server
from emulation.adapters.topics import Filter, filter_for, topic_of, written

PROGRAM = "mosquitto"
_PLACES = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
"""Directories of servers, which not every user's path names."""
_LEAST_KEEP_ALIVE = 5
"""Seconds; a bridge takes no shorter interval."""
_LOOK_AGAIN = 0.02
"""Seconds between two attempts to reach a server that has not bound its socket yet."""
_ANY = "+"


def found_program() -> str | None:
    """The path of the server on this host; None where it is not installed."""
    return shutil.which(PROGRAM, path=_PLACES)


def configuration(config: BrokerConfig, socket: Path, quality: int) -> str:
    """The server's configuration file."""
    return "\n".join(_lines(config, socket, quality)) + "\n"


class Mosquitto:
    """A server and its client, as `System`."""

    def __init__(self, config: BrokerConfig, directory: Path) -> None:
        """`directory` is for the server's socket and configuration."""
        self._config = config
        options = msgspec.convert(config.options, MosquittoOptions)
        self._quality, self._attributes = options.quality, options.topics
        self._socket, self._file = directory / "mqtt.sock", directory / "mosquitto.conf"
        self._process: asyncio.subprocess.Process | None = None
        self._loop = asyncio.get_running_loop()
        self._connected: asyncio.Future[None] = self._loop.create_future()
        self._broken: asyncio.Future[str] = self._loop.create_future()
        client = self._client = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2, f"{config.id}-client", transport="unix", reconnect_on_failure=False
        )
        client.max_inflight_messages_set(config.limits.window)
        client.on_connect = lambda *_: self._loop.call_soon_threadsafe(self._note_connected)
        client.on_disconnect = lambda *_: self._loop.call_soon_threadsafe(self._note_broken)

    async def start(self, arrived: Arrived) -> None:
        """Returns once the server has acknowledged the client's connection."""
        program = found_program()
        if program is None:
            raise SystemEndedError(f"the program {PROGRAM} is not there")
        self._socket.unlink(missing_ok=True)
        self._file.write_text(configuration(self._config, self._socket, self._quality))
        arrivals = Arrivals(arrived)
        self._client.on_message = lambda _client, _data, message: arrivals.put(message.payload)
        self._process = await asyncio.create_subprocess_exec(
            "setpriv", "--pdeathsig", "KILL", "--", program, "-c", str(self._file), stdin=asyncio.subprocess.DEVNULL
        )
        connecting, ending = asyncio.ensure_future(self._connect()), asyncio.ensure_future(self.ended())
        await asyncio.wait((connecting, ending), return_when=asyncio.FIRST_COMPLETED)
        connecting.cancel()
        if ending.done():
            raise SystemEndedError(ending.result())
        ending.cancel()

    def cover(self, subscription: Subscription) -> Filter:
        return filter_for(subscription, self._attributes)

    def watch(self, chosen: Filter) -> None:
        self._client.subscribe(written(chosen, _ANY), self._quality)

    def unwatch(self, chosen: Filter) -> None:
        self._client.unsubscribe(written(chosen, _ANY))

    def publish(self, publication: Publication, payload: bytes) -> None:
        self._client.publish(written(topic_of(publication, self._attributes), _ANY), payload, self._quality)

    async def ended(self) -> str:
        assert self._process is not None
        return await end_of_server(PROGRAM, self._process, self._broken)

    async def stop(self) -> None:
        self._client.on_disconnect = None
        self._client.disconnect()
        self._client.loop_stop()
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            await self._process.wait()

    async def _connect(self) -> None:
        while True:
            try:
                self._client.connect(str(self._socket), keepalive=60)
                break
            except OSError:  # it has not bound its socket yet
                await asyncio.sleep(_LOOK_AGAIN)
        self._client.loop_start()
        await self._connected

    def _note_connected(self) -> None:
        if not self._connected.done():
            self._connected.set_result(None)

    def _note_broken(self) -> None:
        if not self._broken.done():
            self._broken.set_result(f"{PROGRAM} has closed the connection of its client")


def _lines(config: BrokerConfig, socket: Path, quality: int) -> Iterator[str]:
    limits = config.limits
    yield "user root"  # of a server that root starts, which would become another user, without rights here
    yield "allow_anonymous true"
    yield "persistence false"
    yield "set_tcp_nodelay true"
    yield "allow_duplicate_messages false"  # one copy for a client with overlapping filters
    yield f"max_inflight_messages {min(limits.window, 65_535)}"
    yield f"max_queued_messages {limits.link_queue}"
    yield "sys_interval 0"
    yield "log_dest stderr"
    yield "log_type error"
    yield f"listener 0 {socket}"
    for link in config.links:
        if not link.dial:
            host, port = _host_and_port(link.local)
            yield f"listener {port} {host}"
    for link in config.links:
        if link.dial:
            yield from _bridge(config, link, quality)


def _bridge(config: BrokerConfig, link: LinkConfig, quality: int) -> Iterator[str]:
    """The bridge along a link, at the end that dials."""
    limits = config.limits
    yield f"connection {config.id}-{link.neighbour}"
    yield f"address {link.remote}"
    yield f"bridge_bind_address {_host_and_port(link.local)[0]}"
    yield f"topic # both {quality}"
    yield f"remote_clientid {config.id}-{link.neighbour}"
    yield f"local_clientid {config.id}-{link.neighbour}-here"
    yield "cleansession false"
    yield "local_cleansession false"
    yield "notifications false"
    yield "try_private true"
    yield "bridge_attempt_unsubscribe false"
    yield f"keepalive_interval {max(_LEAST_KEEP_ALIVE, math.ceil(2 * limits.heartbeat))}"
    retry = max(1, math.ceil(limits.reconnect_last))
    yield f"restart_timeout {retry} {retry}"  # one number alone is taken for 5 s


def _host_and_port(address: str) -> tuple[str, str]:
    host, _, port = address.rpartition(":")
    return host, port


def make(config: BrokerConfig, directory: Path) -> Any:
    """The system of a broker."""
    return Mosquitto(config, directory)
