"""Checks of a case whose fields are each valid by themselves."""

from __future__ import annotations

from collections.abc import Iterator

from broker_service.routing import read_options
from scenario.sections.messages import Problem
from scenario.yaml_files.fields import FieldPath
from studies.conformance.model import (
    LONGEST_WAIT,
    MOST_AT_ONCE,
    Arriving,
    BrokerFault,
    Case,
    ClientFault,
    ClientStep,
    Declaration,
    Leaving,
    LinkChange,
    LinkFault,
    SessionFault,
    Step,
)
from studies.conformance.protocols import PROTOCOLS
from studies.conformance.roaming import roaming_problems, term_problems
from topology.link_properties import OverlayError
from topology.model import Overlay
from topology.structures.recognition import require_structure


def problems(case: Case) -> Iterator[Problem]:
    """Every mistake and the field where it is; none in a case that can be run."""
    try:
        overlay = case.overlay()
    except OverlayError as error:
        yield Problem(("links" if case.links else "brokers",), str(error))
        return
    yield from _attribute_problems(case, overlay)
    yield from _protocol_problems(case)
    yield from _option_problems(case)
    yield from _step_problems(case, overlay)
    yield from roaming_problems(case)
    yield from _publication_problems(case)
    yield from _expectation_problems(case)
    yield from term_problems(case)


def _attribute_problems(case: Case, overlay: Overlay) -> Iterator[Problem]:
    for broker in case.attributes:
        if broker not in case.brokers:
            yield Problem(("attributes", broker), f"there is no such broker; the case has {', '.join(case.brokers)}")
    try:
        require_structure(overlay)
    except OverlayError as error:
        yield Problem(("attributes",), str(error))


def _protocol_problems(case: Case) -> Iterator[Problem]:
    """Some may be of other versions; then those rows are skipped."""
    if case.protocols is not None and not set(case.protocols) & PROTOCOLS.keys():
        unknown = ", ".join(case.protocols)
        yield Problem(("protocols",), f"this version has none of {unknown}; it has {', '.join(PROTOCOLS)}")


def _option_problems(case: Case) -> Iterator[Problem]:
    if not case.options:
        return
    if case.protocols is None or len(case.protocols) > 1:
        yield Problem(("options",), "options belong to one protocol; name it in `protocols`")
    elif (protocol := PROTOCOLS.get(case.protocols[0])) is not None:
        try:
            read_options(protocol.protocol, protocol.with_options(case.options).options)
        except ValueError as error:
            yield Problem(("options",), str(error))


def _step_problems(case: Case, overlay: Overlay) -> Iterator[Problem]:
    down: set[str] = set()
    present = {frozenset((link.a, link.b)) for link in overlay.links}
    cut: set[frozenset[str]] = set()
    waited = 0.0
    for number, step in enumerate(case.steps):
        place: FieldPath = ("steps", number)
        within = waited <= LONGEST_WAIT
        waited += step.wait or 0.0
        if within and waited > LONGEST_WAIT:
            message = f"the waits of a case may take {LONGEST_WAIT:g} s together, and up to here they take {waited:g} s"
            yield Problem((*place, "wait"), message)
        if isinstance(step, LinkFault):
            yield from _link_problems(step, present, cut, (*place, "link"))
        elif isinstance(step, LinkChange):
            yield from _change_problems(step, case, present, cut, (*place, "link"))
        elif isinstance(step, Leaving | Arriving | ClientFault):
            continue  # `roaming` looks at them
        elif step.broker not in case.brokers:
            known = ", ".join(case.brokers)
            yield Problem((*place, "broker"), f"there is no broker {step.broker!r}; the case has {known}")
        elif isinstance(step, SessionFault):
            yield from _session_problems(step, case, down, (*place, "broker"))
        elif isinstance(step, BrokerFault):
            yield from _broker_problems(step, down, (*place, "broker"))


