"""The terms of a protocol for clients that change brokers or are away, applied to what a case expects.

A case lists the publications that clients get where nobody is away, and names those that fall into a handover or an
absence. What these may lose or double is the protocol's to say, in the terms that manifests of runs record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from broker_service.messages import ClientId
from record.handover import Absence, AbsenceCost, Handover, MoveLoss, PublishingLoss
from studies.conformance.model import Case, Notification, Term
from studies.conformance.protocols import ConformanceProtocol


def expected_by_terms(
    case: Case, protocol: ConformanceProtocol, got: Mapping[ClientId, Sequence[Notification]]
) -> dict[ClientId, tuple[Notification, ...]]:
    """The notifications that clients are to get, where the terms leave a choice as often as they got them."""
    expected = case.expected
    for client, terms in case.may_lose.items():
        for id, term in terms.items():
            if id not in got.get(client, ()) and _may_be_lost(protocol, term, moves=client in case.roaming):
                expected[client] = tuple(one for one in expected[client] if one != id)
    for client, doubles in case.may_double.items():
        for id, handover in doubles.items():
            if Counter(got.get(client, ()))[id] == 2 and protocol.moves[handover].doubles:
                expected[client] = (*expected[client], id)
    return expected


def _may_be_lost(protocol: ConformanceProtocol, term: Term, *, moves: bool) -> bool:
    """`moves` tells whether it is the client that is away, and not the publisher."""
    cost = _cost(protocol, term)
    return cost.loses is MoveLoss.UNSETTLED if moves else cost.publishing is PublishingLoss.UNSETTLED


def _cost(protocol: ConformanceProtocol, term: Term) -> AbsenceCost:
    return protocol.moves[Handover(term)] if term in set(Handover) else protocol.absences[Absence(term)]
