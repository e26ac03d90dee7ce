"""The control service: reports a broker's state on request; changes its service time, its links, their send times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from broker_service.config import Disturbance, LinkConfig
from broker_service.core.broker import Broker
from broker_service.generated import broker_pb2 as pb
from broker_service.grpc_shell.link_ports import LinkPorts
from broker_service.grpc_shell.listening import CannotListenError
from broker_service.grpc_shell.status import encode_status, status_of
from broker_service.transport.methods import Method
from broker_service.transport.server import Handler, unary
from broker_service.transport.status import RpcError, StatusCode
from record.service_time import Distribution, ServiceTime

_SERVICE = "brokerlab.v1.BrokerControl"


class Control:
    """Answers from the broker's own counters; the server provides what is not the broker's."""

    def __init__(
        self,
        broker: Broker,
        links: LinkPorts,
        malformed: Callable[[], int],
        log_lost: Callable[[], int],
        pace: Callable[[ServiceTime], None],
    ) -> None:
        self._broker = broker
        self._links = links
        self._malformed = malformed
        self._log_lost = log_lost
        self._pace = pace

    def handlers(self) -> Mapping[Method, Handler]:
        """Handlers of the service's methods."""
        return {
            Method(_SERVICE, "Status"): unary(pb.StatusRequest, self.status),
            Method(_SERVICE, "Pace"): unary(pb.ServiceTime, self.change_pace),
            Method(_SERVICE, "Links"): unary(pb.LinksRequest, self.change_links),
            Method(_SERVICE, "Reset"): unary(pb.ResetRequest, self.reset),
            Method(_SERVICE, "Disturb"): unary(pb.DisturbRequest, self.disturb),
            Method(_SERVICE, "SendTime"): unary(pb.SendTimeRequest, self.change_send_time),
        }

    async def status(self, request: pb.StatusRequest) -> pb.StatusReply:
        """Returns a snapshot of the broker's state."""
        broker = self._broker
        reply = encode_status(status_of(broker))
        reply.broker = broker.id
        reply.tables = msgspec.json.encode(broker.tables()).decode() if request.tables else ""
        reply.malformed, reply.log_lost = self._malformed(), self._log_lost()
        return reply

    async def change_pace(self, request: pb.ServiceTime) -> pb.PaceReply:
        """Changes the service time."""
        try:
            self._pace(_service_time(request))
        except ValueError as error:
            raise RpcError(StatusCode.INVALID_ARGUMENT, str(error)) from None
        return pb.PaceReply()

    async def change_links(self, request: pb.LinksRequest) -> pb.LinksReply:
        """Removes and adds links."""
        try:
            for neighbour in request.remove:
                self._links.remove(neighbour)
            for end in request.add:
                await self._links.add(_link_config(end))
        except (ValueError, msgspec.MsgspecError, CannotListenError) as error:
            raise RpcError(StatusCode.FAILED_PRECONDITION, str(error)) from None
        return pb.LinksReply()

    async def reset(self, request: pb.ResetRequest) -> pb.ResetReply:
        """Closes the stream to a neighbour."""
        try:
            self._links.reset(request.neighbour)
        except ValueError as error:
            raise RpcError(StatusCode.FAILED_PRECONDITION, str(error)) from None
        return pb.ResetReply()

    async def disturb(self, request: pb.DisturbRequest) -> pb.DisturbReply:
        """Disturbs the messages of a neighbour."""
        try:
            disturbance = Disturbance(
                lose=request.lose, repeat=request.repeat, hold=request.hold, held_for=request.held_for
            )
            self._broker.neighbours.disturb(request.neighbour, disturbance)
        except ValueError as error:
            raise RpcError(StatusCode.FAILED_PRECONDITION, str(error)) from None
        return pb.DisturbReply()

    async def change_send_time(self, request: pb.SendTimeRequest) -> pb.SendTimeReply:
        """Changes the send time of the link to a neighbour."""
        try:
            self._broker.neighbours.change_send_time(request.neighbour, _service_time(request.send_time))
        except ValueError as error:
            raise RpcError(StatusCode.FAILED_PRECONDITION, str(error)) from None
        return pb.SendTimeReply()


def _service_time(given: pb.ServiceTime) -> ServiceTime:
    """Raises `ValueError` for an impossible one."""
    distribution = Distribution(given.distribution or Distribution.CONSTANT)
    return ServiceTime(mean=given.mean, distribution=distribution, deviation=given.deviation)


def _link_config(end: pb.LinkEnd) -> LinkConfig:
    return LinkConfig(
        neighbour=end.neighbour,
        local=end.local,
        remote=end.remote,
        dial=end.dial,
        attributes=msgspec.json.decode(end.attributes, type=dict[str, Any]),
        appearance=end.appearance or 1,
        send_time=_service_time(end.send_time),
    )
