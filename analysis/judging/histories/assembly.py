"""Assembly of the histories of all variants, and of the facts about them by which the logs of a run are read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from msgspec import UNSET

from analysis.judging.histories.adjacency import adjacency_of
from analysis.judging.histories.client_faults import ClientFaults, SessionElements, begun_with_faults
from analysis.judging.histories.client_terms import costless_absences, owes_accepted
from analysis.judging.histories.cuts import cuts_of
from analysis.judging.histories.fault_costs import (
    cutting_outages,
    silent_intervals,
)
from analysis.judging.histories.faults import FaultTimes, fault_spans
from analysis.judging.histories.history import History, Session, StayingSession, cut_short
from analysis.judging.histories.losses import losses_of
from analysis.judging.histories.moved_sessions import MovedSessions, staying_sessions
from analysis.judging.histories.own_clients import VariantOutages, own_clients_of
from analysis.judging.histories.reconnecting import reconnected
from analysis.judging.histories.returning import Returning
from analysis.judging.histories.sessions import explained_sessions, restarts, session_gaps, struck_elements
from analysis.judging.histories.settling import ALLOWANCE, settling_of
from analysis.judging.histories.starting import broker_starts, lasting_until_they_listen
from analysis.judging.histories.unread import NOTHING_UNREAD, Unread, unread_of
from analysis.judging.histories.vanished_links import vanished_links
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.lifetimes import DeclarationLifetime
from analysis.reading.log_events import OutageEvent, Reading
from analysis.reading.log_stage import LogStage
from analysis.reading.log_tally import LogTally
from analysis.reading.logged_variants import LoggedVariants
from analysis.reading.outages import Outage, outage_intervals, outages
from analysis.reading.overlay_changes import OverlayChanges
from analysis.reading.stays import NO_STAYS, Stays, stays_of_run
from analysis.run_files.folders import Folder
from analysis.run_files.logs import scenario_time
from analysis.run_files.run_directory import RunDirectory
from record.faults import FaultKind
from record.handover import MoveCosts
from record.log import Event
from record.manifest import VariantRecord
from record.promises import Completeness
from record.time_units import SECOND
from topology.sites import site_of_each_client, slow_readers


def log_stage_of(run: RunDirectory, buckets: int, link_buckets: int, events: Folder | None) -> LogStage:
    """Stage 1 over the logs of a run. `events` is the folder for parts of the table `events`, if that is wanted."""
    variants, stays = run.manifest.variants, stays_of_run(run)
    logged = LoggedVariants(
        numbers={variant.name: number for number, variant in enumerate(variants)},
        run_starts=tuple(variant.run_start for variant in variants),
        stops=tuple(FOREVER if variant.stop is None else variant.stop for variant in variants),
        ends=tuple(FOREVER if variant.end is None else variant.end for variant in variants),
        brokers=frozenset(run.brokers),
        unsettled=frozenset(number for number, variant in enumerate(variants) if variant.unsettled),
        sites={
            number: {client: site.name for client, site in site_of_each_client(run.sites[variant.name]).items()}
            for number, variant in enumerate(variants)
            if variant.name in run.sites
        },
        slow={
            number: slow
            for number, variant in enumerate(variants)
            if (slow := slow_readers(run.sites.get(variant.name, ())))
        },
        stays={number: stays[variant.name] for number, variant in enumerate(variants) if variant.name in stays},
    )
    return LogStage(run.logs, logged, buckets, link_buckets, run.dilations, run.clocks, events)


def histories_of(
    run: RunDirectory,
    lifetimes: Sequence[Sequence[DeclarationLifetime]],
    logs: LogTally,
    changes: Sequence[OverlayChanges | None],
) -> list[History]:
    """The history that the oracle judges by, for each variant; `lifetimes` and `changes` are those of each variant."""
    return [
        _known_to_join(_history(run, number, lifetimes[number], logs, changed), variant, logs.last_declared(number))
        for number, (changed, variant) in enumerate(zip(changes, run.manifest.variants, strict=True))
    ]


def faults_of(
    number: int, variant: VariantRecord, events: Iterable[OutageEvent], brokers: Collection[str]
) -> FaultTimes:
    """The faults injected into a variant before it was stopped."""
    faults = [event for event in _of_variant(number, variant, events) if not event.node]
    return FaultTimes(fault_spans(faults, _lingering(variant), brokers))


def _history(
    run: RunDirectory,
    number: int,
    lifetimes: Sequence[DeclarationLifetime],
    logs: LogTally,
    changed: OverlayChanges | None,
) -> History:
    variant, brokers = run.manifest.variants[number], frozenset(run.brokers)
    lingering, promises = _lingering(variant), variant.promises
    vanished = vanished_links(changed, promises)
    of_variant = _of_variant(number, variant, logs.outages)
    sites, stays = run.sites.get(variant.name, ()), stays_of_run(run).get(variant.name, NO_STAYS)
    divided = ClientFaults.of((event for event in of_variant if not event.node), brokers, (*sites, *stays.sites))
    starts = broker_starts(divided.of_overlay, [event for event in logs.listening if event.variant == number])
    faults = [*lasting_until_they_listen(divided.of_overlay, starts), *vanished.events]
    sessions: dict[Session, list[OutageEvent]] = {}
    for event in of_variant:
        if event.node:
            sessions.setdefault((event.node, event.target), []).append(event)
    moved = MovedSessions(sessions, stays, _move_costs(variant))
    overlay = vanished.overlay or run.overlays[variant.name]
    settling = settling_of(variant, overlay, sites)
    struck, elements = struck_elements(faults, lingering, brokers), SessionElements(sites, stays)
    struck_clients = struck_elements(divided.of_clients, _returns_within(variant), divided.names)
    ended = _ends_of_sessions(sessions, _unread(run, number, logs), settling.within)
    explained, broken = explained_sessions(moved.joined, struck | struck_clients, elements, ended)
    unread = _unread(run, number, logs, explained)
    run_end = FOREVER if variant.end is None else variant.end
    returning = Returning(within=_returns_within(variant), settled=settling.within, struck=struck, elements=elements)
    of_clients = divided.client_outages()
    returned, missing = returning.bounded(explained, [*outages(faults, brokers), *of_clients], run_end)
    breaking = [outage for outage in of_clients if outage.kind != FaultKind.MOVE]
    returned = begun_with_faults(returned, breaking, elements, returning.within)
    declared_by = partial(returning.declared_by, faults=[*outages(faults, brokers), *breaking])
    renewed = moved.renewals(returned, declared_by)
    costless = struck_elements(costless_absences(divided.of_clients, variant), lingering, divided.names)
    out_of_service = {
        session: [
            found
            for down in outages_of
            if not elements.explain(session, down, costless) and (found := moved.lasting(session, down, declared_by))
        ]
        for session, outages_of in returned.items()
    }
    of_moved_clients = {
        session: [
            found
            for down in outages_of
            if elements.explain(session, down, struck_clients) and (found := moved.lasting(session, down, declared_by))
        ]
        for session, outages_of in returned.items()
    }
    for session, anew in moved.publishing_anew(settling.within).items():
        of_moved_clients.setdefault(session, []).extend(anew)
    unsettled = outage_intervals(faults, lingering, brokers)
    client_outages = {
        session: Intervals.of((begin, unsettled.settled(begin, end)) for begin, end in times)
        for session, times in of_moved_clients.items()
    }  # advertisements are under way until faults elsewhere are over, too
    returned = moved.spread(returned)
    after_restarts = returning.renewals(returned, outages(faults, brokers), breaking, missing)
    happened = VariantOutages(
        faults=faults,
        sessions=returned,
        lingering=lingering,
        served_by=lambda outage: returning.served_by(outage.target, outage.begin, outage.end, returned),
    )
    losses = [returning.served(loss, returned) for loss in losses_of(faults, promises, lingering, brokers)]
    if promises.delivery is Completeness.BEST_EFFORT:
        links = [change for change in logs.neighbours if change.variant == number and change.at.time < run_end]
        losses = reconnected(losses, overlay, links, settling.within)
    held_up = [*cutting_outages(faults, brokers), *vanished.waited]
    cutting = held_up if promises.spares_others else vanished.waited
    return History(
        promises=promises,
        lifetimes=lifetimes,
        overlay=overlay,
        overlay_changes=changed is not None,
        settling=settling,
        run_start=variant.run_start,
        passed_on=logs.first_passed_on(number),
        joining=_joining(lifetimes, variant.run_start),
        cut_short=cut_short(variant.end, variant.interrupted),
        losses=losses,
        silent=silent_intervals(faults, promises, lingering, brokers),
        unsettled=unsettled,
        session_outages=moved.spread({session: Intervals.of(times) for session, times in out_of_service.items()}),
        client_outages=moved.spread(client_outages),
        client_struck={
            session: elements.struck(session, struck_clients)
            for session in dict.fromkeys((made.node, made.broker) for made in lifetimes if struck_clients)
        },
        at_sites=frozenset(site_of_each_client(sites)),
        struck=struck,
        broken_sessions=broken,
        session_gaps=moved.spread(session_gaps(moved.joined)),
        restarts=restarts(outages(faults, brokers)),
        unread=unread,
        starts=starts,
        missing_sessions=moved.named(missing),
        renewals=[*filter(moved.stayed, after_restarts), *renewed],
        staying_sessions=_staying(number, variant, stays, logs),
        served_twice=moved.spread(moved.served_twice(settling.within)),
        stays=stays,
        move_costs=_move_costs(variant),
        owes_accepted=owes_accepted(variant),
        cuts=cuts_of(overlay, cutting, lingering, run_end),
        cuts_at_end=cuts_of(overlay, held_up if variant.interrupted else (), lingering, run_end),
        parted=cuts_of(overlay, vanished.lost, lingering, run_end),
        adjacency=adjacency_of(promises, run.overlays[variant.name], changed, settling.within),
        own_clients=own_clients_of(promises, brokers, happened),
        stamp_errors={
            Path(file).stem: scenario_time(clock.stamp_error, variant.time_dilation)
            for file, clock in run.clocks.items()
        },
    )


def _move_costs(variant: VariantRecord) -> MoveCosts:
    return {} if variant.moves is UNSET else variant.moves.costs


def _staying(number: int, variant: VariantRecord, stays: Stays, logs: LogTally) -> list[StayingSession]:
    if variant.moves is UNSET:
        return []
    served: dict[tuple[str, str], list[int]] = {}
    for found in logs.served_late:
        if found.variant == number:
            served.setdefault((found.client, found.broker), []).append(found.time)
    within = round(variant.moves.old_session_ends_within * SECOND) + ALLOWANCE
    return staying_sessions(stays, served, within)


def _known_to_join(history: History, variant: VariantRecord, joined: Mapping[str, int]) -> History:
    """The history with the times by which operations of the join phase had settled. A protocol that passes them on in
    messages of its own shows none, so that the begin of the run phase tells nothing where the overlay was not quiet."""
    return replace(history, joined=joined, run_start=history.run_start if joined or not variant.unsettled else None)


def _unread(
    run: RunDirectory, number: int, logs: LogTally, explained: Mapping[Session, Sequence[Outage]] | None = None
) -> Unread:
    """The notifications that a variant's slow readers did not get; `explained` are the outages of sessions of which
    the cause is known."""
    variant = run.manifest.variants[number]
    if variant.slow_readers is UNSET:
        return NOTHING_UNREAD
    clients = slow_readers(run.sites.get(variant.name, ()))
    readings = [reading for reading in logs.readings if reading.variant == number]
    breaks = [
        Reading(number, client, Event.LINK_DOWN, outage.begin, broker or "", "", 0)
        for (node, broker), outages_of in (explained or {}).items()
        if (client := _client_of(node)) in clients
        for outage in outages_of
    ]
    return unread_of(clients, variant.slow_readers, readings, breaks)


def _client_of(node: str) -> str:
    """The client at the end of a session of its own."""
    return node.rpartition(" ")[2]


def _ends_of_sessions(sessions: Iterable[Session], unread: Unread, within: int) -> dict[str, Intervals]:
    """The times in which breaks of sessions follow from the policy on what is not read, by the sessions' nodes."""
    nodes = {_client_of(node): node for node, _ in sessions}
    return {
        nodes[client]: Intervals.of((time, time + within) for time in times)
        for client, times in unread.ended.items()
        if client in nodes
    }


