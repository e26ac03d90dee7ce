"""Measures of MEDYM's claims, from the tables of a run.

- *Node stress* of a server is the number of bits that it receives and sends for an event, on average over events
  (section 5.1.3): 8 times the bytes of bodies and headers, and `HEADERS` for each message. Means are over all servers,
  those that no event reaches included.
- A server is *traversed* by an event that it receives from another one, or publishes and wants itself.

Variants are called `<ratio>+<scheme>`: the matching ratio in words, and `CBF`, `Channelization` or an algorithm of
MEDYM.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from analysis.claims.measure import Measure
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.verdict import Measurement
from analysis.tables.traffic import BrokerMessages
from record.log import Event

HEADERS = 40
"""Bytes of TCP and IP of a message: with them, the paper's messages of 200 bytes of content are the 240 bytes that its
Table 2 follows from. The 44 bytes of its section 5.1.3 would make no difference of more than 2%."""
RATIOS = ("one", "ten", "all")
SCHEMES = ("CBF", "Channelization", "MST", "CloseMST", "BalancedMST")


def node_stress(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """For each scheme, the mean node stress at each matching ratio, then the servers that an event traverses."""
    values: list[float | None] = []
    for scheme in SCHEMES:
        variants = [_variant(run, ratio, scheme) for ratio in RATIOS]
        values += [fmean(stress.values()) if (stress := stress_of(variant)) else None for variant in variants]
        values += [traversed(variant) for variant in variants]
    return Measurement(values=tuple(values))


def stress_of(variant: MeasuredVariant) -> Mapping[str, float]:
    """Node stress of every server; empty without an event."""
    published = _published(variant)
    if not published:
        return {}
    rows = _publications(variant)
    # Servers receive what others send and what their clients publish, and nothing is lost in these runs.
    size = (sum(row.received_bytes for row in rows) - sum(row.sent_bytes for row in rows)) / published
    bits = dict.fromkeys((broker.id for broker in variant.overlay.brokers), 0.0)
    for row in rows:
        moved = row.received_bytes - size * row.from_clients + row.sent_bytes
        bits[row.broker] += 8 * (moved + HEADERS * (row.received + row.sent))
    return {broker: found / published for broker, found in bits.items()}


def traversed(variant: MeasuredVariant) -> float | None:
    """Mean number of servers that an event traverses; None without an event."""
    published = _published(variant)
    if not published:
        return None
    wanted_at_home = len({row.publication for row in variant.notifications if row.hops == 0})
    return (sum(row.received for row in _publications(variant)) + wanted_at_home) / published


def _published(variant: MeasuredVariant) -> int:
    return sum(row.from_clients for row in _publications(variant))


def _publications(variant: MeasuredVariant) -> list[BrokerMessages]:
    return [row for row in variant.messages if row.kind == Event.PUBLISH]


def _variant(run: MeasuredRun, ratio: str, scheme: str) -> MeasuredVariant:
    name = f"{ratio}+{scheme}"
    for variant in run.variants:
        if variant.name == name:
            return variant
    raise ClaimsError(f"{run.directory}: there is no variant {name}")


MEASURES: Mapping[str, Measure] = {"node stress": node_stress}
