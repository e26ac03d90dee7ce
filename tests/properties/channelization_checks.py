"""The properties of channelization, each a function of a case and a protocol that raises `BrokenError`."""

from __future__ import annotations

from studies.conformance.model import Case, ClientStep
from tests.properties.checks import BrokenError, ended
from tests.properties.oracle import NEVER, history, violations

CHANNELS = "channelization"


def delivered_exactly_once(case: Case, protocol: str) -> None:
    """Exactly once to everybody who must be notified, never to anybody who must not.

    Servers filter publications for their own clients, so that a client which moves ahead of one may be notified twice.
    """
    outcome = ended(case, protocol)
    found = [
        violation
        for violation in violations(case, outcome.got)
        if not 1 <= violation.times <= _places(case, violation.client) * violation.right
    ]
    if found:
        raise BrokenError("; ".join(map(str, found)), outcome, protocol)


def no_server_receives_twice(case: Case, protocol: str) -> None:
    """Each server gets a publication once at most, whether it is in the channel or joined it late."""
    outcome = ended(case, protocol)
    for broker, arrivals in outcome.arrivals.items():
        twice = [id for id, times in arrivals.publications.items() if times > 1]
        if twice:
            raise BrokenError(f"{broker} received twice: {', '.join(twice)}", outcome, protocol)


def nothing_remains(case: Case, protocol: str) -> None:
    """Nobody is late in a channel any more when all subscriptions are withdrawn."""
    outcome = ended(case, protocol)
    if any(span.kind == "subscribe" and span.end == NEVER for span in history(case).spans):
        return
    for name, broker in outcome.overlay.brokers.items():
        tables = broker.tables()
        if tables["late"] or tables["latecomers"]:
            raise BrokenError(f"{name} still has {tables['late']} and {tables['latecomers']}", outcome, protocol)


def _places(case: Case, client: str) -> int:
    """Number of brokers at which a client was."""
    return len({step.broker for step in case.steps if isinstance(step, ClientStep) and step.client == client})
