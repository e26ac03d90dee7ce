"""Client of the brokers' control service: status, routing tables, service and send times, and links of brokers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from threading import Event
from types import TracebackType
from typing import Any, Self

import grpc
import msgspec
from google.protobuf.message import Message

from broker_service.config import Disturbance, LinkConfig
from broker_service.generated import broker_pb2 as pb
from broker_service.generated import broker_pb2_grpc
from broker_service.grpc_shell.status import BrokerStatus, decode_status
from broker_service.transport.methods import UNIX
from broker_service.transport.socket_files import SocketFile
from record.errors import HostError
from record.service_time import ServiceTime
from topology.link_properties import BrokerId

_LARGEST_REPLY = 1 << 26
"""Bytes; routing tables are in it."""
_ANSWER_WITHIN = 5.0
"""Seconds."""
_WELCOME_WITHIN = 1.0
"""Seconds."""
_AGAIN = 0.02
"""Seconds after which a broker that does not listen is asked again."""
_OPTIONS = (("grpc.max_receive_message_length", _LARGEST_REPLY), ("grpc.use_local_subchannel_pool", 1))


class _Channel:
    """A channel to the control service of a broker, which keeps to the socket that was there when it was made."""

    def __init__(self, address: str) -> None:
        """Raises `OSError` when there is no Unix socket at the address."""
        self._path = address.removeprefix(UNIX) if address.startswith(UNIX) else None
        self._socket = None if self._path is None else SocketFile(self._path)
        target = address if self._socket is None else f"{UNIX}{self._socket.address}"
        self._channel = grpc.insecure_channel(target, options=_OPTIONS)
        self.stub: Any = broker_pb2_grpc.BrokerControlStub(self._channel)  # type: ignore[no-untyped-call]
        self.clients: Any = broker_pb2_grpc.BrokerClientStub(self._channel)  # type: ignore[no-untyped-call]

    @property
    def is_former(self) -> bool:
        """True when the broker has another socket by now."""
        return self._socket is not None and self._path is not None and not self._socket.is_at(self._path)

    def close(self) -> None:
        self._channel.close()
        if self._socket is not None:
            self._socket.close()


class BrokerControls:
    """One channel for each broker, made anew after a failure, because gRPC pauses before it retries an old one."""

    def __init__(self, addresses: Mapping[BrokerId, str]) -> None:
        """`addresses` gives each broker's control service: `unix:/path` or `host:port`."""
        self._addresses = addresses
        self._channels: dict[BrokerId, _Channel] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for broker in list(self._channels):
            self._discard(broker)

    def status(self, brokers: Iterable[BrokerId]) -> dict[BrokerId, BrokerStatus]:
        """Status of these brokers, asked side by side; those that do not answer are missing."""
        return {broker: decode_status(reply) for broker, reply in self._ask(brokers, pb.StatusRequest()).items()}

    def incarnations(self, brokers: Iterable[BrokerId]) -> dict[BrokerId, int]:
        """Incarnations of these brokers as they welcome a client, one after another; those that do not are missing."""
        welcomed: dict[BrokerId, int] = {}
        for broker in brokers:
            with suppress(OSError, grpc.RpcError, StopIteration):
                opened = self._opened(broker).clients.Session(iter(Event().wait, True), timeout=_WELCOME_WITHIN)
                welcomed[broker] = next(opened).welcome.incarnation
                opened.cancel()
        return welcomed

    def tables(self, brokers: Iterable[BrokerId]) -> dict[BrokerId, dict[str, object]]:
        """Routing tables of these brokers; those that do not answer are missing."""
        replies = self._ask(brokers, pb.StatusRequest(tables=True))
        return {broker: msgspec.json.decode(reply.tables, type=dict[str, object]) for broker, reply in replies.items()}

    def set_service_time(self, broker: BrokerId, service_time: ServiceTime) -> None:
        """Gives a broker a service time. Raises `HostError` when it does not answer."""
        self._command(broker, "Pace", _service_time(service_time), "accept another service time")

    def add_link(self, broker: BrokerId, link: LinkConfig) -> None:
        """Gives a broker a neighbour. Raises `HostError` when it does not answer or refuses."""
        end = pb.LinkEnd(
            neighbour=link.neighbour,
            local=link.local,
            remote=link.remote,
            dial=link.dial,
            attributes=msgspec.json.encode(link.attributes).decode(),
            appearance=link.appearance,
            send_time=_service_time(link.send_time),
        )
        self._command(broker, "Links", pb.LinksRequest(add=[end]), f"add a link to {link.neighbour}")

    def remove_link(self, broker: BrokerId, neighbour: BrokerId) -> None:
        """Takes a neighbour from a broker. Raises `HostError` when it does not answer or refuses."""
        self._command(broker, "Links", pb.LinksRequest(remove=[neighbour]), f"remove its link to {neighbour}")

    def reset(self, broker: BrokerId, neighbour: BrokerId) -> None:
        """Has a broker close the stream to a neighbour. Raises `HostError` when it does not answer or refuses."""
        self._command(broker, "Reset", pb.ResetRequest(neighbour=neighbour), f"reset its link to {neighbour}")

    def disturb(self, broker: BrokerId, neighbour: BrokerId, disturbance: Disturbance) -> None:
        """Has a broker disturb a neighbour's messages. Raises `HostError` when it does not answer or refuses."""
        request = pb.DisturbRequest(neighbour=neighbour, **msgspec.structs.asdict(disturbance))
        self._command(broker, "Disturb", request, f"disturb messages of {neighbour}")

    def set_send_time(self, broker: BrokerId, neighbour: BrokerId, send_time: ServiceTime) -> None:
        """Sets the send time of a broker's link to a neighbour. Raises `HostError` if the broker does not answer or
        refuses."""
        request = pb.SendTimeRequest(neighbour=neighbour, send_time=_service_time(send_time))
        self._command(broker, "SendTime", request, f"accept another send time to {neighbour}")

    def _command(self, broker: BrokerId, name: str, request: Message, asked: str) -> None:
        deadline = time.monotonic() + _ANSWER_WITHIN
        while True:
            try:
                getattr(self._stub(broker), name)(request, timeout=max(0.0, deadline - time.monotonic()))
                return
            except (grpc.RpcError, OSError) as error:
                self._discard(broker)
                if not _may_come(error) or time.monotonic() >= deadline - _AGAIN:
                    raise HostError(f"broker {broker} does not {asked}: {error}") from error
            time.sleep(_AGAIN)

    def _ask(self, brokers: Iterable[BrokerId], request: pb.StatusRequest) -> dict[BrokerId, pb.StatusReply]:
        calls: dict[BrokerId, Any] = {}
        for broker in brokers:
            with suppress(OSError):
                calls[broker] = self._stub(broker).Status.future(request, timeout=_ANSWER_WITHIN)
        replies: dict[BrokerId, pb.StatusReply] = {}
        for broker, call in calls.items():
            try:
                replies[broker] = call.result()
            except grpc.RpcError:
                self._discard(broker)
        return replies

    def _stub(self, broker: BrokerId) -> Any:
        """Raises `OSError` when the broker has no socket."""
        return self._opened(broker).stub

    def _opened(self, broker: BrokerId) -> _Channel:
        """Raises `OSError` when the broker has no socket."""
        channel = self._channels.get(broker)
        if channel is not None and channel.is_former:
            self._discard(broker)
            channel = None
        if channel is None:
            channel = self._channels[broker] = _Channel(self._addresses[broker])
        return channel

    def _discard(self, broker: BrokerId) -> None:
        if (channel := self._channels.pop(broker, None)) is not None:
            channel.close()


def _may_come(error: grpc.RpcError | OSError) -> bool:
    """True when a broker that starts may answer later."""
    return isinstance(error, OSError) or error.code() is grpc.StatusCode.UNAVAILABLE


def _service_time(time: ServiceTime) -> pb.ServiceTime:
    return pb.ServiceTime(mean=time.mean, distribution=time.distribution.value, deviation=time.deviation)
