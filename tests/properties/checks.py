"""The properties, each a function of a case and a protocol (names as in conformance cases) that raises `BrokenError`.

They are apart from the tests, because the tests of the properties themselves run them over broken routers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from broker_service.messages import BrokerId
from studies.conformance.model import Case, Declaration
from tests.properties.oracle import KILLS, NEVER, Violation, history, violations
from tests.properties.trial import Outcome, forced_tid_changes, run

FIXED, DYNAMIC = "tid-fixed", "tid-dynamic"
BOTH = (FIXED, DYNAMIC)

Property = Callable[[Case, str], None]


class BrokenError(AssertionError):
    """A property does not hold; the text ends with a case to paste into a file for `brokerlab conformance`."""

    def __init__(self, what: str, outcome: Outcome, protocol: str) -> None:
        self.case = outcome.pasteable
        super().__init__(f"{protocol}: {what}\n\nAs a case:\n{self.case}")


def delivered_exactly_once(case: Case, protocol: str) -> None:
    """Exactly once to everybody who must be notified, never to anybody who must not, never twice."""
    outcome = ended(case, protocol)
    found = violations(case, outcome.got)
    if found:
        raise BrokenError("; ".join(map(str, found)), outcome, protocol)


def delivered_once_at_each_broker(case: Case, protocol: str) -> None:
    """Delivery once at each broker of a client, for protocols whose brokers match publications when they arrive.

    A client that moves ahead of a publication may then be notified at each broker at which it has subscribed.
    """
    outcome = ended(case, protocol)
    found = wrong_at_each_broker(case, outcome.got)
    if found:
        raise BrokenError("; ".join(map(str, found)), outcome, protocol)


def wrong_at_each_broker(
    case: Case, got: Mapping[str, Sequence[str]], losing: frozenset[str] = KILLS
) -> list[Violation]:
    """Violations, except publications that a client got at most once at each broker at which it has subscribed."""
    return [
        violation
        for violation in violations(case, got, losing)
        if not 1 <= violation.times <= len(_homes(case, violation.client)) * violation.right
    ]


def no_broker_receives_twice(case: Case, protocol: str) -> None:
    """Property 1 of the TID paper."""
    outcome = ended(case, protocol)
    for broker, arrivals in outcome.arrivals.items():
        twice = [id for id, times in arrivals.publications.items() if times > 1]
        if twice:
            raise BrokenError(f"{broker} received twice: {', '.join(twice)}", outcome, protocol)


def tid_changes_notify_the_same(case: Case, protocol: str) -> None:
    """Property 2 of the TID paper: without and with TID changes, in transit and by force, the same are notified.

    Compared for publications made while nothing else is in flight.
    """
    fixed = ended(case, FIXED)
    with forced_tid_changes(case.seed):
        changed = ended(case, protocol)
    for client in sorted(fixed.got.keys() | changed.got.keys()):
        wanted, had = sorted(fixed.got.get(client, ())), sorted(changed.got.get(client, ()))
        if wanted != had:
            raise BrokenError(f"{client} was notified of {had}, and by fixed routing of {wanted}", changed, protocol)


def nothing_remains(case: Case, protocol: str) -> None:
    """Tables are empty when all that was said has been taken back: of subscriptions, and of everything."""
    outcome = ended(case, protocol)
    past = history(case)
    for kind, table in (("advertise", "subscription_routing_table"), ("subscribe", "publication_routing_table")):
        if any(span.kind == kind and span.end == NEVER for span in past.spans):
            continue
        for name, broker in outcome.overlay.brokers.cores.items():
            if left := broker.tables()[table]:
                raise BrokenError(f"{name} still has in its {table}: {left}", outcome, protocol)


def nothing_lives_for_ever(case: Case, protocol: str) -> None:
    """The overlay settles, within virtual time and within messages, even when trees are changed by force.

    No publication travels farther than the longest way that passes no broker twice. Over one link in one direction, one
    operation causes at most one message for itself and one for each other operation (an advertisement brings all
    subscriptions that stand, a subscription goes up every tree).
    """
    with forced_tid_changes(case.seed):
        outcome = ended(case, protocol)
    longest = len(case.brokers) - 1
    for broker, arrivals in outcome.arrivals.items():
        if arrivals.hops > longest:
            raise BrokenError(f"a publication came to {broker} after {arrivals.hops} hops", outcome, protocol)
    operations = len(case.steps)
    most = 2 * len(case.links) * operations * (operations + 1)
    messages = sum(arrivals.messages for arrivals in outcome.arrivals.values())
    if messages > most:
        raise BrokenError(f"{messages} messages for {operations} operations", outcome, protocol)


def ended(case: Case, protocol: str) -> Outcome:
    """Outcome of a case; fails when the case could not be brought to its end."""
    outcome = run(case, protocol)
    if outcome.problem:
        raise BrokenError(outcome.problem, outcome, protocol)
    return outcome


def _homes(case: Case, client: str) -> set[BrokerId]:
    """Brokers at which a client subscribes to something."""
    subscribed = [step for step in case.steps if isinstance(step, Declaration) and step.op == "subscribe"]
    return {step.broker for step in subscribed if step.client == client}
