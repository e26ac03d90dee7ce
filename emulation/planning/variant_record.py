"""The manifest's record of a variant that begins: its settings, and the promises of its routing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, UnsetType

from broker_service.links.session import MISSED_HEARTBEATS
from broker_service.routing import read_options
from broker_service.routing.outside import digest_of
from broker_service.routing.program.references import PREFIX, digest_of_program
from broker_service.routing.registry import place_of
from broker_service.routing.requirements import requirements_at
from broker_service.routing.systems import is_system
from broker_service.transport.silence import SILENT_HEARTBEATS
from record.contract import CONTRACT, ForeignBrokers
from record.handover import Absence, AbsenceCost, AbsenceCosts, MoveCosts, PlannedMoves
from record.manifest import ProtocolCode, VariantRecord
from record.unread import SlowReaders
from scenario.model import Scenario
from scenario.sections.brokers import BrokerLimits
from scenario.sections.expect import Expect


def new_variant(name: str, settings: Mapping[str, Any], scenario: Scenario) -> VariantRecord:
    """The record of a variant that begins."""
    limits = scenario.brokers.limits
    routing = read_options(scenario.routing.protocol, scenario.routing.options)
    expect = scenario.expect or Expect()
    detected = MISSED_HEARTBEATS * limits.heartbeat
    return VariantRecord(
        name=name,
        settings=dict(settings),
        time_dilation=scenario.dilation,
        promises=routing.promises,
        programs=UNSET if scenario.clients is None else list(scenario.clients.program_of) or UNSET,
        foreign=_foreign(scenario),
        protocol_code=_code_of(scenario.routing.protocol),
        expected_delivery=UNSET if (ratio := expect.least_delivery) is None else ratio,
        expected_judged=UNSET if (share := expect.least_judged) is None else share,
        expected_valid=UNSET if expect.valid is None else list(expect.valid),
        limits=expect.limits or UNSET,
        relative_limits=expect.relative_limits or UNSET,
        follows_load=routing.follows_load or UNSET,
        sample=scenario.sample or UNSET,
        recovery=detected + limits.reconnect_last + routing.reconciles_within,
        reconnects_within=limits.reconnect_last,
        settles_within=routing.settles_within or UNSET,
        service_time=scenario.brokers.work().mean or UNSET,
        window=UNSET if limits.window == BrokerLimits().window else limits.window,
        slow_readers=_slow_readers(scenario),
        moves=_moves(scenario, routing.moves),
        absences=_absences(scenario, routing.absences),
        sending=UNSET if scenario.brokers.sending is None else scenario.brokers.sending_order(),
    )


def _foreign(scenario: Scenario) -> ForeignBrokers | UnsetType:
    """The brokers, where they are not brokerlab's."""
    if scenario.level is None:
        return UNSET
    system = scenario.routing.protocol if is_system(scenario.routing.protocol) else UNSET
    brokers = scenario.brokers
    among = list(brokers.individually or ()) if brokers.among_native else UNSET
    return ForeignBrokers(contract=CONTRACT, level=scenario.level, system=system, among_native=among)


def _slow_readers(scenario: Scenario) -> SlowReaders | UnsetType:
    clients, limits = scenario.clients, scenario.brokers.limits
    if clients is None or not clients.read_slowly:
        return UNSET
    return SlowReaders(policy=clients.unread, notifications=limits.session_queue, bytes=limits.queue_bytes)


def _moves(scenario: Scenario, costs: MoveCosts) -> PlannedMoves | UnsetType:
    """The terms of moves, where clients move or may be moved by hand."""
    roams = scenario.clients is not None and scenario.clients.roaming is not None
    if not roams and not _by_hand(scenario) and not any(fault.move for fault in scenario.faults):
        return UNSET
    within = SILENT_HEARTBEATS * scenario.brokers.limits.heartbeat
    return PlannedMoves(old_session_ends_within=within, costs=dict(costs))


def _absences(scenario: Scenario, costs: AbsenceCosts) -> dict[Absence, AbsenceCost] | UnsetType:
    """The terms of absences, where clients are to be away or may be made to by hand."""
    planned = any(fault.crash or fault.vanish for fault in scenario.faults)
    return dict(costs) if planned or _by_hand(scenario) else UNSET


def _by_hand(scenario: Scenario) -> bool:
    """True where faults may come by hand that concern clients on sites."""
    return scenario.timeline.held is not None and scenario.clients is not None


def _code_of(reference: str) -> ProtocolCode | UnsetType:
    """The code of a protocol from outside; not set for any other."""
    if reference.startswith(PREFIX):
        return ProtocolCode(digest=digest_of_program(reference))
    place = place_of(reference)
    if place is None:
        return UNSET
    needed = {requirement.name: requirement.version or "" for requirement in requirements_at(place)}
    return ProtocolCode(digest=digest_of(place), requirements=needed)
