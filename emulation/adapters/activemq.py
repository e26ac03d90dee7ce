"""Apache ActiveMQ: a server for each broker, in a network of brokers with a duplex connector along each link.

Servers tell each other of consumers, and pass publications on to where one is. The adapter is a client by STOMP, on the
loopback device, so that clients' traffic touches no link. Its subscriptions have selectors.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import msgspec
import stomp

from broker_service.config import BrokerConfig, LinkConfig
from broker_service.language import Publication, Subscription
from broker_service.routing.systems import ActivemqOptions
from emulation.adapters.selectors import properties_of, selector_for
from emulation.adapters.system import Arrivals, Arrived, SystemEndedError, end_of_server
from emulation.adapters.topics import Filter, filter_for, topic_of, written

HOME = Path("/usr/share/activemq")
"""The place of Debian's package."""
_MACHINES = Path("/usr/lib/jvm")
_LOCALHOST = "127.0.0.1"
_HEAP = "128m"
"""Memory for the server's objects; with its code and threads, a server takes about twice as much."""
_MESSAGES = "64 mb"
"""Memory of the heap for messages; a publisher waits where it is full."""
_SETTINGS = (
    f"-Xmx{_HEAP}",
    "-Xss256k",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",  # it would be a file
    "-Dorg.apache.activemq.UseDedicatedTaskRunner=false",  # threads of a pool in place of one for each destination
)
_ANY = "*"
_SILENT_HEARTBEATS = 3
"""Heartbeats without a word after which a neighbour has failed, as for brokerlab's own brokers."""
_FARTHEST = 1000
"""Links that subscriptions and publications may cross: more than a tree has."""
_LOOK_AGAIN = 0.1
"""Seconds between two attempts to reach a server that has not bound its socket yet."""
_BEANS = """\
<beans xmlns="http://www.springframework.org/schema/beans"
  xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xsi:schemaLocation="http://www.springframework.org/schema/beans
    http://www.springframework.org/schema/beans/spring-beans-2.0.xsd
    http://activemq.apache.org/schema/core http://activemq.apache.org/schema/core/activemq-core.xsd">
"""


def found_machine() -> str | None:
    """The path of Java on this host; None where it or ActiveMQ is not installed."""
    found = shutil.which("java") or next(map(str, sorted(_MACHINES.glob("*/bin/java"))), None)
    return None if found is None or not HOME.is_dir() else str(Path(found).resolve())


def configuration(config: BrokerConfig, directory: Path, port: int) -> str:
    """The server's configuration file. `port` is that of its client."""
    return _BEANS + "\n".join(_lines(config, directory, port)) + "\n</beans>\n"


