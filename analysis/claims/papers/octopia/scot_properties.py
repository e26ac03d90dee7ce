"""The two properties of OctopiA's static publication routing (SPR, section 9.1), checked over all events of a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.verdict import Measurement
from broker_service.messages import Kind
from topology.structures.scot import Scot, scot_of

SPR = "SPR"


def path_lengths(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Notifications of SPR over more links than diam(G_af) within a cluster, or diam(G_af) + 1 between clusters."""
    variant = _named(run, SPR)
    scot = scot_of(variant.overlay)
    violations = checked = 0
    example = ""
    for row in variant.notifications:
        if row.path is None:
            continue
        checked += 1
        most = _most_links(scot, row.path[0], row.path[-1])
        if len(row.path) - 1 > most:
            violations += 1
            example = (
                example or f"{row.publication} reached {row.client} by {', '.join(row.path)}; {most} links suffice"
            )
    return Measurement(values=(float(violations),), checked=checked, example=example)


def arrivals_in_clusters(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Publications that SPR sent to a broker twice, or to a cluster that is not a target of the publication.

    A target cluster of a publication is one in which a client was notified of it; the delivery verdict checks that
    exactly the right clients were notified. Arrivals over links count, the arrival from the publisher does not.
    """
    variant = _named(run, SPR)
    scot = scot_of(variant.overlay)
    targets = _target_clusters(variant, scot)
    violations = checked = 0
    example = ""
    for broker, coordinates in scot.coordinates.items():
        arrivals = Counter(
            record.id or ""
            for record in run.records(broker, b'"event":"received"')
            if record.kind == Kind.PUBLISH.word and record.peer is not None and record.variant == variant.name
        )
        checked += len(arrivals)
        for publication, times in arrivals.items():
            if times > 1:
                violations += 1
                example = example or f"{broker} received {publication} {times} times"
            if coordinates.cluster not in targets[publication]:
                violations += 1
                example = example or f"{broker} received {publication}, which no client in its cluster wants"
    return Measurement(values=(float(violations),), checked=checked, example=example)


def _named(run: MeasuredRun, name: str) -> MeasuredVariant:
    found = {variant.name: variant for variant in run.variants}.get(name)
    if found is None:
        raise ClaimsError(f"{run.directory}: no variant {name}")
    return found


def _most_links(scot: Scot, start: str, end: str) -> int:
    same = scot.coordinates[start].cluster == scot.coordinates[end].cluster
    return scot.cluster_diameter if same else scot.cluster_diameter + 1


def _target_clusters(variant: MeasuredVariant, scot: Scot) -> Mapping[str, set[int]]:
    clusters: dict[str, set[int]] = defaultdict(set)
    for row in variant.notifications:
        if row.broker is not None:
            clusters[row.publication].add(scot.coordinates[row.broker].cluster)
    return clusters
