"""Checks of clients on hosts of their own, and of the terms that the case names for them."""

from __future__ import annotations

from collections.abc import Iterator

from scenario.sections.messages import Problem
from studies.conformance.model import Arriving, Case, ClientFault, ClientStep, Departure, Leaving

_BEGINS = {"continue": "pause", "access_up": "access_down"}
"""The step that begins what another one ends."""


def roaming_problems(case: Case) -> Iterator[Problem]:
    """Every step that a client cannot take where it is."""
    at: dict[str, list[str]] = {}
    latest: dict[str, str] = {}
    struck: set[tuple[str, str]] = set()
    apart = case.apart
    for client in case.access:
        if not any(isinstance(step, ClientStep) and step.client == client for step in case.steps):
            yield Problem(("access", client), f"no step declares anything for {client}; name a client of the case")
    for number, step in enumerate(case.steps):
        if isinstance(step, ClientStep) and step.client in apart:
            if step.client not in latest:
                at[step.client], latest[step.client] = [step.broker], step.broker
            elif step.broker != latest[step.client]:
                was = latest[step.client]
                message = f"{step.client} is at {was} at this step; let it arrive at {step.broker} first"
                yield Problem(("steps", number, "broker"), message)
        elif isinstance(step, Leaving):
            yield from _leaving_problems(step, at.get(step.client, []), number)
            at[step.client] = at.get(step.client, [])[1:]
        elif isinstance(step, ClientFault):
            yield from _fault_problems(step, at.get(step.client, []), struck, number)
        elif isinstance(step, Arriving):
            yield from _arriving_problems(step, case, at.get(step.client), number)
            at[step.client] = [*at.get(step.client, []), step.broker]
            latest[step.client] = step.broker


def term_problems(case: Case) -> Iterator[Problem]:
    """Every publication that a term names and that the client is not to get."""
    for field, terms in (("may_lose", case.may_lose), ("may_double", case.may_double)):
        for client, of_client in terms.items():
            for id in of_client:
                if id not in case.expected.get(client, ()):
                    message = f"`expect` has no {id!r} for {client}; list what it gets where nothing is lost"
                    yield Problem((field, client, id), message)
    if case.ordered and (case.may_lose or case.may_double):
        yield Problem(("ordered",), "a case with `may_lose` or `may_double` compares no order; leave `ordered` out")


def _leaving_problems(step: Leaving, at: list[str], number: int) -> Iterator[Problem]:
    if not at:
        message = f"{step.client} is at no broker at this step; let it declare something, or arrive, before"
        yield Problem(("steps", number, "client"), message)
    elif len(at) > 1 and step.how is Departure.CRASH:
        message = f"{step.client} has sessions with {at[0]} and {at[1]}; let it leave {at[0]} before it crashes"
        yield Problem(("steps", number, "how"), message)


def _fault_problems(step: ClientFault, at: list[str], struck: set[tuple[str, str]], number: int) -> Iterator[Problem]:
    """`struck` has the faults that hold, by the step that begins them and the client."""
    begins = _BEGINS.get(step.op, step.op)
    if step.op in ("access_down", "access_up", "pause") and not at:
        message = f"{step.client} is at no broker at this step; let it declare something, or arrive, before"
        yield Problem(("steps", number, "client"), message)
    elif (step.op == begins) == ((begins, step.client) in struck):
        message = f"{step.client}: {begins} holds {'already' if step.op == begins else 'no more'}; leave the step out"
        yield Problem(("steps", number, "op"), message)
    (struck.add if step.op == begins else struck.discard)((begins, step.client))


def _arriving_problems(step: Arriving, case: Case, at: list[str] | None, number: int) -> Iterator[Problem]:
    if step.broker not in case.brokers:
        known = ", ".join(case.brokers)
        yield Problem(("steps", number, "broker"), f"there is no broker {step.broker!r}; the case has {known}")
    if at is None:
        message = f"no step before is of {step.client}; a client's first broker is that of its first declaration"
        yield Problem(("steps", number, "client"), message)
    elif step.broker in at:
        yield Problem(("steps", number, "broker"), f"{step.client} is at {step.broker} already; name another broker")
    elif len(at) > 1:
        message = f"{step.client} has sessions with {at[0]} and {at[1]}; let it leave {at[0]} first"
        yield Problem(("steps", number, "client"), message)
