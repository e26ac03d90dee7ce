"""Status of brokers on the wire."""

from __future__ import annotations

from math import inf

import msgspec

from broker_service.generated import broker_pb2 as pb
from broker_service.grpc_shell.status import BrokerStatus, LinkEndStatus, decode_status, encode_status


def test_a_status_survives_its_encoding() -> None:
    links = (
        LinkEndStatus(
            neighbour="B2",
            up=False,
            queued=1,
            in_flight=2,
            sent=3,
            publications=4,
            received=5,
            dropped=6,
            utilisation=inf,
        ),
        LinkEndStatus(neighbour="B3"),
    )
    status = BrokerStatus(
        incarnation=8,
        clients=9,
        published=10,
        delivered=11,
        rejected=12,
        dropped=13,
        awaited_timers=14,
        held=15,
        links=links,
    )
    reply = pb.StatusReply.FromString(encode_status(status).SerializeToString())
    assert decode_status(reply) == status
    assert len(set(msgspec.structs.astuple(status))) == len(BrokerStatus.__struct_fields__), "no two fields alike"
