"""Checks of brokers that are not brokerlab's: what they are asked for, and what their level of the contract offers."""

from __future__ import annotations

from collections.abc import Iterator

from broker_service.routing.foreign import FOREIGN
from broker_service.routing.outside import label
from broker_service.routing.systems import options_of_system
from record.contract import ADAPTER_LEVEL, LOGS_LEVEL, STATUS_LEVEL
from scenario.model import AUTO, Scenario
from scenario.sections.messages import Problem
from scenario.workload.placement import broker_problems
from topology.model import Overlay

_ASKING = ("slow", "reset", "disturb")
"""Faults that a broker is asked to make."""
_OF_PROGRAMS = ("image", "level", "command", "environment", "scratch", "individually")


def foreign_problems(scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    """Contradictions between the routing, the level, and what the scenario asks of brokers."""
    brokers, level = scenario.brokers, scenario.level
    if level == ADAPTER_LEVEL:
        yield from _system_problems(scenario, overlay)
        return
    is_foreign = scenario.routing.protocol == FOREIGN
    if level is None:
        if is_foreign:
            message = "is the routing of brokers of your own: give `brokers.level`, and their image or command"
            yield Problem(("routing", "protocol"), f"{FOREIGN} {message}")
        return
    if brokers.among_native:
        yield from _wire_problems(scenario)
    elif not is_foreign:
        message = f"brokers of your own route by themselves; write `protocol: {FOREIGN}`"
        yield Problem(("routing", "protocol"), message)
    for name in brokers.individually or {}:
        yield from broker_problems(("brokers", "individually", name), name, overlay)
    yield from _beyond_level(scenario, level)


def _wire_problems(scenario: Scenario) -> Iterator[Problem]:
    """Contradictions between the routing of brokerlab's brokers and the wire of those among them that are not."""
    protocol = scenario.routing.protocol
    if protocol == FOREIGN:
        message = f"brokerlab's own brokers are among these, and have no router for {FOREIGN}; name a routing protocol"
        yield Problem(("routing", "protocol"), message)
        return
    for name, one in (scenario.brokers.individually or {}).items():
        if one.wire not in (protocol, label(protocol)):
            message = f"{name} speaks the messages of {one.wire}, and its neighbours route by {protocol}"
            yield Problem(("brokers", "individually", name, "wire"), message)


def _system_problems(scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    """Contradictions of a deployed system with what the scenario asks of its servers, and with the overlay."""
    name = scenario.routing.protocol
    for field in _OF_PROGRAMS:
        if getattr(scenario.brokers, field) is not None:
            yield Problem(("brokers", field), f"brokerlab knows the servers of {name}; remove it")
    reason = options_of_system(name).trees_only
    if reason and (surplus := len(overlay.links) - len(overlay.brokers) + 1) > 0:
        tree = "use a topology without cycles, such as `kind: random-tree`, or `system: zenoh`"
        message = f"{name} runs on trees, and this overlay has {surplus} links more than one: {reason}; {tree}"
        yield Problem(("topology",), message)
    yield from _beyond_level(scenario, ADAPTER_LEVEL)


def _beyond_level(scenario: Scenario, level: int) -> Iterator[Problem]:
    """Wishes that brokers of this level cannot fulfil."""
    if scenario.time_dilation == AUTO:
        yield Problem(("time_dilation",), "brokers of others cannot be rehearsed in virtual time; write a factor")
    if level < STATUS_LEVEL:
        yield from _asked_of_silent_brokers(scenario, level)
    if level < LOGS_LEVEL and scenario.logs is not None:
        yield Problem(("logs",), f"brokers of level {level} write no logs; remove it")


def _asked_of_silent_brokers(scenario: Scenario, level: int) -> Iterator[Problem]:
    """Requests that only the control service takes."""
    offered = f"asks the brokers, which takes level {STATUS_LEVEL}; these keep level {level}"
    for index, fault in enumerate(scenario.faults):
        asking = [name for name in _ASKING if getattr(fault, name) is not None]
        if fault.degrade is not None and fault.send_time is not None:
            asking.append("degrade")
        for name in asking:
            yield Problem(("faults", index, name), offered)
    if scenario.motion is not None:
        yield Problem(("motion",), offered)
    if scenario.timeline.withdraw is not None:
        yield Problem(("timeline", "withdraw"), offered)
