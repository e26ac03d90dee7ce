"""The request of a run, read from its manifest, its overlays and its log of faults."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET
from pydantic import ValidationError

from analysis.auditing.hops.asked import AskedVariant, Costs, Times
from analysis.reading.intervals import FOREVER
from analysis.reading.log_tally import LogTally
from analysis.reading.outages import outages, separate_targets
from analysis.reading.stays import NO_STAYS, sites_ever, stays_of_run
from analysis.run_files.run_directory import RunDirectory
from record.faults import FaultKind
from record.manifest import Manifest, VariantRecord
from record.service_time import ServiceTime
from record.time_units import SECOND
from scenario.sections.brokers import Brokers
from topology.sites import site_of_each_client

AFTER_FAULT = 10 * SECOND
"""Time after a fault in which messages that it held up may still wait for each other."""
_BROKERS = "brokers"


def asked_of(run: RunDirectory, number: int, logs: LogTally) -> AskedVariant:
    """The request of one variant. Times are the scenario's."""
    variant = run.manifest.variants[number]
    service = service_time_of(run.manifest, variant)
    sampled = run.sampled.get(variant.name)
    return AskedVariant(
        links=run.directions[variant.name],
        sites=sites_ever(run, variant.name),
        publishers=frozenset(variant.planned or ()),
        programs=frozenset(variant.programs or ()),
        time_dilation=variant.time_dilation,
        whole_log=variant.logged is None,
        service_mean=0.0 if service is None else service.mean * SECOND,
        costs=costs_of(run.manifest, variant),
        struck=_struck(number, run, logs),
        processors={} if run.unsampled_hosts(variant.name) else run.processor_times(variant.name),
        stolen=None if sampled is None else sampled.stolen,
        hosts={**run.nodes_on_hosts, **({} if sampled is None else sampled.hosts)},
    )


def service_time_of(manifest: Manifest, variant: VariantRecord) -> ServiceTime | None:
    """The service time of a variant's brokers; None where the manifest does not state it."""
    brokers = brokers_of(manifest, variant)
    return None if brokers is None else brokers.work()


def brokers_of(manifest: Manifest, variant: VariantRecord) -> Brokers | None:
    """The section about brokers of a variant's scenario; None where the manifest has none that can be read."""
    brokers: Any = copy.deepcopy(manifest.scenario.get(_BROKERS))
    if not isinstance(brokers, dict):
        return None
    for path, value in variant.settings.items():
        first, *rest = path.split(".")
        if first != _BROKERS:
            continue
        if not rest:
            brokers = value
            continue
        section = brokers
        for name in rest[:-1]:
            section = section.setdefault(name, {})
        section[rest[-1]] = value
    try:
        return Brokers.model_validate(brokers)
    except ValidationError:
        return None


def costs_of(manifest: Manifest, variant: VariantRecord) -> Costs:
    """The costs of a simulated variant, in the scenario's time; none of a real one."""
    if manifest.calibration is UNSET:
        return Costs()
    charged, dilation = manifest.calibration, variant.time_dilation
    return Costs(
        frame=round(charged.frame / dilation),
        work={kind: round(time / dilation) for kind, time in charged.work.items()},
        latency=tuple(round(time / dilation) for time in charged.link),
    )


def _struck(number: int, run: RunDirectory, logs: LogTally) -> Mapping[str, Times]:
    """The times of faults, and of links without a stream, by broker and by direction."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    variant = run.manifest.variants[number].name
    sites, stays = run.sites.get(variant, ()), stays_of_run(run).get(variant, NO_STAYS)
    sites_of = {client: {site.name} for client, site in site_of_each_client(sites).items()}
    for client, of_client in stays.of_client.items():
        sites_of[client].update(stay.site.name for stay in of_client)
    brokers = frozenset(run.brokers).union(*sites_of.values())
    faults = [event for event in logs.outages if event.variant == number and not event.node]
    for outage in outages(faults, brokers):
        end = FOREVER if outage.end == FOREVER else outage.end + AFTER_FAULT
        hit = sites_of.get(outage.target, (outage.target,))
        for target in (part for name in sorted(hit) for part in separate_targets(name, brokers)):
            found[target].append((outage.begin, end))
            if outage.kind == FaultKind.DISTURB:  # the receiving broker holds messages back before their turn
                found[target.rpartition("->")[2]].append((outage.begin, end))
    for change in logs.neighbours:
        if change.variant == number:
            found[f"{change.node}->{change.neighbour}"].append((change.at.time, change.at.time))
    return found
