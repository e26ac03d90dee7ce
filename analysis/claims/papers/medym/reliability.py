"""Events lost while servers are down (MEDYM, section 5.2.4, figure 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import Recipe
from analysis.claims.papers.medym.variants import CBF, MULTICASTS, by_point
from analysis.claims.verdict import Measurement
from analysis.tables.deliveries import Expectation, Right
from analysis.tables.results import read_table
from analysis.tables.timeline import Fault
from broker_service.messages import Kind
from record.faults import FaultKind
from record.files import RESULTS
from topology.link_properties import BrokerId


def lost(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Share of deliveries that did not happen, under CBF and under MEDYM (the mean over its routing functions).

    A delivery is a publication, made at a running server while others are down, that a client at a running server has
    subscribed to. Servers that are down have no right to one.
    """
    (schemes,) = by_point(run, (CBF, *MULTICASTS)).values()
    found = {scheme: lost_of(run, schemes[scheme]) for scheme in (CBF, *MULTICASTS)}
    medym = [share for scheme in MULTICASTS if (share := found[scheme]) is not None]
    return Measurement(values=(found[CBF], fmean(medym) if len(medym) == len(MULTICASTS) else None))


def lost_of(run: MeasuredRun, variant: MeasuredVariant) -> float | None:
    """Share of the deliveries of a variant that did not happen; None without a delivery."""
    return lost_share(
        [row for row in run.once(_faults) if row.variant == variant.name],
        [row for row in run.once(_expectations) if row.variant == variant.name],
        run.once(_servers_of_clients)[variant.name],
    )


def _faults(run: MeasuredRun) -> Sequence[Fault]:
    return read_table(run.directory / RESULTS, Fault)


def _expectations(run: MeasuredRun) -> Sequence[Expectation]:
    return read_table(run.directory / RESULTS, Expectation)


def lost_share(
    faults: Sequence[Fault], expected: Sequence[Expectation], servers: Mapping[str, BrokerId]
) -> float | None:
    """Share of the deliveries that did not happen, from all faults and expectations of one variant.

    `servers` gives each client's server. None where no server was killed, or nothing published after all were.
    """
    killed = [row for row in faults if row.kind == FaultKind.KILL]
    down = {server for row in killed for server in row.what}
    begin = max((row.began_ns for row in killed), default=0)
    notified = [
        row.notifications > 0
        for row in expected
        if row.right != Right.NONE
        and row.published_ns is not None
        and row.published_ns >= begin
        and servers.get(row.client) not in down
        and servers.get(row.publisher or "") not in down
    ]
    return 1 - fmean(notified) if killed and notified else None


def _servers_of_clients(run: MeasuredRun) -> Mapping[str, Mapping[str, BrokerId]]:
    """The server of each client, for each variant, by the operations that the server received from it."""
    found: dict[str, dict[str, BrokerId]] = {variant.name: {} for variant in run.variants}
    for broker in run.brokers:
        for record in run.records(broker, b'"event":"received"'):
            if record.client is not None and record.kind in (Kind.SUBSCRIBE.word, Kind.PUBLISH.word):
                found[record.variant][record.client] = broker
    return found