class ActiveMq(stomp.ConnectionListener):  # type: ignore[misc]  # of a package without types
    """A server and its client, as `System`."""

    def __init__(self, config: BrokerConfig, directory: Path) -> None:
        """`directory` is for the server's configuration."""
        self._config, self._directory = config, directory
        self._attributes = msgspec.convert(config.options, ActivemqOptions).topics
        self._process: asyncio.subprocess.Process | None = None
        self._client: Any = None
        self._arrivals: Arrivals | None = None
        self._numbers = count(1)
        self._subscribed: dict[Filter, str] = {}
        self._chosen: dict[str, Filter] = {}
        self._loop = asyncio.get_running_loop()
        self._broken: asyncio.Future[str] = self._loop.create_future()

    async def start(self, arrived: Arrived) -> None:
        """Returns once the server has acknowledged the client's connection."""
        machine = found_machine()
        if machine is None:
            raise SystemEndedError("ActiveMQ or its Java is not there")
        self._arrivals = Arrivals(arrived)
        port = _free_port()
        (file := self._directory / "activemq.xml").write_text(configuration(self._config, self._directory, port))
        places = [f"-Dactivemq.{name}={self._directory}" for name in ("base", "conf", "data")]
        self._process = await asyncio.create_subprocess_exec(
            "setpriv", "--pdeathsig", "KILL", "--", machine, *_SETTINGS, f"-Dactivemq.home={HOME}", *places,
            "-jar", str(HOME / "bin" / "activemq.jar"), "start", f"xbean:file:{file}", stdin=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        connecting, ending = asyncio.ensure_future(self._connect(port)), asyncio.ensure_future(self.ended())
        await asyncio.wait((connecting, ending), return_when=asyncio.FIRST_COMPLETED)
        if ending.done():
            connecting.cancel()
            raise SystemEndedError(ending.result())
        ending.cancel()
        connecting.result()

    def cover(self, subscription: Subscription) -> Filter:
        return (*filter_for(subscription, self._attributes), selector_for(subscription))

    def watch(self, chosen: Filter) -> None:
        self._subscribed[chosen] = id = str(next(self._numbers))
        self._chosen[id] = chosen
        selector = {} if chosen[-1] is None else {"selector": chosen[-1]}
        self._client.subscribe(_destination(chosen[:-1]), id, headers=selector)

    def unwatch(self, chosen: Filter) -> None:
        id = self._subscribed.pop(chosen)
        self._client.unsubscribe(id)  # what is on its way still has its filter

    def publish(self, publication: Publication, payload: bytes) -> None:
        destination = _destination(topic_of(publication, self._attributes))
        self._client.send(destination, payload, headers=dict(properties_of(publication)))

    async def ended(self) -> str:
        assert self._process is not None
        return await end_of_server("activemq", self._process, self._broken)

    async def stop(self) -> None:
        if self._client is not None:
            self._client.remove_listener("")
            await self._loop.run_in_executor(None, self._client.disconnect)
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()  # it keeps nothing, and its own way to end takes seconds
            await self._process.wait()

    def on_message(self, frame: Any) -> None:
        """Takes a message, in a thread of the client."""
        assert self._arrivals is not None
        self._arrivals.put(frame.body, self._chosen[frame.headers["subscription"]])

    def on_error(self, frame: Any) -> None:
        """Takes what the server says that it cannot do, in a thread of the client."""
        self._break(f"activemq says: {frame.headers.get('message')}")

    def on_disconnected(self) -> None:
        """Notes the end of the connection, in a thread of the client."""
        self._break("activemq has closed the connection of its client")

    def _break(self, sentence: str) -> None:
        def note() -> None:
            if not self._broken.done():
                self._broken.set_result(sentence)

        self._loop.call_soon_threadsafe(note)

    async def _connect(self, port: int) -> None:
        """Returns once the server has accepted the client."""
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection((_LOCALHOST, port)).close()
                break
            await asyncio.sleep(_LOOK_AGAIN)  # it has not bound its socket yet
        self._client = stomp.Connection12([(_LOCALHOST, port)], auto_decode=False, reconnect_attempts_max=1)
        self._client.set_listener("", self)
        await self._loop.run_in_executor(None, partial(self._client.connect, wait=True))


def _lines(config: BrokerConfig, directory: Path, port: int) -> Iterator[str]:
    silence = f"wireFormat.maxInactivityDuration={_milliseconds(_SILENT_HEARTBEATS * config.limits.heartbeat)}"
    yield f'<broker xmlns="http://activemq.apache.org/schema/core" brokerName={quoteattr(config.id)}'
    yield f'  persistent="false" useJmx="false" schedulerSupport="false" dataDirectory={quoteattr(str(directory))}'
    yield '  networkConnectorStartAsync="true" useShutdownHook="false">'
    yield "<destinationPolicy><policyMap><policyEntries>"
    # This cursor drops the copies that come over a link for each further selector; the usual one does not.
    yield '  <policyEntry topic="&gt;"><pendingSubscriberPolicy><vmCursor/></pendingSubscriberPolicy></policyEntry>'
    yield "</policyEntries></policyMap></destinationPolicy>"
    yield f'<systemUsage><systemUsage><memoryUsage><memoryUsage limit="{_MESSAGES}"/></memoryUsage>'
    yield "</systemUsage></systemUsage>"
    yield "<networkConnectors>"
    for link in config.links:
        if link.dial:
            yield _connector(config, link, silence)
    yield "</networkConnectors><transportConnectors>"
    for link in config.links:
        if not link.dial:
            yield f"<transportConnector name={quoteattr(link.neighbour)} uri={quoteattr(f'tcp://{link.local}?{silence}')}/>"
    yield f'<transportConnector name="client" uri="stomp://{_LOCALHOST}:{port}"/>'
    yield "</transportConnectors></broker>"


def _connector(config: BrokerConfig, link: LinkConfig, silence: str) -> str:
    """The connector along a link, at the end that dials."""
    limits = config.limits
    conduit = msgspec.convert(config.options, ActivemqOptions).conduit
    first, last = _milliseconds(limits.reconnect_first), _milliseconds(limits.reconnect_last)
    uri = f"static:(tcp://{link.remote}?{silence})?initialReconnectDelay={first}&maxReconnectDelay={last}"
    return (
        f'<networkConnector name={quoteattr(f"{config.id}-{link.neighbour}")} uri={quoteattr(uri)} duplex="true" '
        f'networkTTL="{_FARTHEST}" prefetchSize="{limits.window}" conduitSubscriptions="{str(conduit).lower()}"/>'
    )


def _destination(levels: Filter) -> str:
    """A topic or a filter in the notation of ActiveMQ, whose levels end with a full stop."""
    return "/topic/" + written(levels, _ANY).replace(".", "%2E").replace("/", ".")


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((_LOCALHOST, 0))
        return int(found.getsockname()[1])


def make(config: BrokerConfig, directory: Path) -> Any:
    """The system of a broker."""
    return ActiveMq(config, directory)