def _joining(declared: Iterable[DeclarationLifetime], run_start: int | None) -> int:
    """`History.joining`."""
    made = [lifetime.made is Event.ADVERTISE for lifetime in declared if lifetime.issued <= (run_start or 0)]
    advertisements = sum(made)
    return len(made) + advertisements * (len(made) - advertisements)


def session_breaks(history: History) -> dict[str, tuple[int, ...]]:
    """The times at which each client's sessions broke, and those from which on faults explain that; only of clients
    that had a break, under a gapless protocol."""
    own = history.own_clients
    if not history.promises.gapless:
        return {}
    breaks: dict[str, set[int]] = {}
    for lifetime in history.lifetimes:
        node, broker = lifetime.node, lifetime.broker
        down = (history.session_outages_of(node, broker),) if own is None else own.breaks(node, broker)
        broke = history.session_gaps.get((node, broker), NONE).starts
        explained = {time for time in broke if any(outages.overlaps(time, time) for outages in down)}
        starts = {start for outages in down for start in outages.starts} | explained
        if starts:
            breaks.setdefault(lifetime.client, set()).update(starts)
    return {client: tuple(sorted(times)) for client, times in breaks.items()}


def _of_variant(number: int, variant: VariantRecord, events: Iterable[OutageEvent]) -> list[OutageEvent]:
    """The events of a variant before its end; from then on everything is taken down, sessions first.

    Faults that last are healed before the drain phase, which takes no virtual time where nothing is in flight. So
    their heals count at the end itself.
    """
    end = FOREVER if variant.end is None else variant.end
    of_variant = (event for event in events if event.variant == number)
    return [event for event in of_variant if event.at.time < end or (event.at.time == end and _heals(event))]


def _heals(event: OutageEvent) -> bool:
    return not event.node and not event.begins


def _lingering(variant: VariantRecord) -> int:
    """Nanoseconds after its heal for which a fault may still have effects."""
    return round(variant.recovery * SECOND) + ALLOWANCE


def _returns_within(variant: VariantRecord) -> int:
    """Nanoseconds from the heal of a broker until sessions with it, and its links, are back."""
    stated = variant.recovery if variant.reconnects_within is UNSET else variant.reconnects_within
    return round(stated * SECOND) + ALLOWANCE