def _session_problems(step: SessionFault, case: Case, down: set[str], place: FieldPath) -> Iterator[Problem]:
    if step.broker in down:
        yield Problem(place, f"{step.broker} is down at this step; restart it first, or leave the step out")
    elif not any(_shares_session(other, case, step.broker) for other in case.steps):
        yield Problem(place, f"no step is of a client at {step.broker}, so there is no session; name another broker")


def _shares_session(step: Step, case: Case, broker: str) -> bool:
    return isinstance(step, ClientStep) and step.broker == broker and step.client not in case.apart


def _broker_problems(step: BrokerFault, down: set[str], place: FieldPath) -> Iterator[Problem]:
    if (step.op == "kill") == (step.broker in down):
        state, first = ("down", "restart") if step.op == "kill" else ("running", "kill")
        yield Problem(place, f"{step.broker} is {state} at this step; {first} it first, or leave the step out")
    (down.add if step.op == "kill" else down.discard)(step.broker)


def _link_problems(
    step: LinkFault, present: set[frozenset[str]], cut: set[frozenset[str]], place: FieldPath
) -> Iterator[Problem]:
    link = frozenset(step.link)
    if link not in present:
        yield Problem(place, f"there is no link {' - '.join(step.link)}; name two brokers that are linked")
        return
    if (step.op == "link_down") == (link in cut):
        state = "down" if step.op == "link_down" else "up"
        yield Problem(place, f"{' - '.join(step.link)} is {state} already at this step; leave the step out")
    (cut.add if step.op == "link_down" else cut.discard)(link)


def _change_problems(
    step: LinkChange, case: Case, present: set[frozenset[str]], cut: set[frozenset[str]], place: FieldPath
) -> Iterator[Problem]:
    link = frozenset(step.link)
    if len(link) == 1 or not link <= set(case.brokers):
        yield Problem(place, f"there are no two such brokers; the case has {', '.join(case.brokers)}")
    elif (step.op == "link_new") == (link in present):
        state = "linked already" if step.op == "link_new" else "not linked"
        yield Problem(place, f"{' and '.join(step.link)} are {state} at this step; leave the step out")
    elif link in cut:
        yield Problem(place, f"{' - '.join(step.link)} is down at this step; bring it up first")
    (present.add if step.op == "link_new" else present.discard)(link)


def _publication_problems(case: Case) -> Iterator[Problem]:
    made = 0
    for number, step in enumerate(case.steps):
        if not isinstance(step, Declaration) or step.op != "publish":
            continue
        within = made <= MOST_AT_ONCE
        made += step.count or 1
        if within and made > MOST_AT_ONCE:
            message = f"a case may make {MOST_AT_ONCE:,} publications, and up to here it makes {made:,}"
            yield Problem(("steps", number, "count"), message)
        if step.crosses is None:
            continue
        if step.wait is not None:
            message = "links are looked at when the overlay has settled; leave `wait` out, or `crosses`"
            yield Problem(("steps", number, "crosses"), message)
        for broker in (name for pair in step.crosses for name in pair if name not in case.brokers):
            known = ", ".join(case.brokers)
            yield Problem(("steps", number, "crosses"), f"there is no broker {broker!r}; the case has {known}")


def _expectation_problems(case: Case) -> Iterator[Problem]:
    clients = {step.client for step in case.steps if isinstance(step, ClientStep)}
    published = set(case.published)
    together = {step.id for step in case.steps if isinstance(step, Declaration) and step.count is not None}
    for client, notifications in case.expect.items():
        place: FieldPath = ("expect", client)
        if client not in clients:
            yield Problem(place, f"no step is of a client {client!r}; the case has {', '.join(sorted(clients))}")
        for number, notification in enumerate(notifications):
            for id in (notification,) if isinstance(notification, str) else notification:
                if id not in published and not (isinstance(notification, str) and id in together):
                    yield Problem((*place, number), f"no step publishes {id!r}; name the id of a publication")
