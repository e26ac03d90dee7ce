"""Work that requests of a hostile client make a broker do, in instructions: bounded as that of neighbours' messages.

The floods are those of `benchmarks.attacks`.
"""

from __future__ import annotations

import itertools

import pytest

from benchmarks.support.hostile_client import REQUESTS
from broker_service.messages import ClientRequest
from tests.instructions import instructions
from tests.proof import IS_WHOLE
from tests.wire.hostile_headers import attacked
from tests.wire.test_work_a_byte import A_BYTE, A_MESSAGE, AN_UPDATE

PROTOCOLS = ("tid-fixed", "octopia-idr", "cbf", "gryphon", "medym-advertised", "semi-probabilistic")
A_BYTE_OF_REQUESTS_BEFORE = 3
"""Instructions more for each byte of all requests before, which publications have to be compared with."""
BEFORE = 1_040
"""Requests that are not measured, because they only fill the tables."""
MEASURED = 12


def size_of(request: ClientRequest) -> int:
    return len(request.body) + len(request.id) + len(request.client)


@pytest.mark.parametrize("flood", REQUESTS)
@pytest.mark.parametrize("protocol", PROTOCOLS if IS_WHOLE else PROTOCOLS[:1])
def test_the_work_of_a_request_is_bounded_by_its_bytes(protocol: str, flood: str) -> None:
    there = attacked(protocol, 0)
    sessions = there.broker.sessions
    session, requests = sessions.open(), REQUESTS[flood]()
    before, worst = 0, 0.0
    for request in itertools.islice(requests, BEFORE):
        sessions.handle(session, [request])
        session.take(1_000, 1 << 20)
        before += size_of(request)
    for request in itertools.islice(requests, MEASURED):
        work = instructions(lambda request=request: sessions.handle(session, [request]))  # type: ignore[misc]
        allowed = (
            A_MESSAGE
            + AN_UPDATE.get(there.protocol, 0)
            + A_BYTE * size_of(request)
            + A_BYTE_OF_REQUESTS_BEFORE * before
        )
        worst = max(worst, work / allowed)
        before += size_of(request)
    assert worst < 1
