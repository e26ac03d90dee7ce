"""The properties of channelization, each a function of a case and a protocol that raises `BrokenError`."""

from __future__ import annotations

from studies.conformance.model import Case
from tests.properties.checks import BrokenError, ended
from tests.properties.oracle import NEVER, history

CHANNELS = "channelization"


def nothing_remains(case: Case, protocol: str) -> None:
    """Nobody is late in a channel any more when all subscriptions are withdrawn."""
    outcome = ended(case, protocol)
    if any(span.kind == "subscribe" and span.end == NEVER for span in history(case).spans):
        return
    for name, broker in outcome.overlay.brokers.cores.items():
        tables = broker.tables()
        if tables["late"] or tables["latecomers"]:
            raise BrokenError(f"{name} still has {tables['late']} and {tables['latecomers']}", outcome, protocol)
